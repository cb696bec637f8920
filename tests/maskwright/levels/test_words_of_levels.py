"""What is said of rules, totals, measures and records of levels: the reason, and a way that works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import LevelsDemoFiles, write_levels_demo

if TYPE_CHECKING:
    from collections.abc import Callable

    Tried = Callable[..., tuple[int, str]]

TOTAL = "sum(person.income) + child_benefit + capital == total"
INCOMES = ["wages", "selfe", "pens", "bene", "income"]
ROWS = ["child_benefit", "capital", "tax", "total", "disp"]


def masks(variables: list[str], **params: Any) -> dict[str, Any]:
    return {"method": "microaggregation", "variables": variables, "params": {"k": 5, **params}}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LevelsDemoFiles:
    return write_levels_demo(tmp_path_factory.mktemp("levels"), 250)


@pytest.fixture
def tried(
    files: LevelsDemoFiles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Tried:
    """Exit code of a command on a pipeline of the demo with these changes, and what it says."""
    monkeypatch.chdir(files.edits.parent)

    def run(
        form: str = "flat", command: str = "plan", variables: dict[str, Any] | None = None, **changes: Any
    ) -> tuple[int, str]:
        stated = yaml.safe_load(Path(f"{form}.yaml").read_text(encoding="utf-8"))
        stated |= {"measure": [], "output": {"data": f"out{'.xml' if form == 'nested' else '.csv'}"}}
        stated.pop("thresholds", None)
        stated.pop("waive", None)
        stated["data"] |= changes.pop("data", {})
        stated["data"]["variables"] |= variables or {}
        stated |= changes
        # Beside the data of the demo, whose names are relative to it.
        Path(f"{tmp_path.name}.yaml").write_text(yaml.safe_dump(stated, sort_keys=False), encoding="utf-8")
        capsys.readouterr()
        code = main([command, f"{tmp_path.name}.yaml"])
        return code, " ".join("".join(capsys.readouterr()).split())

    return run


def test_a_sum_over_members_of_what_the_household_has_once(tried: Tried) -> None:
    code, said = tried(edits=["sum(person.capital where age < 16) + child_benefit == total", "max(person.area) <= 9"])
    assert code == 2
    assert "capital is a variable of household, not of each person" in said
    assert "Write capital alone; if each person is to add it once more, count(person where age < 16) * capital." in said
    assert "area is a variable of household, not of each person" in said
    assert "Write area alone." in said
    way = "count(person where age < 16) * capital >= 0"
    assert tried(edits=[way], protect=[masks(INCOMES)], variables=as_other(ROWS))[0] == 0


def as_other(names: list[str]) -> dict[str, Any]:
    return {name: {"role": "other"} for name in names}


@pytest.mark.parametrize(
    ("steps", "edits", "said"),
    [
        ([masks(ROWS, totals={"capital": "adjust"})], [TOTAL, "total - tax == disp"], "Totals here are total, disp."),
        ([masks(ROWS, totals={"tax": "derive"})], ["total - tax == disp"], "No edit gives any."),
        ([masks(ROWS, totals={"part": "adjust"})], [TOTAL], "no masked variable of the top level called 'part'"),
        ([{**masks([*ROWS, *INCOMES], totals={"total": "adjust"}), "unit": "household"}], [TOTAL],
         "a household is masked with its members, and its totals with them"),
    ],
)  # fmt: skip
def test_totals_that_are_none_are_not_passed_over(
    tried: Tried, steps: list[dict[str, Any]], edits: list[str], said: str
) -> None:
    code, found = tried(protect=steps, edits=edits)
    assert code == 2
    assert said in found


def test_totals_of_one_level_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.DataFrame({"a": range(20), "b": range(20)}).to_csv(tmp_path / "d.csv", index=False)
    stated = {"maskwright": 1, "data": {"source": "d.csv"}, "protect": [masks(["a", "b"], totals={"a": "adjust"})],
              "output": {"data": "o.csv"}}  # fmt: skip
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(stated), encoding="utf-8")
    assert main(["plan", str(tmp_path / "p.yaml")]) == 2
    assert "totals: data of one level have no totals over members" in capsys.readouterr().err


def test_a_measure_of_one_level(tried: Tried) -> None:
    code, said = tried(measure=["person.k_anonymity"])
    assert code == 2
    assert "person.k_anonymity: measures are requested without a level" in said
    way = re.search(r"`- (k_anonymity: \{.*?\})`", said)
    assert way is not None
    asked = yaml.safe_load(way[1].replace("...", "sex, age_group"))
    code, said = tried(measure=[asked], command="run")
    assert code == 0, said
    assert "person.k_anonymity_of_person" in said
    assert "household.k_anonymity_of_person" not in said
    assert "did you mean 'k_anonymity'" in tried(measure=["k_anonimity"])[1]


@pytest.mark.waived("edit-may-be-wrong")
def test_a_rule_that_reads_other_records_beside_masked_ones(tried: Tried) -> None:
    code, said = tried(edits=["income <= rent * 100"], on_input_violation="mask")
    assert code == 2
    assert "edit 'edit-1' reads household.rent of other records, which no step masks together with these" in said
    assert "mask what it reads of them as well" in said
    steps = [masks([*ROWS, "rent"]), masks(INCOMES)]
    assert tried(edits=["income <= rent * 100"], on_input_violation="mask", protect=steps)[0] == 0


@pytest.mark.parametrize("form", ["flat", "nested"])
def test_a_rule_on_an_identifier_is_told_alike_in_plan_and_validate(
    tried: Tried, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    rules = ["any(person where status == 'work' or age >= 0)", "rent >= 0"]
    hidden = {"status": {"role": "identifier"}, "rent": {"role": "identifier"}}
    code, said = tried(form, edits=rules, variables=hidden)
    assert code == 2
    Path("hidden.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    (pipeline,) = Path().glob("test_a_rule_on_an_ident*.yaml")
    data = "survey.xml" if form == "nested" else "survey.csv"
    assert main(["validate", data, "--edits", "hidden.yaml", "--pipeline", str(pipeline)]) == 0
    judged = " ".join("".join(capsys.readouterr()).split())
    pipeline.unlink()
    for name, edit in (("status", "edit-1"), ("rent", "edit-2")):
        sentence = f"edit '{edit}' reads '{name}', which is an identifier and will not be published"
        assert sentence in said
        assert sentence in judged
    # Both are about households: rent is the household's, identifier or not.
    assert re.search(r"edit-2 household", judged)


def test_a_key_that_occurs_twice_names_both_records(tried: Tried, files: LevelsDemoFiles) -> None:
    rows = pd.read_csv("survey.csv", dtype=str)
    again = [*rows.index[rows["pno"] == "2"][:2]]
    rows.loc[again, "pno"] = "1"
    rows.to_csv("twice.csv", index=False)
    code, said = tried(data={"source": "twice.csv"})
    assert code == 2
    one, other = (int(row) + 1 for row in again)
    assert f"in records {one} (first in {one - 1}), {other} (first in {other - 1})" in said


def test_who_is_the_own_spouse_breaks_the_pointer(tried: Tried, files: LevelsDemoFiles) -> None:
    rows = pd.read_csv("survey.csv", dtype=str)
    rows.loc[0, "spouse"] = rows.loc[0, "pno"]
    rows.to_csv("own.csv", index=False)
    own = {"data": {"source": "own.csv"}, "edits": ["age >= 0"]}
    code, said = tried(on_input_violation="fail", **own)
    assert code == 1
    assert "pointer: spouse within hhid: 1" in said
    code, said = tried(on_input_violation="localize", **own)
    assert code == 0, said
    assert "adjusting 1 field (spouse: 1)" in said


@pytest.mark.parametrize("edits", [["count(person) >= 1"], [{"schematron": {"file": "survey.sch"}}]])
@pytest.mark.parametrize(
    ("records", "said"),
    [
        (("Househld", "Person"), ["Did you mean 'Household'?", "Household (with elements in it), Person (with elem"]),
        (("Survey", "Person"), ["'Survey' is the root element, around all records"]),
        (("Household", "Persn"), ["Records of the lower level are <Persn>", "Is it <Person>?"]),
    ],
)
def test_records_that_are_called_otherwise(
    tried: Tried, edits: list[Any], records: tuple[str, str], said: list[str]
) -> None:
    upper, lower = ({"record": record} for record in records)
    levels = {"household": {**upper, "key": "hhid"}, "person": {**lower, "key": "pno", "in": "household"}}
    code, found = tried("nested", data={"levels": levels}, edits=edits)
    assert code == 2
    for each in said:
        assert each in found
    assert "names neither" not in found


@pytest.mark.parametrize(
    ("cell", "taken"), [("NA", "spouse: NA taken for 'no value'"), ("abc", "cells are numbers and 1 is not: correct")]
)
def test_levels_are_advised_on_where_a_cell_is_wrong(
    tried: Tried, files: LevelsDemoFiles, capsys: pytest.CaptureFixture[str], cell: str, taken: str
) -> None:
    rows = pd.read_csv("survey.csv", dtype=str)
    rows.loc[5, "spouse"] = cell
    rows.to_csv("odd.csv", index=False)
    assert main(["advise", "levels", "odd.csv", "--key", "hhid"]) == 0
    printed = capsys.readouterr()
    assert "pointers: {spouse: pno, mother: pno}" in printed.out
    assert taken in " ".join(printed.err.split())


def test_groups_are_called_as_the_pipeline_calls_them(tried: Tried) -> None:
    levels = {"firm": {"key": "hhid", "variables": ["region", "tenure", "size", "child_benefit", "capital", "total",
                                                    "tax", "disp", "hweight", "rent", "area"]},
              "plant": {"key": "pno", "in": "firm", "pointers": {"spouse": "pno", "mother": "pno"}}}  # fmt: skip
    step = {"method": "local_suppression", "variables": ["sex"], "params": {"k": 251}}
    code, said = tried(data={"levels": levels}, edits=["count(plant) >= 1"], protect=[step], command="run",
                       waive=[], variables={**as_other([*ROWS, *INCOMES]), "sex": {"role": "quasi_identifier",
                       "type": "nominal"}})  # fmt: skip
    assert code == 2, said
    assert "k = 251 is larger than the number of firm records, 250" in said
