"""What determines what in a file: labels, households, pairs; not what holds by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskwright.data.dependencies import Dependencies, determines
from maskwright.data.frames import dataset_from_frame


def found(frame: pd.DataFrame, name: str) -> list[str]:
    """What determines a variable, in words."""
    return [str(each) for each in Dependencies(dataset_from_frame(frame), list(frame.columns)).of(name)]


@pytest.mark.parametrize("n", [60, 3_000, 60_000])
def test_labels_counts_and_pairs_are_found_in_files_of_any_size(n: int) -> None:
    """Also in files so large that pairs are tried on a sample first."""
    rng = np.random.default_rng(n)
    home = np.sort(rng.integers(0, n // 3, n))
    frame = pd.DataFrame({"home": home, "code": rng.integers(0, 6, n), "one": rng.integers(0, 3, n)})
    frame["label"] = frame["code"].map(dict(enumerate("AABBCD")))
    frame["size"] = frame.groupby("home")["home"].transform("size")
    frame["two"] = rng.integers(0, 3, n)
    frame["both"] = 3 * frame["one"] + frame["two"]
    frame["other"] = rng.integers(0, 4, n)
    assert found(frame, "label") == ["code"]
    assert found(frame, "code") == []
    assert {"home", "the number of records with the same home"} <= set(found(frame, "size"))
    assert found(frame, "both") == ["one and two"]
    assert found(frame, "other") == []


def test_few_exceptions_are_no_hindrance_and_many_are() -> None:
    """Up to 5 % of what chance would leave."""
    given = np.repeat(np.arange(100), 50)
    rng = np.random.default_rng(1)
    for share, expected in ((0.0, True), (0.03, True), (0.08, False), (1.0, False)):
        value = np.where(rng.random(len(given)) < share, rng.integers(0, 4, len(given)), given % 4)
        assert determines(given, value) is expected


def test_chance_is_no_dependency() -> None:
    """Random files: of 100 with twelve records, and of 20 with 500, one in a hundred at most has any."""
    rng = np.random.default_rng(7)
    for files, n in ((100, 12), (20, 500)):
        some = 0
        for _ in range(files):
            frame = pd.DataFrame(
                {name: rng.integers(0, q, n) for name, q in zip("abcde", (2, 3, 5, n // 2, 9), strict=True)}
            )
            some += any(found(frame, name) for name in frame.columns)
        assert some <= files / 100


def test_values_of_one_record_say_nothing() -> None:
    """A serial number determines everything and gives nothing away: no other record has it."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"serial": np.arange(200), "flag": (np.arange(200) == 0), "a": rng.integers(0, 4, 200)})
    assert found(frame.astype(int), "a") == []
