"""What a run on levels tells: the four counts of k, and notices about what is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_four_counts_are_part_of_terminal_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_levels_demo(tmp_path, 300)
    pipeline = tmp_path / "flat.yaml"
    pipeline.write_text(pipeline.read_text(encoding="utf-8").replace("linkage: 50", "linkage: 100"), encoding="utf-8")
    assert main(["run", str(pipeline)]) == 0
    shown = capsys.readouterr()
    said = " ".join(shown.out.split())
    assert "k of groups: what is published alike" in said
    assert "household on child_benefit, capital, tax, total, disp" in said
    assert "tell whole groups apart" in said
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "k of groups: records with their members" in report
    assert "whole household, by the masked values of row and members" in report
    unique = next(line for line in " ".join(shown.err.split()).split("records are ") if "hweight" in line)
    assert "any(person" not in unique


def test_a_level_that_edits_across_levels_cover_has_edits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["hhid,pno,total,income"]
    rows += [f"h{number},{each},{3 * number + 6},{number + each}" for number in range(1, 13) for each in (1, 2, 3)]
    (tmp_path / "flat.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(PIPELINE, encoding="utf-8")
    assert main(["run", str(pipeline)]) == 0
    said = capsys.readouterr()
    assert "no edits are declared" not in said.out + said.err


def test_each_promise_has_its_line_and_k_is_said_to_hold_only_where_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two incomes are missing where k is only reported; three quasi-identifiers are of two levels."""
    rows = ["hhid,pno,region,tenure,rent,age,income"]
    for number in range(1, 41):
        home = f"h{number},{{}},{number % 2},{number % 4 // 2},{500 + 17 * number % 41}"
        rows += [f"{home.format(each)},{20 + each},{'' if each * number < 3 else number + each}" for each in (1, 2, 3)]
    (tmp_path / "flat.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(PROMISES, encoding="utf-8")
    assert main(["run", str(pipeline)]) == 0
    shown = capsys.readouterr()
    said = " ".join(shown.out.split())
    assert "on the quasi-identifiers of household, person (age, region," in said
    assert "all quasi-identifiers" not in said
    assert "household on rent 40 5 0" in said
    assert "household on region, tenure 40 10 0" in said
    sentence = "k does not hold among the records of each level: 3 on income are in classes that are smaller."
    assert sentence in said
    assert sentence in " ".join(shown.err.split())
    assert "k holds among" not in said + shown.err
    pipeline.write_text(
        PROMISES.replace("[rent, income]", "[rent]").replace("pno: {role: other}", "income: {release: as is}"),
        encoding="utf-8",
    )
    assert main(["run", str(pipeline)]) == 0
    assert "k holds among the records of each level." in " ".join(capsys.readouterr().out.split())


PROMISES = """maskwright: 1
data:
  source: flat.csv
  levels:
    household: {key: hhid, variables: [region, tenure, rent]}
    person: {key: pno, in: household}
  variables:
    region: {role: quasi_identifier, type: nominal}
    tenure: {role: quasi_identifier, type: nominal}
    age: {role: quasi_identifier, type: nominal, release: as is}
    pno: {role: other}
protect:
  - {method: microaggregation, variables: [rent, income], params: {k: 5, k_guarantee: report}}
  - {method: local_suppression, variables: [region, tenure], params: {k: 5, keys: [region, tenure]}}
measure: []
output: {data: out.csv, report: report.html}
seed: 1
"""

PIPELINE = """maskwright: 1
data:
  source: flat.csv
  levels:
    household: {key: hhid, variables: [total]}
    person: {key: pno, in: household}
edits: [sum(person.income) == total]
protect: [{method: microaggregation, variables: [total, income], params: {k: 4}}]
waive: [{doubt: values-unchanged, variable: income, because: made up}]
output: {data: out.csv}
seed: 1
"""
