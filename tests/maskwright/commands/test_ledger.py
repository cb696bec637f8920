"""The ledger of a run: counts of what was moved are true, and each row is counted once."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

PIPELINE = """
maskwright: 1
data: {source: d.csv}
edits:
  - a + b = t
  - {rule: a >= 1.4, name: least}
  - {rule: 'c in [0, 300]', name: between}
protect: [{method: fuzzy_microaggregation, params: {k: 3, group_size: all}}]
output: {data: m.csv, record: run.json}
seed: 3
"""


def _write(folder) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.gamma(1, 100, 600).round() for name in "abc"})
    frame["t"] = frame["a"] + frame["b"]
    frame.astype(int).to_csv(folder / "d.csv", index=False)
    (folder / "p.yaml").write_text(PIPELINE, encoding="utf-8")


@pytest.mark.waived("edit-may-be-wrong")
def test_what_rounding_would_take_off_an_edit_counts_as_adjusted(tmp_path) -> None:
    """Centroids lie on the bound 1.4; rounded they would be 1: they become 2, for the sake of the edit."""
    _write(tmp_path)
    record = mw.run(tmp_path / "p.yaml").record
    rows = {row["name"]: row for row in record["edits"]}
    assert rows["least"]["adjusted"] > 0
    assert rows["between"]["adjusted"] == 0
    masked = pd.read_csv(tmp_path / "m.csv")
    assert rows["least"]["adjusted"] <= int((masked["a"] == 2).sum())


@pytest.mark.waived("edit-may-be-wrong")
def test_representatives_are_counted_once_though_edits_join_them_in_several_sets(tmp_path, capsys) -> None:
    _write(tmp_path)
    assert main(["run", str(tmp_path / "p.yaml")]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    (moved,) = record["moved"]
    units = record["adjustment"]
    assert [unit["rows"] for unit in units] == [moved["rows"]] * 2
    assert max(unit["moved"] for unit in units) <= moved["moved"] <= sum(unit["moved"] for unit in units)
    said = " ".join(capsys.readouterr().out.split())
    assert f"moved onto edits: {moved['moved']} of {moved['rows']} representatives" in said
    assert "adjustment, not needed" in said


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
def test_a_record_in_several_sets_is_counted_once(tmp_path) -> None:
    _write(tmp_path)
    record = mw.run(tmp_path / "p.yaml", {"protect.0": {"method": "additive_noise", "params": {"p": 1}}}).record
    (moved,) = record["moved"]
    assert moved["acting_on"] == "records"
    assert moved["rows"] == 600
    adjusted = [row["adjusted"] for row in record["edits"]]
    assert max(adjusted) <= moved["moved"] <= 600
