"""Attacks of the plugins find what they are for, are silent elsewhere, and name no cell by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 400


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    wages = np.round(rng.lognormal(7, 0.5, ROWS), 2)
    age = rng.integers(16, 90, ROWS)
    return pd.DataFrame({
        "wages": wages, "age": age, "rent": np.round(rng.lognormal(6, 0.4, ROWS)),
        "hours": rng.choice([20.0, 30.0, 40.0], ROWS), "sector": rng.choice(["a", "b", "c"], ROWS),
    })  # fmt: skip


def decision(original: pd.DataFrame, emptied: dict[str, int], attack: str) -> dict[str, mw.AttackResult]:
    """Results by variable, where one in so many cells is emptied."""
    released = original.copy()
    for place, (name, every) in enumerate(emptied.items()):
        released[name] = released[name].mask((np.arange(len(released)) + place) % every == 0)
    return {each.variable: each for each in mw.attack(released, original, [attack])}


@pytest.mark.parametrize(
    ("name", "copy"),
    [
        ("wages", lambda data: data["wages"] * 12),
        ("wages", lambda data: (data["wages"] * 100).round()),
        ("age", lambda data: 2024 - data["age"]),
        ("age", lambda data: (data["age"] * 9 / 5 + 32).round(1)),
    ],
    ids=["a year", "cents", "year of birth", "another scale"],
)
def test_a_number_is_known_from_its_copy_in_other_units(name: str, copy: Callable[[pd.DataFrame], pd.Series]) -> None:
    original = frame()
    original["other"] = copy(original)
    found = decision(original, {name: 20}, "other_units")[name]
    assert (found.decision, found.right, found.claims) == ("certain", found.hidden, found.hidden)
    assert "other" in found.rule


def test_a_copy_with_errors_in_some_records_is_still_seen() -> None:
    original = frame()
    original["year"] = 2024 - original["age"] + (np.arange(ROWS) % 150 == 0)
    found = decision(original, {"age": 20}, "other_units")["age"]
    assert found.decision == "certain"
    assert found.precision == 0.9


def test_numbers_that_have_nothing_to_do_with_each_other_give_no_certainty() -> None:
    found = decision(frame(), {"wages": 20, "age": 15, "rent": 10, "hours": 9}, "other_units")
    assert {each.decision for each in found.values()} == {"figure"}


@pytest.mark.parametrize("place", ["last", "random"])
def test_a_sector_is_known_from_the_last_character_of_a_code(place: str) -> None:
    original, rng = frame(), np.random.default_rng(2)
    letters = original["sector"] if place == "last" else rng.permutation(original["sector"])
    original["code"] = [f"{number:04}{letter}" for number, letter in zip(rng.permutation(ROWS), letters, strict=True)]
    found = decision(original, {"sector": 20}, "dependency")["sector"]
    assert (found.decision == "certain") == (place == "last")
    if place == "last":
        assert found.rule == "records that agree in character 5 of code"
        assert found.right == found.hidden


def test_a_skipped_question_says_what_the_filter_was() -> None:
    original = frame()
    original.loc[original["sector"] == "c", "hours"] = np.nan
    found = decision(original, {"sector": 20}, "emptiness")["sector"]
    assert (found.decision, found.rule) == ("certain", "whether hours is empty")
    assert found.certain == ((original["sector"] == "c") & (np.arange(ROWS) % 20 == 0)).sum()


def test_cells_that_are_empty_by_chance_give_no_certainty() -> None:
    original = frame()
    rng = np.random.default_rng(3)
    for name in ("hours", "rent", "age"):
        original[name] = original[name].astype(float).mask(rng.random(ROWS) < 0.1)
    found = decision(original, {"sector": 10, "hours": 12}, "emptiness")
    assert all(each.decision == "figure" for each in found.values())


@pytest.mark.parametrize("name", ["other_units", "emptiness"])
def test_what_is_said_of_a_published_cell_does_not_use_it(name: str, tmp_path: Path) -> None:
    data = frame().assign(twice=lambda each: each["age"] * 2)
    data.loc[::3, "hours"] = np.nan
    attack = mw.find_attack(name)

    def said(frame: pd.DataFrame) -> list[float]:
        frame.to_csv(tmp_path / "data.csv", index=False)
        published = mw.Published(mw.read(tmp_path / "data.csv"), ("age", "sector"))
        return [float(each.values[5]) for each in attack.infer(published, attack.params()) if each.variable == "age"]

    changed = data.copy()
    changed.loc[5, "age"] += 1
    before, after = said(data), said(changed)
    assert before
    assert np.array_equal(before, after, equal_nan=True)
