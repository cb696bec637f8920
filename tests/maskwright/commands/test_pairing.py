"""Files that are paired in order, and seem to be in another one, are said to be so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"id": np.arange(n), "region": rng.choice(["north", "south", "west"], n)})
    return frame.assign(sex=rng.choice(["f", "m"], n), wages=rng.lognormal(7, 1, n).round(), same=1)


def masked(frame: pd.DataFrame) -> pd.DataFrame:
    changed = frame.assign(wages=(frame.wages / 50).round() * 50)
    changed.loc[:3, "region"] = None
    return changed


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What a command says of two files on standard error."""
    monkeypatch.chdir(tmp_path)

    def run(original: pd.DataFrame, release: pd.DataFrame, *more: str) -> list[str]:
        original.to_csv("original.csv", index=False)
        release.to_csv("release.csv", index=False)
        found = []
        for command in (
            ["measure", "original.csv", "release.csv", "--measure", "sse"],
            ["attack", "release.csv", "--original", "original.csv"],
        ):
            assert main([*command, *more]) in (0, 1)
            found.append(" ".join(capsys.readouterr().err.split()))
        return found

    return run


def test_another_order_is_said_by_both_commands(said) -> None:
    frame = people().drop(columns="id")
    for text in said(frame, masked(frame).sample(frac=1, random_state=1)):
        assert "records are paired in order, and both files have the values of region in other records" in text
        assert "--key" in text


def test_the_same_order_and_a_key_are_not(said) -> None:
    frame = people()
    assert not any(
        "paired in order" in text for text in said(frame.drop(columns="id"), masked(frame.drop(columns="id")))
    )
    shuffled = masked(frame).sample(frac=1, random_state=1)
    assert not any("paired in order" in text for text in said(frame, shuffled, "--key", "id"))


def test_a_swapped_variable_is_no_other_order_where_another_is_in_its_place(said) -> None:
    frame = people().drop(columns="id")
    swapped = frame.assign(wages=np.roll(frame.wages, 1), sex=np.roll(frame.sex, 1))
    assert not any("paired in order" in text for text in said(frame, swapped))


def test_few_records_and_other_values_say_nothing(said) -> None:
    few = people(10).drop(columns="id")
    assert not any("paired in order" in text for text in said(few, few.iloc[::-1]))
    frame = people()[["wages", "same"]]
    assert not any(
        "paired in order" in text for text in said(frame, frame.assign(wages=frame.wages[::-1].to_numpy() + 7))
    )


def test_python_says_it_to_its_reporter(caplog: pytest.LogCaptureFixture) -> None:
    frame = people().drop(columns="id")
    with caplog.at_level("INFO", "maskwright"):
        mw.measure(frame, frame.iloc[::-1].reset_index(drop=True), ["sse"])
    assert "paired in order" in caplog.text
