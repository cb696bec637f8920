"""Every mistake of levels, by files that have only this one: told with its place, exit code 2, nothing written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Row = Sequence[object]
    Rows = list[Row]
    Failing = Callable[..., str]

HOUSEHOLDS: Rows = [("hhid", "region", "total"), ("Q1x", "N", 31), ("Q2x", "S", 7)]
PERSONS: Rows = [("hhid", "pno", "income", "spouse"), ("Q1x", 1, 11, 2), ("Q1x", 2, 20, 1), ("Q2x", 1, 7, 0)]
FLAT: Rows = [
    ("hhid", "pno", "region", "total", "income", "spouse"),
    ("Q1x", 1, "N", 31, 11, 2), ("Q1x", 2, "N", 31, 20, 1), ("Q2x", 1, "S", 7, 7, 0),
]  # fmt: skip
REST = """
  variables: {region: {role: other}, total: {role: other}}
edits: [count(person) >= 0]
protect: [{method: rounding, variables: [income], params: {base: 4}}]
"""
ONE_FILE = f"""maskwright: 1
data:
  source: flat.csv
  levels:
    household: {{key: hhid, variables: [region, total]}}
    person: {{key: pno, in: household, pointers: {{spouse: pno}}}}{REST}output: {{data: out.csv}}
"""
TWO_FILES = f"""maskwright: 1
data:
  levels:
    household: {{source: h.csv, key: hhid}}
    person: {{source: p.csv, key: pno, in: household, pointers: {{spouse: pno}}}}{REST}output: {{data: {{household: out_h.csv, person: out_p.csv}}}}
