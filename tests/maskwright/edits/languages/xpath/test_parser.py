"""The XPath subset: what is parsed, into what, and what is refused how."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from maskwright.edits.expression import (
    And,
    Arithmetic,
    Comparison,
    Expression,
    Function,
    Negative,
    Not,
    Number,
    Or,
    Text,
    Truth,
    VariableReference,
)
from maskwright.edits.languages.xpath.parser import parse_xpath
from maskwright.foundation.errors import EditError, Place

A, B, C = VariableReference("a"), VariableReference("b"), VariableReference("c")
ONE, TWO = Number(Fraction(1)), Number(Fraction(2))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("./a", A),
        ("child::a", A),
        (" a\n=\t1 ", Comparison("==", A, ONE)),
        ("0.10", Number(Fraction(1, 10))),
        (".5", Number(Fraction(1, 2))),
        ("1.", ONE),
        ('"it\'s"', Text("it's")),
        ("true()", Truth(True)),
        ("false ( )", Truth(False)),
        ("number(a)", Function("number", (A,))),
        ("not(a)", Not(A)),
        ("- -a", Negative(Negative(A))),
        ("-a + b", Arithmetic("+", Negative(A), B)),
        ("a - b - c", Arithmetic("-", Arithmetic("-", A, B), C)),
        ("a - (b - c)", Arithmetic("-", A, Arithmetic("-", B, C))),
        ("a + b * c", Arithmetic("+", A, Arithmetic("*", B, C))),
        ("a div b mod c", Arithmetic("mod", Arithmetic("/", A, B), C)),
        ("a or b and c", Or((A, And((B, C))))),
        ("(a or b) and c", And((Or((A, B)), C))),
        ("a and b and c", And((A, B, C))),
        ("a < b = c", Comparison("==", Comparison("<", A, B), C)),
        ("a = b < c", Comparison("==", A, Comparison("<", B, C))),
        ("1 < 2 < a", Comparison("<", Comparison("<", ONE, TWO), A)),
        ("a-b", VariableReference("a-b")),
        ("div div mod", Arithmetic("/", VariableReference("div"), VariableReference("mod"))),
        ("and and or", And((VariableReference("and"), VariableReference("or")))),
        ("renda_família = 1", Comparison("==", VariableReference("renda_família"), ONE)),
    ],
)
def test_trees(text: str, tree: Expression) -> None:
    assert parse_xpath(text) == tree


def test_variables_are_replaced_by_what_they_stand_for() -> None:
    total = parse_xpath("a + b")
    assert parse_xpath("$total = $ c", None, {"total": total, "c": C}) == Comparison("==", total, C)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("a +", "found the end"),
        ("a b", "expected an operator, found 'b'"),
        ("a = = b", "found '='"),
        ("(a", r"expected '\)'"),
        ("a)", r"found '\)'"),
        ("'abc", "not closed"),
        ("a # b", r"U\+0023"),
        ("a\u00a0= 1", r"U\+00A0"),
        ("sum(a)", r"the function sum\(\)"),
        ("position() = 1", r"position\(\)"),
        ("count(a) = 1", r"count\(\)"),
        ("string-length(a) = 1", r"string-length\(\)"),
        ("exists(a)", r"no function exists\(\)"),
        ("abs(a) = 1", r"no function abs\(\)"),
        ("if (a) then b else c", r"no function if\(\)"),
        ("document('x.xml')//b = a", r"another column of the original(.*\n)*.*in original"),
        ("document('x.xml')", "no condition on a record"),
        ("document('x.xml')//a + 1 = a", "another document"),
        ("count(document('x.xml')//a)", r"count\(\)"),
        ("a eq b", "'eq' of XPath 2.0"),
        ("a idiv b", "'idiv' of XPath 2.0"),
        ("a = (1, 2)", "sequence"),
        ("a[1]", "predicate"),
        ("(a)[1]", "predicate"),
        ("a/b", "more than one step"),
        ("a//b", "more than one step"),
        ("//a", "descendant"),
        ("/a", "absolute path"),
        ("../a", "parent"),
        (".", "record as a whole"),
        ("./text()", "anywhere but to a child"),
        ("text()", r"node test text\(\)"),
        ("@*", "attribute"),
        ("*", "wildcard"),
        ("child::*", "names no child"),
        ("a | b", "union"),
        ("ancestor::a", "axis ancestor::"),
        ("p:a = 1", "prefix in p:a"),
        ("p:f(1)", r"p:f\(\)"),
        ("number()", "without an argument"),
        ("true(1)", r"expected '\)'"),
        ("number(a, b)", "list of arguments"),
        ("$x = 1", "no let variable called 'x'"),
        ("$totl = 1", "did you mean 'total'"),
        ("1" * 301, "300 digits"),
        ("a" * 10_001, "10,001 characters"),
        ("(" * 5_000, "200 levels"),
        ("(" * 201 + "a" + ")" * 201, "200 levels"),
        ("not(" * 201 + "a" + ")" * 201, "200 levels"),
        ("-" * 500 + "a", "200 levels"),
        ("1" + "+1" * 300, "200 levels"),
    ],
)
def test_anything_else_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(EditError, match=said):
        parse_xpath(text, None, {"total": A} if "totl" in text else None)


def test_errors_show_file_line_and_test() -> None:
    with pytest.raises(EditError) as caught:
        parse_xpath("sum(\n  a) = 1", Place("rules.sch", 12))
    (problem,) = caught.value.problems
    assert str(problem).startswith("rules.sch:12: the function sum()")
    assert "sum( a) = 1" in str(problem)
    assert "at character 1" in problem.message


def test_variables_cannot_multiply_without_bound() -> None:
    variables = {"x0": A}
    with pytest.raises(EditError, match="10,000 terms"):  # noqa: PT012 - any step may be the one that is refused
        for step in range(40):
            variables[f"x{step + 1}"] = parse_xpath(f"$x{step} + $x{step}", None, variables)


def test_long_conjunctions_are_wide_and_not_deep() -> None:
    tree = parse_xpath(" and ".join(["a = 1"] * 1_000))
    assert isinstance(tree, And)
    assert len(tree.operands) == 1_000


def test_two_hundred_levels_fit() -> None:
    assert parse_xpath("(" * 199 + "a" + ")" * 199) == A
    assert isinstance(parse_xpath("-" * 199 + "a"), Negative)


PIECES = "a b $v number( not( ( ) + - * div mod and or = != < 1 .5 'x' , [ ] / // . .. @ | :: true() : !"


@given(pieces=st.lists(st.sampled_from(PIECES.split(" ")), max_size=9))
@settings(max_examples=500)
@example(pieces=["-", "(", "a", ")"])
def test_what_is_parsed_is_xpath_and_what_is_not_is_refused_with_a_reason(pieces: list[str]) -> None:
    text = " ".join(pieces)
    try:
        parse_xpath(text, None, {"v": A})
    except EditError as error:
        refusal = error.problems[0]
    else:
        etree.XPath(text)
        return
    assert refusal.message


@given(st.text(max_size=40))
@settings(max_examples=300)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse_xpath(text)
    except EditError as error:
        refusal = error
    else:
        return
    assert refusal.exit_code == 2
