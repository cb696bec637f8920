"""What is known of the variables of many records, conditions that narrow it, equalities solved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.algebra.products import solvable_for, solved_parts
from maskwright.edits.edit import LinearPart, PolynomialPart, ProductPart
from maskwright.edits.reasoning.clauses import Atom, Integral, Member, Opaque, TextSet, atom_variables
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from maskwright.data.variable import Variable
    from maskwright.edits.algebra.polynomial import Monomial
    from maskwright.edits.edit import Part

    Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


ROUNDING = 1e-9
"""Relative error up to which a sum of numbers may stand for another."""


class Knowledge:
    """What each of m records may still hold.

    `fixed`: values, or codes; NaN: missing; shape (m,). `numbers`: of categorical variables: the number that each
    category says; shape (c,). `ranges`: where a variable without a value can lie; of categories by code. `possible`:
    whether nothing contradicts yet; shape (m,).
    """

    def __init__(
        self,
        fixed: Mapping[str, NDArray[np.float64]],
        m: int,
        variables: Mapping[str, Variable],
        numbers: Mapping[str, NDArray[np.float64]],
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:
        self.fixed, self._variables, self._numbers, self._ranges = fixed, variables, numbers, ranges
        self.m = m
        self.possible = np.ones(self.m, dtype=np.bool_)
        self.changed = False
        self._intervals: dict[str, Interval] = {}
        self._left: dict[str, NDArray[np.bool_]] = {}

    def missing(self, names: tuple[str, ...]) -> NDArray[np.bool_]:
        """Records in which one of these variables is missing for good."""
        gone = [np.isnan(self.fixed[name]) for name in names if name in self.fixed]
        return np.logical_or.reduce(gone) if gone else np.zeros(self.m, dtype=np.bool_)

    def interval(self, name: str) -> Interval:
        """Least and largest number of a variable; NaN where a category says none."""
        if name not in self._intervals:
            self._intervals[name] = self._first_interval(name)
        return self._intervals[name]

    def _first_interval(self, name: str) -> Interval:
        if name in self.fixed:
            values = self.fixed[name]
            if name in self._numbers:
                codes = np.where(np.isnan(values), -1, values).astype(np.int64)
                values = np.append(self._numbers[name], np.nan)[codes]
            return values, values
        low, high = self._ranges.get(name, (-math.inf, math.inf))
        if name in self._numbers:
            numbers = self._numbers[name][~np.isnan(self._numbers[name])]
            low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (math.nan, math.nan)
        return np.full(self.m, low), np.full(self.m, high)

    def narrow(self, name: str, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        """Narrow a number without a value to an interval; infinite ends narrow nothing."""
        if name in self.fixed or name in self._numbers:
            return
        if self._variables[name].type in ("integer", "date"):
            low, high = np.ceil(low - ROUNDING), np.floor(high + ROUNDING)
        was_low, was_high = self.interval(name)
        now_low, now_high = np.maximum(was_low, low), np.minimum(was_high, high)
        if np.array_equal(now_low, was_low) and np.array_equal(now_high, was_high):
            return
        self.changed = True
        self._intervals[name] = now_low, now_high
        self.possible &= now_low <= now_high + ROUNDING * (1.0 + np.abs(np.where(np.isfinite(now_high), now_high, 0.0)))

    def left(self, name: str) -> NDArray[np.bool_]:
        """Categories that a variable without a value may have; shape (m, c), or (1, c) where nothing is known."""
        if name not in self._left:
            codes = np.arange(len(self._numbers[name]))
            low, high = self._ranges.get(name, (-math.inf, math.inf))
            self._left[name] = ((codes >= low) & (codes <= high))[None, :]
        return self._left[name]

    def keep(self, name: str, allowed: NDArray[np.bool_], rows: NDArray[np.bool_]) -> None:
        """Narrow a category without a value to those allowed, in some records."""
        was = self.left(name)
        now = was & (allowed[None, :] | ~rows[:, None])
        if now.shape != was.shape or not np.array_equal(now, was):
            self.changed = self.changed or bool((now != was).any())
            self._left[name] = now
            self.possible &= now.any(axis=1)


@dataclass(frozen=True, eq=False)
class _AmongCategories:
    """The category is one of those allowed; shape (c,), bool."""

    names: tuple[str, ...]
    allowed: NDArray[np.bool_]

    def may_hold(self, known: Knowledge) -> NDArray[np.bool_]:
        (name,) = self.names
        if name in known.fixed:
            values = known.fixed[name]
            return np.asarray(np.append(self.allowed, True)[np.where(np.isnan(values), -1, values).astype(np.int64)])
        return np.asarray(np.broadcast_to((known.left(name) & self.allowed).any(axis=1), (known.m,)))

    def narrow(self, known: Knowledge, rows: NDArray[np.bool_]) -> None:
        if self.names[0] not in known.fixed:
            known.keep(self.names[0], self.allowed, rows)


@dataclass(frozen=True, eq=False)
class _Among:
    """The number is one of these, ascending."""

    names: tuple[str, ...]
    numbers: NDArray[np.float64]

    def may_hold(self, known: Knowledge) -> NDArray[np.bool_]:
        low, high = known.interval(self.names[0])
        slack = ROUNDING * (1.0 + np.abs(np.where(np.isfinite(low), low, 0.0)))
        first = np.searchsorted(self.numbers, low - slack)
        return np.append(self.numbers, np.inf)[first] <= high + slack if len(low) else low > 0

    def narrow(self, known: Knowledge, rows: NDArray[np.bool_]) -> None:
        low, high = known.interval(self.names[0])
        lowest = np.append(self.numbers, np.inf)[np.searchsorted(self.numbers, low)]
        highest = np.append(self.numbers, -np.inf)[np.searchsorted(self.numbers, high, side="right") - 1]
        known.narrow(self.names[0], np.where(rows, lowest, -np.inf), np.where(rows, highest, np.inf))


@dataclass(frozen=True, eq=False)
class _Whole:
    """The number is a whole one."""

    names: tuple[str, ...]

    def may_hold(self, known: Knowledge) -> NDArray[np.bool_]:
        low, high = known.interval(self.names[0])
        return ~(np.ceil(low - ROUNDING) > np.floor(high + ROUNDING))

    def narrow(self, known: Knowledge, rows: NDArray[np.bool_]) -> None:
        low, high = known.interval(self.names[0])
        known.narrow(
            self.names[0], np.where(rows, np.ceil(low - ROUNDING), -np.inf),
            np.where(rows, np.floor(high + ROUNDING), np.inf),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Linear:
    """``sum(coefficient * variable) relation constant``, the relation ``==``, ``<=`` or ``<``."""

    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    relation: str
    constant: float

    def may_hold(self, known: Knowledge) -> NDArray[np.bool_]:
        least, most, size = self._activity(known)
        slack = ROUNDING * (1.0 + size)
        if self.relation == "<":
            # A comparison with NaN is False: what rests on no number stays possible.
            return ~(least >= self.constant)
        refused = least > self.constant + slack
        return ~(refused | (most < self.constant - slack)) if self.relation == "==" else ~refused

    def narrow(self, known: Knowledge, rows: NDArray[np.bool_]) -> None:
        rows = rows & ~known.missing(self.names)
        for place, name in enumerate(self.names):
            if name in known.fixed:
                continue
            least, most, _ = self._activity(known, without=place)
            coefficient = self.coefficients[place]
            upper = (self.constant - least) / coefficient
            lower = (self.constant - most) / coefficient if self.relation == "==" else np.full(known.m, np.nan)
            low, high = (lower, upper) if coefficient > 0 else (upper, lower)
            low = np.where(rows & ~np.isnan(low), low, -np.inf)
            high = np.where(rows & ~np.isnan(high), high, np.inf)
            known.narrow(name, low, high)

    def _activity(
        self, known: Knowledge, without: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Least and largest sum, and how large its finite terms are."""
        least, most = np.zeros(known.m), np.zeros(known.m)
        size = np.full(known.m, abs(self.constant))
        for place, (name, coefficient) in enumerate(zip(self.names, self.coefficients, strict=True)):
            if place == without:
                continue
            low, high = known.interval(name)
            one, other = (low, high) if coefficient > 0 else (high, low)
            least = least + coefficient * one
            most = most + coefficient * other
            size = size + np.where(np.isfinite(one), np.abs(coefficient * one), 0.0)
        return least, most, size


