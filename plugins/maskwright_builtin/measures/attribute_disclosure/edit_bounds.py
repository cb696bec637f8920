"""What edits and published values imply for values that are not published: an interval for each record and variable."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright import EditSet, GoverningPart, LinearPart, Part, ProductPart, RangePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright_builtin.numerics.arrays import Booleans, Floats

    Interval = tuple[Floats, Floats]

MOST_SWEEPS = 20
SLACK = 1e-9
"""Relative: ends that cross by less crossed by rounding."""
MIRRORED = {"==": "==", "<=": ">=", "<": ">", ">=": "<=", ">": "<"}


class EditBounds:
    """Intervals that hold the original values if the original records obey the edits.

    Each edit bounds each of its variables by the intervals of the others (interval propagation, repeated until nothing
    changes); equalities are solved for the unknown variables first, so that two of them in two unknowns determine both.
    Strict inequalities count as closed. Conditions apply where the intervals decide them.

    `edits`: those of severity error that fire are taken as true of every original record. `low`, `high`: starting
    intervals: equal for a published value, infinite for an unknown one; shape (m,). `low`, `high`: the intervals.
    Infinite both ways where edits contradict the published values: nothing is implied then; shape (m,). `contradicted`:
    those records; shape (m,). `unused`: names of edits with a part that implies nothing here: other conditions, texts,
    variables that are not numeric.
    """

    def __init__(self, edits: EditSet, low: Mapping[str, Floats], high: Mapping[str, Floats]) -> None:
        self.low = {name: ends.copy() for name, ends in low.items()}
        self.high = {name: ends.copy() for name, ends in high.items()}
        self._start = {name: (low[name], high[name]) for name in low}
        size = len(next(iter(low.values()))) if low else 0
        self._everywhere = np.ones(size, dtype=np.bool_)
        self.contradicted = np.zeros(size, dtype=np.bool_)
        self.unused: list[str] = []
        parts: list[Part] = []
        for edit in edits:
            if edit.severity != "error" or edit.shadowed:
                continue
            usable = [part for part in edit.parts if self._is_usable(part)]
            parts += usable
            if len(usable) < len(edit.parts):
                self.unused.append(edit.name)
        hidden = [name for name in low if not np.array_equal(low[name], high[name])]
        parts += _solved(parts, hidden)
        self._changed = True
        for _ in range(MOST_SWEEPS):
            if not self._changed:
                break
            self._changed = False
            for part in parts:
                self._apply(part, self._everywhere)
        for name, (first, last) in self._start.items():
            self.low[name] = np.where(self.contradicted, first, self.low[name])
            self.high[name] = np.where(self.contradicted, last, self.high[name])

    def _is_usable(self, part: Part) -> bool:
        match part:
            case LinearPart() | ProductPart():
                return all(name in self.low for name in part.variables)
            case RangePart(variable=variable, texts=texts):
                return variable in self.low and texts is None
            case GoverningPart(consequent=consequent, otherwise=otherwise, condition_parts=conditions):
                branches = (*consequent, *otherwise)
                return conditions is not None and all(map(self._is_usable, (*conditions, *branches)))
            case _:
                return False

    def _apply(self, part: Part, where: Booleans) -> None:
        match part:
            case LinearPart():
                self._linear(part, where)
            case ProductPart():
                self._product(part, where)
            case RangePart():
                self._narrow(part.variable, _range(part), where)
            case GoverningPart():
                self._governing(part, where)

    def _narrow(self, name: str, ends: tuple[object, object], where: Booleans) -> None:
        """Intersect a variable's intervals with `ends`; note where nothing is left."""
        old_low, old_high = self.low[name], self.high[name]
        low = np.where(where, np.fmax(old_low, ends[0]), old_low)  # type: ignore[call-overload]
        high = np.where(where, np.fmin(old_high, ends[1]), old_high)  # type: ignore[call-overload]
        crossed = low > high
        if crossed.any():
            slack = SLACK * (1.0 + np.abs(np.where(crossed, low, 0.0)) + np.abs(np.where(crossed, high, 0.0)))
            self.contradicted |= crossed & (low - np.where(crossed, high, low) > slack)
            # Crossed by rounding: a point. The published end is the exact one.
            keep_low = old_low == old_high
            point = np.where(keep_low, old_low, np.where(low > old_low, high, low))
            low, high = np.where(crossed, point, low), np.where(crossed, point, high)
        with np.errstate(invalid="ignore"):
            progress = np.fmax(low - old_low, old_high - high)
            scale = SLACK * (1.0 + np.fmin(np.abs(low), np.abs(high)))
        if (progress > np.where(np.isfinite(scale), scale, 0.0)).any():
            self._changed = True
        self.low[name], self.high[name] = low, high

    def _linear(self, part: LinearPart, where: Booleans) -> None:
        constant, tolerance = float(part.constant), float(part.tolerance)
        terms = [
            (name, float(factor), _scaled(float(factor), (self.low[name], self.high[name])))
            for name, factor in part.coefficients
        ]
        for place, (name, factor, _) in enumerate(terms):
            others = [ends for other, (_, _, ends) in enumerate(terms) if other != place]
            low, high = (sum((ends[side] for ends in others), start=np.zeros(len(where))) for side in (0, 1))
            # The term itself: constant minus the others, opened on the side that the relation leaves free.
            least = constant - high - tolerance if part.relation in ("==", ">=", ">") else np.full(len(where), -np.inf)
            most = constant - low + tolerance if part.relation in ("==", "<=", "<") else np.full(len(where), np.inf)
            self._narrow(name, _scaled(1.0 / factor, (least, most)), where)

    def _product(self, part: ProductPart, where: Booleans) -> None:
        sides = (
            (part.left, float(part.coefficient), part.right, float(part.constant), part.relation),
            (part.right, float(part.constant), part.left, float(part.coefficient), MIRRORED[part.relation]),
        )
        for own, factor, other, constant, relation in sides:
            for place, (name, exponent) in enumerate(own):
                rest = [pair for position, pair in enumerate(own) if position != place]
                divisor = _scaled(factor, self._monomial(rest, len(where)))
                low, high = _quotient(_scaled(constant, self._monomial(other, len(where))), divisor)
                if relation != "==":
                    # Dividing by what may be negative would turn the inequality round.
                    positive = divisor[0] > 0.0
                    low = np.where(positive & (relation in (">=", ">")), low, -np.inf)
                    high = np.where(positive & (relation in ("<=", "<")), high, np.inf)
                self._narrow(name, _root((low, high), exponent, self.low[name]), where)

    def _monomial(self, factors: Iterable[tuple[str, int]], size: int) -> Interval:
        result: Interval = (np.ones(size), np.ones(size))
        for name, exponent in factors:
            power = _power((self.low[name], self.high[name]), abs(exponent))
            result = _times(result, power if exponent > 0 else _quotient((np.ones(size), np.ones(size)), power))
        return result

    def _governing(self, part: GoverningPart, where: Booleans) -> None:
        truths = [self._truth(condition) for condition in part.condition_parts or ()]
        true = np.logical_and.reduce([where, *(certain for certain, _ in truths)])
        false = where & np.logical_or.reduce([np.zeros(len(where), np.bool_), *(excluded for _, excluded in truths)])
        for chosen, branch in ((true, part.consequent), (false, part.otherwise)):
            if chosen.any():
                for one in branch:
                    self._apply(one, chosen)

    def _truth(self, part: Part) -> tuple[Booleans, Booleans]:
        """Where a condition certainly holds, and where it certainly does not."""
        if isinstance(part, RangePart) and part.numbers is None:
            low, high = self.low[part.variable], self.high[part.variable]
            least, most = _range(part)
            above = low >= least if part.low_closed or part.low is None else low > least
            below = high <= most if part.high_closed or part.high is None else high < most
            under = high < least if part.low_closed or part.low is None else high <= least
            over = low > most if part.high_closed or part.high is None else low >= most
            # A value of unknown wholeness may fail an integer condition.
            return above & below & (not part.integer), under | over
        if isinstance(part, LinearPart):
            ends = [_scaled(float(factor), (self.low[name], self.high[name])) for name, factor in part.coefficients]
            low, high = (np.sum([one[side] for one in ends], axis=0) for side in (0, 1))
            constant, tolerance = float(part.constant), float(part.tolerance)
            if part.relation == "==":
                exact = (low >= constant - tolerance) & (high <= constant + tolerance)
                return exact, (low > constant + tolerance) | (high < constant - tolerance)
            certain = {"<=": high <= constant, "<": high < constant, ">=": low >= constant, ">": low > constant}
            excluded = {"<=": low > constant, "<": low >= constant, ">=": high < constant, ">": high <= constant}
            return np.asarray(certain[part.relation]), np.asarray(excluded[part.relation])
        nowhere = np.zeros(len(self._everywhere), dtype=np.bool_)
        return nowhere, nowhere


