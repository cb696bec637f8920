"""Missing codes that only some of the parts hold stay what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from parted_world import pipeline, survey

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("holding", [0, 1])
def test_codes_of_one_part_are_published_as_they_are(holding: int, tmp_path: Path) -> None:
    frame = survey(600).assign(age=7 * (np.arange(600) * 241 % 600))
    frame.loc[np.arange(holding * 300, holding * 300 + 300, 7), "age"] = -9
    (tmp_path / "in").mkdir()
    for number in range(2):
        part = frame.iloc[number * 300 : number * 300 + 300]
        part[["age", "wages", "tax", "gross"]].to_parquet(tmp_path / "in" / f"part-{number}.parquet", index=False)
    steps = [{"method": "microaggregation", "params": {"k": 3}, "groups": [["age"], ["wages", "tax", "gross"]]}]
    settings = pipeline(
        tmp_path / "in", tmp_path / "out", protect=steps, edits=["wages + tax == gross"], measure=["sse"],
        data={"source": str(tmp_path / "in"), "variables": {"age": {"missing": ["-9"]}}},
    )  # fmt: skip
    mw.run(settings)
    masked = pd.concat(pd.read_parquet(tmp_path / "out" / f"part-{number}.parquet") for number in range(2))
    assert (masked.age.to_numpy() == -9).tolist() == (frame.age.to_numpy() == -9).tolist()


def test_a_part_without_a_value_says_nothing_of_the_type(tmp_path: Path) -> None:
    frame = survey(600)[["age", "wages", "tax", "gross"]].astype({"age": "Int64"})
    frame.loc[300:, "age"] = pd.NA
    (tmp_path / "in").mkdir()
    for number in range(2):
        frame.iloc[number * 300 : number * 300 + 300].to_csv(tmp_path / "in" / f"part-{number}.csv", index=False)
    step = {"method": "microaggregation", "params": {"k": 4}, "groups": [["age"], ["wages", "tax", "gross"]]}
    settings = pipeline(
        tmp_path / "in", tmp_path / "out", protect=[step], edits=[], measure=["sse"],
        data={"source": str(tmp_path / "in")},
    )  # fmt: skip
    record = mw.run(settings).record
    said = next(each for each in record["variables"] if each["name"] == "age")
    assert (said["type"], said["decimals"]) == ("integer", 0)
    masked = pd.concat(pd.read_csv(tmp_path / "out" / f"part-{number}.csv") for number in range(2))
    assert (masked.age.dropna() % 1 == 0).all()
    assert masked.age.isna().to_numpy().tolist() == frame.age.isna().tolist()
