"""Each mistake in levels is told once: its line, the nearest name in the level's own file, what to do; no values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Said = Callable[..., str]

HOUSEHOLDS = "hhid,region,tenure,size,kids\nQ1x,N,own,2,0\nQ2x,S,rent,1,0\nQ3x,S,own,1,0\n"
PERSONS = "hhid,pno,spouse,job,wage\nQ1x,1,2,Zbaker,10\nQ1x,2,1,Znurse,20\nQ2x,1,,Znurse,30\nQ3x,1,,Zbaker,40\n"
PIPELINE = """maskwright: 1
data:
  levels:
    household: {source: h.csv, key: hhid}
    person: {source: p.csv, key: pno, in: household, pointers: {spouse: pno}}
  variables:
    region: {role: other}
    tenure: {role: other}
    size: {role: other}
    kids: {role: other}
    job: {role: other}
edits:
  - count(person) == size
  - spouse.spouse == pno
protect: [{method: rounding, variables: [wage], params: {base: 4}}]
output: {data: {household: oh.csv, person: op.csv}}
"""


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """What a plan says that is refused, of a pipeline and of files that differ from the right ones."""

    def say(before: str = "", after: str = "", households: str = HOUSEHOLDS, persons: str = PERSONS) -> str:
        assert before in PIPELINE
        (tmp_path / "h.csv").write_text(households, encoding="utf-8")
        (tmp_path / "p.csv").write_text(persons, encoding="utf-8")
        (tmp_path / "pipeline.yaml").write_text(PIPELINE.replace(before, after, 1), encoding="utf-8")
        assert main(["plan", str(tmp_path / "pipeline.yaml")]) == 2
        found = capsys.readouterr().err
        assert not {"Q1x", "Q2x", "Zbaker", "Znurse"} & set(found.replace(",", " ").split())
        return found

    return say


def complaints(found: str) -> int:
    """Sentences that are not indented below another one."""
    return sum(not line.startswith(" ") for line in found.splitlines())


def test_a_key_that_a_file_does_not_have(said: Said) -> None:
    found = said("key: hhid", "key: hhidd")
    assert "pipeline.yaml:4:37: level household: no variable called 'hhidd'; did you mean 'hhid'?" in found
    assert "It is looked for in h.csv." in found
    assert complaints(found) == 1
    found = said(households=HOUSEHOLDS.replace("hhid", "number"))
    assert (
        "pipeline.yaml:4:37: h.csv: level household: no variable called 'hhid'; there are: kids, number, region"
        in found
    )
    assert "wage" not in found
    found = said(persons=PERSONS.replace("hhid", "hid"))
    assert (
        "pipeline.yaml:4:37: p.csv has no variable 'hhid', the key of the level 'household'; did you mean 'hid'?"
        in found
    )
    assert complaints(found) == 1


def test_pointers(said: Said) -> None:
    found = said("{spouse: pno}", "{spouse: pnr}")
    assert (
        "pipeline.yaml:5:73: level person: pointer spouse names 'pnr', no key of its level; did you mean 'pno'?"
        in found
    )
    assert complaints(found) == 1
    found = said("{spouse: pno}", "{spuse: pno}")
    assert "pipeline.yaml:5:65: level person: no variable called 'spuse'; did you mean 'spouse'?" in found
    assert complaints(found) == 1
    assert "keep_key" not in found
    found = said("{spouse: pno}", "{region: pno}")
    assert "pipeline.yaml:5:65: p.csv: level person: no variable called 'region'" in found
    assert "It is a variable of the level household." in found
    assert complaints(found) == 1
    found = said("{spouse: pno}", "[spouse]")
    assert "pointers: expected a mapping of keys, not a list of 1" in found
    assert "The variable that points, and then the key that it names" in found


def test_other_mistakes_are_told_beside_a_misspelt_pointer(said: Said) -> None:
    wrong = PIPELINE.replace("{spouse: pno}", "{spuse: pno}").replace("== size", "== sizes")
    found = said(PIPELINE, wrong)
    assert "did you mean 'spouse'?" in found
    assert "no variable called 'sizes'; did you mean 'size'?" in found
    assert complaints(found) == 2


def test_records_without_a_household_and_keys_that_occur_twice(said: Said) -> None:
    found = said(persons=PERSONS + "Q9x,1,,Znurse,5\n")
    assert "p.csv: record 5 belongs to no household of h.csv" in found
    assert "Add their household to h.csv, or take these records out of p.csv." in found
    found = said(households=HOUSEHOLDS + "Q1x,N,own,2,0\n")
    assert "h.csv: the key 'hhid' of the level household occurs again in record 4 (first in 1)" in found
    assert "Take out records that are twice in the file, give others keys of their own" in found
    found = said(persons=PERSONS + ",1,,Znurse,5\n")
    assert "Give these records their keys, or take them out of the file." in found


def test_files_and_order_of_levels(said: Said) -> None:
    found = said("source: p.csv", "source: h.csv")
    assert "pipeline.yaml:5:22: the levels household and person have the same `source`" in found
    assert "Name the file of each level" in found
    first, second = PIPELINE.splitlines()[3:5]
    found = said(f"{first}\n{second}", f"{second}\n{first}")
    assert "Write them in this order: household, person." in found
    found = said("variables: [wage]", "variables: [person.wage]")
    assert "step 1: no variable called 'person.wage'; did you mean 'wage'?" in found


@pytest.mark.parametrize("declared", [True, False])
def test_a_category_that_does_not_exist(said: Said, declared: bool) -> None:
    before = "{method: rounding, variables: [wage], params: {base: 4}}"
    pipeline = PIPELINE.replace("tenure: {role: other}", "tenure: {role: other, labels: {own: owner}}")
    assert pipeline != PIPELINE
    name = "tenure" if declared else "job"
    member = "owm" if declared else "Znurs"
    after = f"{{method: recoding, params: {{recode: {{{name}: {{A: [{member}]}}}}}}}}"
    found = said(PIPELINE, pipeline.replace(before, after))
    assert f"pipeline.yaml:15:11: step 1: {name} has no category called '{member}'" in found
    if declared:
        assert "did you mean 'own'?" in found
    else:
        assert "(it has 2)" in found
        assert "`maskwright describe DATA --show-values` lists the most frequent ones" in found


def test_the_same_of_a_flat_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("tenure,wage\nown,3\nrent,4\n", encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv, variables: {tenure: {labels: {own: owner}}, wage: {role: other}}}\n"
        "protect: [{method: recoding, params: {recode: {tenure: {A: [owm]}}}}]\noutput: {data: o.csv}\n",
        encoding="utf-8",
    )
    assert main(["plan", str(tmp_path / "pipeline.yaml")]) == 2
    assert (
        "pipeline.yaml:3:11: step 1: tenure has no category called 'owm'; did you mean 'own'?"
        in capsys.readouterr().err
    )


@pytest.mark.waived("edit-may-be-wrong")
def test_a_step_whose_parameters_name_its_variables_computes_no_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"H{number}", f"R{number % 4}", number % 3, 10 * number + 9) for number in range(60)]
    (tmp_path / "h.csv").write_text(
        "hhid,region,kind,total\n" + "".join(f"{a},{b},k{c},{d}\n" for a, b, c, d in rows), encoding="utf-8"
    )
    (tmp_path / "p.csv").write_text(
        "hhid,pno,wage\n" + "".join(f"{row[0]},{pno},{row[3] // 2 + 3 * pno}\n" for row in rows for pno in (1, 2)),
        encoding="utf-8",
    )
    (tmp_path / "pipeline.yaml").write_text(
        """maskwright: 1
