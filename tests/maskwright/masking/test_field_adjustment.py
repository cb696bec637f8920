"""Exactly the located fields are adjusted, and a pipeline that localises."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.localisation.localize import localize
from maskwright.masking.field_adjustment import adjust_fields

RULES = [
    "wages + other == total",
    "wages in [0, 9000]",
    "other >= 0",
    "hours * rate == wages",
    "hours in [1, 60]",
    "rate >= 1",
    "if sex == 'M' then births == 0",
    "births in [0, 20]",
    "sex in {M, F}",
]


def survey(n: int, share: float) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    hours, rate = rng.integers(10, 50, n), rng.integers(8, 60, n)
    sex = rng.choice(["M", "F"], n)
    frame = pd.DataFrame({"hours": hours, "rate": rate, "wages": hours * rate, "other": rng.integers(0, 900, n)})
    frame["total"] = frame["wages"] + frame["other"]
    frame["births"] = np.where(sex == "F", rng.integers(0, 4, n), 0)
    frame["sex"] = sex
    for name in ("hours", "wages", "other", "total", "births"):
        hit = rng.random(n) < share
        frame.loc[hit, name] = frame.loc[hit, name] * 10 + rng.integers(-3, 4, int(hit.sum()))
    frame.loc[rng.random(n) < share, "sex"] = "Z"
    return frame


def mended(frame, rules=RULES, **declared):
    data = dataset_from_frame(frame, {name: VariableDeclaration(**each) for name, each in declared.items()})
    edits = EditSet.parse(rules)
    domain = Domain.from_dataset(data, domain_tuples(edits))
    found = localize(data, edits)
    return data, edits, found, adjust_fields(data, edits, found, domain)


def test_only_located_fields_change_and_every_edit_holds():
    frame = survey(400, 0.05)
    data, edits, found, done = mended(frame)
    assert len(found.found) > 60
    assert done.left == 0
    assert done.mended == found.located == len(found.found)
    assert check_dataset(done.data, edits).ok
    after = done.data.to_pandas()
    located = {int(number): each.fields for number, each in zip(found.numbers, found.found, strict=True)}
    for name in frame.columns:
        changed = frame[name].to_numpy() != after[name].astype(frame[name].dtype).to_numpy()
        allowed = np.array([name in located.get(row + 1, ()) for row in range(len(frame))])
        assert not np.any(changed & ~allowed)
        assert done.adjusted.get(name, 0) == int(changed.sum())
    assert list(data.to_pandas()["total"]) == list(frame["total"]), "the input is left as it is"


def test_missing_cells_stay_missing():
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0], "b": [1.0, 2.0, 3.0], "c": [5.0, 2.0, 5.0], "d": [1.0, 9.0, 1.0]})
    _, edits, _, done = mended(
        frame, ["a + b == c", "d <= 5", "a >= 0", "b >= 0"], **{name: {"decimals": 0} for name in "abcd"}
    )
    assert check_dataset(done.data, edits).ok
    assert done.data["a"].missing.tolist() == [False, True, False]
    assert done.filled == {}
    assert done.mended == 2


SCHEMATRON = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="sum"><rule context="R">
<assert test="number(a) + number(b) = number(c)"/></rule></pattern></schema>"""


def test_missing_operands_of_xpath_rules_are_filled(tmp_path):
    (tmp_path / "rules.sch").write_text(SCHEMATRON, encoding="utf-8")
    edits = mw.read_edits(tmp_path / "rules.sch")
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [1.0, 2.0], "c": [2.0, 9.0]})
    data = dataset_from_frame(frame, {name: VariableDeclaration(decimals=0) for name in "abc"})
    found = localize(data, edits)
    assert [each.fields for each in found.found] == [()]
    done = adjust_fields(data, edits, found)
    assert done.filled == {"a": 1}
    assert done.adjusted == {}
    assert done.data["a"].values.tolist() == [1.0, 7.0]


PIPELINE = """\
maskwright: 1
data: {{source: survey.csv, variables: {{total: {{reliability: {trust}}}}}}}
edits:
  - wages + other == total
  - wages in [0, 9000]
  - other >= 0
on_input_violation: {how}
protect: [{{method: microaggregation, params: {{k: 3}}}}]
output: {{data: masked.csv, record: run.json}}
seed: 1
"""


@pytest.fixture
def folder(tmp_path):
    frame = survey(120, 0.0)[["wages", "other", "total"]]
    frame.loc[3, "total"] += 1
    frame.loc[10, "other"] = -5
    frame.to_csv(tmp_path / "survey.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("trust", [1, 9])
def test_a_pipeline_that_localises(folder, trust):
    (folder / "p.yaml").write_text(PIPELINE.format(how="localize", trust=trust), encoding="utf-8")
    result = mw.run(folder / "p.yaml")
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    found = record["localisation"]
    assert (found["violating"], found["localised"], found["mended"], found["left"]) == (2, 2, 2, 0)
    assert [each["record"] for each in found["fields"]] == [4, 11]
    assert ("total" in found["fields"][0]["variables"]) is False
    assert found["fields"][1]["variables"] == ["other"]
    assert sum(found["adjusted"].values()) == 2
    assert any("2 of 2 records" in notice["message"] for notice in record["notices"])
    assert {each["name"]: each["violations_on_arrival"] for each in record["edits"]} == {
        "edit-1": 2, "edit-2": 0, "edit-3": 1,
    }  # fmt: skip
    assert result.ok


def test_reliability_must_be_positive(folder):
    (folder / "p.yaml").write_text(PIPELINE.format(how="localize", trust=0), encoding="utf-8")
    with pytest.raises(mw.InputError, match="reliability"):
        mw.run(folder / "p.yaml")