@dataclass(frozen=True, eq=False)
class _Product:
    """A monomial against a monomial; judged where no number is below 0, or all are known."""

    part: ProductPart

    @property
    def names(self) -> tuple[str, ...]:
        return self.part.variables

    def may_hold(self, known: Knowledge) -> NDArray[np.bool_]:
        with np.errstate(all="ignore"):
            left_low, left_high, sure = _monomial(known, self.part.left, float(self.part.coefficient))
            right_low, right_high, also = _monomial(known, self.part.right, float(self.part.constant))
            slack = ROUNDING * (1.0 + np.where(np.isfinite(right_high), np.abs(right_high), 0.0))
            match self.part.relation:
                case "==":
                    refused = (left_low > right_high + slack) | (left_high < right_low - slack)
                case "<=" | "<":
                    refused = left_low > right_high + slack
                case _:
                    refused = left_high < right_low - slack
        return ~(refused & sure & also)

    def narrow(self, known: Knowledge, rows: NDArray[np.bool_]) -> None:
        """Nothing: `Equality` solves products of which one value is left."""


Condition = _AmongCategories | _Among | _Whole | _Linear | _Product
"""Conditions on some variables of many records.

`may_hold`: where it can hold, or rests on a missing cell. `narrow`: narrows what is known where it has to hold.
"""


