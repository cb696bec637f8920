"""Records that a part of an edit is for, and in which it holds; where halves go that it rounds: in binary64."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit import GoverningPart, LinearPart, Part, PolynomialPart, ProductPart, RangePart
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.expression import variable_names
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.algebra.polynomial import Monomial
    from maskwright.edits.edit import Edit, Relation

    Columns = Mapping[str, NDArray[np.float64]]

MOSTLY_EVEN = 0.8
"""Share of the halves rounded down that end in an even digit, at least, where halves go to even: products in binary
are not quite halves."""


def counted(part: Part, columns: Columns, rows: NDArray[np.bool_]) -> tuple[int, int]:
    """Records in which a part holds, and of which it speaks; a record of zeros says nothing of an equality."""
    cells = np.stack([columns[name][rows] for name in part.variables], axis=1)
    speaks = ~np.isnan(cells).any(axis=1)
    if isinstance(part, LinearPart) and part.relation == "==" and not part.constant:
        speaks &= cells.any(axis=1)
    return int(np.count_nonzero(_held(part, columns, rows) & speaks)), int(np.count_nonzero(speaks))


def _held(part: Part, columns: Columns, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        match part:
            case LinearPart() | PolynomialPart():
                over, slack = _distance(part, columns, rows)
                return _compared(over, part.relation if isinstance(part, LinearPart) else "==", slack)
            case ProductPart():
                left = float(part.coefficient) * _monomial(part.left, columns, rows)
                right = float(part.constant) * _monomial(part.right, columns, rows)
                slack = 1e-9 * (np.abs(left) + np.abs(right)) + float(getattr(part, "tolerance", 0))
                return _compared(left - right, part.relation, slack)
            case RangePart():
                values = columns[part.variable][rows]
                if part.numbers is not None:
                    return np.isin(values, [float(each) for each in part.numbers])
                low = -np.inf if part.low is None else float(part.low)
                high = np.inf if part.high is None else float(part.high)
                above = values >= low if part.low_closed else values > low
                return above & (values <= high if part.high_closed else values < high)
    raise AssertionError(f"no verdict for {type(part).__name__}")


def _distance(
    part: LinearPart | PolynomialPart, columns: Columns, rows: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far its sum is above its constant, and how far it may be off; shape (n,)."""
    if isinstance(part, LinearPart):
        terms = [float(factor) * columns[name][rows] for name, factor in part.coefficients]
        constant = float(part.constant)
    else:
        with np.errstate(all="ignore"):
            terms = [float(factor) * _monomial(powers, columns, rows) for factor, powers in part.terms]
        constant = 0.0
    size = np.sum(np.abs(terms), axis=0) + abs(constant)
    return np.sum(terms, axis=0) - constant, 1e-9 * size + float(part.tolerance)


def _monomial(powers: Sequence[tuple[str, int]], columns: Columns, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    result = np.ones(int(rows.sum()))
    for name, power in powers:
        result = result * columns[name][rows] ** float(power)
    return result


def _compared(over: NDArray[np.float64], relation: Relation, slack: NDArray[np.float64]) -> NDArray[np.bool_]:
    if relation == "==":
        return np.abs(over) <= slack
    if relation in ("<=", "<"):
        return over <= slack if relation == "<=" else over < -slack
    return over >= -slack if relation == ">=" else over > slack


def rounded_halves(part: Part, columns: Columns, rows: NDArray[np.bool_]) -> Literal["", "to even", "down"]:
    """Where halves go that ``round(f) == g`` rounds up; '' where they are not most of what violates it.

    `part`: ``abs(f - g) <= tolerance`` of it, with half a unit.
    """
    if not isinstance(part, LinearPart | PolynomialPart):
        return ""
    over, slack = _distance(part, columns, rows)
    half = float(part.tolerance)
    down = np.abs(over - half) <= slack - half
    if np.count_nonzero(down) <= np.count_nonzero(np.abs(over) > slack):
        return ""
    last, factor = part.coefficients[-1] if isinstance(part, LinearPart) else _as_variable(part.terms[-1])
    if factor != -1:
        return "down"
    is_odd = np.rint(columns[last][rows][down] / (2 * half)) % 2
    return "to even" if np.mean(is_odd) <= 1 - MOSTLY_EVEN else "down"


def _as_variable(term: tuple[Fraction, Monomial]) -> tuple[str, Fraction]:
    """Variable and factor of a term that has no other; factor 0 where it has."""
    factor, powers = term
    return (powers[0][0], factor) if len(powers) == 1 and powers[0][1] == 1 else ("", Fraction(0))


def follows_from_signs(part: Part, columns: Columns, rows: NDArray[np.bool_]) -> bool:
    """Whether an inequality holds of any numbers with the signs of these: ``x >= -70000`` of amounts says nothing.

    Nor does ``0 <= x + y``; ``x >= 0`` says what their sign is.
    """
    always = False
    match part:
        case RangePart(name, low, None) if low is not None:
            terms, bound = [columns[name][rows]], low
        case RangePart(name, None, high) if high is not None:
            terms, bound = [-columns[name][rows]], -high
        case LinearPart(coefficients, relation, constant) if relation != "==":
            sign = 1 if relation in (">=", ">") else -1
            terms, bound = (
                [sign * float(factor) * columns[name][rows] for name, factor in coefficients],
                sign * constant,
            )
            always = bound == 0 and relation in (">=", "<=")
        case _:
            return False
    return (bound < 0 or always) and all(np.nanmin(each, initial=0.0) >= 0.0 for each in terms)


def violated_by_chance(part: Part, columns: Columns, rows: NDArray[np.bool_]) -> float:
    """Share of the records that would violate an inequality of several variables if these were unrelated; else 1."""
    if not isinstance(part, LinearPart) or part.relation == "==" or len(part.variables) < 2:
        return 1.0
    order = generator(0, "by chance")
    mixed = {name: order.permutation(columns[name][rows]) for name in part.variables}
    held, of = counted(part, mixed, np.ones(int(rows.sum()), dtype=np.bool_))
    return 1 - held / of if of else 0.0


def governed_parts(edit: Edit, parts: Sequence[Part], data: Dataset) -> Iterator[tuple[Part, NDArray[np.bool_], str]]:
    """Parts of an edit, those of ``if … then … else`` too, the records that each is for, and the words before it."""
    every = np.ones(len(data), dtype=np.bool_)
    for part in parts:
        if not isinstance(part, GoverningPart):
            yield part, every, ""
            continue
        if not set(variable_names(part.condition)) <= set(data.names):
            continue
        verdict = evaluate(replace(edit, expression=part.condition), RecordChunk.from_dataset(data))
        try:
            condition = rule_text(part.condition)
        except Inexpressible:
            condition = "its condition holds"
        yield from ((each, verdict.holds & ~verdict.unknown, f"if {condition} then ") for each in part.consequent)
        refused = ~verdict.holds & ~verdict.unknown
        yield from ((each, refused, f"if not ({condition}) then ") for each in part.otherwise)
