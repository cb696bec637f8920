"""Whole numbers beyond 2**53: codes with all their digits, or refused, never rounded without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("beyond", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
@pytest.mark.parametrize("form", ["csv", "int64", "decimal", "frame", "objects"])
def test_whole_numbers_beyond_binary64_are_codes_or_refused(tmp_path: Path, beyond: int, form: str) -> None:
    """Declared a number, an int64 or a decimal of Parquet was rounded, with a note."""
    codes = [str(beyond), "5"]
    stated = {"a": {"type": "integer"}}
    if form in ("frame", "objects"):
        cells = pd.Series([beyond, 5], dtype="int64" if form == "frame" else object)
        frame = pd.DataFrame({"a": cells, "n": [1, 2]})
        assert mw.validate(frame, [f'a in {{"{beyond}", "5"}}']).ok
        with pytest.raises(mw.DataError, match=r"1 of 2 cells have more digits than a number can hold \(record 1\)"):
            mw.validate(frame, ["n > 0"], declared=stated)
        return
    path = tmp_path / ("a.csv" if form == "csv" else "a.parquet")
    if form == "csv":
        path.write_text(f"a,n\n{beyond},1\n5,2\n", encoding="utf-8")
    else:
        kind = pa.int64() if form == "int64" else pa.decimal128(38, 0)
        pq.write_table(pa.table({"a": pa.array([beyond, 5], pa.int64()).cast(kind), "n": [1, 2]}), path)
    variable = mw.read(path)["a"].variable
    assert (variable.type, sorted(variable.categories)) == ("nominal", sorted(codes))
    with pytest.raises(mw.DataError, match=r"1 of 2 cells have more digits than a number can hold \(record 1\)"):
        mw.read(path, variables=stated)
    assert mw.read(path, variables={"a": {"type": "continuous"}})["a"].variable.type == "continuous"
