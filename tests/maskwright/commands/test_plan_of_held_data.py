"""A plan of data that a program holds is the plan of the file, whatever the file and its declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.demo.files import write_demo
from maskwright.commands.running import cost_estimates
from maskwright.pipeline.reading import read_pipeline

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """\
maskwright: 1
data:
  source: {source}
  {more}
  variables: {{{variables}}}
edits: ['{rule}']
protect: [{{method: microaggregation, params: {{k: 3}}}}]
on_input_violation: mask
output: {{data: masked.csv}}
seed: 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = np.random.default_rng(3)
    pay, town = draw.integers(0, 900, 60) / 10, draw.choice(["Vic", "Olot"], 60)
    frame = pd.DataFrame({"id": range(100, 160), "age": draw.integers(20, 70, 60), "pay": pay, "town": town})
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    # Once the numbers of `id` are left out, all is text, and numbers are looked for in it.
    frame[["id"]].assign(age=frame["age"].astype(str), pay=frame["pay"].astype(str)).to_parquet(
        tmp_path / "text.parquet"
    )
    gaps = frame.assign(pay=frame["pay"].where(frame["age"] > 30))
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("source", ["data.csv", "data.parquet", "text.parquet", "gaps.csv"])
@pytest.mark.parametrize(
    ("variables", "more", "rule"),
    [
        ("", "", "age >= 0"),
        ("id: {role: identifier}", "", "age >= 0"),
        ("id: {role: identifier}, age: {role: quasi_identifier}", "", "id > 0"),
        ("id: {role: identifier}, age: {type: integer, min: 0}, pay: {type: continuous, decimals: 1}", "", "pay >= 0"),
        ("age: {role: quasi_identifier}", "cluster: id", "age >= 0"),
    ],
)
def test_it_is_the_plan_of_the_file(folder: Path, source: str, variables: str, more: str, rule: str) -> None:
    pipeline = folder / "pipeline.yaml"
    pipeline.write_text(PIPELINE.format(source=source, variables=variables, more=more, rule=rule), "utf-8")
    held = mw.pipeline_data(pipeline)
    assert _plan(pipeline, held) == _plan(pipeline, None)


def _plan(pipeline: Path, held: mw.Dataset | None) -> object:
    try:
        return mw.plan_pipeline(pipeline, data=held)
    except mw.MaskwrightError as error:
        return [str(each) for each in error.problems]


def test_held_data_are_not_read_again(folder: Path) -> None:
    pipeline = folder / "pipeline.yaml"
    settings = {"source": "data.csv", "variables": "id: {role: identifier}", "more": "", "rule": "age >= 0"}
    pipeline.write_text(PIPELINE.format(**settings), "utf-8")
    held, expected = mw.pipeline_data(pipeline), mw.plan_pipeline(pipeline)
    (folder / "data.csv").write_text("id,age,pay,town\n", "utf-8")
    assert mw.plan_pipeline(pipeline, data=held) == expected


def test_the_beginning_of_xml_tells_how_many_records_it_has(tmp_path: Path) -> None:
    """The file had been looked at to its end by then, so that its first records counted for two fifths of it."""
    files = write_demo(tmp_path, 40_000)
    found, columns = cost_estimates.shape_of(read_pipeline(files.pipeline).data)
    assert found == pytest.approx(40_000, rel=0.05)
    assert columns == 17
