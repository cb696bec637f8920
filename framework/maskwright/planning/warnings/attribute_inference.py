"""Attribute inference from unmasked variables: labels, totals, other units, sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.code_parts import CodeParts
from maskwright.data.dates import calendar
from maskwright.data.dependencies import Dependencies, ValueCodes, determines
from maskwright.data.notations import amounts
from maskwright.foundation.arrays import arrow_texts, numbers_of
from maskwright.foundation.doubts import Doubt
from maskwright.planning.warnings.median_lines import groupings
from maskwright.planning.warnings.number_inference import are_tied, in_the_order_of, inferred_from_numbers
from maskwright.planning.warnings.observed_numbers import FEWEST_NUMBERS, HOLDS, ObservedNumbers, some_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.planning.model import Group, Step
    from maskwright.planning.warnings.median_lines import Grouping


RELATION_SAMPLE = 20_000
"""First records of a file on which relations are searched for."""

SLACK = 1e-9
"""Share of a number, of two of the smaller, by which sums in binary fractions may be off."""

FEW = 64
"""Records that exclude a relation, where it fails in more than half of those with its numbers: others are examined."""

ROOM = 1e-6
"""Share of the largest number of few records by which sums are off at most: a thousand times `SLACK`."""

YEAR = r"(?:^|[^0-9])(?P<year>(?:1[89]|20)[0-9]{2})(?:[^0-9]|$)"


def attribute_inference_doubts(
    groups: Sequence[Group], steps: Sequence[Step], untouched: Iterable[str], edits: EditSet, data: Dataset | None
) -> Iterator[Doubt]:
    """Doubts about masked variables that published ones determine, whether an edit says so or not.

    Examined are, of categories, functional dependencies on one variable (`maskwright.data.dependencies`), and, of
    numbers, a constant sum, difference or quotient with one published number, a sum or difference of two, an age and a
    date, and what `inferred_from_numbers` searches for: the same order, weighted sums, products, rates, factors. Where
    cells are only suppressed, dependencies, also of texts with the same number, are examined when they are.
    """
    if data is None:
        return
    some = data if len(data) <= RELATION_SAMPLE else data.taken(np.arange(RELATION_SAMPLE))
    # A key with new random values discloses nothing but who belongs together.
    published = [name for name in untouched if name in some and not some[name].variable.renewed]
    numbers, codes = ObservedNumbers(len(some), published_numbers(some, published)), ValueCodes(some)
    without_years = [name for name in numbers if not name.startswith("the year of ")]
    plain = numbers if len(without_years) == len(numbers) else numbers.only(without_years)
    categories = {name: codes.of(name) for name in published if codes.distinct(name) > 1}
    grouped = groupings(len(some), categories)
    parts: dict[str, CodeParts] = {}
    differences = ObservedNumbers(
        len(some), ((name, each[: len(some)]) for name, each in published_differences(data, published))
    )
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
        if suppressed and not column.variable.is_numeric:
            tied += [{name, other} for other in published if not some[other].variable.is_numeric]
        found = _relation(column, numbers, plain, grouped, tied) or _order_of(column, differences)
        if found is None and (coarser or not column.variable.is_numeric) and not suppressed:
            dependencies = Dependencies(some, [name, *published], homes=some.households).of(name)
            found = next((str(each) for each in dependencies if len(each.given) == 1), None)
            parts = parts or {each: CodeParts(some, each, codes) for each in published}
            found = found or _part_of_code(codes.of(name), parts)
        if found is not None:
            message = f"it can be inferred from {found}, published as it is"
            yield Doubt("follows-from-published", name, message, place=own[0].place, step=own[0].number, given_by=found)


def published_numbers(data: Dataset, names: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Published numbers, also amounts in texts, NaN where missing, and the years of dates and of texts."""
    for name in names:
        values = _values(data[name])
        if values is not None and np.nanmin(values, initial=np.inf) < np.nanmax(values, initial=-np.inf):
            yield name, values
        if data[name].variable.is_date:
            yield f"the year of {name}", calendar("year", [data[name].values / data[name].variable.day])
        elif not data[name].variable.is_numeric:
            years = _coded(data[name], _years)
            if years is not None:
                yield f"the year of {name}", years


