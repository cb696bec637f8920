"""Texts that a spreadsheet would run: counted, escaped where nobody reads them, and read back as they were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from maskwright.cli.main import main
from maskwright.data.dataset import Column, Dataset
from maskwright.data.variable import Variable
from maskwright.edits.edit_set import EditSet
from maskwright.release.output_format import escaped, unescaped

if TYPE_CHECKING:
    from pathlib import Path

CELLS = ["=1+1", "+49 171", "@x", "-x", "\tx", "-5", "-", "x=1", "'=q", "ok"]
FORMULAS = 5
COUNTED = "note: 20 cells begin like a formula, which a spreadsheet would run"


def _run(folder: Path, output: str, edits: str = "", ending: str = "csv") -> tuple[list[str], list[str], dict]:
    data = pd.DataFrame({"wage": np.random.default_rng(1).integers(1, 900, 40), "note": CELLS * 4})
    data.to_csv(folder / "in.csv", index=False)
    (folder / "pipeline.yaml").write_text(
        f"""
maskwright: 1
data: {{source: in.csv, variables: {{note: {{role: other}}}}}}
edits: [wage > -9999{edits}]
protect: [{{method: additive_noise, params: {{p: 0.2}}}}]
output: {{data: out.{ending}, record: run.json{output}}}
seed: 1
""",
        encoding="utf-8",
    )
    assert main(["run", str(folder / "pipeline.yaml"), "--quiet"]) == 0
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    out = pd.read_csv(folder / "out.csv", keep_default_na=False)["note"].tolist() if ending == "csv" else []
    return (
        out[: len(CELLS)],
        [each for each in [each["message"] for each in record["notices"]] if "formula" in each],
        record,
    )


def test_they_are_counted_and_kept(tmp_path: Path) -> None:
    """Numbers, a sign alone and an equals sign elsewhere are none."""
    out, notices, _ = _run(tmp_path, "")
    assert out == CELLS
    assert notices == [f"{COUNTED}; `output: {{formulas: escape}}` puts an apostrophe before each"]


def test_they_are_escaped_and_still_the_same_for_the_last_look(tmp_path: Path) -> None:
    """Nothing but them changes, and no cell counts as masked for its apostrophe."""
    out, notices, record = _run(tmp_path, ", formulas: escape")
    assert out == [f"'{cell}" for cell in CELLS[:FORMULAS]] + CELLS[FORMULAS:]
    assert notices == [f"{COUNTED}; an apostrophe is put before each"]
    assert {each["name"]: each["unchanged"] for each in record["variables"]}["note"] == 100


def test_what_an_edit_reads_stays_as_it_is(tmp_path: Path) -> None:
    """With an apostrophe the value would not be one of the original."""
    out, notices, record = _run(tmp_path, ", formulas: escape", ", {rule: note in original, name: known}")
    assert out == CELLS
    assert notices == [f"{COUNTED}; they stay as they are, since edits read them (known)"]
    assert [each["violations"] for each in record["edits"]] == [0, 0]


def test_formats_that_no_spreadsheet_opens_have_no_formulas(tmp_path: Path) -> None:
    """A text in Parquet is a text."""
    assert _run(tmp_path, ", formulas: escape", ending="parquet")[1] == []


def test_another_word_is_a_mistake(tmp_path: Path, capsys) -> None:
    """With the words that there are."""
    with pytest.raises(AssertionError):
        _run(tmp_path, ", formulas: remove")
    assert "'keep' or 'escape'" in capsys.readouterr().err


def test_unescaped_is_as_it_was() -> None:
    """Whatever the categories, those with an apostrophe of their own too."""
    codes = np.arange(len(CELLS), dtype=np.int32)
    column = Column(Variable("note", "nominal", "other", categories=tuple(CELLS)), codes, codes < 0)
    data = escaped(Dataset((column,)), EditSet())
    assert data["note"].variable.categories != tuple(CELLS)
    again = unescaped(data, EditSet(), Dataset((column,)))
    assert again["note"].variable.categories == tuple(CELLS)