def _range(part: RangePart) -> tuple[float, float]:
    if part.numbers is not None:
        return float(min(part.numbers)), float(max(part.numbers))
    low = -math.inf if part.low is None else float(part.low)
    return low, math.inf if part.high is None else float(part.high)


def _scaled(factor: float, ends: Interval) -> Interval:
    if factor == 0.0:
        return np.zeros_like(ends[0]), np.zeros_like(ends[0])
    return (factor * ends[0], factor * ends[1]) if factor > 0 else (factor * ends[1], factor * ends[0])


def _times(one: Interval, other: Interval) -> Interval:
    with np.errstate(invalid="ignore", over="ignore"):
        # 0 times infinity is 0 here: the factor 0 is exact, the other only unknown.
        corners = [np.nan_to_num(a * b, nan=0.0, posinf=np.inf, neginf=-np.inf) for a in one for b in other]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _quotient(one: Interval, divisor: Interval) -> Interval:
    """Everything where the divisor may be 0."""
    through_zero = (divisor[0] <= 0.0) & (divisor[1] >= 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inverse = 1.0 / np.where(through_zero, 1.0, divisor[1]), 1.0 / np.where(through_zero, 1.0, divisor[0])
        exact = (divisor[0] == divisor[1]) & ~through_zero
        low, high = _times(one, inverse)
        # One division rounds once where a product with the inverse rounds twice.
        ends = [np.where(exact, end / np.where(exact, divisor[0], 1.0), end) for end in one]
    low = np.where(exact, np.minimum(*ends), low)
    high = np.where(exact, np.maximum(*ends), high)
    return np.where(through_zero, -np.inf, low), np.where(through_zero, np.inf, high)


def _power(ends: Interval, exponent: int) -> Interval:
    with np.errstate(over="ignore"):
        low, high = ends[0] ** exponent, ends[1] ** exponent
    if exponent % 2:
        return low, high
    through_zero = (ends[0] <= 0.0) & (ends[1] >= 0.0)
    return np.where(through_zero, 0.0, np.minimum(low, high)), np.maximum(low, high)


def _root(ends: Interval, exponent: int, lowest: Floats) -> Interval:
    """Interval of x from that of ``x ** exponent``."""
    if exponent < 0:
        ends = _quotient((np.ones_like(ends[0]), np.ones_like(ends[0])), ends)
    order = abs(exponent)
    if order == 1:
        return ends
    if order % 2:
        low, high = (np.sign(end) * np.abs(end) ** (1.0 / order) for end in ends)
        return low, high
    high = np.maximum(ends[1], 0.0) ** (1.0 / order)
    return np.where(lowest >= 0.0, np.maximum(ends[0], 0.0) ** (1.0 / order), -high), high


def _solved(parts: Sequence[Part], hidden: Sequence[str]) -> list[Part]:
    """Exact linear equalities solved for the hidden variables, by elimination in fractions: equal rules, reduced."""
    rows = [
        (dict(part.coefficients), part.constant)
        for part in parts
        if isinstance(part, LinearPart) and part.relation == "==" and part.tolerance == 0
    ]
    if len(rows) < 2:
        return []
    done: set[int] = set()
    for name in hidden:
        pivot = next((i for i, (row, _) in enumerate(rows) if i not in done and row.get(name)), None)
        if pivot is None:
            continue
        done.add(pivot)
        row, constant = rows[pivot]
        lead = row[name]
        rows[pivot] = row, constant = {key: value / lead for key, value in row.items()}, constant / lead
        for i, (other, right) in enumerate(rows):
            factor = other.get(name, Fraction(0))
            if i != pivot and factor:
                names = dict.fromkeys((*other, *row))
                less = {key: other.get(key, Fraction(0)) - factor * row.get(key, Fraction(0)) for key in names}
                rows[i] = {key: value for key, value in less.items() if value}, right - factor * constant
    return [LinearPart(tuple(row.items()), "==", constant) for row, constant in rows if row]
