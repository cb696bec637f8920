"""Mistakes with levels: the same clear sentence from a pipeline file, exit code 2, nothing written, and from Python."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLDS = pd.DataFrame({"hhid": ["Qa", "Qb"], "region": ["N", "S"], "total": [31, 7]})
PERSONS = pd.DataFrame(
    {"hhid": ["Qa", "Qa", "Qb"], "pno": [1, 2, 1], "income": [11, 20, 7], "spouse": [2, 1, 0], "sex": ["F", "M", "F"]}
)
LEVELS: dict[str, dict[str, Any]] = {
    "household": {"source": "h.csv", "key": "hhid"},
    "person": {"source": "p.csv", "key": "pno", "in": "household", "pointers": {"spouse": "pno"}},
}
RULE = "count(person) >= 1"
RULES = {
    "count(persons) >= 1": "no level called 'persons'; did you mean 'person'?",
    "sum(person.incme) == total": "no variable called 'incme'; did you mean 'income'?",
    "sum(person) == total": "person is a level, and no variable",
    "sum(person.sex) == total": "sum(person.sex): sex is no number: it is nominal",
    "max(person.sex) <= 3": "max(person.sex): sex is no number: it is nominal",
    "count(person.income) == 2": "count() is about records, and person.income is a variable",
    "sum(household.total) == income": "household is the top level: its records are members of no group",
    "spose.income >= 0": "no level or pointer called 'spose'; did you mean 'spouse'?",
    "spouse.incom >= 0": "no variable called 'incom'; did you mean 'income'?",
    "household.totl >= 0": "no variable of the level household called 'totl'; did you mean 'total'?",
    "all(person where incom > 0)": "no variable called 'incom'; did you mean 'income'?",
    "sum(person.income where household.totl > 3) >= 0": "no variable of the level household called 'totl'",
    "any(person)": "any() needs a condition of the members",
    "first(person) == 1": "first() needs a variable of a level",
    "avg(person.income) >= 0": "A rule on a mean is one on a sum",
    "count(person where income > 1 where sex == 'F') == 1": "found 'where'",
}
DECLARED = [
    (("household", "key", "hid"), "level household: no variable called 'hid'; did you mean 'hhid'?"),
    (("person", "key", "pnr"), "level person: no variable called 'pnr'; did you mean 'pno'?"),
    (("person", "key", None), "the key 'key' is missing"),
    (("person", "in", "houshold"), "no level called 'houshold'; did you mean 'household'?"),
    (("person", "keey", "pno"), "no key called 'keey'; did you mean 'key'?"),
    (("person", "pointers", {"spouse": "pnr"}), "pointer spouse names 'pnr', no key of its level; did you mean 'pno'?"),
    (("person", "pointers", {"spuse": "pno"}), "no variable called 'spuse'; did you mean 'spouse'?"),
    (("person", "pointers", ["spouse"]), "pointers: expected a mapping"),
    (("person", "order", ["incme"]), "no variable called 'incme'; did you mean 'income'?"),
    (("person", "order", ["sex"]), "order: sex is neither a number nor a date"),
    (
        ("person", "incomplete", "nonresponse > 0"),
        "incomplete: no variable of the level household called 'nonresponse'",
    ),
    (("household", "in", "person"), "these are declared: household (in person), person (in household)"),
]


def told(
    folder: Path, capsys: pytest.CaptureFixture[str], levels: dict, rule: str, **tables: pd.DataFrame
) -> list[str]:
    """What the command and what Python say."""
    data = {"household": HOUSEHOLDS, "person": PERSONS} | tables
    for name, file in (("household", "h.csv"), ("person", "p.csv")):
        data[name].to_csv(folder / file, index=False)
    pipeline = {
        "maskwright": 1,
        "data": {"levels": levels, "variables": {"region": {"role": "other"}, "total": {"role": "other"}}},
        "edits": [rule],
        "protect": [{"method": "rounding", "variables": ["income"], "params": {"base": 4}}],
        "output": {"data": {name: f"out_{name}.csv" for name in levels}},
    }
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(pipeline, sort_keys=False), encoding="utf-8")
    before = sorted(folder.iterdir())
    assert main(["run", str(folder / "pipeline.yaml")]) == 2
    assert sorted(folder.iterdir()) == before
    plain = {name: {key: said for key, said in level.items() if key != "source"} for name, level in levels.items()}
    with pytest.raises(mw.InputError) as raised:
        mw.validate(mw.linked_data({name: data[name] for name in levels if name in data}, plain), [rule])
    return [" ".join(capsys.readouterr().err.split()), " ".join(str(raised.value).split())]


@pytest.mark.parametrize(("rule", "said"), RULES.items())
def test_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str, said: str) -> None:
    for each in told(tmp_path, capsys, LEVELS, rule):
        assert said in each
        assert "Qa" not in each


@pytest.mark.parametrize(("place", "said"), DECLARED, ids=str)
def test_declarations(tmp_path: Path, capsys: pytest.CaptureFixture[str], place: tuple, said: str) -> None:
    levels = deepcopy(LEVELS)
    level, key, value = place
    levels[level] = {name: each for name, each in levels[level].items() if name != key}
    if value is not None:
        levels[level][key] = value
    for each in told(tmp_path, capsys, levels, RULE):
        assert said in each


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"household": pd.concat([HOUSEHOLDS, HOUSEHOLDS[:1]])}, "the key 'hhid' of the level household occurs again"),
        ({"person": PERSONS.assign(hhid=["Qa", "Qa", "Qc"])}, "record 3 belongs to no household of"),
        ({"person": PERSONS.assign(pno=[1, 1, 1])}, "the key 'pno' of the level person occurs again within its group"),
        ({"person": PERSONS.drop(columns="hhid")}, "has no variable 'hhid', the key of the level 'household'"),
        ({"person": PERSONS.assign(total=1)}, "the levels household and person both have a variable 'total'"),
    ],
    ids=["twice", "orphan", "member twice", "no key", "two levels"],
)
def test_data(tmp_path: Path, capsys: pytest.CaptureFixture[str], tables: dict, said: str) -> None:
    for each in told(tmp_path, capsys, LEVELS, RULE, **tables):
        assert said in each


def test_two_parents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = {**LEVELS, "firm": {"source": "h.csv", "key": "region"}}
    for each in told(tmp_path, capsys, levels, RULE):
        assert "declared: household, person (in household), firm" in each


def test_arithmetic_on_a_text_of_another_record_stops_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        told(tmp_path, capsys, LEVELS, "spouse.sex + 1 == 2")  # a rule of which nothing is ever known, in Python
    assert "computes with spouse.sex, which was read as text" in " ".join(capsys.readouterr().err.split())
