"""Exact evaluation against Python fractions, record by record."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.expression import (
    And,
    Arithmetic,
    Comparison,
    Expression,
    Function,
    IfThen,
    InInterval,
    InSet,
    IsInteger,
    IsMissing,
    Negative,
    Not,
    Number,
    Or,
    Truth,
    VariableReference,
)
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.foundation.errors import EditError, InputError

NAMES = ("a", "b", "c")


def columns(**texts: list[str | None]) -> RecordChunk:
    return RecordChunk.from_batch(
        pa.RecordBatch.from_pydict({name: pa.array(own, pa.string()) for name, own in texts.items()})
    )


def verdict(rule: str, data: RecordChunk) -> str:
    """One letter a record: t, f or u."""
    found = evaluate_exact(parse_expression(rule), data)
    return "".join("u" if u else "t" if h else "f" for h, u in zip(found.holds, found.unknown, strict=True))


# --- an oracle that knows nothing of vectors -------------------------------------------------------------------------


def value_of(node: Expression, row: dict[str, Fraction | None]) -> Fraction | None:  # noqa: C901, PLR0911
    match node:
        case Number(value):
            return value
        case VariableReference(name):
            return row[name]
        case Negative(operand):
            inner = value_of(operand, row)
            return None if inner is None else -inner
        case Arithmetic(operator, left, right):
            x, y = value_of(left, row), value_of(right, row)
            if x is None or y is None:
                return None
            if operator in ("/", "mod") and y == 0:
                return None
            if operator == "^":
                return None if x == 0 and y < 0 else x ** int(y)
            whole = 0 if operator != "mod" else abs(x) // abs(y) * (1 if x * y >= 0 else -1)
            return {"+": x + y, "-": x - y, "*": x * y, "/": x / y if operator == "/" else x, "mod": x - y * whole}[
                operator
            ]
        case Function(name, arguments):
            values = [value_of(argument, row) for argument in arguments]
            if any(value is None for value in values):
                return None
            known = [value for value in values if value is not None]
            if name in ("min", "max"):
                return min(known) if name == "min" else max(known)
            (x,) = known
            return {
                "abs": abs(x), "floor": Fraction(x.__floor__()), "ceiling": Fraction(x.__ceil__()),
                "round": Fraction((x + Fraction(1, 2)).__floor__()),
            }[name]  # fmt: skip
        case _:
            raise AssertionError(node)


def truth_of(node: Expression, row: dict[str, Fraction | None]) -> bool | None:  # noqa: C901, PLR0911, PLR0912
    match node:
        case Truth(value):
            return value
        case Comparison(operator, left, right):
            x, y = value_of(left, row), value_of(right, row)
            if x is None or y is None:
                return None
            return {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[operator]
        case Not(operand):
            inner = truth_of(operand, row)
            return None if inner is None else not inner
        case And(operands):
            truths = [truth_of(operand, row) for operand in operands]
            return False if False in truths else None if None in truths else True
        case Or(operands):
            truths = [truth_of(operand, row) for operand in operands]
            return True if True in truths else None if None in truths else False
        case IfThen(condition, consequent, otherwise):
            first = truth_of(Or((Not(condition), consequent)), row)
            second = True if otherwise is None else truth_of(Or((condition, otherwise)), row)
            return False if False in (first, second) else None if None in (first, second) else True
        case InInterval(operand, low, high, low_closed, high_closed):
            bounds: list[Expression] = [Truth(True)]
            if low is not None:
                bounds.append(Comparison(">=" if low_closed else ">", operand, low))
            if high is not None:
                bounds.append(Comparison("<=" if high_closed else "<", operand, high))
            return truth_of(And(tuple(bounds)), row)
        case InSet(operand, members):
            x = value_of(operand, row)
            return None if x is None else x in [member.value for member in members]
        case IsInteger(operand):
            x = value_of(operand, row)
            return None if x is None else x.denominator == 1
        case IsMissing(VariableReference(name)):
            return row[name] is None
        case _:
            raise AssertionError(node)


# --- random rules and records ----------------------------------------------------------------------------------------

constants = st.builds(Number, st.sampled_from([Fraction(n, d) for n in (-3, 0, 1, 2, 7) for d in (1, 2, 3, 100)]))
variables: st.SearchStrategy[Expression] = st.builds(VariableReference, st.sampled_from(NAMES))


def arithmetic(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from(["+", "-", "*", "/", "mod"]), inner, inner),
        st.builds(Negative, inner),
        st.builds(lambda name, x: Function(name, (x,)), st.sampled_from(["abs", "floor", "ceiling", "round"]), inner),
        st.builds(lambda name, x, y: Function(name, (x, y)), st.sampled_from(["min", "max"]), inner, inner),
        st.builds(lambda x, n: Arithmetic("^", x, Number(Fraction(n))), inner, st.integers(-3, 3)),
    )


numbers = st.recursive(st.one_of(constants, variables), arithmetic, max_leaves=6)
comparisons = st.builds(Comparison, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), numbers, numbers)
simple = st.one_of(
    comparisons,
    st.builds(InInterval, numbers, st.none() | constants, st.none() | constants, st.booleans(), st.booleans()).filter(
        lambda node: node.low is not None or node.high is not None
    ),
    st.builds(lambda x, members: InSet(x, tuple(members)), numbers, st.lists(constants, min_size=1, max_size=3)),
    st.builds(IsInteger, numbers),
    st.builds(IsMissing, variables),
)
rules = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(lambda x, y: And((x, y)), inner, inner),
        st.builds(lambda x, y, z: Or((x, y, z)), inner, inner, inner),
        st.builds(IfThen, inner, inner, st.none() | inner),
    ),
    max_leaves=4,
)
decimals = st.integers(0, 3)
cells = st.one_of(st.none(), st.integers(-5, 5), st.integers(-2000, 2000), st.sampled_from([10**9, -(10**12) + 1]))


@given(rules, st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8), st.tuples(decimals, decimals, decimals))
def test_exact_evaluation_agrees_with_fractions(rule, records, places):
    arrays, rows = {}, [{} for _ in records]
    for position, name in enumerate(NAMES):
        scale = 10 ** places[position]
        own = [record[position] for record in records]
        arrays[name] = np.array([np.nan if value is None else value / scale for value in own])
        for row, value in zip(rows, own, strict=True):
            row[name] = None if value is None else Fraction(value, scale)
    data = RecordChunk.from_arrays(arrays, dict(zip(NAMES, places, strict=True)))
    found = evaluate_exact(rule, data)
    for position, row in enumerate(rows):
        expected = truth_of(rule, row)
        assert found.unknown[position] == (expected is None)
        assert found.holds[position] == (expected is not False)


@given(rules, st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=5))
def test_a_rule_or_its_negation_holds_and_both_are_unknown_together(rule, records):
    arrays = {
        name: np.array([np.nan if record[i] is None else float(record[i]) for record in records])
        for i, name in enumerate(NAMES)
    }
    for places in (0, None):
        data = RecordChunk.from_arrays(arrays, dict.fromkeys(NAMES, places))
        plain, negated = evaluate_exact(rule, data), evaluate_exact(Not(rule), data)
        np.testing.assert_array_equal(plain.unknown, negated.unknown)
        np.testing.assert_array_equal(plain.holds & negated.holds, plain.unknown)
        doubled = evaluate_exact(And((rule, rule)), data)
        np.testing.assert_array_equal(doubled.holds, plain.holds)
        np.testing.assert_array_equal(doubled.unknown, plain.unknown)


def test_decimals_are_decimals():
    data = columns(a=["0.1", "0.10", "-.1"], b=["0.2", "0.2", "0.3"], c=["0.3", "0.31", "0.2"])
    assert verdict("a + b == c", data) == "tft"


def test_digits_beyond_binary64_are_read_from_the_text():
    data = columns(a=["12345678901234567.89", "1"], b=["12345678901234567.88", "1"], c=["9" * 40, "2"])
    assert verdict("a > b", data) == "tf"
    assert verdict("a - b == 0.01", data) == "tf"
    assert verdict("c * c > 1", data) == "tt"
    assert verdict(f"c == {'9' * 40}", data) == "tf"


def test_large_products_leave_int64_without_wrapping():
    data = columns(a=["3000000000", "-3000000000"], b=["4000000000", "4000000000"])
    assert verdict("a * b == 12000000000000000000", data) == "tf"
    assert verdict("a * b * a * b > 0", data) == "tt"
    assert verdict("a ^ 60 > 0", data) == "tt"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a == 1", "ttuuf"),
        ("a != 1", "ffuut"),
        ("a in {1, 2}", "ttuft"),
        ("a not in {1, 2}", "ffutf"),
        ("a is missing", "fftff"),
        ("a is not missing", "ttftt"),
        ('a == "1"', "tfuff"),
        ("a in {M, 1}", "ttutf"),
        ("a is missing or a > 0", "tttut"),
        ("a / (a - 2) <= 5", "ttuuu"),
    ],
)
def test_missing_cells_and_words(rule, expected):
    assert verdict(rule, columns(a=["1", "1.0", "", "M", "2"])) == expected


def test_cells_are_compared_as_numbers_or_else_as_texts():
    data = columns(a=["1", "x", "x", "", "1"], b=["1.0", "x", "y", "x", "x"])
    assert verdict("a == b", data) == "ttfuf"
    assert verdict("a != b", data) == "fftut"


def test_plain_binary64_is_equal_up_to_rounding():
    data = RecordChunk.from_arrays(
        {"a": np.array([0.1, 0.1]), "b": np.array([0.2, 0.2]), "c": np.array([0.3, 0.3000001])}
    )
    assert verdict("a + b == c", data) == "tf"
    assert verdict("a + b > c", data) == "ff"
    assert verdict("a + b <= c", data) == "tt"


def test_infinite_binary64_is_out_of_every_bound():
    data = RecordChunk.from_arrays({"a": np.array([np.inf, -np.inf, 1.0])})
    assert verdict("a <= 5", data) == "ftt"
    assert verdict("a - a == 0", data) == "uut"


def test_large_sets():
    listed = ", ".join(str(value) for value in range(0, 3000, 3))
    data = columns(a=["3", "4", "2997.0", "-3", "", "x", "99999999999999999999", "0.3"])
    assert verdict(f"a in {{{listed}}}", data) == "tftfufff"
    assert verdict(f"a * 10 in {{{listed}}}", data) == "tfffuuft"
    assert verdict(f"a / a * 3 in {{{listed}}}", data) == "tttt" + "uu" + "tt"
    plain = RecordChunk.from_arrays({"a": np.array([3.0, 4.0, 0.1 * 30, np.nan, np.inf])})
    assert verdict(f"a in {{{listed}, 1e399}}", plain) == "tftuf"


def test_no_records():
    data = RecordChunk.from_arrays({"a": np.zeros(0)}, {"a": 0})
    assert verdict("a * a / a <= 5 and a in {1, 2} or floor(a) == 1", data) == ""


def test_unknown_variables_are_named():
    with pytest.raises(InputError, match="did you mean 'wages'"):
        verdict("wagse > 1", columns(wages=["1"]))


def test_domain_edits_need_the_original():
    with pytest.raises(EditError, match="original file"):
        verdict("a in original", columns(a=["1"]))


def test_extreme_constants_cost_nothing():
    assert verdict("((2 ^ 64) ^ 64) ^ 64 > a", columns(a=["1"])) in ("t", "u")
    assert verdict("1e-400 + a > 1e-400", columns(a=["1", "0"])) == "tf"
