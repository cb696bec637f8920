"""Conditions on one recoded variable, as conditions on its categories."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.date_texts import iso_text
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits import expression as x
from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.translation.values import FIRST_DAY, LAST_DAY, Interval, decided
from maskwright.foundation.errors import MaskwrightError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.variable import Variable
    from maskwright.edits.translation.values import Recoded, Values


MOST_VALUES = 4_000_000
"""Whole numbers, or days, of a category that are evaluated one by one."""
MOST_BORDERS = 3


@dataclass(frozen=True)
class Straddling:
    """A category with values on both sides of a condition.

    `borders`: where its values should be parted: the first values of new bands. Empty: no border is known. `is_open`:
    whether they are numbers without a lower end.
    """

    variable: str
    category: str
    borders: tuple[str, ...]
    is_open: bool = False


@dataclass(frozen=True)
class Sides:
    """Categories of a variable by what a condition is of their values.

    `may`, `must`: some value satisfies it; all do. `possible`: categories that stand for any value at all.
    """

    may: tuple[str, ...]
    must: tuple[str, ...]
    possible: tuple[str, ...]
    straddling: tuple[Straddling, ...]


def sides(condition: x.Expression, variable: Recoded) -> Sides:
    """Sides of a condition on one variable."""
    may: list[str] = []
    must: list[str] = []
    possible: list[str] = []
    straddling: list[Straddling] = []
    for category, values in zip(variable.categories, variable.values, strict=True):
        if values == () or (isinstance(values, Interval) and values.is_empty):
            continue
        possible.append(category)
        some, every = _of_values(condition, variable.original, values)
        may += [category] * some
        must += [category] * every
        if some and not every:
            borders = _borders(condition, variable.original, values)
            is_open = isinstance(values, Interval) and values.low is None and not variable.original.is_date
            straddling.append(Straddling(variable.original.name, category, borders, is_open))
    return Sides(tuple(may), tuple(must), tuple(possible), tuple(straddling))


def _of_values(condition: x.Expression, original: Variable, values: Values) -> tuple[bool, bool]:
    if isinstance(values, Interval):
        found = decided(condition, {original.name: values})
        listed = _whole_numbers(original, values) if found == (True, False) else None
        if listed is None:
            return found
        holds = _truth(condition, original, listed)
    else:
        holds = truth_of_listed(condition, original, values)
    if holds is None:
        return True, False
    return bool(holds.any()), bool(holds.all())


def _whole_numbers(original: Variable, values: Interval) -> NDArray[np.float64] | None:
    if original.type == "date":
        values = values.common(Interval(Fraction(FIRST_DAY), Fraction(LAST_DAY)))
    if original.type not in ("date", "integer") or values.low is None or values.high is None:
        return None
    if values.is_empty or values.high - values.low > MOST_VALUES:
        return None
    return np.arange(int(values.low), int(values.high) + 1, dtype=np.float64)


def truth_of_listed(
    condition: x.Expression, original: Variable, values: Sequence[str] | Sequence[Fraction]
) -> NDArray[np.bool_] | None:
    """Whether a condition on one variable is true of each value; None where it is neither true nor false of one."""
    if original.is_numeric:
        return _truth(condition, original, np.array([float(each) * original.day for each in values]))
    if not set(values) <= set(original.categories):
        return None
    codes = np.array([original.categories.index(str(each)) for each in values], dtype=np.int32)
    return _truth(condition, original, codes)


def _truth(
    condition: x.Expression, original: Variable, values: NDArray[np.float64] | NDArray[np.int32]
) -> NDArray[np.bool_] | None:
    column = Column(original, values, np.zeros(len(values), dtype=np.bool_))
    try:
        verdict = evaluate_exact(condition, RecordChunk.from_dataset(Dataset((column,))))
    except MaskwrightError:
        return None
    return None if verdict.unknown.any() else verdict.holds


def _borders(condition: x.Expression, original: Variable, values: Values) -> tuple[str, ...]:
    """Values at which new bands would have to begin; none where that is not known, or where there are many."""
    if not isinstance(values, Interval):
        return ()
    whole = _whole_numbers(original, values)
    if whole is not None:
        holds = _truth(condition, original, whole)
        if holds is None:
            return ()
        starts = whole[1:][holds[1:] != holds[:-1]]
        found = [iso_text(int(each)) if original.is_date else f"{each:g}" for each in starts[: MOST_BORDERS + 1]]
        return tuple(found) if len(found) <= MOST_BORDERS else ()
    return tuple(
        iso_text(each) if original.is_date else f"{float(each):.12g}"
        for each in sorted({_start(original, *turn) for turn in _turns(condition)})
        if values.holds(each)
    )


def _turns(condition: x.Expression) -> list[tuple[Fraction, bool]]:
    """Where the truth of a condition turns, and whether that value belongs to what lies above it."""
    match condition:
        case x.Comparison(operator, left, right):
            first, second = polynomial_of(left), polynomial_of(right)
            found = None if first is None or second is None else first - second
            if found is None or not found.is_affine or len(found.linear_terms) != 1:
                return []
            (factor,) = found.linear_terms.values()
            turn = -found.constant / factor
            if operator in ("==", "!="):
                return [(turn, True), (turn, False)]
            return [(turn, (operator in (">=", "<")) == (factor > 0))]
        case x.InInterval(_, low, high):
            below = [(low.value, condition.low_closed)] if isinstance(low, x.Number) else []
            return below + ([(high.value, not condition.high_closed)] if isinstance(high, x.Number) else [])
        case x.InSet(_, members):
            numbers = [member.value for member in members if isinstance(member, x.Number)]
            return [(number, upper) for number in numbers[:MOST_BORDERS] for upper in (True, False)]
        case _:
            return []


def _start(original: Variable, turn: Fraction, belongs_above: bool) -> Fraction:
    """First value of a band that begins where the truth turns: the next one, where the turn itself lies below it."""
    if belongs_above:
        return turn
    step = 0 if original.type in ("integer", "date") else original.decimals
    return turn if step is None else turn + Fraction(1, 10**step * original.day)


def one_of(name: str, chosen: Sequence[str], categories: Sequence[str], *, weaker: bool) -> x.Expression:
    """Condition that a variable has one of the chosen categories."""
    variable = x.VariableReference(name)
    if len(chosen) == len(categories):
        return x.Truth(True) if weaker else x.Not(x.IsMissing(variable))
    if not chosen:
        return x.IsMissing(variable) if weaker else x.Truth(False)
    return is_one_of(name, chosen)


def is_one_of(name: str, chosen: Sequence[str]) -> x.Expression:
    """Condition that a variable has one of the categories, at least one."""
    variable = x.VariableReference(name)
    if len(chosen) == 1:
        return x.Comparison("==", variable, x.Text(chosen[0]))
    return x.InSet(variable, tuple(x.Text(each) for each in chosen))


def implication(condition: x.Expression, consequent: x.Expression) -> x.Expression:
    """The second holds where the first does."""
    if consequent == x.Truth(True) or condition == x.Truth(False):
        return x.Truth(True)
    return consequent if condition == x.Truth(True) else x.IfThen(condition, consequent)
