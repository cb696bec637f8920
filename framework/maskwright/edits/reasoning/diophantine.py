"""Solutions in whole numbers and decimals: equalities on grids, roots and factors of products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import Edit, LinearPart, Part, RangePart
from maskwright.edits.reasoning.simplex import Row, smallest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from maskwright.edits.algebra.polynomial import Monomial
    from maskwright.edits.edit import ProductPart
    from maskwright.edits.reasoning.clauses import Band


MOST_DECIMALS = 15

# Coefficients by variable, and the constant: sum == constant.
_Equation = tuple[dict[str, Fraction], Fraction]


@dataclass(frozen=True)
class Unreachable:
    """Equalities that no numbers with the given decimals can satisfy together.

    `edits`: in file order; without any one of them the rest can be satisfied. `remedy`: decimals that would do, or a
    tolerance.
    """

    edits: tuple[str, ...]
    remedy: str


def reachable_on_grid(edits: Iterable[Edit], decimals: Mapping[str, int | None]) -> Unreachable | None:
    """Look for linear equalities that have solutions, but none on the published grids.

    Only equalities that hold for every record count. Each variable is a whole number of its last published digits, so
    the question is whether a system of linear equations has a whole-number solution; it is answered exactly, by
    column operations to Hermite normal form (H. Cohen, A Course in Computational Algebraic Number Theory, 1993,
    section 2.4).
    """
    equations: dict[str, list[_Equation]] = {}
    for edit in edits:
        if edit.shadowed:
            continue
        near = [
            part for part in edit.parts if isinstance(part, LinearPart) and part.tolerance and part.relation == "=="
        ]
        if not all(_band_is_reachable(part, decimals) for part in near):
            return Unreachable(
                (edit.name,), _remedy([edit.name], {edit.name: [_equation(part) for part in near]}, decimals)
            )
        own = [equation for part in edit.parts if (equation := _equation_of(part)) is not None]
        if own:
            equations[edit.name] = own

    def blocked(names: Sequence[str]) -> bool:
        system = [equation for name in names for equation in equations[name]]
        return not is_solvable(system, decimals)

    names = list(equations)
    # Equations without any solution are a contradiction, which is another finding.
    if not blocked(names) or not is_solvable([one for name in names for one in equations[name]], {}):
        return None
    kept = smallest(names, blocked)
    return Unreachable(kept, _remedy(kept, equations, decimals))


def _equation_of(part: Part) -> _Equation | None:
    if isinstance(part, LinearPart) and part.relation == "==" and not part.tolerance:
        return _equation(part)
    if isinstance(part, RangePart) and part.numbers is not None and len(part.numbers) == 1:
        return {part.variable: Fraction(1)}, part.numbers[0]
    return None


def _equation(part: LinearPart) -> _Equation:
    return dict(part.coefficients), part.constant


def _band_is_reachable(part: LinearPart, decimals: Mapping[str, int | None]) -> bool:
    """Whether some multiple of the smallest step of the sum lies within the tolerance."""
    steps = [_step(name, coefficient, decimals) for name, coefficient in part.coefficients]
    if None in steps:
        return True
    step = _common_step([one for one in steps if one is not None])
    return ceil((part.constant - part.tolerance) / step) <= floor((part.constant + part.tolerance) / step)


def _step(name: str, coefficient: Fraction, decimals: Mapping[str, int | None]) -> Fraction | None:
    places = decimals.get(name)
    return None if places is None else coefficient / Fraction(10) ** places


def _common_step(steps: Sequence[Fraction]) -> Fraction:
    shared = lcm(*(step.denominator for step in steps))
    return Fraction(gcd(*(int(step * shared) for step in steps)), shared)


def is_solvable(equations: Sequence[_Equation], decimals: Mapping[str, int | None]) -> bool:
    """Whether equations (coefficients by variable, constant) have a solution on the grids."""
    names = list(dict.fromkeys(name for terms, _ in equations for name in terms))
    free = [name for name in names if decimals.get(name) is None]
    stepped = [name for name in names if name not in set(free)]
    rows = [
        [
            *(terms.get(name, Fraction(0)) for name in free),
            *(_scaled(terms, name, decimals) for name in stepped),
            constant,
        ]
        for terms, constant in equations
    ]
    return _has_whole_solution(_without(rows, len(free)))


def _scaled(terms: Mapping[str, Fraction], name: str, decimals: Mapping[str, int | None]) -> Fraction:
    return terms.get(name, Fraction(0)) / Fraction(10) ** (decimals.get(name) or 0)


def _without(rows: list[list[Fraction]], leading: int) -> list[list[Fraction]]:
    """Eliminate the first columns: variables without a grid absorb one equation each."""
    for column in range(leading):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rest = [row for row in rows if row is not pivot]
        rows = [
            [value - row[column] / pivot[column] * other for value, other in zip(row, pivot, strict=True)]
            for row in rest
        ]
    return [row[leading:] for row in rows]


def _has_whole_solution(rows: list[list[Fraction]]) -> bool:
    """Whether ``A k = b`` has a solution in whole numbers; each row is a row of A with its b at the end."""
    whole: list[list[int]] = []
    for row in rows:
        shared = lcm(*(value.denominator for value in row))
        whole.append([int(value * shared) for value in row])
    solved: list[int] = []
    for equation in whole:
        known = len(solved)
        size = len(equation) - 1
        _gather(whole, equation, known, size)
        rest = equation[size] - sum(value * amount for value, amount in zip(equation, solved, strict=False))
        if known < size and equation[known]:
            if rest % equation[known]:
                return False
            solved.append(rest // equation[known])
        elif rest:
            return False
    return True


def _gather(rows: list[list[int]], row: list[int], first: int, size: int) -> None:
    """Column operations that leave one non-zero entry in columns first..size of `row`: Euclid's algorithm."""
    while True:
        filled = [column for column in range(first, size) if row[column]]
        if not filled:
            return
        smallest = min(filled, key=lambda column: abs(row[column]))
        if len(filled) == 1:
            for each in rows:
                each[first], each[smallest] = each[smallest], each[first]
            return
        for column in filled:
            if column != smallest:
                times = row[column] // row[smallest]
                for each in rows:
                    each[column] -= times * each[smallest]


