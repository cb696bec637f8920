"""Masked variables that can be read off what is published as it is: a label, a total and its other part, a birth."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dates import calendar
from maskwright.data.dependencies import Dependencies
from maskwright.data.record_order import is_in_blocks
from maskwright.foundation.doubts import Doubt
from maskwright.planning.warnings.told_numbers import told_by_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.model import Group, Step

LOOKED_AT = 20_000
"""First records of a file on which relations are looked for."""

HOLDS = 0.95
"""Share of the records in which a relation has to hold."""

FEWEST = 20
"""Records that have to be there for a relation to be one."""

SLACK = 1e-9
"""Share of the smaller of two numbers by which sums in binary fractions may be off."""

YEAR = re.compile(r"(?:^|[^0-9])((?:1[89]|20)[0-9]{2})(?:[^0-9]|$)")


def read_off_doubts(
    groups: Sequence[Group], steps: Sequence[Step], untouched: Iterable[str], edits: EditSet, data: Dataset | None
) -> Iterator[Doubt]:
    """Doubts about masked variables that published ones determine, whether an edit says so or not.

    Looked for are, of categories, functional dependencies on one variable (`maskwright.data.dependencies`), and, of
    numbers, a constant sum, difference or quotient with one published number, a sum or difference of two, an age beside
    a date, and what `told_by_numbers` looks for: the same order, weighted sums, products. Where cells are only
    suppressed, dependencies are looked at when they are.

    `untouched`: variables that no step masks and that are published. `edits`: where cells are only suppressed, what an
    edit ties together is protected by suppressing more. `data`: the original; None: nothing is said.
    """
    if data is None:
        return
    some = data if len(data) <= LOOKED_AT else data.taken(np.arange(LOOKED_AT))
    # A key with new random values tells nothing but who belongs together.
    published = [name for name in untouched if name in some and not some[name].variable.renewed]
    numbers = dict(_numbers(some, published))
    masked_by: dict[str, list[Step]] = {}
    for group in groups:
        for name in group.variables if steps[group.step - 1].changes_cells else ():
            masked_by.setdefault(name, []).append(steps[group.step - 1])
    for name, own in masked_by.items():
        column = some[name]
        if column.variable.as_is:
            continue
        coarser = any("detail" in step.method.removes for step in own)
        suppressed = not coarser and all(step.only_removes for step in own)
        tied = [set(edit.variables) for edit in edits] if suppressed else []
        found = _relation(column, numbers, tied)
        if found is None and (coarser or not column.variable.is_numeric) and not suppressed:
            dependencies = Dependencies(some, [name, *published]).of(name)
            found = next((str(each) for each in dependencies if len(each.given) == 1), None)
        if found is not None:
            message = f"it can be read off {found}, published as it is"
            yield Doubt("follows-from-published", name, message, place=own[0].place)


def sorted_file_doubts(groups: Sequence[Group], steps: Sequence[Step], data: Dataset) -> Iterator[Doubt]:
    """Doubts about categories that are changed at random in a file sorted by them: the neighbours tell the original.

    `data`: the original, in the order in which its records are published.
    """
    said: set[str] = set()
    for group in groups:
        step = steps[group.step - 1]
        if step.only_removes or "detail" in step.method.removes or step.method.draws_records:
            continue
        for name in group.variables:
            variable = data[name].variable
            if name in said or variable.is_numeric or variable.as_is or not is_in_blocks(data, name):
                continue
            said.add(name)
            message = "it can be read off the order of the records: the file is sorted by it"
            hint = "Publish the records in random order: `release: {order: random}`."
            yield Doubt("follows-from-published", name, message, place=step.place, hint=hint)


def _numbers(data: Dataset, names: Sequence[str]) -> Iterator[tuple[str, NDArray[np.float64]]]:
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


def _values(column: Column) -> NDArray[np.float64] | None:
    """Numbers, NaN where missing, also where they are categories; None: texts."""
    if column.variable.is_numeric:
        return np.where(column.missing, np.nan, column.values)
    return _coded(column, _number)


def _coded(column: Column, meaning: Callable[[str], float]) -> NDArray[np.float64] | None:
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


def _relation(column: Column, numbers: Mapping[str, NDArray[np.float64]], tied: Sequence[set[str]]) -> str | None:
    """What a number can be computed from, but for what is tied to it; None: nothing that was looked for."""
    itself = column.variable.name
    values = _values(column)
    if values is None or _nearly_constant(values, 0.0):
        return None
    own = np.where(values == 0, np.nan, values)
    for name, other in numbers.items():
        if any({itself, name} <= names for names in tied):
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
    for one, another in itertools.combinations(plain, 2):
        if any({itself, one, another} <= names for names in tied):
            continue
        first, second = numbers[one], numbers[another]
        if any(_is_zero(own - each, own) for each in (first - second, second - first, first + second)):
            return f"{one} and {another}"
    found = told_by_numbers(values, plain, [names - {itself} for names in tied if itself in names])
    return None if found is None else " and ".join(found)


def _has_constant_quotient(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    both = np.isfinite(one) & np.isfinite(other)
    if not both.any() or np.mean(other[both] == 0) > 1 - HOLDS:
        return False
    with np.errstate(over="ignore"):  # what is beyond binary64 is no constant
        quotient = one[both & (other != 0)] / other[both & (other != 0)]
    finite = quotient[np.isfinite(quotient)]
    return len(finite) > 0 and _nearly_constant(quotient, SLACK * abs(float(np.median(finite))))


def _nearly_constant(values: NDArray[np.float64], room: float, spread: float = 0.0) -> bool:
    """Whether nearly all numbers that are there lie within `spread` of the lower of the two most usual ones."""
    known = values[np.isfinite(values)]
    if len(known) < FEWEST:
        return False
    middle = float(np.median(known))
    shares = (np.mean((known >= low - room) & (known <= low + spread + room)) for low in (middle, middle - spread))
    return bool(max(shares) >= HOLDS)


def _is_zero(difference: NDArray[np.float64], size: NDArray[np.float64]) -> bool:
    known = np.isfinite(difference)
    if np.count_nonzero(known) < FEWEST:
        return False
    return bool(np.mean(np.abs(difference[known]) <= SLACK * np.abs(size[known])) >= HOLDS)
