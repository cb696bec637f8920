"""Random tables written by pyreadstat, read and written again: every cell is as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.plugins.registry import find_source
from maskwright.release.data_file import write_dataset

RECORDS = 5
NUMBERS = st.one_of(
    st.none(),
    st.integers(-(2**31) + 1, 2**31 - 100).map(float),
    st.decimals(-10_000, 10_000, places=2).map(float),
    st.floats(-1e60, 1e60, allow_nan=False).filter(lambda number: number == 0 or abs(number) > 1e-60),
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), max_size=12)
LETTERS = st.one_of(NUMBERS, st.sampled_from("abz"))


def columns(cells: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Columns of so many cells, of which one at least is there."""
    return st.lists(cells, min_size=RECORDS, max_size=RECORDS)


def held(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Cells, with nothing where nothing is."""
    return {name: [None if cell != cell else cell for cell in frame[name].tolist()] for name in frame}  # noqa: PLR0124


def is_alike(before: list[Any], after: list[Any]) -> bool:
    """Equal, but for a column that is read as decimals up to rounding of binary arithmetic."""
    numbers = [abs(cell) for cell in before if isinstance(cell, float)]
    farthest = max(numbers, default=0.0) * 2.0**-42
    return all(
        one == other or (isinstance(one, float) and isinstance(other, float) and abs(one - other) <= farthest)
        for one, other in zip(before, after, strict=True)
    )


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
@given(numbers=columns(NUMBERS), texts=columns(TEXTS), letters=columns(LETTERS), days=columns(NUMBERS))
def test_untouched_cells_are_equal(
    ending: str, numbers: list[Any], texts: list[Any], letters: list[Any], days: list[Any]
) -> None:
    """Numbers to the last digit, texts, letters of Stata, and dates of whatever number."""
    frame = pd.DataFrame({"a": pd.Series(numbers, dtype=float), "b": texts, "d": pd.Series(days, dtype=float)})
    dates = {"sav": "DATETIME20", "zsav": "DATE11", "dta": "%td", "xpt": "DATETIME20."}
    options: dict[str, Any] = {"variable_format": {"d": dates[ending]}}
    write: Any = {"dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}.get(ending, pyreadstat.write_sav)
    read: Any = {"dta": pyreadstat.read_dta, "xpt": pyreadstat.read_xport}.get(ending, pyreadstat.read_sav)
    if ending == "dta":
        frame["c"] = pd.Series([np.nan if each is None else each for each in letters], dtype=object)
        options["missing_user_values"] = {"c": ["a", "b", "z"]}
    if ending == "zsav":
        options["compress"] = True
    told: dict[str, Any] = {"disable_datetime_conversion": True} | ({} if ending == "xpt" else {"user_missing": True})
    with tempfile.TemporaryDirectory() as folder:
        source, again = Path(folder) / f"in.{ending}", Path(folder) / f"out.{ending}"
        write(frame, str(source), **options)
        data = mw.read(source)
        write_dataset(data, again, find_source(again), data)
        before, after = read(str(source), **told)[0], read(str(again), **told)[0]
    found, expected = held(after), held(before)
    assert found.keys() == expected.keys()
    assert [name for name in found if not is_alike(expected[name], found[name])] == []
