"""k counts what is published: each missing code is a value of its own, and records of other strata are no help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest
import yaml

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

RARE = {"doubt": "promise-not-kept", "step": 1, "because": "made up"}


def _written(folder: Path, refused: int, empty: int, **params: object) -> Path:
    """40 records; `a` is -9 in some, and empty in others."""
    rows = []
    for number in range(40):
        # Both kinds of missing cells lie among each other.
        kind = "-9" if number % 2 else ""
        few = number // 2 < (refused if number % 2 else empty)
        rows.append(f"{kind if few else 100 + number},{200 + 2 * number}")
    rows = [rows[7 * place % 40] for place in range(40)]
    (folder / "in.csv").write_text("\n".join(["a,b", *rows]) + "\n", encoding="utf-8")
    pipeline = {
        "maskwright": 1,
        "data": {"source": "in.csv", "variables": {"a": {"missing": [-9]}}},
        "protect": [{"method": "microaggregation", "params": {"k": 5, **params}}],
        "output": {"data": "out.csv"},
        "seed": 1,
    }
    path = folder / "p.yaml"
    path.write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    return path


def _sizes(path: Path) -> pd.Series:
    published = pd.read_csv(path, dtype=str, keep_default_na=False)
    return published.groupby(["a", "b"]).size()


def test_two_missing_codes_that_are_rare_each_stop_the_release(tmp_path: Path) -> None:
    """Six cells are missing, four with a code and two without: neither is shared by five."""
    with pytest.raises(mw.OpenDoubts, match=r"W304 promise-not-kept: step 1: .* 6 records have cells missing"):
        mw.run(_written(tmp_path, 4, 2))
    assert not (tmp_path / "out.csv").exists()


def test_the_rare_one_of_two_missing_codes_stops_the_release(tmp_path: Path) -> None:
    with pytest.raises(mw.OpenDoubts, match=r"W304 promise-not-kept: step 1: .* 2 records have cells missing"):
        mw.run(_written(tmp_path, 6, 2))


def test_missing_codes_that_k_records_share_are_masked_apart(tmp_path: Path) -> None:
    """In the file as anyone reads it, where a code and an empty cell are told apart, k holds."""
    assert mw.run(_written(tmp_path, 7, 8)).ok
    assert _sizes(tmp_path / "out.csv").min() >= 5


def test_rare_missing_codes_are_only_told_where_k_is_reported(tmp_path: Path) -> None:
    result = mw.run(_written(tmp_path, 4, 2, k_guarantee="report"))
    assert result.ok
    assert _sizes(tmp_path / "out.csv").min() < 5


def _strata(*, some: int) -> pd.DataFrame:
    """Of 60 records, 10 of kind 3; y is missing in 20 of the others, and in some of kind 3."""
    frame = pd.DataFrame({"kind": [3] * 10 + [1] * 50, "x": range(60), "y": [0] * 10 + list(range(50))})
    frame["y"] = frame["y"].astype(float)
    frame.loc[10:29, "y"] = float("nan")
    frame.loc[: some - 1, "y"] = float("nan")
    return frame.sample(frac=1, random_state=1, ignore_index=True)


def _masked(frame: pd.DataFrame, **options: object) -> pd.DataFrame:
    declared = {"kind": {"role": "other"}, "x": {"decimals": 0}, "y": {"decimals": 0}}
    return mw.protect(
        frame, "microaggregation", edits=["if kind == 3 then y == 0"], seed=1, groups=[["x", "y"]], params={"k": 5},
        declared=declared, **options,
    )  # fmt: skip


def test_a_pattern_that_is_rare_in_its_stratum_joins_one_with_the_same_cells_missing() -> None:
    """Two records of a kind lack y; 20 of another kind lack it too, and are masked with them."""
    published = _masked(_strata(some=2))
    assert published.groupby(["x", "y"], dropna=False).size().min() >= 5


def test_a_pattern_that_k_records_of_its_stratum_share_is_no_doubt() -> None:
    published = _masked(_strata(some=5))
    assert published.groupby(["x", "y"], dropna=False).size().min() >= 5