data:
  levels:
    household: {source: h.csv, key: hhid}
    person: {source: p.csv, key: pno, in: household}
  variables: {kind: {role: other}, region: {role: other}}
edits: [sum(person.wage) == total]
protect:
  - method: targeted_swapping
    params: {geography: [region], risk_variables: [kind], profiles: [[kind]], k: 2, swap_rate: 0.1}
  - {method: microaggregation, variables: [wage, total], params: {k: 3}}
output: {data: {household: oh.csv, person: op.csv}}
""",
        encoding="utf-8",
    )
    assert main(["plan", str(tmp_path / "pipeline.yaml")]) == 0
    plan = capsys.readouterr().out
    first, second = plan[plan.index("Step 1") : plan.index("Step 2")], plan[plan.index("Step 2") :]
    assert "computed" not in first
    assert "total (computed)" in " ".join(second.split())


def test_an_identifier_that_a_level_would_publish(said: Said) -> None:
    """A pointer follows the new keys, and a key that is kept stays as it is: neither is left out, as was asked."""
    found = said("    kids: {role: other}", "    kids: {role: other}\n    spouse: {role: identifier}")
    assert "spouse is an identifier, which is not published; level person says that it is a pointer" in found
    assert "Take spouse out of `pointers`: then it is dropped." in found
    kept = PIPELINE.replace("key: hhid}", "key: hhid, keep_key: true}").replace(
        "  variables:\n", "  variables:\n    hhid: {role: identifier}\n"
    )
    found = said(PIPELINE, kept)
    assert "hhid is an identifier, which is not published; level household says that it is its key" in found
    assert "Leave out `keep_key: true`: keys are published with new values." in found
