"""From one rule language into the other: what is kept, what is renamed, what is refused and why."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.evaluation.check import evaluate
from maskwright.foundation.errors import EditError

RULES = """\
aliases: {total: V14}
edits:
- rule: V9 + V10 == total
  name: totals
  label: Parts and total
  message: the parts miss {V14} & more
  tolerance: 0.5
- {rule: "V3 in [0, 7500]", severity: warning}
- {rule: V13 <= V12, when: V8 < 1115, name: low wages}
- V5 * V15 == V16
"""


def columns(**texts: list[str | None]) -> RecordChunk:
    return RecordChunk.from_batch(
        pa.RecordBatch.from_pydict({name: pa.array(own, pa.string()) for name, own in texts.items()})
    )


def schematron(rules, **options) -> str:
    return mw.convert_edits(mw.EditSet.parse(rules), "schematron", **options).text


def test_names_messages_severities_and_kinds_survive(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    edits = mw.read_edits(tmp_path / "rules.yaml")
    written = mw.convert_edits(edits, "schematron", decimals=0, record="Person")
    assert isoschematron.Schematron(etree.XML(written.text.encode())) is not None
    assert any("low wages -> low-wages" in note for note in written.notes)
    (tmp_path / "rules.sch").write_text(written.text, encoding="utf-8")
    read = mw.read_edits(tmp_path / "rules.sch")
    assert [edit.name for edit in read] == ["totals", "edit-2", "low-wages", "edit-4"]
    assert [edit.kind for edit in read] == [edit.kind for edit in edits] == ["linear", "range", "governing", "product"]
    assert [edit.severity for edit in read] == ["error", "warning", "error", "error"]
    assert read["totals"].message == "the parts miss {V14} & more"
    assert read["totals"].parts == edits["totals"].parts
    assert {edit.context for edit in read} == {"Person"}
    (tmp_path / "again.yaml").write_text(mw.convert_edits(edits, "yaml").text, encoding="utf-8")
    again = mw.read_edits(tmp_path / "again.yaml")
    for one, other in zip(again, edits, strict=True):
        assert (one.name, one.parts, one.message, one.label, one.severity, one.when) == (
            other.name, other.parts, other.message, other.label, other.severity, other.when
        )  # fmt: skip


def test_decimals_decide_how_a_comparison_is_written():
    whole, cents = schematron(["a + b == c"], decimals=0), schematron(["a + b == c"], decimals=2)
    assert "number(a) + number(b) &lt; number(c)" in whole
    assert "0.005" in cents
    assert "up to 2 decimals" in cents
    assert "0.0005" in schematron(["a + b == c"], decimals={"a": 3, "b": 0, "c": 2})
    # One cell against one literal is never rounded.
    assert "0.0" not in schematron(["a <= 1.5"])


def test_binary_rounding_does_not_change_the_verdict(tmp_path):
    """0.1 + 0.2 = 0.3 is false in XPath; the written test says what the rule says."""
    data = columns(a=["0.1", "0.1", "1.1"], b=["0.2", "0.2", "2.2"], c=["0.3", "0.4", "3.3"])
    (tmp_path / "r.sch").write_text(schematron(["a + b == c"]), encoding="utf-8")
    assert evaluate(mw.read_edits(tmp_path / "r.sch")["edit-1"], data).holds.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("`gross income` > 0", "'gross income' cannot be the name of an XML element"),
        ("(a, b) in original", "a combination of variables"),
        ("a ^ b == c", "powers"),
        ("a ^ 0.5 == c", "powers"),
        ("floor(a / b) == c", "of a quotient"),
        ("mod(a, 0.3) == 0", "mod() of decimals"),
        ("sum(a..b) == c", "order of the data"),
        ("a * b * c * d == 1.00001", "decimals"),
    ],
)
def test_what_xpath_cannot_say_is_refused_by_name(rule, reason):
    with pytest.raises(EditError) as raised:
        schematron(["x == 1", {"rule": rule, "name": "odd"}])
    (problem,) = raised.value.problems
    assert problem.message.startswith("edit odd cannot be written in XPath 1.0: ")
    assert reason in problem.message


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("V1 = V2", "two texts"),
        ("V1", "element is there"),
        ("V1 != 5", "absent element from an empty one"),
        ("V1 != 'M'", "absent element from an empty one"),
        ("(number(V1) &gt; 1) * 2 = 2", "truth values"),
        ("1 div number(V1) + 2 &gt; 1", "infinity"),
        ("true()", "always holds"),
    ],
)
def test_what_yaml_cannot_say_is_refused_by_name(tmp_path, test, reason):
    path = tmp_path / "r.sch"
    path.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="p"><rule context="R">'
        f'<assert test="{test}">x</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    with pytest.raises(EditError) as raised:
        mw.convert_edits(mw.read_edits(path), "yaml")
    assert reason in str(raised.value)
    assert "edit p cannot be written in the YAML language" in str(raised.value)


@pytest.mark.parametrize(
    "test",
    [
        "number(V1) + number(V2) = number(V3)",
        "not(number(V1) &lt; 3) or number(V2) &lt;= number(V3)",
        "number(V1) != 5",
        "number(V1)",
        "string(V1) != 'M'",
        "V1 = 'M' or V1 = 2",
        "number(V1) div number(V2) &lt;= 1.5",
        "2 &lt; number(V1) div number(V2)",
        "number(V1) mod 2 = 0",
        "(number(V1) &gt; 2) = (number(V2) &gt; 2)",
        "normalize-space(V1) != ''",
        "'3' = V1",
        "V1 &lt; V2",
        "floor(V1) = number(V1)",
    ],
)
def test_xpath_in_yaml_has_the_same_verdict(tmp_path, test):
    path = tmp_path / "r.sch"
    path.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="p"><rule context="R">'
        f'<assert test="{test}">x</assert><report test="{test}">x</report></rule></pattern></schema>',
        encoding="utf-8",
    )
    edits = mw.read_edits(path)
    (tmp_path / "r.yaml").write_text(mw.convert_edits(edits, "yaml").text, encoding="utf-8")
    again = mw.read_edits(tmp_path / "r.yaml")
    pool = ["1", "2", "3", "0", "-4", "", " ", None, "M", "2.5", " 3 "]
    triples = [(a, b, c) for a in pool for b in pool for c in ("3", None, "x")]
    data = columns(**{f"V{i + 1}": [triple[i] for triple in triples] for i in range(3)})
    for one, other in zip(edits, again, strict=True):
        verdict = evaluate(other, data)
        assert verdict.holds.tolist() == evaluate(one, data).holds.tolist()
        assert not verdict.unknown.any()


def test_the_command(tmp_path, capsys):
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    assert main(["edits", str(tmp_path / "rules.yaml"), "--to", "schematron", "--decimals", "0"]) == 0
    said = capsys.readouterr()
    etree.XML(said.out.encode())
    assert "low-wages" in said.err
    (tmp_path / "rules.sch").write_text(said.out, encoding="utf-8")
    assert main(["edits", str(tmp_path / "rules.sch"), "--to", "yaml"]) == 0
    (tmp_path / "again.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["edits", str(tmp_path / "again.yaml"), "--json"]) == 0
    assert [edit["name"] for edit in json.loads(capsys.readouterr().out)["edits"]] == [
        "totals", "edit-2", "low-wages", "edit-4"
    ]  # fmt: skip
    (tmp_path / "data.csv").write_text("V9,V10,V14\n0.25,1,1.25\n", encoding="utf-8")
    (tmp_path / "range.yaml").write_text("- sum(V9..V10) == V14\n", encoding="utf-8")
    assert main(["edits", str(tmp_path / "range.yaml"), "--to", "schematron"]) == 2
    assert "order of the data" in capsys.readouterr().err
    arguments = ["edits", str(tmp_path / "range.yaml"), "--to", "schematron", "--data", str(tmp_path / "data.csv")]
    assert main(arguments) == 0
    assert "0.005" in capsys.readouterr().out


@pytest.mark.parametrize("as_json", [False, True])
def test_rules_that_can_be_written_are_where_others_cannot(tmp_path, capsys, as_json):
    """Those that cannot are listed, and the exit code is that of input that cannot be used."""
    (tmp_path / "r.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="p"><rule context="R">'
        '<assert id="sum" test="V1 + V2 = V3">x</assert><assert id="rate" test="1 div V1 + 2 &gt; 1">x</assert>'
        '<assert id="positive" test="V1 &gt;= 0">x</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    assert main(["edits", str(tmp_path / "r.sch"), "--to", "yaml", *["--json"] * as_json]) == 2
    shown = capsys.readouterr()
    text = shown.out
    if as_json:
        found = json.loads(shown.out)
        text = found["text"]
        (reason,) = found["unwritten"]
        assert reason.startswith("edit rate cannot be written in the YAML language")
    assert [each["name"] for each in yaml.safe_load(text)] == ["sum", "positive"]
    assert "edit rate cannot be written" in shown.err
    assert "edit sum" not in shown.err
    frame = pd.DataFrame({"V1": [1, 2, -1], "V2": [1, 1, 1], "V3": [2, 4, 0]})
    (tmp_path / "r.yaml").write_text(text, encoding="utf-8")
    found = {each.name: each.violations for each in mw.validate(frame, mw.read_edits(tmp_path / "r.yaml")).edits}
    assert found == {"sum": 1, "positive": 1}


def test_nothing_is_written_where_no_rule_can_be(tmp_path, capsys):
    (tmp_path / "r.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="p"><rule context="R">'
        '<assert id="rate" test="1 div V1 + 2 &gt; 1">x</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    assert main(["edits", str(tmp_path / "r.sch"), "--to", "yaml"]) == 2
    assert not capsys.readouterr().out


def test_rules_in_yaml_are_for_records_without_codes() -> None:
    """Numbers of a variable with numbers, texts of one with texts, dates of one with dates; none where rules ask."""
    rules = [
        "a + b == t", 'g in {"x", "y"}', "birth <= 2020-12-31", 'if a is "-1" then b >= 0',
        "sum(p.a where g == 'x') == t",
    ]  # fmt: skip
    empty = {"a": ("-1", "NA"), "g": ("NA",), "birth": ("9999-12-31", "none"), "t": ()}
    decimals: dict[str, int | None] = {"a": 0, "b": 0, "t": 0}
    converted = mw.convert_edits(
        mw.EditSet.parse(rules), "yaml", decimals=decimals, dates={"birth": "%Y-%m-%d"}, empty=empty
    )  # fmt: skip
    written = yaml.safe_load(converted.text)
    assert [each["when"] if isinstance(each, dict) else None for each in written] == [
        "a != -1 and a != 'NA'", "g != 'NA'", "birth != 9999-12-31", None,
        "no(p where a == -1 or a == 'NA' or g == 'NA')",
    ]  # fmt: skip
