"""Attribute inference from unmasked variables: labels, totals, other units, sums and products."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dates import calendar
from maskwright.data.dependencies import Dependencies
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.model import Group, Step


HOLDS = 0.95
"""Share of the records in which a relation has to hold."""

FEWEST_NUMBERS = 20
"""Records, or groups of them, that have to be there for a relation to be one."""

NEAR = 0.005
"""Share of a number, or of the range of most of them where that is less, up to which a sum or product may be off."""

MOST = (0.1, 0.9)
"""Quantiles between which most of the numbers lie: years and dates are large, and near to each other."""

NEAR_RANKS = 0.002
"""Share of the records that a number may stand from the place that another one gives it."""

NEAR_PLACE = 0.02
"""Share of a number by which the one at the place that another gives it may be off: what is rounded has few places."""

FEWEST_VALUES = 5
"""Different values of a number: what few values say is so by chance."""

RECORDS_A_NUMBER = 10
"""Records that have to be there for each number of a sum."""

MOST_NUMBERS = 30
"""Numbers of which sums and products are made: those that go along most with the number examined."""

NUMBER_SAMPLE = 2_000
"""Records that are examined, of those with the most usual value of a number, and of the others."""

TRIMMED = 0.9
"""Share of the records that a fit is taken from, those that it fits best."""

TRIMS = 6
"""Times that the records that fit best are chosen again."""


def inferred_from_numbers(
    own: Floats, numbers: Mapping[str, Floats], tied: Collection[Collection[str]] = ()
) -> tuple[str, ...] | None:
    """Published numbers from which a number can be computed or, by its place in their order, read nearly exactly.

    Examined are, in this order, a number in the same or in the opposite order (rounded, in other units, a tax, a
    rank), a weighted sum of numbers and a constant, and a product of powers of numbers (a price and an amount), the
    latter two to within `NEAR`. All of them have to hold in `HOLDS` of the records.

    `own`: NaN where missing; shape (n,). `numbers`: by name, NaN where missing; shape (n,).
    """
    if not _is_derivable(own):
        return None
    usual = _is_usual(own)
    rows = np.sort(np.concatenate([_some(usual), _some(np.isfinite(own) & ~usual)]))
    own, numbers = own[rows], {name: each[rows] for name, each in numbers.items()}
    for name, other in numbers.items():
        if not _are_tied([name], tied) and in_one_order(own, other):
            return (name,)
    for fit in (_Sum, _Product):
        left = dict(numbers)
        while found := fit(own, left).names():
            if not _are_tied(found, tied):
                return found
            # What an edit says may hide what is nowhere said.
            del left[found[0]]
    return None


def in_one_order(one: Floats, other: Floats) -> bool:
    """Whether the other number puts nearly all records in the order of the one, or in the opposite one.

    `one`, `other`: NaN where missing. Records that have the most usual value of both say nothing, as where no one has
    any; shape (n,).
    """
    there = np.isfinite(one) & np.isfinite(other)
    there[there] &= ~(_is_usual(one[there]) & _is_usual(other[there]))
    first, second = one[there], other[there]
    if len(first) < FEWEST_NUMBERS or min(len(np.unique(first)), len(np.unique(second))) < FEWEST_VALUES:
        return False
    place, other_place, in_order = _ranks(first), _ranks(second), np.sort(first)
    room = NEAR_PLACE * np.minimum(np.abs(first), np.ptp(np.quantile(first, MOST)))
    for implied in (other_place, len(first) + 1 - other_place):
        near = np.abs(place - implied) <= max(1.0, NEAR_RANKS * len(first))
        near |= np.abs(first - np.interp(implied, np.arange(1, len(first) + 1), in_order)) <= room
        if np.mean(near) >= HOLDS:
            return True
    return False


class _Sum:
    """A number as a weighted sum of others and a constant, by least squares on the records that it fits best."""

    def __init__(self, own: Floats, numbers: Mapping[str, Floats]) -> None:
        self._own, kept = self._on_scale(own, numbers)
        self._names = _nearest(self._own, kept)
        table = np.column_stack([kept[name] for name in self._names]) if self._names else np.empty((len(own), 0))
        rows = _some(np.isfinite(self._own) & np.isfinite(table).all(axis=1))
        self._own, table = self._own[rows], table[rows]
        spread = np.ptp(table, axis=0) if len(rows) else np.ones(table.shape[1])
        self._table = np.column_stack([table / np.where(spread > 0, spread, 1.0), np.ones(len(rows))])

    def names(self) -> tuple[str, ...]:
        """The fewest numbers found that determine it; none: they do not."""
        chosen = list(range(len(self._names)))
        if not chosen or len(self._own) < max(FEWEST_NUMBERS, RECORDS_A_NUMBER * (len(chosen) + 1)):
            return ()
        # Where nearly everybody has the same, a constant fits.
        if not self._range() or self._fits([]) or not self._fits(chosen):
            return ()
        # Those that go along with it least are left out first.
        for place in reversed(range(len(self._names))):
            without = [each for each in chosen if each != place]
            if self._fits(without):
                chosen = without
        return tuple(self._names[each] for each in chosen)

    def _on_scale(self, own: Floats, numbers: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
        return np.where(own == 0, np.nan, own), {name: each for name, each in numbers.items() if _is_there(each, own)}

    def _room(self) -> Floats:
        return NEAR * np.minimum(np.abs(self._own), self._range())

    def _range(self) -> float:
        return float(np.ptp(np.quantile(self._own, MOST)))

    def _fits(self, chosen: Sequence[int]) -> bool:
        table = self._table[:, [*chosen, -1]]
        rows = np.arange(len(table))
        # Records that do not follow at all must not bend the fit: it is taken again without those that it fits least.
        room = self._room()
        for _ in range(TRIMS):
            weights = np.linalg.lstsq(table[rows] / room[rows, None], self._own[rows] / room[rows], rcond=None)[0]
            off = np.abs(table @ weights - self._own) / room
            if float(np.mean(off <= 1.0)) >= HOLDS:
                return True
            rows = np.argpartition(off, int(TRIMMED * len(off)) - 1)[: int(TRIMMED * len(off))]
        return False


class _Product(_Sum):
    """A number as a product of powers of others: a sum of logarithms."""

    def _on_scale(self, own: Floats, numbers: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
        kept = {name: _logarithms(each) for name, each in numbers.items()}
        return _logarithms(own), {name: each for name, each in kept.items() if _is_there(each, own)}

    def _room(self) -> Floats:
        return np.full(len(self._own), NEAR * min(1.0, self._range()))


def _is_derivable(own: Floats) -> bool:
    known = own[np.isfinite(own)]
    return (
        len(known) >= FEWEST_NUMBERS
        and len(np.unique(known)) >= FEWEST_VALUES
        and bool(np.mean(_is_usual(known)) < HOLDS)
    )


def _is_usual(values: Floats) -> Booleans:
    """Records with the value that most have."""
    distinct, counts = np.unique(values, return_counts=True)
    return values == distinct[np.argmax(counts)] if len(values) else np.zeros(0, dtype=np.bool_)


def _some(there: Booleans) -> Integers:
    """Records, at most `NUMBER_SAMPLE`, from all over the file."""
    rows = np.flatnonzero(there)
    return rows[np.linspace(0, max(len(rows) - 1, 0), min(len(rows), NUMBER_SAMPLE)).astype(np.int64)]


def _is_there(values: Floats, own: Floats) -> bool:
    """Whether a number is there beside nearly all of another one, and is no constant."""
    concerned = values[np.isfinite(own) & (own != 0)]
    known = concerned[np.isfinite(concerned)]
    return len(known) >= HOLDS * len(concerned) and len(known) > 0 and bool(np.ptp(known) > 0)


def _ranks(values: Floats) -> Floats:
    """Places in ascending order from 1; equal values share the middle of theirs. Importing SciPy takes a second."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middle[group]


