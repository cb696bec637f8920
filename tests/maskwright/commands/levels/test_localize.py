"""Fields to change in groups and their members: known answers, both doors, and what is not localised."""

from __future__ import annotations

import json
from itertools import combinations, product
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = {
    "household": {"key": "hhid"},
    "person": {"key": "pno", "in": "household", "pointers": {"mother": "pno"}},
}


def linked(persons: list[tuple[int, int, int, int, int]], totals: dict[int, int]) -> mw.LinkedData:
    """Household, number, age, income and mother of each person; totals of the households."""
    households = pd.DataFrame({"hhid": list(totals), "total": list(totals.values())})
    columns = ["hhid", "pno", "age", "income", "mother"]
    return mw.linked_data({"household": households, "person": pd.DataFrame(persons, columns=columns)}, LEVELS)


def fields(found: mw.Localisation) -> dict[int, list[str]]:
    several: dict[int, list[str]] = {}
    for record, variable in found.fields.itertuples(index=False):
        several.setdefault(int(record), []).append(variable)
    return several


def test_the_cheapest_cell_of_whichever_record() -> None:
    data = linked(
        [(1, 1, 40, 5, 0), (1, 2, 5, 3, 1), (2, 1, 30, 7, 0), (2, 2, 31, 2, 1), (3, 1, 50, 4, 0)],
        {1: 5, 2: 9, 3: 6},
    )
    rules = ["sum(person.income) == total", "if age < 16 then income == 0", "mother.age - age >= 14"]
    found = mw.localize(data, rules)
    assert fields(found) == {1: ["income[2]"], 2: ["age[1]"], 3: ["total"]}
    assert (found.level, found.records, found.located) == ("household", 3, 3)
    assert fields(mw.localize(data, rules, weights={"total": 5})) == {
        1: ["income[2]"], 2: ["age[1]"], 3: ["income[1]"],
    }  # fmt: skip


RULES = ["sum(person.income) == total", "sum(person.income where age < 16) == 0", "count(person where age >= 16) >= 1"]
DOMAIN = ["income in {0, 1, 2}", "age in {10, 20}", "total in {0, 1, 2, 3}"]


@pytest.mark.parametrize("seed", range(6))
def test_as_few_fields_as_trying_all_of_them(seed: int) -> None:
    import numpy as np

    rng = np.random.default_rng(seed)
    persons = [(1, number, int(rng.choice([10, 20])), int(rng.integers(0, 3)), 0) for number in (1, 2)]
    total = int(rng.integers(0, 4))
    found = mw.localize(linked(persons, {1: total}), [*RULES, *DOMAIN])
    cells = [("age", 1), ("income", 1), ("age", 2), ("income", 2), ("total", 0)]
    start = [persons[0][2], persons[0][3], persons[1][2], persons[1][3], total]

    def holds(values: list[int]) -> bool:
        one, first, other, second, sums = values
        children = (first if one < 16 else 0) + (second if other < 16 else 0)
        return first + second == sums and children == 0 and max(one, other) >= 16

    ranges = {"age": (10, 20), "income": (0, 1, 2), "total": (0, 1, 2, 3)}
    for size in range(len(cells) + 1):
        mended = [
            places for places in combinations(range(len(cells)), size)
            if any(holds([dict(zip(places, values, strict=True)).get(place, start[place]) for place in range(5)])
                   for values in product(*(ranges[cells[place][0]] for place in places)))
        ]  # fmt: skip
        if mended:
            break
    assert len(found.fields) == size


def test_large_groups_and_pointers_to_nobody_are_told() -> None:
    persons = [(1, number, 40, 1, 0) for number in range(1, 10)] + [(2, 1, 30, 7, 5)]
    found = mw.localize(linked(persons, {1: 5, 2: 7}), ["sum(person.income) == total"])
    assert fields(found) == {2: ["mother[1]"]}
    (why,) = found.obstacles
    assert why == "more than 8 members: look at the edits of the household and of each person apart"


COUPLES = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household", "pointers": {"spouse": "pno"}}}


@pytest.mark.parametrize("numbers", [(1, 2, 3), ("A", "B", "C")])
def test_two_who_name_one_spouse_are_mended_by_a_pointer_and_not_by_a_key(numbers: tuple[int | str, ...]) -> None:
    first, _, third = numbers
    nobody = 0 if first == 1 else "0"
    persons = pd.DataFrame({"hhid": [1, 1, 1], "pno": numbers, "spouse": [third, third, first]})
    found = mw.localize(
        mw.linked_data({"household": pd.DataFrame({"hhid": [1]}), "person": persons}, COUPLES), ["spouse.spouse == pno"]
    )
    assert fields(found) == {1: ["spouse[2]"]}
    assert found.found[0].proven
    assert found.found[0].values["spouse[2]"] == nobody


def test_the_pointer_where_both_ages_are_trusted() -> None:
    data = linked([(1, 1, 30, 0, 0), (1, 2, 31, 0, 1), (1, 3, 60, 0, 0)], {1: 0})
    found = mw.localize(data, ["mother.age - age >= 14"], weights={"age": 5})
    assert fields(found) == {1: ["mother[2]"]}
    assert fields(mw.localize(data, ["mother.age - age >= 14", "if age < 40 then mother >= 1"])) == {1: ["age[1]"]}


def test_a_key_where_a_rule_is_about_keys() -> None:
    data = linked([(1, 1, 30, 0, 0), (1, 7, 3, 0, 1)], {1: 0})
    assert fields(mw.localize(data, ["max(person.pno) <= 6"])) == {1: ["pno[2]"]}


def test_both_forms_and_both_doors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_levels_demo(tmp_path, 800)
    edits = ["--edits", str(tmp_path / "edits.yaml"), "--json", "--pipeline"]
    flat, households, persons = (str(tmp_path / f"{name}.csv") for name in ("survey", "households", "persons"))
    answers = []
    for files, pipeline in (([flat], "flat"), ([households, persons], "linked")):
        assert main(["localize", *files, *edits, str(tmp_path / f"{pipeline}.yaml")]) == 1
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["fields"] == answers[1]["fields"]
    assert (answers[0]["level"], answers[0]["violating"], answers[0]["localised"]) == ("household", 7, 7)
    tables = {"household": pd.read_csv(households), "person": pd.read_csv(persons)}
    levels = {
        "household": {"key": "hhid"},
        "person": {**LEVELS["person"], "pointers": {"spouse": "pno", "mother": "pno"}},
    }
    declared = {"region": {"role": "quasi_identifier"}, "sex": {"type": "nominal"}}
    found = mw.localize(mw.linked_data(tables, levels, declared=declared), mw.read_edits(tmp_path / "edits.yaml"))
    assert found.to_json()["fields"] == answers[0]["fields"]


def test_declarations_of_either_table(tmp_path: Path) -> None:
    data = {
        "household": pd.DataFrame({"hhid": [1], "region": [3]}),
        "person": pd.DataFrame({"hhid": [1], "pno": [1], "sex": [2]}),
    }
    levels = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household"}}
    found = mw.linked_data(data, levels, declared={"region": {"type": "nominal"}, "sex": {"type": "nominal"}})
    assert [found["household"].data["region"].variable.type, found["person"].data["sex"].variable.type] == [
        "nominal"
    ] * 2
    with pytest.raises(mw.InputError, match="argument declared: no variable called 'regon'; did you mean 'region'"):
        mw.linked_data(data, levels, declared={"regon": {"type": "nominal"}})
