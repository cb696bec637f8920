"""Kinds of edits are found by algebra, and the parts say what the edit says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import all_of, expression_of, negate
from maskwright.edits.edit import (
    CheckedPart,
    DomainPart,
    GoverningPart,
    LinearPart,
    PolynomialPart,
    ProductPart,
    RangePart,
)
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.expression import (
    And,
    Comparison,
    Function,
    IfThen,
    Not,
    Number,
    Or,
    Text,
    Truth,
    VariableReference,
    children,
)
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.foundation.errors import EditError


def parts(rule: str):
    return classify(parse_expression(rule))


def linear(text: str, relation="==", constant=0, **rest):
    terms = tuple((name, Fraction(value)) for name, value in (term.split(":") for term in text.split()))
    return LinearPart(terms, relation, Fraction(constant), **rest)


def product(left: str, right: str = "", relation="==", coefficient=1, constant=1, total=None):
    def monomial(text):
        return tuple((name, int(power)) for name, power in (factor.split(":") for factor in text.split()))

    return ProductPart(Fraction(coefficient), monomial(left), relation, monomial(right), Fraction(constant), total)


F = Fraction


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("V9 + V10 == V14", linear("V9:1 V10:1 V14:-1", total="V14")),
        ("T == a + b", linear("T:1 a:-1 b:-1", total="T")),
        ("1.16 * a + 1.07 * b = t", linear("a:1.16 b:1.07 t:-1", total="t")),
        ("2 * t == a + b", linear("t:2 a:-1 b:-1")),
        ("2 * (a + b) - a <= 3 + b", linear("a:1 b:1", "<=", 3)),
        ("a / 4 > b", linear("a:1/4 b:-1", ">")),
        ("abs(a - b) <= 1e-3", linear("a:1 b:-1", tolerance=F(1, 1000))),
        ("abs(a - b - 5) <= 2", linear("a:1 b:-1", "==", 5, tolerance=F(2))),
        ("2 >= abs(a - b - 5)", linear("a:1 b:-1", "==", 5, tolerance=F(2))),
        ("-0.5 <= a - b <= 0.5", linear("a:-1 b:1", tolerance=F(1, 2))),
        ("a - b <= 3 and a - b >= 3", linear("a:1 b:-1", "==", 3)),
        ("a + b - b <= 7", RangePart("a", high=F(7))),
        ("-2 * x < 6", RangePart("x", low=F(-3), low_closed=False)),
        ("3 * x == 6", RangePart("x", numbers=(F(2),))),
        ("x in [0, 7500]", RangePart("x", F(0), F(7500))),
        ("0 <= x <= 10 and x < 5 and x is integer", RangePart("x", F(0), F(5), True, False, integer=True)),
        ("x in {3, 1, 2} and x > 1", RangePart("x", numbers=(F(2), F(3)))),
        ("x == 1 or x in {5, 2} or 2 * x == 6", RangePart("x", numbers=(F(1), F(2), F(3), F(5)))),
        ("s == 'M' or s in {F, 'O'}", RangePart("s", texts=("M", "F", "O"))),
        ("abs(x) <= 2", RangePart("x", F(-2), F(2))),
        ("not (x < 1 or x > 2)", RangePart("x", F(1), F(2))),
        ("not not x is integer", RangePart("x", integer=True)),
        ("floor(x) == x", RangePart("x", integer=True)),
        ("V5 * V15 == V16", product("V5:1 V15:1", "V16:1", total="V16")),
        ("V16 == V5 * V15", product("V5:1 V15:1", "V16:1", total="V16")),
        ("a * b - c == 0", product("a:1 b:1", "c:1", total="c")),
        ("a / b == c", product("a:1 b:-1", "c:1", total="c")),
        ("a * b / c == d", product("a:1 b:1 c:-1", "d:1", total="d")),
        ("2 * a * b <= 6", product("a:1 b:1", "", "<=", 2, 6)),
        ("-a * b <= 6", product("a:1 b:1", "", ">=", 1, -6)),
        ("x ^ 2 <= 9", product("x:2", "", "<=", 1, 9)),
        ("a * b == 0", product("a:1 b:1", "", "==", 1, 0)),
        ("(region, town) in original", DomainPart(("region", "town"))),
    ],
)
def test_one_part(rule, expected):
    assert parts(rule) == (expected,)


@pytest.mark.parametrize(
    "rule",
    [
        "a != 1",
        "abs(a) >= 1",
        "x is missing",
        "x not in {M, F}",
        "a / a == 1",
        "x != 1 or y != 2",
        "a^b == c",
        "a * b / b == c",
    ],
)
def test_what_algebra_cannot_use_is_checked(rule):
    assert parts(rule) == (CheckedPart(parse_expression(rule)),)


def test_a_conjunction_has_several_parts():
    assert [type(part) for part in parts("a + b == c and a * b <= 9 and a >= 0")] == [
        LinearPart,
        ProductPart,
        RangePart,
    ]
    assert parts("max(a, b) <= min(c, d)") == tuple(linear(f"{x}:1 {y}:-1", "<=") for x in "ab" for y in "cd")


GOVERNING = parts("if V8 < 1115 then V13 <= V12")


@pytest.mark.parametrize(
    "rule",
    [
        "not (V8 < 1115) or V13 <= V12",
        "V8 >= 1115 or V13 <= V12",
        "V13 <= V12 or not (V8 < 1115)",
        "V8 < 1115 and V13 <= V12 or not (V8 < 1115)",
        "2230 > 2 * V8 and V13 <= V12 or V8 >= 1115",
        "not (V8 < 1115 and V13 > V12)",
        "if V8 >= 1115 then 1 == 1 else V13 <= V12",
    ],
)
def test_forms_of_one_governing_edit(rule):
    (found,) = parts(rule)
    (expected,) = GOVERNING
    assert isinstance(found, GoverningPart)
    assert isinstance(expected, GoverningPart)
    assert found.condition_parts == expected.condition_parts == (RangePart("V8", high=F(1115), high_closed=False),)
    assert found.refusal_parts == expected.refusal_parts == ((RangePart("V8", low=F(1115)),),)
    assert found.consequent == expected.consequent == (linear("V13:1 V12:-1", "<="),)
    assert found.otherwise == ()


def test_two_branches():
    for rule in ("if s == 1 then a <= b else b <= a", "s == 1 and a <= b or s != 1 and b <= a"):
        (found,) = parts(rule)
        assert isinstance(found, GoverningPart)
        assert found.consequent == (linear("a:1 b:-1", "<="),)
        assert found.otherwise == (linear("b:1 a:-1", "<="),)
        assert found.refusal_parts == (
            (RangePart("s", high=F(1), high_closed=False),),
            (RangePart("s", low=F(1), low_closed=False),),
        )


def test_refusal_of_a_conjunction_is_a_disjunction():
    (found,) = parts("if a > 1 and b <= c and d in {1, 2} then e == 0")
    assert isinstance(found, GoverningPart)
    assert found.condition_parts is not None
    assert [type(part) for part in found.condition_parts] == [RangePart, LinearPart, RangePart]
    assert found.refusal_parts is not None
    assert len(found.refusal_parts) == 1 + 1 + 3


def test_conditions_outside_algebra_have_no_parts():
    (found,) = parts("if a is missing then b == 0")
    assert isinstance(found, GoverningPart)
    assert found.condition_parts is None
    assert found.refusal_parts is None


@pytest.mark.parametrize("rule", ["1 == 1", "a - a <= 1", "if 1 == 2 then a > b", "a > 1 or 2 > 1"])
def test_what_always_holds_vanishes(rule):
    assert parts(rule) == ()


@pytest.mark.parametrize(
    "rule",
    [
        "1 == 2",
        "x < 1 and x > 2",
        "x in {1} and x in {2}",
        "x in (1, 2) and x is integer",
        "abs(a - b) <= -1",
        "a - b <= 1 and a - b >= 2",
        "s == 'M' and s == 'F'",
    ],
)
def test_what_never_holds_is_an_error(rule):
    with pytest.raises(EditError, match="never hold"):
        EditSet.parse([rule])


def test_xpath_forms():
    def number(name):
        return Function("number", (VariableReference(name),))

    assert classify(Comparison("<=", number("a"), number("b"))) == (linear("a:1 b:-1", "<="),)
    assert classify(Comparison("==", VariableReference("s"), Text("M"))) == (RangePart("s", texts=("M",)),)
    assert classify(Comparison("==", Function("string", (VariableReference("s"),)), Text("M"))) == (
        RangePart("s", texts=("M",)),
    )
    assert classify(Function("boolean", (Comparison(">", number("a"), Number(F(1))),))) == (
        RangePart("a", low=F(1), low_closed=False),
    )
    assert classify(Truth(True)) == ()
    assert classify(Function("number", (VariableReference("a"),))) == (
        CheckedPart(Function("number", (VariableReference("a"),))),
    )


def test_hostile_nesting_is_quick():
    nested = "a > 1"
    for i in range(60):
        nested = f"not (b{i} > 1 and ({nested}) or c > {i})" if i % 2 else f"if {nested} then b == {i} else c > 1"
    many = " or ".join(f"(a{i} > 1 and b{i} > 2 or c{i} > 1)" for i in range(200))
    power = "(a+b+c+d)^20 == 1"
    assert [type(part) for part in parts(nested)] == [GoverningPart, RangePart]
    assert [type(part) for part in parts(many)] == [GoverningPart]
    assert parts(power) == (CheckedPart(parse_expression(power)),)


# --- parts say what the edit says -------------------------------------------------------------------------------------

NAMES = ("a", "b", "c")
numbers = st.recursive(
    st.one_of(st.sampled_from(NAMES), st.sampled_from(["0", "1", "2", "0.5", "3"])),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("-{}".format, inner),
        st.builds("abs({})".format, inner),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("min({}, {})".format, inner, inner),
    ),
    max_leaves=4,
)
relations = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
simple = st.one_of(
    st.builds("{} {} {}".format, numbers, relations, numbers),
    st.builds("{} {} {}".format, st.sampled_from(NAMES), relations, st.sampled_from(["0", "1", "-2"])),
    st.builds(
        "{} in {}".format, st.sampled_from(NAMES), st.sampled_from(["[0, 2)", "{1, 2, -1}", "(-inf, 1]", "(0, b]"])
    ),
    st.builds("{} not in {}".format, st.sampled_from(NAMES), st.sampled_from(["[0, 2)", "{1, 2, -1}"])),
    st.builds("{} is integer".format, st.sampled_from(NAMES)),
    st.builds(
        "abs({} - {}) {} {}".format,
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.sampled_from(["<=", "<", ">"]),
        st.sampled_from("01"),
    ),
)
rules = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds("not ({})".format, inner),
        st.builds("({}) and ({})".format, inner, inner),
        st.builds("({}) or ({})".format, inner, inner),
        st.builds("({0}) and ({1}) or not ({0})".format, inner, inner),
        st.builds("({0}) and ({1}) or not ({0}) and ({2})".format, inner, inner, inner),
        st.builds("if {} then ({}) else ({})".format, inner, inner, inner),
        st.builds("if {} then {}".format, inner, inner),
    ),
    max_leaves=4,
)
cells = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0])
GRID = dict.fromkeys(NAMES, 1)


@given(rules, st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=25))
def test_parts_hold_where_the_edit_holds(rule, records):
    tree = parse_expression(rule)
    arrays = {name: np.array([record[i] for record in records]) for i, name in enumerate(NAMES)}
    verdict = evaluate_exact(tree, RecordChunk.from_arrays(arrays, GRID))
    try:
        found = classify(tree)
    except EditError:
        assert not (verdict.holds & ~anything_unknown(tree, RecordChunk.from_arrays(arrays, GRID))).any()
        return
    decided = ~anything_unknown(tree, RecordChunk.from_arrays(arrays, GRID))
    if not found:
        assert verdict.holds[decided].all()
        return
    np.testing.assert_array_equal(parts_hold(found, arrays, GRID)[decided], verdict.holds[decided])
    for part in found:
        if isinstance(part, GoverningPart):
            check_condition(part, arrays)


def parts_hold(found, arrays, decimals):
    """Whether each record obeys a conjunction of parts, or a missing cell leaves it open."""
    tree = all_of([expression_of(part) for part in found])
    return evaluate_exact(tree, RecordChunk.from_arrays(arrays, decimals)).holds


def anything_unknown(tree, data):
    """Whether some comparison inside the rule is unknown, even if the rule is not."""
    if isinstance(tree, (And, Or, Not, IfThen)):
        return np.logical_or.reduce([anything_unknown(child, data) for child in children(tree)])
    return evaluate_exact(tree, data).unknown


def check_condition(part, arrays):
    data = RecordChunk.from_arrays(arrays, GRID)
    given_, refused = evaluate_exact(part.condition, data), evaluate_exact(negate(part.condition), data)
    decided = ~anything_unknown(part.condition, data)
    np.testing.assert_array_equal(refused.holds[decided], ~given_.holds[decided])
    if part.condition_parts is not None:
        np.testing.assert_array_equal(parts_hold(part.condition_parts, arrays, GRID)[decided], given_.holds[decided])
    if part.refusal_parts is not None:
        some = np.logical_or.reduce([parts_hold(case, arrays, GRID) for case in part.refusal_parts])
        np.testing.assert_array_equal(some[decided], ~given_.holds[decided])


@pytest.mark.parametrize(
    ("rule", "tolerance", "total"),
    [
        ("abs(a * b - t) <= 0.5", "1/2", "t"),
        ("0.5 >= abs(t - a * b)", "1/2", "t"),
        ("abs(t / b - a) <= 0.1", "1/10", "a"),
        ("round(a * b, 2) == t", "1/200", "t"),
        ("t == round(net * (1 + rate), 1)", "1/20", "t"),
        ("net * (1 + rate) == gross", "0", "gross"),
        ("abs(a * b + c * d - t) <= 2", "2", "t"),
        ("a * b + c == d", "0", "d"),
        ("a * b - t <= 0.5 and t - a * b <= 0.5", "1/2", "t"),
        ("t - 0.01 <= a * b / 1000 and a * b / 1000 <= t + 0.01", "1/100", "t"),
    ],
)
def test_products_with_a_tolerance_or_of_sums_are_products(rule, tolerance, total):
    (part,) = parts(rule)
    assert isinstance(part, PolynomialPart)
    assert (part.tolerance, part.total) == (Fraction(tolerance), total)


def test_a_rounded_sum_is_two_bounds_and_a_whole_number():
    low, high, whole = parts("round(a + b) == t")
    assert (low.relation, low.constant, high.relation, high.constant) == (">=", Fraction(-1, 2), "<", Fraction(1, 2))
    assert whole == RangePart("t", integer=True)


def test_a_sum_that_is_rounded_to_decimals_is_linear_with_half_a_unit():
    (part,) = parts("round(net * 1.19, 2) == gross")
    assert isinstance(part, LinearPart)
    assert (part.relation, part.tolerance) == ("==", Fraction(1, 200))
    assert dict(part.coefficients) == {"net": Fraction(119, 100), "gross": Fraction(-1)}


@pytest.mark.parametrize("rule", ["abs(a * b - t) < 1", "abs(a * b - t) <= c", "a * a + a == t * t + t"])
def test_what_no_variable_solves_is_checked(rule):
    assert all(isinstance(part, CheckedPart) for part in parts(rule))