def _remedy(
    names: Sequence[str], equations: Mapping[str, Sequence[_Equation]], decimals: Mapping[str, int | None]
) -> str:
    system = [equation for name in names for equation in equations[name]]
    involved = list(dict.fromkeys(name for terms, _ in system for name in terms))
    enough = _decimals_that_do(involved, decimals, lambda finer: is_solvable(system, finer))
    tolerance = "write a tolerance into the rule, for instance abs(a + b - c) <= 0.5"
    if enough is None:
        return f"No number of decimals helps; {tolerance}."
    return f"Publish {', '.join(involved)} with {enough} decimal{'s' if enough > 1 else ''}, or {tolerance}."


def _decimals_that_do(
    names: Sequence[str], decimals: Mapping[str, int | None], is_enough: Callable[[Mapping[str, int | None]], bool]
) -> int | None:
    present = [places for name in names if (places := decimals.get(name)) is not None]
    for places in range(min(present, default=0) + 1, MOST_DECIMALS + 1):
        finer = {name: max(own, places) if own is not None else None for name, own in decimals.items()}
        if is_enough(finer):
            return places
    return None


LARGEST_FACTORED = 10**12


@dataclass(frozen=True)
class Roots:
    """The values of the one unknown variable."""

    variable: str
    numbers: tuple[Fraction, ...]


@dataclass(frozen=True)
class Factors:
    """Two unknown variables whose product is this number, and of which there are more ways than one."""

    variables: tuple[str, str]
    product: Fraction


@dataclass(frozen=True)
class Branches:
    """Rows of unknown variables, for either sign of the one that is divided by."""

    ways: tuple[tuple[Row, ...], ...]


@dataclass(frozen=True)
class Unsolved:
    """Unknown variables in a form that is not solved here."""

    variables: tuple[str, ...]


def product_row(part: ProductPart, values: Mapping[str, Fraction]) -> Row | Roots | Factors | Unsolved | None:
    """What a product demands of its variables that have no value."""
    left, right = _known(part.coefficient, part.left, values), _known(part.constant, part.right, values)
    if left is None or right is None:
        return None
    sides = [{name: power for name, power in side if name not in values} for side in (part.left, part.right)]
    if all(side in ({}, dict.fromkeys(side, 1)) and len(side) <= 1 for side in sides):
        terms: dict[str, Fraction] = {}
        for side, factor in zip(sides, (left, -right), strict=True):
            for name in side:
                terms[name] = terms.get(name, Fraction(0)) + factor
        return _row(terms, Fraction(0) if sides[0] else left, Fraction(0) if sides[1] else right, part.relation)
    unknown = tuple(dict.fromkeys((*sides[0], *sides[1])))
    if part.relation != "==" or all(sides):
        return Unsolved(unknown)
    ((side, own, other),) = [each for each in ((sides[0], left, right), (sides[1], right, left)) if each[0]]
    if len(side) == 1:
        roots = _roots(own, other, side[unknown[0]])
        return Unsolved(unknown) if roots is None else Roots(unknown[0], roots)
    if len(side) == 2 and set(side.values()) == {1} and own:
        return Factors((unknown[0], unknown[1]), other / own)
    return Unsolved(unknown)


