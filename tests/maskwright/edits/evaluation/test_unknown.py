"""A rule whose verdict nobody gave is not ok, and the reason is told without values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.plan import plan_pipeline
from maskwright.edits.evaluation.outcomes import numeric_variables
from maskwright.edits.rule_language.rules import parse_expression

if TYPE_CHECKING:
    from pathlib import Path

DATES = pd.DataFrame({"birth": ["02.01.1950"] * 6, "death": ["04.03.2001"] * 6})


def write(folder: Path, rows: str, rules: str) -> list[str]:
    (folder / "d.csv").write_text(rows)
    (folder / "r.yaml").write_text(f"edits: {rules}\n")
    return [str(folder / "d.csv"), "--edits", str(folder / "r.yaml")]


def test_a_rule_on_text_dates_is_not_ok() -> None:
    outcome = mw.validate(DATES, ["birth <= death"])
    assert not outcome.ok
    assert [edit.name for edit in outcome.undecided] == ["edit-1"]
    assert outcome.undecided[0].unknown_because == [
        (
            "birth, death: text, not a number (it looks like a date), in 6 of 6 records; declare how its dates are "
            "written (`type: date, format: '%d.%m.%Y'`, with times of day `type: datetime`)"
        )
    ]
    assert outcome.to_json()["undecided"] == {"edit-1": outcome.undecided[0].unknown_because}
    assert mw.validate(DATES, ["birth <= death"], allow_unknown=True).ok


@pytest.mark.parametrize("command", ["validate", "localize"])
def test_a_decimal_comma_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    given = write(tmp_path, "a;b\n1,5;2,5\n3,5;1,5\n", "[a <= b]")
    assert main([command, *given]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "a, b: text, not a number (it has a comma), in 2 of 2 records" in shown
    assert "1,5" not in shown
    assert main([command, *given, "--allow-unknown"]) == 0
    assert main([command, *given, "--decimal", ","]) == 1
    assert main([command, *given, "--json"]) == 1
    out = capsys.readouterr().out
    assert list(json.loads(out[out.rindex("\n{") :])["undecided"]) == ["edit-1"]


def test_edits_on_data_say_that_nothing_was_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, _, rules = write(tmp_path, "a;b\n1,5;2,5\n3,5;1,5\n", "[a <= b]")
    assert main(["edits", rules, "--data", data]) == 0
    assert "unknown in every record" in " ".join(capsys.readouterr().out.split())


def test_fail_on_unknown_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = write(tmp_path, "a,b\n1,2\n,2\n3,NA\n", "[a <= b]")
    assert main(["validate", *given]) == 0
    assert main(["validate", *given, "--fail-on-unknown"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "edit-1 is unknown: a: missing in 1 of 3 records" in shown
    assert "b: text, not a number, in 1 of 3 records" in shown
    with pytest.raises(SystemExit):
        main(["validate", *given, "--fail-on-unknown", "--allow-unknown"])


def test_one_decided_record_is_a_verdict() -> None:
    data = pd.DataFrame({"a": ["1", "x", "x"], "b": ["2", "2", "2"]})
    assert mw.validate(data, ["a <= b"]).ok


def test_a_condition_that_is_never_true_leaves_nothing_open() -> None:
    assert mw.validate(pd.DataFrame({"a": [1, 2], "b": [None, None]}), ["if a > 5 then b > 0"]).ok
    assert mw.validate(pd.DataFrame({"a": [1, 9], "b": [None, None]}), ["if a > 5 then b > 0"]).ok
    assert not mw.validate(pd.DataFrame({"a": [8, 9], "b": [None, None]}), ["if a > 5 then b > 0"]).ok
    assert not mw.validate(pd.DataFrame({"a": [1, 9], "b": ["1,5", "2,5"]}), ["if a > 5 then b > 0"]).ok


def test_warnings_do_not_count() -> None:
    assert mw.validate(DATES, [{"rule": "birth <= death", "severity": "warning"}]).ok


@pytest.mark.parametrize("cell", ["1,5", ""])
def test_schematron_knows_no_unknown(tmp_path: Path, cell: str) -> None:
    """`not(a > 2)` is true of every text, as XPath turns it into NaN: whoever else validates says so too."""
    (tmp_path / "d.xml").write_text(f"<Data><Record><a>{cell}</a></Record><Record><a>{cell}</a></Record></Data>")
    (tmp_path / "r.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        '<assert test="not(a &gt; 2)">m</assert></rule></pattern></schema>'
    )
    given = ["validate", str(tmp_path / "d.xml"), "--edits", str(tmp_path / "r.sch"), "--fail-on-unknown"]
    assert main(given) == 0
    schema = isoschematron.Schematron(etree.parse(tmp_path / "r.sch"))
    assert schema.validate(etree.parse(tmp_path / "d.xml"))


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("a + b == c", {"a", "b", "c"}),
        ("a == b", set()),
        ("a == 1", {"a"}),
        ('a == "x"', set()),
        ('a in {"x"}', set()),
        ("a in {1, 2}", {"a"}),
        ("if a < b then c is missing", {"a", "b"}),
        ("abs(a) <= 1 or b in [0, c]", {"a", "b", "c"}),
    ],
)
def test_variables_that_have_to_be_numbers(rule: str, names: set[str]) -> None:
    assert numeric_variables(parse_expression(rule)) == names


PIPELINE = """
maskwright: 1
data: {source: d.csv, variables: {g: {role: other}}}
edits: [bonus >= 0, 'g == "a"']
protect: [{method: microaggregation, variables: [income]}]
output: {data: m.csv, record: r.json}
seed: 1
"""


def test_a_run_stops_at_a_rule_that_nobody_decides(tmp_path: Path) -> None:
    rows = "".join(f"{n * 7 % 31},,a\n" for n in range(30))
    (tmp_path / "d.csv").write_text("income,bonus,g\n" + rows)
    pipeline = tmp_path / "p.yaml"
    pipeline.write_text(PIPELINE.replace("{g:", "{bonus: {release: as is}, g:"))
    doubts = plan_pipeline(pipeline)["doubts"]
    assert [(doubt["doubt"], doubt["subject"]) for doubt in doubts] == [("edit-unknown", "edit-1")]
    with pytest.raises(mw.OpenDoubts, match="bonus: missing in 30 of 30 records"):
        mw.run(pipeline)
    pipeline.write_text(
        pipeline.read_text() + "waive: [{doubt: edit-unknown, edit: edit-1, because: no bonus was paid that year}]\n"
    )
    assert mw.run(pipeline).ok
    with pytest.raises(mw.OpenDoubts, match="edit-unknown"):
        mw.protect(
            pd.DataFrame({"income": range(30), "bonus": [None] * 30}), "microaggregation", edits=["bonus >= 0"],
            variables=["income"], declared={"bonus": {"release": "as is"}},
        )  # fmt: skip