def published_differences(data: Dataset, names: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Differences of published numbers from the record before, and to the next one; NaN where there are none.

    Of a number that rises, or falls, nearly everywhere in the file, as within each year, in its order; of others in
    the order of the number itself.
    """
    for name in names:
        if not data[name].variable.is_numeric or len(data) < FEWEST_NUMBERS:
            continue
        values = np.where(data[name].missing, np.nan, data[name].values)
        rises, falls = (float(np.mean(sign * np.diff(values) >= 0)) for sign in (1, -1))
        values = -values if falls >= HOLDS else values
        order = np.arange(len(data)) if max(rises, falls) >= HOLDS else np.argsort(values, kind="stable")
        steps = np.diff(values[order])
        steps[steps < 0] = np.nan  # another year begins
        for said, ends in (("differences", order[1:]), ("next differences", order[:-1])):
            found = np.full(len(data), np.nan)
            found[ends] = steps
            yield f"the {said} of {name}", found


def _order_of(column: Column, numbers: ObservedNumbers) -> str | None:
    """The first of some numbers that puts the records in the order of a variable; None: none does."""
    values = _values(column)
    if values is None:
        return None
    return next(in_the_order_of(values, numbers), None)


def _part_of_code(own: Integers, parts: Mapping[str, CodeParts]) -> str | None:
    """The first part of published codes that determines a variable; None: none does."""
    tests = sum(len(each.tried) for each in parts.values())
    for name, codes in parts.items():
        for part in codes.tried:
            if determines(codes.of(part, codes.rows), own[codes.rows], tests):
                return f"{part} of {name}"
    return None


def _values(column: Column) -> Floats | None:
    """Numbers, NaN where missing, also where they are categories; None: texts."""
    if column.variable.is_numeric:
        return np.where(column.missing, np.nan, column.values)
    return _coded(column, amounts)


def _coded(column: Column, read: Callable[[Any], Floats]) -> Floats | None:
    """Numbers in the texts of categories, cell by cell; None where most have none."""
    used = np.unique(column.values[~column.missing])
    means = read(arrow_texts([column.variable.categories[each] for each in used]))
    if not len(used) or np.mean(np.isfinite(means)) < HOLDS:
        return None
    known = np.full(len(column.variable.categories) + 1, np.nan)
    known[used] = means
    return np.where(column.missing, np.nan, known[column.values])


def _years(texts: Any) -> Floats:
    years = pc.struct_field(pc.extract_regex(texts, YEAR), "year")
    return numbers_of(years.cast(pa.float64()), np.float64)


def _relation(
    column: Column,
    numbers: ObservedNumbers,
    plain: ObservedNumbers,
    grouped: Sequence[Grouping],
    tied: Sequence[set[str]],
) -> str | None:
    """What a number can be computed from, other than edits that tie it; None: nothing was found."""
    itself = column.variable.name
    values = _values(column)
    if values is None or _nearly_constant(values, 0.0):
        return None
    own = np.where(values == 0, np.nan, values)
    possible = _possible_others(own, numbers)
    for name, other in numbers.items():
        if name not in possible or are_tied([itself, name], tied):
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
    for one, another in _possible_pairs(own, plain):
        if are_tied([itself, one, another], tied):
            continue
        first, second = numbers[one], numbers[another]
        if any(_is_zero(own - each, own) for each in (first - second, second - first, first + second)):
            return f"{one} and {another}"
    tied_to = [names - {itself} for names in tied if itself in names]
    found = inferred_from_numbers(values, plain, tied_to, grouped)
    return None if found is None else " and ".join(found)


def _possible_others(own: Floats, numbers: ObservedNumbers) -> set[str]:
    """Numbers whose difference, sum or quotient with another may be constant, by few records; all years."""
    rows, names = some_records(np.isfinite(own), FEW), list(numbers)
    few, table = own[rows], numbers.table[:, rows]
    possible = np.array([name.startswith("the year of ") for name in names], dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for each in (few - table, few + table, few / table):
            known = np.isfinite(each)
            count = np.count_nonzero(known, axis=1)
            middle = _middle(np.where(known, each, np.nan), count)
            room = ROOM * np.fmax(np.abs(middle), np.fmax(np.abs(few).max(initial=0.0), _largest(table)))
            off = np.abs(each - middle[:, None]) > room[:, None]
            possible |= (np.count_nonzero(known & off, axis=1) <= count / 2) | (count < FEWEST_NUMBERS)
    return {name for name, each in zip(names, possible, strict=True) if each}


def _middle(values: Floats, count: Integers) -> Floats:
    """Lower median of each row; NaN stand at the end."""
    if not values.size:
        return np.zeros(len(values))
    middle: Floats = np.sort(values, axis=1)[np.arange(len(values)), np.maximum(count - 1, 0) // 2]
    return middle


def _largest(table: Floats) -> Floats:
    """Largest size in each row; 0 where nothing is known."""
    return np.asarray(np.nan_to_num(np.fmax.reduce(np.abs(table), axis=1, initial=0.0)))


def _possible_pairs(own: Floats, numbers: ObservedNumbers) -> Iterator[tuple[str, str]]:
    """Pairs of numbers whose sum or difference may be another: not so many of some records fail that it cannot be."""
    known = np.flatnonzero(np.isfinite(own))
    most = (1 - HOLDS) * len(known) + 1  # that may fail of all records: fewer, where a pair has missing cells
    rows = known[np.linspace(0, max(len(known) - 1, 0), min(len(known), int(3 * most) + 1)).astype(np.int64)]
    names = list(numbers)
    table, few = numbers.table[:, rows], some_records(np.ones(len(rows), dtype=np.bool_), FEW)
    for place, one in enumerate(names[:-1]):
        others = np.arange(place + 1, len(names))
        fail, count = _failing(own[rows[few]], table[place, few], table[place + 1 :, few])
        others = others[(fail <= count / 2) | (count < FEWEST_NUMBERS)]
        if len(others):
            fail, _ = _failing(own[rows], table[place], table[others])
            for another in others[fail <= most]:
                yield one, names[another]


def _failing(own: Floats, first: Floats, second: Floats) -> tuple[Integers, Integers]:
    """In how many records neither sum nor difference of two numbers is another, and in how many both are observed."""
    room = SLACK * np.abs(own)
    off = (own - each for each in (first - second, second - first, first + second))
    fail = [np.count_nonzero(np.isfinite(each) & (np.abs(each) > room), axis=1) for each in off]
    return np.min(fail, axis=0), np.count_nonzero(np.isfinite(own + first + second), axis=1)


def _has_constant_quotient(one: Floats, other: Floats) -> bool:
    both = np.isfinite(one) & np.isfinite(other)
    if not both.any() or np.mean(other[both] == 0) > 1 - HOLDS:
        return False
    with np.errstate(over="ignore"):  # what is beyond binary64 is no constant
        quotient = one[both & (other != 0)] / other[both & (other != 0)]
    finite = quotient[np.isfinite(quotient)]
    return len(finite) > 0 and _nearly_constant(quotient, SLACK * abs(float(np.median(finite))))


def _nearly_constant(values: Floats, room: float, spread: float = 0.0) -> bool:
    """Whether nearly all observed numbers lie within `spread` of the lower of the two most usual ones."""
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
