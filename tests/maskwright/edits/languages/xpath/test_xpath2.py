"""Tests as XPath 2 writes them: what is understood of them, and that masking keeps it."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.edits.algebra.classify import classify
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.edits.languages.xpath.conversions import as_condition
from maskwright.edits.languages.xpath.parser import parse_xpath
from maskwright.edits.languages.xpath.xpath2 import parse_xpath2
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from pathlib import Path

needs_saxon = pytest.mark.skipif(
    importlib.util.find_spec("saxonche") is None, reason="Saxon (saxonche) is not installed"
)

SAME = [
    ("xs:decimal(a) + xs:decimal(b) = xs:decimal(c)", "number(a) + number(b) = number(c)"),
    ("xs:integer(a) ge 0 and xs:integer(a) le 120", "number(a) >= 0 and number(a) <= 120"),
    ("s = ('M', 'F')", "s = 'M' or s = 'F'"),
    ("s eq 'M'", "s = 'M'"),
    ("('M', 'F') = s", "'M' = s or 'F' = s"),
    ("a = 1 to 3", "a = 1 or a = 2 or a = 3"),
    ("a = ()", "false()"),
    ("number(a) < 1.5e2", "number(a) < 150"),
    ("number(a) < 2.e-1", "number(a) < 0.2"),
    ("exists(a)", "boolean(a)"),
    ("empty((a, b))", "not(boolean(a) or boolean(b))"),
    ("count((a, b)) ge 1", "boolean(a) or boolean(b)"),
    ("count(a) eq 0", "not(boolean(a))"),
    ("sum((a, b)/xs:decimal(.)) = xs:decimal(c)", "number(a) + number(b) = number(c)"),
    ("sum(for $v in (a, b) return number($v)) eq number(c)", "number(a) + number(b) = number(c)"),
    ("avg((number(a), number(b))) le 5", "(number(a) + number(b)) div 2 <= 5"),
    ("every $v in (a, b) satisfies number($v) >= 0", "number(a) >= 0 and number(b) >= 0"),
    ("some $x in (a, b), $y in (1, 2) satisfies number($x) eq $y",
     "number(a) = 1 or number(a) = 2 or (number(b) = 1 or number(b) = 2)"),
    ("let $m := number(a) return $m < number(b)", "number(a) < number(b)"),
    ("number(a) castable as xs:decimal or true()", None),
    ("a castable as xs:double", "number(a) = number(a)"),
    ("'it''s' = s", None),
    ("+a - -b = 0", None),
    ("(a | b | a) = 'x'", "a = 'x' or b = 'x'"),
]  # fmt: skip


@pytest.mark.parametrize(("later", "first"), [pair for pair in SAME if pair[1] is not None])
def test_what_xpath_1_says_too_is_the_same_tree(later: str, first: str) -> None:
    assert parse_xpath2(later).tree == parse_xpath(first)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("if (s = 'x') then number(b) = 1 else true()", "if s == 'x' then b == 1"),
        ("if (s = 'x') then true() else number(b) le 1", "if not (s == 'x') then b <= 1"),
        ("if (s = 'x') then number(b) = 1 else number(b) = 2", "if s == 'x' then b == 1 else b == 2"),
        ("(if (s = 'x') then number(a) else number(b)) = number(c)", "if s == 'x' then a == c else b == c"),
        ("xs:date(a) le xs:date('2005-12-31')", "a <= 2005-12-31"),
        ("xs:date(a) le xs:date(b)", "a <= b"),
        ("year-from-date(xs:date(a)) ge 1990", "year(a) >= 1990"),
        ("days-from-duration(xs:date(b) - xs:date(a)) le 30", "b - a <= 30"),
        ("abs(number(a) - number(b)) le 0.5", "abs(a - b) <= 0.5"),
        ("max((number(a), number(b))) le number(c)", "max(a, b) <= c"),
    ],
)
def test_parts_are_those_of_the_rule_in_yaml(text: str, rule: str) -> None:
    (edit,) = mw.EditSet.parse([rule])
    assert classify(as_condition(parse_xpath2(text).tree)) == edit.parts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a < b", "an order of texts"),
        ("a = ('M', 'F') + 1", "a sequence where one value is needed"),
        ("xs:decimal(a) = 'M'", "a comparison of a number with a text"),
        ("if (a = 'x') then number(b) else true()", "a condition in one branch"),
        ("for $x in (a, b) return number($x)", "a sequence as a condition"),
        ("xs:date(a)", "as a condition"),
        ("xs:decimal(a) cast as xs:hexBinary = 1", "cast as hexBinary"),
        ("a cast as my:type = 1", "the type my:type"),
        ("(a, b)[1] = 1", "a predicate in square brackets"),
        ("a = (1 to 100000)", "a range of more than 1,000"),
        ("a = (1 to b)", "no whole numbers"),
        ("number(a) idiv 2 = 1", "the operator idiv"),
        ("some $x in a satisfies", "expected a variable"),
        ("some $x in a", "expected 'satisfies'"),
        ("if (a = 'x') then true()", "expected 'else'"),
        ("a eq", "expected a variable"),
        ("$x = 1", "no let variable called 'x'"),
        ("(a ! (b + 1)) = 2", "a step from an item"),
    ],
)
def test_what_is_not_understood_is_named(text: str, said: str) -> None:
    with pytest.raises(EditError, match=said.replace("(", r"\(").replace(")", r"\)")):
        parse_xpath2(text)


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"some $x{n} in (1 to 900) satisfies " for n in range(12)) + "$x0 = a",
        "if (a = 1) then " * 3_00 + "true()" + " else true()" * 300,
        "(" * 5_000 + "a" + ")" * 5_000,
        "-" * 9_000 + "number(a) = 1",
        " ! ".join(["(a, b)"] + ["(., ., .)"] * 20) + " = 1",
        "sum(" * 500 + "a" + ")" * 500 + " = 1",
        "(" + "(if (s = 'x') then 1 else 2) + " * 40 + "1) = number(a)",
        "for $a in (1 to 999) return " * 3 + "1 = a",
        "1e999999999 = number(a)",
        "number(a) = 1e-99999999999999999999",
        "9" * 400 + " = number(a)",
    ],
)
def test_what_would_grow_without_bound_is_refused(text: str) -> None:
    with pytest.raises(EditError, match=r"more than|at most|levels deep|understood"):
        parse_xpath2(text)


def schema(*tests: str) -> str:
    asserts = "".join(f'<assert id="r{n}" test="{test}">m</assert>' for n, test in enumerate(tests))
    return (
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2">'
        '<ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/>'
        f'<pattern><rule context="Person">{asserts}</rule></pattern></schema>'
    )


@needs_saxon
def test_casts_are_decided_by_saxon_and_kept_by_masking(tmp_path: Path) -> None:
    """The same release as from the rules in YAML, byte for byte; valid by the schema as it is."""
    rows = [(20 + n, 1000 + 37 * n, 500 + 11 * n) for n in (37 * row % 60 for row in range(60))]
    people = "".join(
        f"<Person><age>{age}</age><wages>{w}.25</wages><pension>{p}.50</pension><income>{w + p}.75</income></Person>"
        for age, w, p in rows
    )
    (tmp_path / "d.xml").write_text(f"<People>{people}</People>")
    (tmp_path / "r.sch").write_text(
        schema("xs:decimal(wages) + xs:decimal(pension) = xs:decimal(income)",
               "if (xs:integer(age) lt 16) then xs:decimal(wages) eq 0 else true()")
    )  # fmt: skip
    (tmp_path / "r.yaml").write_text("- wages + pension == income\n- if age < 16 then wages == 0\n")
    for name, rules in (("x", "schematron: r.sch"), ("y", "yaml: r.yaml")):
        (tmp_path / f"{name}.yaml").write_text(
            "maskwright: 1\ndata: {source: d.xml, record: Person, variables: {age: {role: quasi_identifier}}}\n"
            f"edits: [{{{rules}}}]\nprotect:\n"
            "  - {method: microaggregation, variables: [age, wages, pension, income], params: {k: 3}}\n"
            f"output: {{data: {name}.xml}}\nseed: 1\n"
        )
        mw.run(tmp_path / f"{name}.yaml")
    assert mw.validate_document(tmp_path / "x.xml", tmp_path / "r.sch").ok
    assert (tmp_path / "x.xml").read_bytes() == (tmp_path / "y.xml").read_bytes()
    edits = read_schematron(tmp_path / "r.sch")
    assert [edit.kind for edit in edits] == ["linear", "governing"]
    assert all(edit.validated_by is not None and edit.engine is None for edit in edits)


@needs_saxon
def test_a_type_in_a_test_is_no_element(tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_text("<f><Person><d>2024-02-30</d></Person><Person><d>2024-02-29</d></Person></f>")
    (tmp_path / "r.sch").write_text(schema("d castable as xs:date", "(d cast as xs:string) = '2024-02-29'"))
    outcome = mw.validate(mw.read(tmp_path / "d.xml"), mw.read_edits(tmp_path / "r.sch"))
    assert [edit.first_records for edit in outcome.edits] == [(1,), (1,)]
