"""The YAML language: what is read, and what is said of what cannot be read."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright.edits.expression import (
    And,
    Arithmetic,
    Comparison,
    Function,
    IfThen,
    InInterval,
    InOriginal,
    InSet,
    IsInteger,
    IsMissing,
    Negative,
    Not,
    Number,
    Or,
    Text,
    VariableReference,
    variable_names,
)
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.foundation.errors import EditError, Place

a, b, c = VariableReference("a"), VariableReference("b"), VariableReference("c")
one, two = Number(Fraction(1)), Number(Fraction(2))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", Comparison("==", a, one)),
        ("a == 1", Comparison("==", a, one)),
        ("1 <= a < b", And((Comparison("<=", one, a), Comparison("<", a, b)))),
        ("a + b - c == 1", Comparison("==", Arithmetic("-", Arithmetic("+", a, b), c), one)),
        ("a - (b - c) == 1", Comparison("==", Arithmetic("-", a, Arithmetic("-", b, c)), one)),
        ("a / b * c == 1", Comparison("==", Arithmetic("*", Arithmetic("/", a, b), c), one)),
        ("-a ^ 2 == 1", Comparison("==", Negative(Arithmetic("^", a, two)), one)),
        ("a ^ -1 == 1", Comparison("==", Arithmetic("^", a, Number(Fraction(-1))), one)),
        ("a ^ b ^ c == 1", Comparison("==", Arithmetic("^", a, Arithmetic("^", b, c)), one)),
        ("sum(a, b) == c", Comparison("==", Arithmetic("+", a, b), c)),
        ("min(a, b) > 1e-3", Comparison(">", Function("min", (a, b)), Number(Fraction(1, 1000)))),
        ("not a > b or a == 1", Or((Not(Comparison(">", a, b)), Comparison("==", a, one)))),
        ("if a > b then a == 1", IfThen(Comparison(">", a, b), Comparison("==", a, one))),
        ("a in [1, 2)", InInterval(a, one, two, True, False)),
        ("a in (-inf, 2]", InInterval(a, None, two, False, True)),
        ("a not in (1, b + 1)", Not(InInterval(a, one, Arithmetic("+", b, one), False, False))),
        ("a in {1, -2}", InSet(a, (one, Number(Fraction(-2))))),
        ("a in {M, 'F F', if}", InSet(a, (Text("M"), Text("F F"), Text("if")))),
        ('a == "M"', Comparison("==", a, Text("M"))),
        ("a is missing", IsMissing(a)),
        ("a is not missing", Not(IsMissing(a))),
        ("a * 2 is integer", IsInteger(Arithmetic("*", a, two))),
        ("a in original", InOriginal(("a",))),
        ("(a, b) not in original", Not(InOriginal(("a", "b")))),
        (
            "PAID.UP_2 == `gross income`",
            Comparison("==", VariableReference("PAID.UP_2"), VariableReference("gross income")),
        ),
        ("original == missing", Comparison("==", VariableReference("original"), VariableReference("missing"))),
        ("ifa < nota", Comparison("<", VariableReference("ifa"), VariableReference("nota"))),
        ("año > 0.10", Comparison(">", VariableReference("año"), Number(Fraction(1, 10)))),
        (" a\n==\t1 ", Comparison("==", a, one)),
    ],
)
def test_reads(text, tree):
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("a +", 4, "the rule ends; expected a number, a variable or a function"),
        ("a = = b", 5, "found '='"),
        ("a && b", 3, "write 'and'"),
        ("a == 1 AND b == 1", 8, "small letters: 'and'"),
        ("a ** 2 == 1", 4, "'^'"),
        ("a =< 2", 4, "'<='"),
        ("a ≤ 2", 3, "'<='"),
        ("aps(a) == 1", 1, "did you mean 'abs'"),
        ("min(a) == 1", 1, "min() takes 2 arguments or more, not 1"),
        ("abs(a, b) == 1", 1, "abs() takes 1 argument, not 2"),
        ("a", 1, "expected a condition, found the variable a"),
        ("a + 1", 1, "expected a condition, found a number"),
        ("not a", 5, "needs a condition; found the variable a"),
        ("(a > 1) + 1 == 2", 2, "needs numbers; found a condition"),
        ("a + 'x' == 1", 5, "needs numbers; found a text"),
        ("a < 'x'", 3, "texts have no order"),
        ("a + 1 == 'x'", 7, "never equal to a text"),
        ("a + 1 in {1, x}", 14, "never a text"),
        ("(a > 1) == (b > 1)", 2, "cannot be compared"),
        ("a + 1 is missing", 1, "expected a variable before 'is missing'"),
        ("a + 1 in original", 1, "expected a variable before 'in original'"),
        ("(a, a) in original", 5, "listed twice"),
        ("a in [1 2]", 9, "','"),
        ("a in (inf, 2]", 6, "lower bound"),
        ("a == 'x", 6, "same quote"),
        ("2a == 1", 2, "found 'a'"),
        ("a == 1e999999999", 6, "at most 400 digits"),
        ("a == 1 b == 2", 8, "'and', 'or' or the end of the rule"),
        ("if a > 1 b > 2", 10, "'then'"),
    ],
)
def test_mistakes_have_a_place_and_a_way_out(text, column, said):
    with pytest.raises(EditError) as raised:
        parse_expression(text)
    (problem,) = raised.value.problems
    assert said in str(problem)
    assert problem.place is not None
    assert (problem.place.line, problem.place.column) == (1, column)
    assert problem.place.text == text


def test_the_place_in_a_file_is_kept():
    line = "  - {rule: 'a == = b', name: x}"
    with pytest.raises(EditError) as raised:
        parse_expression("a == = b", Place("rules.yaml", 7, 12, line))
    place = raised.value.problems[0].place
    assert place == Place("rules.yaml", 7, 18, line)


def test_later_lines_of_a_rule_are_shown():
    with pytest.raises(EditError) as raised:
        parse_expression("a == 1 and\nb == = 1")
    place = raised.value.problems[0].place
    assert place is not None
    assert (place.line, place.column, place.text) == (2, 6, "b == = 1")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_rule_is_a_mistake(text):
    with pytest.raises(EditError, match="empty"):
        parse_expression(text)


def test_long_sums_stay_shallow():
    names = [f"V{i}" for i in range(1500)]
    for text in ("+".join(names) + "==1", "sum(" + ",".join(names) + ")==1"):
        assert variable_names(parse_expression(text)) == tuple(names)


@pytest.mark.parametrize(
    "text",
    ["(" * 4000 + "a", "-" * 9000 + "a == 1", "not " * 2000 + "a == 1", "a^" * 4000 + "a == 1", "a*" * 4000 + "a == 1"],
)
def test_deep_rules_are_refused_clearly(text):
    with pytest.raises(EditError, match=r"nested|expected"):
        parse_expression(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("wages >= 119,5", "write 119.5."),
        ("min(a, b) >= 1.000,50", "write 1000.50."),
        ("founded <= 31.12.2015", "2015-12-31."),
        ("a == 1 and founded <= 1.2.2015 and b == 2", "2015-12-31."),
    ],
)
def test_numbers_and_dates_as_others_write_them_are_told_with_ours(text, hint):
    with pytest.raises(EditError) as told:
        parse_expression(text)
    assert told.value.problems[0].hint.endswith(hint)


@pytest.mark.parametrize("text", ["a in {1,5", "a == 1,", "a == b,5", "a == 1.2.3"])
def test_nothing_is_taken_for_a_decimal_comma_that_is_none(text):
    with pytest.raises(EditError) as told:
        parse_expression(text)
    assert "with a point" not in str(told.value)


def test_too_long_rules_are_refused():
    with pytest.raises(EditError, match="10000"):
        parse_expression("a == 1 " * 2000)


# fmt: off
WORDS = [
    "if", "then", "else", "and", "or", "not", "in", "is", "missing", "integer", "original", "inf", "a", "b", "x.y",
    "1", "2.5", "'M'", "sum", "abs", "`q r`", ".", "$", "(", ")", "[", "]", "{", "}", ",", "+", "-", "*", "/", "^",
    "=", "==", "!=", "<", "<=",
]
# fmt: on


@given(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)))
@settings(max_examples=250)
def test_any_text_is_a_condition_or_a_clear_error(text):
    try:
        tree = parse_expression(text)
    except EditError as error:
        said = str(error)
    else:
        said = type(tree).__name__
        assert not isinstance(tree, (Number, Text, VariableReference, Arithmetic))
    assert said