def _monomial(
    known: Knowledge, factors: tuple[tuple[str, int], ...], coefficient: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Least and largest value of a monomial, and where that is sure."""
    low, high = np.full(known.m, coefficient), np.full(known.m, coefficient)
    sure = np.ones(known.m, dtype=np.bool_)
    for name, exponent in factors:
        least, most = known.interval(name)
        sure &= ((least >= 0) | (least == most)) & ((least != 0) | (exponent > 0))
        one, other = (least, most) if exponent > 0 else (most, least)
        ends = np.stack([low * one**exponent, low * other**exponent, high * one**exponent, high * other**exponent])
        low, high = ends.min(axis=0), ends.max(axis=0)
    return low, high, sure & ~np.isnan(low) & ~np.isnan(high)


def condition_of(  # noqa: PLR0911 - one return for each kind of atom
    atom: Atom, variables: Mapping[str, Variable], numbers: Mapping[str, NDArray[np.float64]]
) -> Condition | None:
    """Condition of an atom over many records; None where it can only be evaluated.

    `numbers`: of categorical variables: the number that each category says; shape (c,).
    """
    names = () if isinstance(atom, Opaque) else atom_variables(atom)
    # Rules count datetimes in days, columns hold seconds.
    if not names or any(variables[name].type == "datetime" for name in names):
        return None
    if len(names) == 1 and names[0] in numbers:
        return _of_category(atom, variables[names[0]], numbers[names[0]])
    match atom:
        case Row():
            terms = tuple(float(value) for value in atom.coefficients.values())
            return _Linear(names, terms, atom.relation, float(atom.constant))
        case Member():
            return _Among(names, np.sort(np.array([float(number) for number in atom.numbers])))
        case Integral():
            return _Whole(names)
        case ProductPart():
            return _Product(atom)
        case _:
            return None


def _of_category(atom: Atom, variable: Variable, numbers: NDArray[np.float64]) -> Condition | None:
    if isinstance(atom, TextSet):
        named = np.array([text in atom.texts for text in variable.categories], dtype=np.bool_)
        return _AmongCategories((variable.name,), named == atom.inside)
    if np.isnan(numbers).any():
        return None
    match atom:
        case Member():
            allowed = np.isin(numbers, [float(number) for number in atom.numbers])
        case Integral():
            allowed = numbers == np.round(numbers)
        case Row():
            (coefficient,) = atom.coefficients.values()
            term, constant = float(coefficient) * numbers, float(atom.constant)
            slack = ROUNDING * (1.0 + abs(constant))
            if atom.relation == "==":
                allowed = np.abs(term - constant) <= slack
            else:
                allowed = term <= constant + (slack if atom.relation == "<=" else -slack)
        case _:
            return None
    return _AmongCategories((variable.name,), np.asarray(allowed))


@dataclass(frozen=True)
class Equality:
    """``sum(coefficient * monomial) == 0``, perhaps within a tolerance, between numbers."""

    terms: tuple[tuple[Fraction, Monomial], ...]

    @classmethod
    def of(cls, part: Part) -> Equality | None:
        """Equality of a part; None of any other part."""
        match part:
            case PolynomialPart():
                return cls(part.terms)
            case ProductPart(relation="=="):
                return cls(((part.coefficient, part.left), (-part.constant, part.right)))
            case LinearPart(relation="=="):
                return cls((*((value, ((name, 1),)) for name, value in part.coefficients), (-part.constant, ())))
            case _:
                return None

    @property
    def names(self) -> frozenset[str]:
        """Variables that it reads."""
        return frozenset(name for _, monomial in self.terms for name, _ in monomial)

    def defines(self, name: str, fixed: Collection[str]) -> bool:
        """Whether the other variables have values, from which that of `name` follows."""
        return name in self.names and self.names <= {*fixed, name} and solvable_for(self.terms, name)

    def solved(self, name: str, fixed: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Number of a variable with which both sides are equal; NaN where there is none. Shape (m,)."""
        factor, rest, exponent = solved_parts(self.terms, name)
        with np.errstate(all="ignore"):
            slope, left = _sum(factor, fixed), _sum(rest, fixed)
            found = np.asarray(-left / slope if exponent == 1 else -slope / left)
        return np.where(np.isfinite(found), found, np.nan)


def _sum(terms: Sequence[tuple[Fraction, Monomial]], fixed: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    total = np.zeros(())
    for coefficient, monomial in terms:
        term = np.asarray(float(coefficient))
        for name, exponent in monomial:
            term = term * fixed[name] ** float(exponent)
        total = total + term
    return total
