"""Conditions on several variables, some recoded: what may hold of the others, by category."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import conjunction, disjunction
from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.languages.xpath.conversions import number_of_text
from maskwright.edits.translation.single_variable import implication, is_one_of, one_of
from maskwright.edits.translation.values import Interval, difference, span, span_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.translation.values import Recoded


MOST_COMBINATIONS = 10_000
"""Combinations of categories, or of values that they stand for, that are tried."""


_OR_EQUAL: dict[x.ComparisonOperator, x.ComparisonOperator] = {"<": "<=", ">": ">="}


class Untranslatable(Exception):  # noqa: N818 - never leaves this package
    """A condition cannot be stated of published categories; the text gives the reason."""


@dataclass(frozen=True)
class Possible:
    """Condition on published values that is true of every record of which the original one is.

    `exact`: whether it is true of no other.
    """

    condition: x.Expression
    exact: bool


def possible_comparison(comparison: x.Comparison, variables: Mapping[str, Recoded]) -> Possible:
    """Possible form of a comparison of numbers, linear in the recoded ones, by interval arithmetic."""
    abstract, symbols = _with_symbols(comparison, variables)
    factors = _factors(abstract, symbols)
    names = [name for name in x.variable_names(comparison) if name in variables]
    others = set(x.variable_names(abstract)) - set(symbols)
    cases: dict[tuple[str, ...], x.Expression] = {}
    exact = True
    for categories in _combinations([variables[name] for name in names]):
        spans = {
            name: span_of(variables[name].values[variables[name].categories.index(category)])
            for name, category in zip(names, categories, strict=True)
        }
        if any(each.is_empty for each in spans.values()):
            continue
        values = {symbol: span(inner, spans) for symbol, inner in symbols.items()}
        if others:
            cases[categories] = _bounded(abstract, values, factors, symbols, variables)
            exact &= all(each is not None and each.is_point for each in values.values())
        else:
            may, must = _decided(comparison, spans)
            cases[categories] = x.Truth(may)
            exact &= may == must
    return Possible(_by_category(names, cases, variables), exact)


def by_labels(condition: x.Expression, variables: Mapping[str, Recoded]) -> x.Comparison | None:
    """Comparison of the numbers that the categories of two variables say, as of years; None where it is not one."""
    match condition:
        case x.Comparison(operator, x.VariableReference(first) as left, x.VariableReference(second) as right) if {
            first,
            second,
        } == set(variables) and all(each.original.is_numeric for each in variables.values()):
            labels_of = {
                name: [number_of_text(x.Text(each)) for each in variables[name].categories] for name in variables
            }
            if None in labels_of[first] or None in labels_of[second]:
                return None
            weak = _OR_EQUAL.get(operator, operator)
        case _:
            return None
    for one, values in zip(labels_of[first], variables[first].values, strict=True):
        for other, others in zip(labels_of[second], variables[second].values, strict=True):
            spans = {first: span_of(values), second: span_of(others)}
            if any(each.is_empty for each in spans.values()) or one is None or other is None:
                return None
            labels = Interval(one.value - other.value, one.value - other.value)
            if _decided(condition, spans)[0] != _signs(labels, Interval(Fraction(0), Fraction(0)))[weak]:
                return None
    return x.Comparison(weak, left, right)


def _with_symbols(
    comparison: x.Comparison, variables: Mapping[str, Recoded]
) -> tuple[x.Comparison, dict[str, x.Expression]]:
    """Comparison in which functions of recoded variables are variables of their own, and what each stands for."""
    symbols: dict[str, x.Expression] = {}

    def replaced(node: x.Expression) -> x.Expression:
        used = x.variable_names(node)
        if isinstance(node, x.Function) and node.name != "number" and used and set(used) <= set(symbols):
            inner = x.rewritten(node, lambda leaf: symbols[leaf.name] if _is_symbol(leaf) else leaf)  # type: ignore[union-attr]
            symbols[f"{len(symbols)} {node.name}"] = inner
            return x.VariableReference(f"{len(symbols) - 1} {node.name}")
        if isinstance(node, x.VariableReference) and node.name in variables:
            symbols.setdefault(node.name, node)
        return node

    def _is_symbol(leaf: x.Expression) -> bool:
        return isinstance(leaf, x.VariableReference) and leaf.name in symbols

    found = x.rewritten(comparison, replaced)
    assert isinstance(found, x.Comparison)
    left = set(x.variable_names(found))
    return found, {name: inner for name, inner in symbols.items() if name in left}


def _factors(comparison: x.Comparison, symbols: Mapping[str, x.Expression]) -> dict[str, Fraction]:
    """Coefficient of each symbol in left minus right."""
    left, right = polynomial_of(comparison.left), polynomial_of(comparison.right)
    if left is None or right is None:
        raise Untranslatable("it is not linear in what is recoded")
    found: dict[str, Fraction] = {}
    for monomial, coefficient in (left - right).terms.items():
        inside = [name for name, _ in monomial if name in symbols]
        if not inside:
            continue
        if len(monomial) != 1 or monomial[0][1] != 1:
            raise Untranslatable("it is not linear in what is recoded")
        found[inside[0]] = coefficient
    if (left - right).divisors & set(symbols):
        raise Untranslatable("it divides by what is recoded")
    return found


def _bounded(
    comparison: x.Comparison,
    values: Mapping[str, Interval | None],
    factors: Mapping[str, Fraction],
    symbols: Mapping[str, x.Expression],
    variables: Mapping[str, Recoded],
) -> x.Expression:
    """What may hold of the other variables."""
    if all(each is not None and each.is_point for each in values.values()):
        ends = {symbol: each.low for symbol, each in values.items() if each is not None and each.low is not None}
        return _put(comparison, comparison.operator, ends, symbols, variables)
    if comparison.operator == "!=":
        return x.Truth(True)
    found: list[x.Expression] = []
    for operator in {"==": ("<=", ">="), "<=": ("<=",), "<": ("<",), ">=": (">=",), ">": (">",)}[comparison.operator]:
        below = operator in ("<=", "<")
        reached: dict[str, Fraction] = {}
        closed = True
        for symbol, factor in factors.items():
            each = values[symbol]
            low = (factor > 0) == below
            end = None if each is None else each.low if low else each.high
            if each is None or end is None:
                break
            reached[symbol] = end
            closed &= each.low_closed if low else each.high_closed
        else:
            strict: x.ComparisonOperator = "<" if below else ">"
            kept: x.ComparisonOperator = "<=" if below else ">="
            is_strict = not closed or operator == strict
            # What has cancelled out is in no condition: any number does.
            ends = {symbol: reached.get(symbol, Fraction(0)) for symbol in symbols}
            found.append(_put(comparison, strict if is_strict else kept, ends, symbols, variables))
    return conjunction(found)


def _put(
    comparison: x.Comparison,
    operator: x.ComparisonOperator,
    ends: Mapping[str, Fraction],
    symbols: Mapping[str, x.Expression],
    variables: Mapping[str, Recoded],
) -> x.Comparison:
    def literal(node: x.Expression) -> x.Expression:
        if not isinstance(node, x.VariableReference) or node.name not in ends:
            return node
        inner = symbols[node.name]
        is_date = isinstance(inner, x.VariableReference) and variables[inner.name].original.is_date
        return x.Date(ends[node.name]) if is_date else x.Number(ends[node.name])

    return x.Comparison(
        operator,
        *(x.rewritten(x.rewritten(side, literal), _calculated) for side in (comparison.left, comparison.right)),
    )


def _calculated(node: x.Expression) -> x.Expression:
    """Sum or product of two literals as one; nothing is added or subtracted where that is 0."""
    match node:
        case x.Arithmetic("+" | "-", left, x.Number(value)) if not value and type(node.right) is x.Number:
            return left
        case x.Arithmetic("+" | "-" | "*" as sign, x.Number(one), x.Number(other)) if type(node.left) is type(
            node.right
        ):
            if type(node.left) is not x.Number:
                return node
            return x.Number(one + other if sign == "+" else one - other if sign == "-" else one * other)
        case _:
            return node


def _decided(comparison: x.Comparison, spans: Mapping[str, Interval]) -> tuple[bool, bool]:
    found = difference(comparison.left, comparison.right, spans)
    if found is None:
        raise Untranslatable("its terms have no known limits")
    zero = Interval(Fraction(0), Fraction(0))
    inside = _signs(found, zero)
    return inside[comparison.operator], not inside[x.NEGATED[comparison.operator]]


def _signs(found: Interval, zero: Interval) -> dict[x.ComparisonOperator, bool]:
    """Which comparisons with 0 may hold."""
    below = found.low is None or found.low < 0
    above = found.high is None or found.high > 0
    equal = not found.common(zero).is_empty
    return {"<": below, ">": above, "==": equal, "!=": below or above, "<=": below or equal, ">=": above or equal}


def possible_by_values(condition: x.Expression, variables: Mapping[str, Recoded]) -> Possible:
    """Possible form of any condition, where each category stands for a few values: these are put in."""
    names = [name for name in x.variable_names(condition) if name in variables]
    combinations = _combinations([variables[name] for name in names])
    cases: dict[tuple[str, ...], x.Expression] = {}
    exact, looked_at = True, 0
    for categories in combinations:
        values = [_few(variables[name], category) for name, category in zip(names, categories, strict=True)]
        looked_at += math.prod(len(each) for each in values)
        if looked_at > MOST_COMBINATIONS:
            raise Untranslatable("it takes too many combinations of values")
        if not all(values):
            continue
        found = [
            _with_values(condition, dict(zip(names, chosen, strict=True))) for chosen in itertools.product(*values)
        ]
        cases[categories] = disjunction(found)
        exact &= len(found) == 1
    return Possible(_by_category(names, cases, variables), exact)


def _few(variable: Recoded, category: str) -> tuple[x.Number | x.Text, ...]:
    values = variable.values[variable.categories.index(category)]
    kind = x.Date if variable.original.is_date else x.Number
    if isinstance(values, Interval):
        if values.is_empty:
            return ()
        if not values.is_point or values.low is None:
            raise Untranslatable("it is not a comparison that is linear in what is recoded")
        return (kind(values.low),)
    # A category is compared by the number that it is, if it is one.
    return tuple(
        kind(each) if isinstance(each, Fraction) else number_of_text(x.Text(each)) or x.Text(each) for each in values
    )


def _with_values(condition: x.Expression, values: Mapping[str, x.Number | x.Text]) -> x.Expression:
    """Condition with values in the place of variables; two literals are compared at once."""
    found = x.rewritten(
        condition,
        lambda node: values[node.name] if isinstance(node, x.VariableReference) and node.name in values else node,
    )
    match found:
        case x.Comparison("==" | "!=" as operator, x.Text() | x.Number() as left, x.Text() | x.Number() as right):
            return x.Truth((left == right) == (operator == "=="))
        case _ if not x.variable_names(found):
            raise Untranslatable("it reads nothing that is published as it is")
        case _:
            return found


def _combinations(variables: Sequence[Recoded]) -> list[tuple[str, ...]]:
    if math.prod(len(each.categories) for each in variables) > MOST_COMBINATIONS:
        raise Untranslatable(f"it takes more than {MOST_COMBINATIONS} combinations of categories")
    return list(itertools.product(*(each.categories for each in variables)))


def _by_category(
    names: Sequence[str], cases: Mapping[tuple[str, ...], x.Expression], variables: Mapping[str, Recoded]
) -> x.Expression:
    """Implications from categories to what may hold then; what is the same for several is stated once."""
    *outer, last = names
    grouped: dict[tuple[str, ...], dict[x.Expression, list[str]]] = {}
    for categories, condition in cases.items():
        grouped.setdefault(categories[:-1], {}).setdefault(condition, []).append(categories[-1])
    stated: dict[x.Expression, list[tuple[str, ...]]] = {}
    for before, by_condition in grouped.items():
        present = [category for listed in by_condition.values() for category in listed]
        if set(by_condition) <= {x.Truth(True), x.Truth(False)}:
            allowed = by_condition.get(x.Truth(True), [])
            ordered = [each for each in variables[last].categories if each in allowed]
            stated.setdefault(one_of(last, ordered, present, weaker=True), []).append(before)
            continue
        inner = [
            implication(one_of(last, listed, present, weaker=False), _never(condition, last))
            for condition, listed in by_condition.items()
        ]
        stated.setdefault(conjunction(inner), []).append(before)
    if not outer:
        return conjunction(list(stated))
    return conjunction(
        [implication(_either(outer, listed, variables), condition) for condition, listed in stated.items()]
    )


def _never(condition: x.Expression, last: str) -> x.Expression:
    """What cannot be true of any record that has a value there."""
    return one_of(last, (), ("any",), weaker=True) if condition == x.Truth(False) else condition


def _either(names: Sequence[str], listed: Sequence[tuple[str, ...]], variables: Mapping[str, Recoded]) -> x.Expression:
    """One of the listed combinations of categories."""
    if len(names) == 1:
        chosen = {categories[0] for categories in listed}
        return is_one_of(names[0], [each for each in variables[names[0]].categories if each in chosen])
    return disjunction(
        [
            conjunction([is_one_of(name, [each]) for name, each in zip(names, categories, strict=True)])
            for categories in listed
        ]
    )
