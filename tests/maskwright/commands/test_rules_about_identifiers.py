"""Rules that read identifiers check what arrives; nobody could check them in a release."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """maskwright: 1
data:
  source: persons.csv
  variables:
    born: {role: identifier, type: date, format: "%d.%m.%Y"}
    name: {role: identifier}
    age: {role: other, type: integer}
    income: {role: confidential}
on_input_violation: ACTION
edits:
  - {rule: 'age_at(born, 2024-12-31) == age', name: born}
  - {rule: 'age >= 0', name: whole}
protect: [{method: rounding, variables: [income], params: {base: 10}}]
output: {data: masked.csv, record: run.json}
seed: 1
"""


def pipeline(folder: Path, action: str = "mask", wrong: int = 0) -> Path:
    """A pipeline, and persons of whom some are not as old as they say."""
    ages = [20 + 7 * each % 50 for each in range(200)]
    born = [f"01.03.{2024 - age}" for age in ages]
    frame = pd.DataFrame({"born": born, "name": [f"n{each}" for each in range(200)], "age": ages,
                          "income": [1000 + 7 * (11 * each % 200) for each in range(200)]})  # fmt: skip
    frame.loc[: wrong - 1, "age"] += 3
    frame.to_csv(folder / "persons.csv", index=False)
    (folder / "p.yaml").write_text(PIPELINE.replace("ACTION", action))
    return folder / "p.yaml"


def test_a_rule_about_an_identifier_checks_the_original_and_is_not_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(pipeline(tmp_path, wrong=4))]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    assert "edit 'born' reads born, which is not published: it checks the original only" in said
    assert "4 of 200 records violate it" in said
    assert "born" not in pd.read_csv(tmp_path / "masked.csv").columns
    assert not any("age_at" in path.read_text() for path in tmp_path.glob("masked*"))
    edits = json.loads((tmp_path / "run.json").read_text())["edits"]
    assert "whole" in json.dumps(edits)
    assert '"born"' not in json.dumps(edits)


def test_records_that_violate_it_stop_the_run_or_are_left_out(tmp_path: Path) -> None:
    assert main(["run", str(pipeline(tmp_path, "fail", wrong=4))]) == 1
    assert main(["run", str(pipeline(tmp_path, "fail"))]) == 0
    assert len(pd.read_csv(tmp_path / "masked.csv")) == 200
    assert main(["run", str(pipeline(tmp_path, "drop", wrong=4))]) == 0
    assert len(pd.read_csv(tmp_path / "masked.csv")) == 196


def test_advice_on_keys_is_given_beside_such_a_rule(tmp_path: Path) -> None:
    path = pipeline(tmp_path)
    assert main(["advise", "keys", str(tmp_path / "persons.csv"), "--pipeline", str(path)]) == 0


RECORDS = """maskwright: 1
data:
  source: firms.csv
  variables: {firm: DECLARED, place: {role: other}, staff: {role: other}, sales: {role: confidential}}
on_input_violation: ACTION
edits: [RULES]
protect: [{method: rounding, variables: [sales], params: {base: 10}}]
WAIVED
output: {data: masked.csv, edits: rules.yaml, record: run.json}
seed: 1
"""
FIRMS = 200


def firms(
    folder: Path, declared: str, rules: str, *, action: str = "mask", waived: str = "", twice: int = 0, large: int = 0
) -> Path:
    """A pipeline, and firms some with the number of another one, some with too many staff."""
    every = range(FIRMS)
    frame = pd.DataFrame({"firm": [f"F{7 * each:05}" for each in every],
                          "place": [each * 37 % FIRMS // 4 for each in every],
                          "staff": [1 + each % 9 for each in every],
                          "sales": [1003 + 7 * (each * 37 % 211) for each in every]})  # fmt: skip
    frame.loc[range(1, 2 * twice, 2), "firm"] = frame["firm"][: 2 * twice : 2].to_list()
    frame.loc[[4 * each for each in range(large)], "staff"] = 900
    frame.to_csv(folder / "firms.csv", index=False)
    text = RECORDS.replace("DECLARED", declared).replace("ACTION", action).replace("RULES", rules)
    (folder / "p.yaml").write_text(text.replace("WAIVED", waived))
    return folder / "p.yaml"


def ran(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code of a run, and what it said, on one line; the plan ends with the same code, unless the data decide."""
    code = main(["run", str(path)])
    return code, " ".join("".join(capsys.readouterr()).split())


def published(folder: Path) -> str:
    return (folder / "rules.yaml").read_text()


def test_a_rule_about_all_records_that_reads_a_dropped_identifier_checks_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = ran(firms(tmp_path, "{role: identifier}", "unique(firm), staff > 0", twice=2), capsys)
    assert code == 0
    assert said.count("edit 'edit-1' reads firm, which is not published: it checks the original only") == 1
    assert "4 of 200 records violate it" in said
    assert "unique" not in published(tmp_path)
    assert "staff > 0" in published(tmp_path)
    assert "firm" not in pd.read_csv(tmp_path / "masked.csv")


