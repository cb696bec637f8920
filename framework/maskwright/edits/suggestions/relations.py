"""Linear relations in whole coefficients: how far records miss them, and other ways to write the same."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.suggestions.model import small_whole
from maskwright.edits.suggestions.rounding import BINARY, Numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

LARGEST_COEFFICIENT = 1000

LEAST_EXPLAINED = 5
"""Records that hold thanks to a term, at least."""

PROPORTIONAL = 0.95
"""Share of the records in which one variable is so many times another one, at least."""

LEAST_STEPS = 20
"""Times its rounding that a variable is, in the median, where it can be seen to be a multiple."""

MOST_PROPORTIONAL = 2
"""Variables of a relation that is a proportion, and no sum."""


@dataclass(frozen=True, eq=False)
class Relation:
    """``cells @ terms + constant == 0``, with whole coefficients."""

    terms: NDArray[np.int64]
    constant: Fraction = Fraction(0)

    @property
    def key(self) -> tuple[int | Fraction, ...]:
        """What two relations that say the same have in common."""
        return (*self.terms.tolist(), self.constant)


@dataclass(frozen=True, eq=False)
class Table:
    """Cells, 0 where missing; how far rounding may have moved them; shapes (n, p)."""

    numbers: Numbers
    cells: NDArray[np.float64]
    errors: NDArray[np.float64]
    missing: NDArray[np.bool_]

    def rest(self, relation: Relation, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.float64]:
        """By how much records miss a relation."""
        used = np.flatnonzero(relation.terms)
        cells = self.cells[rows][:, used] if isinstance(rows, slice) else self.cells[np.ix_(rows, used)]
        return np.asarray(cells @ relation.terms[used].astype(np.float64) + float(relation.constant))

    def bound(self, relation: Relation, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.float64]:
        """By how much rounding can make them."""
        used = np.flatnonzero(relation.terms)
        errors = self.errors[rows][:, used] if isinstance(rows, slice) else self.errors[np.ix_(rows, used)]
        return np.asarray(errors @ np.abs(relation.terms[used]).astype(np.float64) + BINARY * abs(relation.constant))


def whole_relation(terms: Sequence[Fraction], constant: Fraction) -> Relation | None:
    """A relation in small whole coefficients; None where there are none, or of less than two variables."""
    whole = small_whole(terms, LARGEST_COEFFICIENT) if any(terms) else None
    if whole is None or sum(map(bool, whole)) < 2:
        return None
    first = next(place for place, value in enumerate(whole) if value)
    sign = 1 if whole[first] > 0 else -1
    found = np.array([sign * int(value) for value in whole], dtype=np.int64)
    return Relation(found, constant * Fraction(int(found[first])) / terms[first])


def shorter(found: list[Relation], known: set[tuple[int | Fraction, ...]]) -> Iterator[Relation]:
    """Differences of two relations in which a variable cancels and that have fewer terms than the longer one."""
    for one in found:
        for other in found:
            for place in np.flatnonzero((one.terms != 0) & (other.terms != 0)):
                x, y = int(other.terms[place]), int(one.terms[place])
                terms = x * one.terms - y * other.terms
                if np.count_nonzero(terms) >= max(np.count_nonzero(one.terms), np.count_nonzero(other.terms)):
                    continue
                rest = whole_relation([Fraction(int(value)) for value in terms], x * one.constant - y * other.constant)
                if rest is not None and rest.key[:-1] not in known:
                    known.add(rest.key[:-1])
                    yield rest


def multiples(table: Table, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Variables that are so many times a larger one, up to rounding: a fit on both identifies neither; shape (p,)."""
    cells, errors = table.cells[rows], table.errors[rows]
    typical = np.array([np.median(np.abs(each[each != 0])) if each.any() else 0.0 for each in cells.T])
    found = np.zeros(len(typical), dtype=np.bool_)
    order = np.argsort(-typical, kind="stable")
    for at, place in enumerate(order):
        if typical[place] < LEAST_STEPS * np.median(errors[:, place]):
            continue
        for larger in order[:at][~found[order[:at]]]:
            x, y = cells[:, larger], cells[:, place]
            some = (x != 0) & (y != 0)
            if np.count_nonzero(some) < max(LEAST_EXPLAINED, PROPORTIONAL * np.count_nonzero((x != 0) | (y != 0))):
                continue
            largest = np.argsort(-np.abs(x), kind="stable")[: max(1, np.count_nonzero(some) // 10)]
            factor = np.median(y[largest] / x[largest])
            within = np.abs(y - factor * x) <= errors[:, place] + abs(factor) * errors[:, larger]
            found[place] |= np.mean(within[some]) >= PROPORTIONAL
    return found


def in_units(table: Table, relation: Relation) -> Relation:
    """The sum as it was made: with variables that are so many times others, where all coefficients are 1 then.

    ``5 * wages + 4 * rent == 4 * costs`` is ``wages + social + rent == costs`` where ``4 * social == wages``.
    """
    used = np.flatnonzero(relation.terms)
    sizes, times = np.unique(np.abs(relation.terms[used]), return_counts=True)
    unit = int(sizes[np.argmax(times)])
    for odd in used[np.abs(relation.terms[used]) != unit] if len(used) > MOST_PROPORTIONAL else ():
        relation = _with_another(table, relation, int(odd), unit)
    return relation


def _with_another(table: Table, relation: Relation, odd: int, unit: int) -> Relation:
    """The relation with another variable, of which this one is a multiple, and one unit of each; itself if none is."""
    held = np.count_nonzero(np.abs(table.rest(relation)) <= table.bound(relation))
    factor = Fraction(int(relation.terms[odd]), unit)
    for place in np.flatnonzero(relation.terms == 0):
        for sign, other in product((1, -1), repeat=2):
            times = (factor - sign) * other  # the odd one, so many times, is the one that is put in
            pair = np.zeros_like(relation.terms)
            pair[odd], pair[place] = times.numerator, -times.denominator
            if not _holds_up_to_rounding(table, Relation(pair)):
                continue
            terms = [Fraction(int(value)) for value in relation.terms]
            terms[odd], terms[place] = Fraction(sign * unit), Fraction(other * unit)
            found = whole_relation(terms, relation.constant)
            if found and np.count_nonzero(np.abs(table.rest(found)) <= table.bound(found)) >= held:
                return found
    return relation


def _holds_up_to_rounding(table: Table, relation: Relation) -> bool:
    used = np.flatnonzero(relation.terms)
    speaks = ~table.missing[:, used].any(axis=1) & (table.cells[:, used] != 0).any(axis=1)
    held = np.abs(table.rest(relation)) <= table.bound(relation)
    return int(speaks.sum()) >= LEAST_EXPLAINED and float(np.mean(held[speaks])) >= PROPORTIONAL