def _logarithms(values: Floats) -> Floats:
    return np.log(values, out=np.full(len(values), np.nan), where=values > 0)


def _nearest(own: Floats, numbers: Mapping[str, Floats]) -> list[str]:
    """Names of the numbers that go along with one most, the nearest first: no more than its records can tell apart."""
    known = np.isfinite(own)
    place = _ranks(own[known])
    along = dict(_correlations(place, {name: each[known] for name, each in numbers.items()}))
    most = min(MOST_NUMBERS, int(np.count_nonzero(known)) // RECORDS_A_NUMBER - 1)
    return sorted(along, key=lambda name: -along[name])[: max(most, 0)]


def _correlations(place: Floats, numbers: Mapping[str, Floats]) -> Iterator[tuple[str, float]]:
    for name, values in numbers.items():
        there = np.isfinite(values)
        one, other = place[there], _ranks(values[there])
        if len(one) and np.ptp(one) and np.ptp(other):
            yield name, abs(float(np.corrcoef(one, other)[0, 1]))


def _are_tied(names: Sequence[str], tied: Collection[Collection[str]]) -> bool:
    return any(set(names) <= set(each) for each in tied)


RELATION_SAMPLE = 20_000
"""First records of a file on which relations are searched for."""

SLACK = 1e-9
"""Share of a number, of two of the smaller, by which sums in binary fractions may be off."""

YEAR = re.compile(r"(?:^|[^0-9])((?:1[89]|20)[0-9]{2})(?:[^0-9]|$)")


def attribute_inference_doubts(
    groups: Sequence[Group], steps: Sequence[Step], untouched: Iterable[str], edits: EditSet, data: Dataset | None
) -> Iterator[Doubt]:
    """Doubts about masked variables that published ones determine, whether an edit says so or not.

    Examined are, of categories, functional dependencies on one variable (`maskwright.data.dependencies`), and, of
    numbers, a constant sum, difference or quotient with one published number, a sum or difference of two, an age beside
    a date, and what `inferred_from_numbers` looks for: the same order, weighted sums, products. Where cells are only
    suppressed, dependencies are examined when they are.
    """
    if data is None:
        return
    some = data if len(data) <= RELATION_SAMPLE else data.taken(np.arange(RELATION_SAMPLE))
    # A key with new random values discloses nothing but who belongs together.
    published = [name for name in untouched if name in some and not some[name].variable.renewed]
    numbers = dict(published_numbers(some, published))
    masked_by: dict[str, list[Step]] = {}
    for group in groups:
        for name in group.variables if steps[group.step - 1].method.changes_cells else ():
            masked_by.setdefault(name, []).append(steps[group.step - 1])
    for name, own in masked_by.items():
        column = some[name]
        if column.variable.as_is:
            continue
        coarser = any("detail" in step.method.claims.removes for step in own)
        suppressed = not coarser and all(step.only_removes for step in own)
        tied = [set(edit.variables) for edit in edits] if suppressed else []
        found = _relation(column, numbers, tied)
        if found is None and (coarser or not column.variable.is_numeric) and not suppressed:
            dependencies = Dependencies(some, [name, *published], homes=some.households).of(name)
            found = next((str(each) for each in dependencies if len(each.given) == 1), None)
        if found is not None:
            message = f"it can be read off {found}, published as it is"
            yield Doubt("follows-from-published", name, message, place=own[0].place, step=own[0].number, given_by=found)


def published_numbers(data: Dataset, names: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Published numbers, NaN where missing, and the years of dates and those that texts hold."""
    for name in names:
        values = _values(data[name])
        if values is not None and np.nanmin(values, initial=np.inf) < np.nanmax(values, initial=-np.inf):
            yield name, values
        if data[name].variable.is_date:
            yield f"the year of {name}", calendar("year", [data[name].values / data[name].variable.day])
        elif values is None:
            years = _coded(data[name], lambda text: float(found[1]) if (found := YEAR.search(text)) else np.nan)
            if years is not None:
                yield f"the year of {name}", years


def _values(column: Column) -> Floats | None:
    """Numbers, NaN where missing, also where they are categories; None: texts."""
    if column.variable.is_numeric:
        return np.where(column.missing, np.nan, column.values)
    return _coded(column, _number)


def _coded(column: Column, meaning: Callable[[str], float]) -> Floats | None:
    """What the categories mean, cell by cell; None where most mean nothing."""
    known = np.array([*map(meaning, column.variable.categories), np.nan])
    if np.mean(np.isfinite(known[:-1])) < HOLDS if len(known) > 1 else True:
        return None
    return np.asarray(known[column.values])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _relation(column: Column, numbers: Mapping[str, Floats], tied: Sequence[set[str]]) -> str | None:
    """What a number can be computed from, but for what is tied to it; None: nothing that was searched for."""
    itself = column.variable.name
    values = _values(column)
    if values is None or _nearly_constant(values, 0.0):
        return None
    own = np.where(values == 0, np.nan, values)
    for name, other in numbers.items():
        if _are_tied([itself, name], tied):
            continue
        if name.startswith("the year of "):
            # The birthday has been in this year, or not yet; of a code that is 1 or 2 that says nothing.
            related = _nearly_constant(own + other, 0.0, spread=1.0) and not _nearly_constant(own, 0.0, spread=1.0)
        else:
            room = SLACK * min(float(np.nanmax(np.abs(each), initial=0.0)) for each in (own, other))
            related = any(_nearly_constant(each, room) for each in (own - other, own + other))
            related = related or _has_constant_quotient(own, other)
        if related:
            return name
    plain = {name: each for name, each in numbers.items() if not name.startswith("the year of ")}
    for one, another in _possible_pairs(own, plain):
        if _are_tied([itself, one, another], tied):
            continue
        first, second = numbers[one], numbers[another]
        if any(_is_zero(own - each, own) for each in (first - second, second - first, first + second)):
            return f"{one} and {another}"
    found = inferred_from_numbers(values, plain, [names - {itself} for names in tied if itself in names])
    return None if found is None else " and ".join(found)


def _possible_pairs(own: Floats, numbers: Mapping[str, Floats]) -> Iterator[tuple[str, str]]:
    """Pairs of numbers whose sum or difference may be another: not so many of some records fail that it cannot be."""
    known = np.flatnonzero(np.isfinite(own))
    most = (1 - HOLDS) * len(known) + 1  # that may fail of all records: fewer, where a pair has missing cells
    rows = known[np.linspace(0, max(len(known) - 1, 0), min(len(known), int(3 * most) + 1)).astype(np.int64)]
    few, room = own[rows], SLACK * np.abs(own[rows])
    names = list(numbers)
    table = np.array([numbers[name][rows] for name in names]).reshape(len(names), len(rows))
    for place, one in enumerate(names[:-1]):
        first, second = table[place], table[place + 1 :]
        off = (few - each for each in (first - second, second - first, first + second))
        fail = [np.count_nonzero(np.isfinite(each) & (np.abs(each) > room), axis=1) for each in off]
        for another in np.flatnonzero(np.min(fail, axis=0) <= most):
            yield one, names[place + 1 + another]


def _has_constant_quotient(one: Floats, other: Floats) -> bool:
    both = np.isfinite(one) & np.isfinite(other)
    if not both.any() or np.mean(other[both] == 0) > 1 - HOLDS:
        return False
    with np.errstate(over="ignore"):  # what is beyond binary64 is no constant
        quotient = one[both & (other != 0)] / other[both & (other != 0)]
    finite = quotient[np.isfinite(quotient)]
    return len(finite) > 0 and _nearly_constant(quotient, SLACK * abs(float(np.median(finite))))


def _nearly_constant(values: Floats, room: float, spread: float = 0.0) -> bool:
    """Whether nearly all numbers that are there lie within `spread` of the lower of the two most usual ones."""
    known = values[np.isfinite(values)]
    if len(known) < FEWEST_NUMBERS:
        return False
    middle = float(np.median(known))
    shares = (np.mean((known >= low - room) & (known <= low + spread + room)) for low in (middle, middle - spread))
    return bool(max(shares) >= HOLDS)


def _is_zero(difference: Floats, size: Floats) -> bool:
    known = np.isfinite(difference)
    if np.count_nonzero(known) < FEWEST_NUMBERS:
        return False
    return bool(np.mean(np.abs(difference[known]) <= SLACK * np.abs(size[known])) >= HOLDS)