def test_one_that_reads_new_keys_is_checked_on_them_and_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = firms(tmp_path, "{role: identifier, release: new}", "unique(firm), 'max(staff by firm) <= 9'")
    code, _ = ran(path, capsys)
    assert code == 0
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert masked["firm"].is_unique
    assert set(masked["firm"]).isdisjoint(pd.read_csv(tmp_path / "firms.csv")["firm"])
    assert "unique(firm)" in published(tmp_path)
    verdicts = {each["name"]: each for each in json.loads((tmp_path / "run.json").read_text())["edits"]}
    assert [verdicts[name]["violations"] for name in ("edit-1", "edit-2")] == [0, 0]
    assert main(["validate", str(tmp_path / "masked.csv"), "--edits", str(tmp_path / "rules.yaml")]) == 0


def test_new_keys_have_no_values_that_a_rule_could_be_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ran(firms(tmp_path, "{role: identifier, release: new}", "\"firm != 'F1'\""), capsys)
    assert code == 2
    assert "declare the variable `release: as is`" in said
    waived = "waive: [{doubt: not-masked, variable: firm, because: a public register}]"
    way_out = firms(tmp_path, "{role: identifier, release: as is}", "\"firm != 'F1'\"", waived=waived)
    assert ran(way_out, capsys)[0] == 0


def test_an_identifier_is_published_as_it_is_once_the_doubt_is_waived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = "{role: identifier, release: as is}"
    code, said = ran(firms(tmp_path, declared, "unique(firm)"), capsys)
    assert code == 1
    assert "not-masked: firm: it is an identifier, and is published as it is" in said
    assert not (tmp_path / "masked.csv").exists()
    waived = "waive: [{doubt: not-masked, variable: firm, because: a public register}]"
    assert ran(firms(tmp_path, declared, "unique(firm)", waived=waived), capsys)[0] == 0
    before, after = (pd.read_csv(tmp_path / name)["firm"] for name in ("firms.csv", "masked.csv"))
    assert before.equals(after)
    assert "unique(firm)" in published(tmp_path)


@pytest.mark.parametrize("declared", ["{role: other}", "{role: identifier}", "{role: identifier, release: new}"])
def test_duplicates_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str], declared: str) -> None:
    assert ran(firms(tmp_path, declared, "unique(firm)", action="drop", twice=2), capsys)[0] == 0
    assert len(pd.read_csv(tmp_path / "masked.csv")) == FIRMS - 4


def test_groups_are_left_out_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a rule that one record of a group violates, the others would have another group without it."""
    path = firms(tmp_path, "{role: identifier}", "'staff <= 5 * mean(staff by place) or staff < 800'", large=0)
    assert ran(path, capsys)[0] == 0
    rule = "'staff <= 3 * mean(staff by place) or staff < 800'"
    code, said = ran(firms(tmp_path, "{role: identifier}", rule, action="drop", large=2), capsys)
    assert code == 0
    places = pd.read_csv(tmp_path / "masked.csv")["place"]
    assert set(range(FIRMS // 4)) - {0, 4 * 37 // 4} == set(places)
    assert "dropped: 8 records that violated an edit in the original data or belong to a group that did" in said


@pytest.mark.parametrize("action", ["fail", "localize"])
def test_the_way_out_that_is_named_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str) -> None:
    code, said = ran(firms(tmp_path, "{role: other}", "unique(firm)", action=action, twice=2), capsys)
    assert code == 1
    assert "`on_input_violation: drop` leaves these records out" in said
    assert "'mask'" not in said
    assert ran(firms(tmp_path, "{role: other}", "unique(firm)", action=action), capsys)[0] == 0
    warned = "{rule: unique(firm), severity: warning}"
    assert ran(firms(tmp_path, "{role: other}", warned, action=action, twice=2), capsys)[0] == 0


def test_what_dropping_cannot_mend_is_refused_with_the_one_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = '<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt"><pattern><rule context="Record">'
    schema += '<assert id="many" test="count(//Record) &gt; 500">m</assert></rule></pattern></schema>'
    (tmp_path / "r.sch").write_text(schema)
    code, said = ran(firms(tmp_path, "{role: identifier}", "{schematron: r.sch}", action="drop"), capsys)
    assert code == 2
    assert "every record violates an edit (many: 200)" in said
    assert "Mend the file, or give the edit `severity: warning`." in said


def test_a_rule_in_schematron_about_other_records_is_treated_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = '<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt"><pattern><rule context="Record">'
    schema += '<assert id="once" test="not(preceding::Record/firm = firm)">m</assert></rule></pattern></schema>'
    (tmp_path / "r.sch").write_text(schema)
    code, said = ran(firms(tmp_path, "{role: identifier}", "{schematron: r.sch}", action="drop", twice=2), capsys)
    assert code == 0
    assert "edit 'once' reads firm, which is not published: it checks the original only" in said
    assert len(pd.read_csv(tmp_path / "masked.csv")) == FIRMS - 2


def test_what_is_suppressed_beside_such_a_rule_is_doubted_in_its_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = firms(tmp_path, "{role: identifier}", "unique(sales), 'max(staff by place) <= 9'")
    text = path.read_text().replace("staff: {role: other}", "staff: {role: quasi_identifier}")
    step = "{method: local_suppression, variables: [staff, place], params: {k: 9}}"
    text = text.replace("{base: 10}}]", f"{{base: 10}}}}, {step}]")
    path.write_text(text.replace("place: {role: other}", "place: {role: quasi_identifier}"))
    code, said = ran(path, capsys)
    assert code == 1
    assert "whether edit-2 gives its" in said
    assert "what a rule about several records says of a single cell is not computed" in said
    assert "whether edit-1" not in said
    assert "subset" not in said