"""  # noqa: E501 - a line of YAML


def write(
    folder: Path, pipeline: str, flat: Rows = FLAT, households: Rows = HOUSEHOLDS, persons: Rows = PERSONS
) -> Path:
    for name, rows in (("flat.csv", flat), ("h.csv", households), ("p.csv", persons)):
        (folder / name).write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    (folder / "pipeline.yaml").write_text(pipeline, encoding="utf-8")
    return folder / "pipeline.yaml"


@pytest.fixture
def failing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Failing:
    """What a run says that stops with exit code 2, without a value, and without having written anything."""

    def fail(pipeline: str, **files: Rows) -> str:
        path = write(tmp_path, pipeline, **files)
        before = sorted(tmp_path.iterdir())
        assert main(["run", str(path)]) == 2
        assert sorted(tmp_path.iterdir()) == before
        said = capsys.readouterr().err
        assert "Q1x" not in said
        assert "Q2x" not in said
        return said

    return fail


def test_persons_without_a_household(failing: Failing) -> None:
    said = failing(TWO_FILES, persons=[*PERSONS, ("Q3x", 1, 5, 0), ("Q4x", 1, 5, 0)])
    assert "p.csv: records 4, 5 belong to no household of h.csv" in said
    many = [(f"Z{number}", 1, 5, 0) for number in range(14)]
    assert "records 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 4 more belong" in failing(TWO_FILES, persons=[*PERSONS, *many])


def test_an_order_of_the_whole_release(failing: Failing) -> None:
    said = failing(TWO_FILES + "release: {order: kept}\n")
    assert "each level says whether it keeps its order" in said
    assert "Write `keep_order: true` at the level" in said


def test_a_key_that_occurs_twice(failing: Failing) -> None:
    said = failing(TWO_FILES, households=[*HOUSEHOLDS, ("Q1x", "S", 5)])
    assert "h.csv: the key 'hhid' of the level household occurs again in record 3" in said
    said = failing(TWO_FILES, persons=[*PERSONS, ("Q1x", 1, 0, 0)])
    assert "p.csv: the key 'pno' of the level person occurs again within its group in record 4" in said
    said = failing(ONE_FILE, flat=[*FLAT, ("Q1x", 1, "N", 31, 0, 0)])
    assert "flat.csv: the key 'pno' of the level person occurs again within its group in record 4" in said


def test_a_key_that_is_missing(failing: Failing) -> None:
    said = failing(TWO_FILES, households=[*HOUSEHOLDS, ("", "S", 5)])
    assert "h.csv: the key 'hhid' of the level household is missing in record 3" in said
    said = failing(TWO_FILES, persons=[*PERSONS, ("", 1, 5, 0), ("Q2x", "", 5, 0)])
    assert "p.csv: the key 'hhid' of the level person is missing in record 4" in said
    assert "p.csv: the key 'pno' of the level person is missing in record 5" in said
    said = failing(ONE_FILE, flat=[*FLAT, ("", 1, "N", 31, 0, 0), ("Q2x", "", "S", 7, 5, 0)])
    assert "the key 'hhid' of the level household is missing in record 4" in said
    assert "the key 'pno' of the level person is missing in record 5" in said


def test_all_that_is_wrong_is_said_at_once(failing: Failing) -> None:
    said = failing(
        TWO_FILES,
        households=[*HOUSEHOLDS, ("Q1x", "S", 5), ("", "S", 5)],
        persons=[*PERSONS, ("Q3x", 1, 5, 0), ("Q1x", 1, 0, 0), ("", 9, 1, 0)],
    )
    assert "the key 'hhid' of the level household is missing in record 4" in said
    assert "the key 'hhid' of the level household occurs again in record 3" in said
    assert "the key 'hhid' of the level person is missing in record 6" in said
    assert "occurs again within its group in record 5" in said
    assert "p.csv: record 4 belongs to no household of h.csv" in said


def test_numbers_with_zeros_before_them_are_other_texts(failing: Failing) -> None:
    households = [HOUSEHOLDS[0], ("007", "N", 31), ("008", "S", 7)]
    persons = [PERSONS[0], (7, 1, 11, 2), (7, 2, 20, 1), (8, 1, 7, 0)]
    said = failing(TWO_FILES, households=households, persons=persons)
    assert "p.csv: records 1, 2, 3 belong to no household of h.csv" in said
    assert "'hhid' is written in different ways in the two files, as 007 and 7: write it alike" in said


def test_numbers_in_one_table_and_texts_in_the_other_are_told_what_to_declare() -> None:
    households = pd.DataFrame({"hhid": ["007", "008"], "total": [31, 7]})
    persons = pd.DataFrame({"hhid": [7, 8], "pno": [1, 1], "income": [31, 7]})
    levels = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household"}}
    both = {"household": households, "person": persons}
    with pytest.raises(mw.InputError, match=r"a text in the data of household and a number .*\n.*type: nominal"):
        mw.linked_data(both, levels)
    with pytest.raises(mw.InputError, match=r"records 1, 2 belong to no household"):
        mw.linked_data(both, levels, declared={"hhid": {"type": "nominal"}})


def test_a_variable_that_two_levels_claim(failing: Failing) -> None:
    claims = ONE_FILE.replace("in: household,", "in: household, variables: [total, income],")
    assert "the levels household and person both claim the variable 'total'" in failing(claims)
    key = ONE_FILE.replace("in: household,", "in: household, variables: [hhid],")
    assert "the levels household and person both claim the variable 'hhid'" in failing(key)
    persons = [(*row, "region" if number == 0 else "N") for number, row in enumerate(PERSONS)]
    assert "the levels household and person both have a variable 'region'" in failing(TWO_FILES, persons=persons)


def test_variables_that_do_not_exist(failing: Failing) -> None:
    said = failing(
        ONE_FILE.replace("[region, total]", "[regon, total]").replace("{spouse: pno}", "{spuse: pno}, order: [incme]")
        .replace("variables: [income]", "variables: [incom]")
    )  # fmt: skip
    assert "pipeline.yaml:5:40: level household: no variable called 'regon'; did you mean 'region'?" in said
    assert "level person: no variable called 'spuse'; did you mean 'spouse'?" in said
    assert "level person: no variable called 'incme'; did you mean 'income'?" in said
    assert "step 1: no variable called 'incom'; did you mean 'income'?" in said
    said = failing(TWO_FILES.replace("key: pno", "key: pnr"))
    assert "pipeline.yaml:5:34: level person: no variable called 'pnr'; did you mean 'pno'?" in said
    said = failing(TWO_FILES.replace("key: hhid", "key: income"))
    assert "h.csv: level household: no variable called 'income'" in said
    said = failing(TWO_FILES, persons=[row[1:] for row in PERSONS])
    assert "p.csv has no variable 'hhid', the key of the level 'household'" in said


def test_a_pointer_to_something_else_than_the_key(failing: Failing) -> None:
    said = failing(ONE_FILE.replace("{spouse: pno}", "{spouse: hhid}"))
    assert "level person: pointer spouse names 'hhid', no key of its level: it is 'pno'" in said


def test_a_pointer_to_nobody_is_an_edit_that_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, ONE_FILE, flat=[*FLAT[:3], ("Q2x", 1, "S", 7, 7, 9)])
    assert main(["run", str(path)]) == 1
    assert "pointer: spouse within hhid: 1" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (ONE_FILE.replace("    person:", "    family: {key: fam, in: household}\n    person:"),
         "these are declared: household, family (in household), person (in household)"),
        (ONE_FILE.replace("    household: {key: hhid, variables: [region, total]}\n", ""), "unknown"),
        (ONE_FILE.replace("in: household, ", ""), "`in` the one before it; these are declared: household, person"),
        (ONE_FILE.replace("in: household", "in: houshold"), "no level called 'houshold'; did you mean 'household'?"),
        (ONE_FILE.replace("  levels:", "  cluster: hhid\n  levels:"), "Remove `cluster`."),
        (ONE_FILE.replace("pointers:", "pointer:"), "no key called 'pointer'; did you mean 'pointers'?"),
        (ONE_FILE.replace("in: household,", "in: household, incomplete: regio == 1,"),
         "level person: incomplete: no variable of the level household called 'regio'"),
        (ONE_FILE.replace("in: household,", "in: household, incomplete: total >,"), "level person: incomplete: "),
        (ONE_FILE.replace(", variables: [region, total]", ""), "maskwright advise levels DATA --key hhid"),
        (TWO_FILES.replace("source: h.csv, ", ""), "level household: no `source`, and another level has one"),
    ],
)  # fmt: skip
def test_levels_that_are_declared_wrongly(failing: Failing, wrong: str, said: str) -> None:
    found = failing(wrong)
    assert "level" in found if said == "unknown" else said in found


def test_households_must_have_members_where_that_is_declared(failing: Failing) -> None:
    wrong = TWO_FILES.replace("key: hhid", "key: hhid, members: required")
    said = failing(wrong, households=[*HOUSEHOLDS, ("Q3x", "N", 0)], persons=[*PERSONS, ("Q4x", 1, 5, 0)])
    assert "h.csv: without any person: record 3 of the level household" in said
    assert "p.csv: record 4 belongs to no household of h.csv" in said


def test_what_is_only_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    persons = [PERSONS[0], *(("Q2x", number, 7, 0) for number in range(1, 5)), *PERSONS[1:3]]
    pipeline = TWO_FILES.replace("key: hhid", "key: hhid, largest_group: 3")
    path = write(tmp_path, pipeline, households=[*HOUSEHOLDS, ("Q3x", "N", 0)], persons=persons)
    assert main(["run", str(path)]) == 0
    printed = capsys.readouterr()
    said = " ".join((printed.out + printed.err).split())
    assert "p.csv: records are not in the order of h.csv; they are put so" in said
    assert "h.csv: 1 of 3 records of the level household have no person" in said
    assert (
        "1 of 2 records of the level household have more than 3 of the level person (`largest_group`), at most 4"
        in said
    )


def household_of(members: int, folder: Path) -> Path:
    """Pipeline on a household of so many members beside 300 of three each, where a total is masked with its parts."""
    rows = [(f"H{number}", place, "N", 0, (number * 7919 + place * 104729) % 9973, 0)
            for number, size in enumerate([members, *[3] * 300]) for place in range(1, size + 1)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=FLAT[0])
    frame["total"] = frame.groupby("hhid")["income"].transform("sum")
    path = write(folder, ONE_FILE.replace("count(person) >= 0", "sum(person.income) == total")
                 .replace(", total: {role: other}", "").replace("rounding, variables: [income], params: {base: 4}",
                          "microaggregation, variables: [income, total], params: {k: 3}"))  # fmt: skip
    frame.to_csv(folder / "flat.csv", index=False)
    return path


def calls_of_a_run(path: Path) -> int:
    """How many functions a run calls, which is the same on every machine."""
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        code = main(["run", str(path), "--quiet"])
    finally:
        sys.setprofile(None)
    assert code == 0
    return counted


def test_a_household_of_2000_members_runs_by_derivation(tmp_path: Path) -> None:
    assert main(["run", str(household_of(2000, tmp_path)), "--quiet"]) == 0
    masked = pd.read_csv(tmp_path / "out.csv")
    assert (masked.groupby("hhid")["income"].sum() == masked.groupby("hhid")["total"].first()).all()


def test_work_grows_with_the_members_of_a_household_and_no_faster(tmp_path: Path) -> None:
    assert main(["run", str(household_of(10, tmp_path)), "--quiet"]) == 0  # what is done once is done
    few, many = (calls_of_a_run(household_of(members, tmp_path)) for members in (500, 2000))
    assert many < 2 * few


def test_a_misspelt_declaration_is_named_beside_what_it_leaves_undeclared(failing: Failing) -> None:
    declared = TWO_FILES.replace("variables: {", "variables: {incom: {missing: [NA]}, ")
    persons: Rows = [PERSONS[0], *(("Q1x", pno, pno, 0) for pno in range(1, 40)), ("Q2x", 1, "NA", 0)]
    said = failing(declared, persons=persons)
    assert "no variable called 'incom'; did you mean 'income'?" in said
    assert "variable 'income': 1 of 40 cells is not a number" in said


def test_a_sum_of_one_member_in_a_rule_on_groups(failing: Failing) -> None:
    said = failing(TWO_FILES.replace("count(person) >= 0", "sum(income) == total"))
    assert "sum(income) is income of one person" in said
    assert "Write sum(person.income) for the sum over members" in said


@pytest.mark.parametrize(
    "rule", ["if pno == 1 then income >= 0", "'pno in {1, 2}'", "no(person where spouse.pno == 9)"]
)
def test_values_of_keys_that_are_published_anew(failing: Failing, rule: str) -> None:
    said = failing(TWO_FILES.replace("count(person) >= 0", rule))
    assert "reads the value of 'pno', a key that is published with new values" in said
    assert "Declare `keep_key: true` in the level person" in said


@pytest.mark.parametrize(
    "rule", ["spouse.spouse == pno", "if spouse != 0 then spouse != pno", "unique(person.pno)", "pno <= total"]
)
def test_who_is_who_may_be_asked_of_keys(tmp_path: Path, rule: str) -> None:
    assert main(["run", str(write(tmp_path, TWO_FILES.replace("count(person) >= 0", rule)))]) == 0


def test_values_of_keys_that_are_kept_may_be_read(tmp_path: Path) -> None:
    kept = TWO_FILES.replace("key: pno,", "key: pno, keep_key: true,")
    assert main(["run", str(write(tmp_path, kept.replace("count(person) >= 0", "'pno in {1, 2}'")))]) == 0


def test_blanks_around_a_key(failing: Failing) -> None:
    said = failing(TWO_FILES, households=[HOUSEHOLDS[0], ("Q1x ", "N", 31), HOUSEHOLDS[2]])
    assert "'hhid' has blanks around some values" in said


def test_an_identifier_is_not_measured(failing: Failing) -> None:
    measured = TWO_FILES.replace("region: {role: other}", "region: {role: identifier}")
    said = failing(measured + "measure: [{k_anonymity: {keys: [region], k: 2}}]\n")
    assert "region cannot be measured: it is an identifier, which is not published" in said
    said = failing(TWO_FILES + "measure: [{k_anonymity: {keys: [region], k: 2}}]\n")
    assert "region cannot be measured: no step masks the level household" in said


def test_a_key_that_is_given_by_both_its_names_is_said_so(failing: Failing) -> None:
    said = failing(TWO_FILES.replace("in: household", "in: household, above: household", 1))
    assert "'in' and 'above' are the same key: both are given" in said


def test_keys_of_two_levels_are_each_named_once(failing: Failing) -> None:
    step = "{method: local_suppression, variables: [region, age], params: {k: 2, keys: [region, age], count: wildcard}}"
    rows: Rows = [(*row, "age" if row[0] == "hhid" else 3) for row in PERSONS]
    said = failing(TWO_FILES.replace("{method: rounding, variables: [income], params: {base: 4}}", step), persons=rows)
    assert "step 1: age and region are variables of different levels" in said
