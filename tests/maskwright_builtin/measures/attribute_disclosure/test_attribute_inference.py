"""The measure says what the attacks found, in figures that thresholds can be set for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskwright as mw


def files(every: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(1)
    town = rng.integers(0, 12, 900)
    original = pd.DataFrame({
        "town": [f"t{each}" for each in town], "region": [f"r{each // 4}" for each in town],
        "sex": rng.choice(["f", "m"], 900),
    })  # fmt: skip
    masked = original.copy()
    masked["region"] = masked["region"].mask(masked.index % every == 0)
    masked["sex"] = masked["sex"].mask(masked.index % every == 1)
    return original, masked


def measured(original: pd.DataFrame, masked: pd.DataFrame) -> mw.Measurement:
    return mw.measure(original, masked, [{"attribute_inference": {"attacks": ["dependency"]}}])["attribute_inference"]


def test_a_region_that_its_town_gives_away_is_known_and_a_sex_is_not() -> None:
    original, masked = files(10)
    found = measured(original, masked)
    results = {each.variable: each for each in mw.attack(masked, original, ["dependency"])}
    assert found.value == 100.0
    assert found.per_variable == {name: 100 * each.certain / each.hidden for name, each in results.items()}
    assert found.per_variable.get("sex", 0.0) == 0.0
    claims, right = (sum(getattr(each, what) for each in results.values()) for what in ("claims", "right"))
    assert (found.parts["dependency_claims"], found.parts["dependency_right"]) == (claims, right)
    assert found.parts["dependency_precision"] == pytest.approx(100 * right / claims)
    assert "would be sure of 90 of the 90 cells of region" in found.sentence


def test_without_the_town_nothing_is_known() -> None:
    original, masked = files(10)
    found = measured(original.drop(columns="town"), masked.drop(columns="town"))
    assert found.value == 0.0
    assert found.sentence.startswith("None of these attacks")


def test_where_nothing_is_hidden_nothing_can_be_inferred() -> None:
    original, _ = files(10)
    found = measured(original, original)
    assert (found.value, found.parts["dependency_claims"]) == (0.0, 0.0)
    assert found.notes == (
        "attacks: dependency; an intruder is sure from 90 % on",
        "no attack names a cell that the release does not show",
    )


def test_an_unknown_attack_is_named() -> None:
    original, masked = files(10)
    with pytest.raises(mw.MaskwrightError, match="did you mean 'learned'"):
        mw.measure(original, masked, [{"attribute_inference": {"attacks": ["learnt"]}}])
