"""Rules one slip of the pen away from an edit, and which of them the records obey: what may have been meant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import expression_of
from maskwright.edits.algebra.conjunctions import within_half_a_unit
from maskwright.edits.edit import LinearPart, Part, PolynomialPart, ProductPart, RangePart
from maskwright.edits.expression import rewritten
from maskwright.edits.languages.conversion.yaml_text import name_text, rule_text
from maskwright.edits.suggestions.model import Sample, fraction, number, numeric_names
from maskwright.edits.suggestions.part_verdicts import (
    counted,
    follows_from_signs,
    governed_parts,
    rounded_halves,
    violated_by_chance,
)
from maskwright.edits.suggestions.ranges_and_orderings import rounded_outwards
from maskwright.edits.suggestions.rounding import COVERED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.algebra.polynomial import Monomial
    from maskwright.edits.edit import Edit, Relation
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.suggestions.part_verdicts import Columns

Plain = LinearPart | ProductPart | PolynomialPart | RangePart
"""Parts of which slips are looked for."""

_Equality = TypeVar("_Equality", LinearPart, PolynomialPart)

OF_CHANCE = 0.2
"""Violations of what was meant, in parts of those that chance would leave if its variables were unrelated."""

ENOUGH = 0.95
"""Share of the records in which what was meant holds: there are errors besides."""

POWERS = tuple(Fraction(10) ** power for power in (1, -1, 2, -2, 3, -3))
"""Shifts of a decimal point, and factors between units."""

MOST_DIGITS = 4
"""Decimals of a factor that may have been meant."""

MOST_VARIABLES = 60
MOST_NAMED = 2

_FLIPPED: Mapping[Relation, Relation] = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}
_LOOSER: Mapping[Relation, tuple[Relation, ...]] = {"==": ("<=", ">="), "<": ("<=",), ">": (">=",)}


@dataclass(frozen=True)
class Meant:
    """A rule that may have been meant.

    `held`, `of`: records in which it holds, and of which it speaks. `stated`: edit that says so already; '' for none.
    `by_rounding`: the edit itself but for its tolerance, which holds in all records. `halves`: where it is ``round(f)
    == g`` but for halves, which the edit rounds up: where they go in the records that violate it.
    """

    rule: str
    held: int
    of: int
    stated: str = ""
    by_rounding: bool = False
    halves: Literal["", "to even", "down"] = ""


def meant_instead(edit: Edit, data: Dataset, known: EditSet) -> tuple[Meant, ...]:
    """Rules one slip away that the records obey, the likeliest first; none where no part of the edit is understood."""
    sample = Sample.drawn(data, 1.0).data
    names = [name for name in numeric_names(sample) if not sample[name].missing.all()][:MOST_VARIABLES]
    names += [name for name in edit.variables if name in sample and name not in names]
    columns = {name: np.where(sample[name].missing, np.nan, values)
               for name in names for values in [_numbers(sample[name])] if values is not None}  # fmt: skip
    grid = {name: sample[name].variable.decimals for name in columns}
    worst: tuple[float, Plain, NDArray[np.bool_], str] | None = None
    # Slips are looked for in what is rounded; where halves go is another matter.
    unrounded = rewritten(edit.expression, within_half_a_unit)
    is_rounded = unrounded != edit.expression
    for part, rows, opening in governed_parts(edit, classify(unrounded) if is_rounded else edit.parts, sample):
        if isinstance(part, Plain) and set(part.variables) <= columns.keys():
            held, of = counted(part, columns, rows)
            if of and (worst is None or held / of < worst[0]):
                worst = held / of, part, rows, opening
    if worst is None:
        return ()
    _, part, rows, opening = worst
    halves = rounded_halves(part, columns, rows) if is_rounded else ""
    kinds = [[part]] if halves else []
    found = []
    for kind in (*kinds, *_slips(part, columns, grid, rows)):
        # The part as it is may hold where the edit does not, which rounds halves in one direction.
        # What unrelated values hardly violate more often says nothing: ``x <= 1000 * y`` of amounts.
        fitting = [
            (each, held, of, chance) for each in kind for held, of in [counted(each, columns, rows)]
            if of and held >= (of if each == part and not halves else ENOUGH * of)
            and not follows_from_signs(each, columns, rows)
            for chance in [violated_by_chance(each, columns, rows)]
            if getattr(each, "relation", "") != getattr(part, "relation", "") or of - held < OF_CHANCE * chance * of
        ]  # fmt: skip
        if fitting:
            best, held, of, _ = max(fitting, key=lambda entry: (round(entry[1] / entry[2], 2), entry[3]))
            as_strict = _is_equality(best) or not _is_equality(part)
            if is_rounded and not as_strict:
                continue  # It would say nothing of what is rounded.
            rounded = held == of and _is_equality(best) and _without_tolerance(best) == _without_tolerance(part)
            text = rule_text(expression_of(best)) if is_rounded else _text(best)
            meant = Meant(opening + text, held, of, _stated(best, edit, known), rounded, halves if best == part else "")
            found.append((as_strict, meant))
    # What says as much as the edit comes first, then what holds in more records, then the slip that is made more often.
    found.sort(key=lambda entry: (not entry[0], -round(entry[1].held / entry[1].of, 2)))
    first: dict[str, tuple[bool, Meant]] = {}
    for strict, each in found:
        first.setdefault(each.rule, (strict, each))
    different = list(first.values())
    several = isinstance(part, RangePart) or (len(different) > 1 and different[1][0] and _is_equality(part))
    return tuple(each for _, each in different[: MOST_NAMED if several else 1])


def _numbers(column: Column) -> NDArray[np.float64] | None:
    """Numbers of a variable, also of one whose categories are numbers; None of another."""
    if column.variable.is_numeric:
        return column.values.astype(np.float64)
    try:
        numbers = np.array([float(each) for each in column.variable.categories])
    except ValueError:
        return None
    return np.append(numbers, np.nan)[column.values.astype(np.int64)]


def _without_tolerance(part: Part) -> Part:
    return replace(part, tolerance=Fraction(0)) if isinstance(part, LinearPart | PolynomialPart) else part


def _is_equality(part: Part) -> bool:
    return isinstance(part, PolynomialPart) or (isinstance(part, LinearPart | ProductPart) and part.relation == "==")


def _slips(
    part: Plain, columns: Columns, grid: Mapping[str, int | None],
    rows: NDArray[np.bool_],
) -> Iterator[Iterable[Plain]]:  # fmt: skip
    """Parts one slip away, kind by kind, the slip that is made more often first."""
    match part:
        case LinearPart():
            yield from _of_sum(part, [name for name in columns if name not in part.variables], columns, grid, rows)
        case ProductPart():
            yield from _of_product(part, [name for name in columns if name not in part.variables])
        case PolynomialPart():
            yield from _of_polynomial(part, [name for name in columns if name not in part.variables])
            yield _rounded(part, columns, grid, rows)
        case RangePart():
            yield from _of_range(part, columns[part.variable][rows])


def _of_sum(
    part: LinearPart, others: Sequence[str], columns: Columns, grid: Mapping[str, int | None],
    rows: NDArray[np.bool_],
) -> Iterator[Iterable[LinearPart]]:  # fmt: skip
    terms = part.coefficients

    def changed(place: int, *new: tuple[str, Fraction]) -> LinearPart:
        return replace(part, coefficients=(*terms[:place], *new, *terms[place + 1 :]))

    places = range(len(terms))
    yield (replace(part, constant=Fraction(0)) for _ in range(part.relation != "==" and part.constant != 0))
    flipped = (replace(part, relation=_FLIPPED[part.relation]) for _ in range(part.relation != "=="))
    signs = [changed(place, (terms[place][0], -terms[place][1])) for place in places]
    units = [changed(at, (terms[at][0], terms[at][1] * power)) for at in places for power in POWERS]
    units += [replace(part, constant=part.constant * power) for power in POWERS if part.constant]
    yield flipped
    yield signs
    yield [replace(part, coefficients=tuple((name, Fraction(1 if factor > 0 else -1)) for name, factor in terms))]
    yield units
    yield (changed(place, (other, terms[place][1])) for place in places for other in others)
    yield (changed(place) for place in places if len(terms) > 2)
    yield (
        replace(part, coefficients=(*terms, (other, Fraction(sign)))) for other in others for sign in (1, -1)
        if part.relation == "=="
    )  # fmt: skip
    yield _rounded(part, columns, grid, rows)
    factors = [*_with_another_factor(part, columns, rows)]
    yield factors
    for unrounded in (signs, factors) if not part.tolerance else ():
        yield (each for other in unrounded for each in _rounded(other, columns, grid, rows))
    yield (replace(part, relation=relation, tolerance=Fraction(0)) for relation in _LOOSER.get(part.relation, ()))


def _with_another_factor(part: LinearPart, columns: Columns, rows: NDArray[np.bool_]) -> Iterator[LinearPart]:
    """A multiple of one variable that is another one up to a constant: with the factor of most records, in few digits.

    It is estimated from the records that have the largest values, where rounding matters least.
    """
    if part.relation != "==" or len(part.coefficients) != 2:
        return
    (first, factor), (second, other) = part.coefficients
    x, y = columns[first][rows], columns[second][rows]
    there = ~np.isnan(x) & ~np.isnan(y) & (x != 0)
    if not there.any():
        return
    x, y = x[there], y[there]
    largest = np.argsort(-np.abs(x), kind="stable")[: max(1, len(x) // 10)]
    typical = float(np.median((float(part.constant) - float(other) * y[largest]) / x[largest]))
    for digits in range(MOST_DIGITS + 1):
        new = Fraction(str(round(typical, digits)))
        if new not in (0, factor):
            yield replace(part, coefficients=((first, new), (second, other)))


def _of_product(part: ProductPart, others: Sequence[str]) -> Iterator[Iterable[ProductPart]]:
    def sides(change: Callable[[tuple[str, int]], Iterable[tuple[str, int]]]) -> Iterator[ProductPart]:
        for side, powers in (("left", part.left), ("right", part.right)):
            for place, each in enumerate(powers):
                for new in change(each):
                    changed = (*powers[:place], new, *powers[place + 1 :])
                    yield replace(part, left=changed) if side == "left" else replace(part, right=changed)

    yield (replace(part, relation=_FLIPPED[part.relation]) for _ in range(part.relation != "=="))
    yield sides(lambda each: [(each[0], -each[1])])
    yield (replace(part, coefficient=part.coefficient * power) for power in POWERS)
    yield sides(lambda each: [(other, each[1]) for other in others])
    yield (replace(part, left=(*part.left, (other, power))) for other in others for power in (1, -1))
    yield (replace(part, relation=relation) for relation in _LOOSER.get(part.relation, ()))


def _of_polynomial(part: PolynomialPart, others: Sequence[str]) -> Iterator[Iterable[PolynomialPart]]:
    def each_term(
        change: Callable[[Fraction, Monomial], Iterable[tuple[Fraction, Monomial]]],
    ) -> Iterator[PolynomialPart]:
        for place, (factor, powers) in enumerate(part.terms):
            for new in change(factor, powers) if powers else ():
                yield replace(part, terms=(*part.terms[:place], new, *part.terms[place + 1 :]))

    def each_factor(powers: Monomial, change: Callable[[str, int], Iterable[tuple[str, int]]]) -> Iterator[Monomial]:
        for place, each in enumerate(powers):
            yield from ((*powers[:place], new, *powers[place + 1 :]) for new in change(*each))

    def turned(factor: Fraction, powers: Monomial) -> Iterable[tuple[Fraction, Monomial]]:
        new = each_factor(powers, lambda name, power: [(name, -power)])
        return ((factor, each) for each in new if len(powers) > 1)

    yield each_term(lambda factor, powers: [(-factor, powers)])
    yield each_term(turned)
    yield each_term(lambda factor, powers: ((factor * shift, powers) for shift in POWERS))
    yield each_term(
        lambda factor, powers: (
            (factor, new) for new in each_factor(powers, lambda _, power: ((other, power) for other in others))
        )
    )


def _rounded(
    part: _Equality, columns: Columns, grid: Mapping[str, int | None], rows: NDArray[np.bool_]
) -> Iterator[_Equality]:
    """An equality with the least tolerance that explains by rounding what any does, but for errors."""
    if _is_equality(part):
        wider = [replace(part, tolerance=step) for step in _roundings(part, grid) if step >= part.tolerance]
        held = [counted(each, columns, rows)[0] for each in wider]
        yield from [each for each, records in zip(wider, held, strict=True) if records >= COVERED * held[-1]][:1]


def _roundings(part: LinearPart | PolynomialPart, grid: Mapping[str, int | None]) -> list[Fraction]:
    """The tolerance of an equality, and those that rounding of its terms or of its total explains, the least first."""
    rounded = part.variables if isinstance(part, LinearPart) else [part.total] if part.total else []
    digits = [each for each in map(grid.get, rounded) if each is not None]
    if not digits:
        return [part.tolerance]
    unit = Fraction(1, 10 ** min(digits))
    return [part.tolerance, unit / 2, *(unit * step for step in range(1, len(rounded) + 1))]


def _of_range(part: RangePart, values: NDArray[np.float64]) -> Iterator[Iterable[RangePart]]:
    """Other bounds: the written ones with a digit too many or too few, then those of the data, rounded outwards."""
    present = values[~np.isnan(values)]
    if part.numbers is not None or part.texts is not None or not len(present) or part.low == part.high:
        return
    lowest, highest = float(np.min(present)), float(np.max(present))
    low, high = part.low, part.high
    breaks_high = high is not None and np.count_nonzero(present > float(high)) >= np.count_nonzero(
        present < (-np.inf if low is None else float(low))
    )
    if breaks_high and high is not None:
        shifted = sorted(high * power for power in POWERS)
        # The nearest shift that will do: a looser one holds as well, and says less.
        near = [bound for bound in shifted if _share(present <= float(bound)) >= ENOUGH]
        yield (replace(part, high=bound) for bound in near[:1])
        yield (replace(part, high=-high) for _ in range(high < 0 < highest))
        yield (replace(part, high=bound) for bound in _retyped(high) if bound > high)
        if low is None:
            yield [replace(part, low=high, low_closed=part.high_closed, high=None)]
        yield [replace(part, high=rounded_outwards(fraction(lowest), fraction(highest))[1])]
    elif low is not None:
        shifted = sorted((low * power for power in POWERS), reverse=True)
        near = [bound for bound in shifted if _share(present >= float(bound)) >= ENOUGH]
        yield (replace(part, low=bound) for bound in near[:1] if bound)
        yield (replace(part, low=-low) for _ in range(lowest < 0 < low))
        yield (replace(part, low=bound) for bound in _retyped(low) if bound < low)
        if high is None:
            yield [replace(part, high=low, high_closed=part.low_closed, low=None)]
        yield [replace(part, low=rounded_outwards(fraction(lowest), fraction(highest))[0])]


def _share(held: NDArray[np.bool_]) -> float:
    return float(np.mean(held))


def _retyped(bound: Fraction) -> Iterator[Fraction]:
    """The number with two neighbouring digits exchanged."""
    text = number(abs(bound))
    for place in range(len(text) - 1):
        one, other = text[place], text[place + 1]
        if one.isdigit() and other.isdigit() and one != other:
            new = Fraction(text[:place] + other + one + text[place + 2 :])
            yield -new if bound < 0 else new


def _name(name: str) -> str:
    """Name of a variable, or what a rule calls a computed column: ``sum(person.income)``."""
    return name if name.endswith(")") or "`" in name else name_text(name)


def _text(part: Plain) -> str:
    match part:
        case LinearPart():
            text = _sum_text(part)
        case ProductPart():
            left = _product_text(part.coefficient, part.left)
            text = f"{left} {part.relation} {_product_text(part.constant, part.right)}"
        case PolynomialPart():
            return rule_text(expression_of(part))
        case RangePart(name, None, high) if high is not None:
            return f"{_name(name)} {'<=' if part.high_closed else '<'} {number(high)}"
        case RangePart(name, low, None) if low is not None:
            return f"{_name(name)} {'>=' if part.low_closed else '>'} {number(low)}"
        case RangePart(name, low, high):
            brackets = "(["[part.low_closed], ")]"[part.high_closed]
            assert low is not None
            assert high is not None
            return f"{_name(name)} in {brackets[0]}{number(low)}, {number(high)}{brackets[1]}"
    tolerance = getattr(part, "tolerance", 0)
    return f"{text}, tolerance: {number(Fraction(tolerance))}" if tolerance else text


def _sum_text(part: LinearPart) -> str:
    """Every term on the side where it is positive, unless that leaves none on the left."""
    turned = part.relation == "==" and 2 * sum(value > 0 for _, value in part.coefficients) < len(part.coefficients)
    sign = -1 if turned else 1
    sides: tuple[list[str], list[str]] = ([], [])
    for name, factor in part.coefficients:
        value = sign * factor
        shown = "" if abs(value) == 1 else f"{number(abs(value))} * "
        sides[value < 0].append(shown + _name(name))
    constant = sign * part.constant
    if constant:
        sides[constant > 0].append(number(abs(constant)))
    left, right = (" + ".join(side) or "0" for side in sides)
    return f"{left} {part.relation} {right}"


def _product_text(coefficient: Fraction, powers: Sequence[tuple[str, int]]) -> str:
    above = [_name(name) for name, power in powers for _ in range(max(power, 0))]
    below = [_name(name) for name, power in powers for _ in range(max(-power, 0))]
    if coefficient != 1 or not above:
        above.insert(0, number(coefficient))
    return " * ".join(above) + "".join(f" / {name}" for name in below)


def _stated(part: Part, edit: Edit, known: EditSet) -> str:
    """Edit that says the same already."""
    said = _canonical(part)
    others = (each for each in known if each.name != edit.name)
    return next((each.name for each in others if any(_canonical(own) == said for own in each.parts)), "")


def _canonical(part: Part) -> object:
    """The same for sums that say the same."""
    if not isinstance(part, LinearPart):
        return part
    ordered = sorted(part.coefficients)
    first = ordered[0][1] if part.relation == "==" else abs(ordered[0][1])
    return tuple((name, value / first) for name, value in ordered), part.relation, part.constant / first, part.tolerance