def band_rows(band: Band, values: Mapping[str, Fraction]) -> tuple[Row, ...] | Branches | Unsolved | None:
    """What a sum of products within a tolerance demands of its variables that have no value; None: it divides by 0."""
    terms: dict[Monomial, Fraction] = {}
    for coefficient, monomial in band.part.terms:
        amount = _known(coefficient, monomial, values)
        if amount is None:
            return None
        unknown = tuple(factor for factor in monomial if factor[0] not in values)
        terms[unknown] = terms.get(unknown, Fraction(0)) + amount
    terms = {monomial: value for monomial, value in terms.items() if value}
    if _is_affine(terms):
        return _rows_of_band(band, terms, None, 1)
    names = tuple(dict.fromkeys(name for monomial in terms for name, _ in monomial))
    for name in (name for name in names if any((name, -1) in monomial for monomial in terms)):
        cleared = {_times(monomial, name): value for monomial, value in terms.items()}
        if _is_affine(cleared):
            return Branches(tuple(_rows_of_band(band, cleared, name, sign) for sign in (1, -1)))
    return Unsolved(names)


def band_holds(band: Band, values: Mapping[str, Fraction]) -> bool:
    """Whether a sum of products lies within its tolerance, or has no value, for values of all its variables."""
    rows = band_rows(band, values)
    return not isinstance(rows, tuple) or all(row.holds_at(0) for row in rows)


def _is_affine(terms: Mapping[Monomial, Fraction]) -> bool:
    return all(not monomial or (len(monomial) == 1 and monomial[0][1] == 1) for monomial in terms)


def _times(monomial: Monomial, name: str) -> Monomial:
    powers = dict(monomial)
    powers[name] = powers.get(name, 0) + 1
    return tuple(sorted((each, power) for each, power in powers.items() if power))


def _rows_of_band(band: Band, terms: Mapping[Monomial, Fraction], by: str | None, sign: int) -> tuple[Row, ...]:
    """Rows of an affine sum; `by`: the variable that it was multiplied by, whose sign is `sign`."""
    tolerance = band.part.tolerance
    rows = []
    for side in (1,) if not tolerance else (1, -1):
        found = {monomial[0][0]: side * sign * value for monomial, value in terms.items() if monomial}
        constant = -side * sign * terms.get((), Fraction(0))
        if by is None:
            constant += tolerance
        else:
            found[by] = found.get(by, Fraction(0)) - sign * tolerance
        relation = "==" if not tolerance else "<" if band.is_open and side == 1 else "<="
        rows.append(_row(found, -constant, Fraction(0), relation))
    return (*rows, *([] if by is None else [_row({by: Fraction(-sign)}, Fraction(0), Fraction(0), "<")]))


def whole_factors(number: int) -> list[int] | None:
    """Whole numbers that divide `number`, of both signs; None for 0 and for numbers above 10 ** 12."""
    if number == 0 or abs(number) > LARGEST_FACTORED:
        return None
    candidates = np.arange(1, math.isqrt(abs(number)) + 1, dtype=np.int64)
    small = [int(each) for each in candidates[abs(number) % candidates == 0]]
    every = sorted({*small, *(abs(number) // each for each in small)})
    return [*every, *(-each for each in every)]


def product_holds(part: ProductPart, values: Mapping[str, Fraction]) -> bool:
    """Whether a product holds for values of all its variables; so does one that divides by 0: it has no value."""
    row = product_row(part, values)
    return row.holds_at(0) if isinstance(row, Row) else row is None


def _known(
    coefficient: Fraction, factors: Sequence[tuple[str, int]], values: Mapping[str, Fraction]
) -> Fraction | None:
    for name, exponent in factors:
        value = values.get(name)
        if value is None:
            continue
        if value == 0 and exponent < 0:
            return None
        coefficient *= value**exponent
    return coefficient


def _row(terms: dict[str, Fraction], left: Fraction, right: Fraction, relation: str) -> Row:
    """``terms + left relation right``."""
    constant = right - left
    kept = {name: value for name, value in terms.items() if value}
    if relation in (">", ">="):
        kept, constant = {name: -value for name, value in kept.items()}, -constant
    return Row("", kept, "==" if relation == "==" else "<" if relation in ("<", ">") else "<=", constant)


def _roots(own: Fraction, other: Fraction, power: int) -> tuple[Fraction, ...] | None:
    """Rational numbers x with ``own * x ** power == other``; None where any number, or an irrational one, does."""
    if own == 0:
        return None if other == 0 else ()
    value = other / own
    if power < 0:
        if value == 0:
            return ()
        value, power = 1 / value, -power
    if value < 0 and power % 2 == 0:
        return ()
    root = _exact_root(abs(value.numerator), power), _exact_root(value.denominator, power)
    if root[0] is None or root[1] is None:
        return None
    found = Fraction(root[0], root[1])
    if power % 2:
        return (found if value > 0 else -found,)
    return (found, -found) if found else (found,)


def _exact_root(number: int, power: int) -> int | None:
    """Whole root of a whole number, None when there is none."""
    if number < 2:
        return number
    low, high = 1, 1 << (math.ceil(number.bit_length() / power) + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**power < number:
            low = middle + 1
        else:
            high = middle
    return low if low**power == number else None
