"""Categories of both files as common codes, and their shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import Comparison, MeasureTable, NamesVariables, plural
from maskwright_builtin.measures.pairing import WeightedParams, listed, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Column, Measurable
    from maskwright_builtin.measures.pairing import Weights
    from maskwright_builtin.numerics.arrays import Booleans, Integers, Integers32


Names = Annotated[Annotated[list[str], Field(min_length=1)] | None, NamesVariables()]
NOTHING = "not defined: no categorical variable is compared; name variables as `variables`"
TWICE = "a variable is named twice"


class CategoricalParams(WeightedParams, extra="forbid", frozen=True):
    """The variables to compare, and whether records count by their weights."""

    variables: Names = Field(
        None,
        description="Variables to compare; numbers named here are taken as categories, one for each value. Default: "
        "the categorical variables that are masked, or have role quasi_identifier or confidential.",
    )


def variables_used(params: CategoricalParams, given: Measurable) -> tuple[str, ...]:
    """Names of the variables that a measure of categories looks at."""
    return given.categorical if params.variables is None else tuple(params.variables)


def variable_mistakes(params: CategoricalParams, given: Measurable) -> Iterator[tuple[str, str]]:  # noqa: ARG001
    """What is wrong with the variables: the parameter, and what it is."""
    if params.variables is not None and len(set(params.variables)) < len(params.variables):
        yield "variables", TWICE


@dataclass(frozen=True, eq=False)
class Categories:
    """One variable in both files. A missing cell is a category of its own, the last one.

    `original`: codes 0..size-1; shape (n,). `masked`: the same codes for the same categories; shape (m,). `size`:
    categories that any record of either file has, "missing" included where a cell is. `has_missing`: whether the last
    code is that of missing cells.
    """

    name: str
    original: Integers32
    masked: Integers32
    size: int
    has_missing: bool


@dataclass(frozen=True, eq=False)
class CategoricalFiles:
    """The compared variables of both files.

    `records`: of the original and of the masked file. `origin`: original record of each masked record; None when record
    i comes from record i, or when they are not paired; shape (m,).
    """

    variables: tuple[Categories, ...]
    records: tuple[int, int]
    origin: Integers | None
    weights: Weights | None
    notes: tuple[str, ...]

    def originals(self, variable: Categories) -> Integers32:
        """Original codes of the masked records; shape (m,)."""
        return variable.original if self.origin is None else variable.original[self.origin]


def categorical_files(comparison: Comparison, params: CategoricalParams, measure: str) -> CategoricalFiles:
    """Codes of the compared variables, on the categories that are published.

    A variable is recoded where it holds numbers in the original and categories in the masked file, or categories that
    the original does not have. Its original values are compared as the categories they were recoded to, which the
    pairs of records show: numbers lie in bands, one beside the other; a category that is not published any more goes
    where most of its records went. Where bands overlap or nothing has a majority (the variable was recoded and then
    changed otherwise), and where records are not paired, the variable is left out, and a note says so.
    """
    names = comparison.categorical if params.variables is None else tuple(dict.fromkeys(params.variables))
    origin = comparison.origin if comparison.origin is not None else comparison.masked.origin
    variables, recoded, left_out = [], [], []
    for name in names:
        if not _is_recoded(comparison, name):
            variables.append(_categories(name, *comparison.keys(name)))
            continue
        found = _recoded(comparison, name, origin)
        if found is None:
            left_out.append(name)
        else:
            recoded.append(name)
            variables.append(_categories(name, *found))
    notes = []
    if recoded:
        notes.append(f"recoded, compared on the published categories: {listed(recoded)}")
    if left_out:
        why = "and then changed otherwise" if comparison.paired else "and records are not paired"
        notes.append(f"left out, recoded {why}, so that the original has no such categories: {listed(left_out)}")
    gone = [sum(_missing(file[name]) for name in names) for file in (comparison.original, comparison.masked)]
    if any(gone):
        notes.append(
            f"missing cells: {gone[0]} in the original file, {gone[1]} in the masked file; they are a category"
        )
    weights = weights_of(comparison, measure, weighted=params.weighted)
    records = len(comparison.original), len(comparison.masked)
    return CategoricalFiles(tuple(variables), records, origin, weights, tuple(notes))


def _missing(column: Column) -> int:
    return int(np.count_nonzero(column.missing))


def _is_recoded(comparison: Comparison, name: str) -> bool:
    before, after = comparison.original[name], comparison.masked[name]
    if after.variable.is_numeric:
        return False
    if before.variable.is_numeric:
        return True
    return not set(_occurring(after)) <= set(before.variable.categories)


def _occurring(column: Column) -> list[str]:
    """Categories that some record has, in code order."""
    return [column.variable.categories[code] for code in np.unique(column.values[~column.missing]).astype(int)]


def plain_codes(column: Column) -> Integers:
    """Codes 0, 1, ... of the values of one column, in their order; -1 where missing."""
    codes = np.full(len(column.values), -1, dtype=np.int64)
    there = ~column.missing
    codes[there] = np.unique(column.values[there], return_inverse=True)[1]
    return codes


def _recoded(comparison: Comparison, name: str, origin: Integers | None) -> tuple[Integers, Integers] | None:
    """Original values as published categories, and the published ones; None where no recoding leads from one to them.

    An original value that no record publishes (its cells are suppressed) is a category of its own, but for a number
    between two that are in one band.
    """
    if not comparison.paired:
        return None
    before, after = comparison.original[name], comparison.masked[name]
    old, new = plain_codes(before), plain_codes(after)
    paired = old if origin is None else old[origin]
    published = (paired >= 0) & (new >= 0)
    values, groups = int(old.max(initial=-1)) + 1, int(new.max(initial=-1)) + 1
    if before.variable.is_numeric:
        group = _bands(paired[published], new[published], values)
    else:
        group = _groups(paired[published], new[published], _own_place(before, after), groups)
    if group is None:
        return None
    unknown = group < 0
    group[unknown] = groups + np.arange(np.count_nonzero(unknown))
    return np.append(group, -1)[old], new


def _bands(values: Integers, bands: Integers, number: int) -> Integers | None:
    """Band of each of the numbers 0..number-1, which are in order, -1 where unknown; None where bands overlap."""
    if not values.size:
        return np.full(number, -1, dtype=np.int64)
    order = np.argsort(values, kind="stable")
    values, bands = values[order], bands[order]
    starts = np.flatnonzero(np.concatenate([[True], bands[1:] != bands[:-1]]))
    split = (bands[1:] != bands[:-1]) & (values[1:] == values[:-1])
    if len(np.unique(bands[starts])) < len(starts) or split.any():
        return None
    band = np.full(number, -1, dtype=np.int64)
    for first, last in zip(starts, np.append(starts[1:], values.size), strict=True):
        band[values[first] : values[last - 1] + 1] = bands[first]
    return band


def _groups(values: Integers, groups: Integers, own: Integers, number: int) -> Integers | None:
    """Published category of each original one: itself, or where most of its records went; None where none has most."""
    pairs, counts = np.unique(values * number + groups, return_counts=True)
    value = pairs // number
    # Of each value the frequent ones first.
    order = np.lexsort((-counts, value))
    first = order[np.concatenate([[True], np.diff(value[order]) > 0])] if order.size else order
    first = first[own[value[first]] < 0]
    records = np.bincount(value, counts, len(own))
    if (2 * counts[first] <= records[value[first]]).any():
        return None
    group = own.copy()
    group[value[first]] = pairs[first] % number
    return group


def _own_place(before: Column, after: Column) -> Integers:
    """Code of each original category that occurs among the published ones; -1 where it is not published."""
    places = {category: place for place, category in enumerate(_occurring(after))}
    return np.array([places.get(category, -1) for category in _occurring(before)], dtype=np.int64)


def _categories(name: str, old: Integers, new: Integers) -> Categories:
    """Without codes that no record has; missing cells last."""
    size = int(max(old.max(initial=-1), new.max(initial=-1))) + 1
    missing = bool((old < 0).any() or (new < 0).any())
    used = np.zeros(size + 1, dtype=np.bool_)
    used[old] = used[new] = True  # code -1 is the last place
    number = (np.cumsum(used) - 1).astype(np.int32)
    return Categories(name, number[old], number[new], int(used.sum()), missing)


def named(variables: Sequence[Categories]) -> str:
    """``edu * occ``."""
    return " * ".join(each.name for each in variables)


FEWEST_NAMED = 10
"""A category that fewer records of the original have is not named."""
MOST_NAMED = 20
"""Categories of a variable that are named, the most frequent ones; of more, the others are joined."""
DATES = ("date", "datetime")


def category_tables(comparison: Comparison, files: CategoricalFiles) -> tuple[MeasureTable, ...]:
    """A table for each variable: percent of the records of both files in each category.

    Categories that fewer than `FEWEST_NAMED` records of the original have, and those beyond `MOST_NAMED`, are joined;
    where together they are still fewer, with the rarest of the others. A category that no record of the original has
    is not rare. Single dates have no table, as few records share one; what they were recoded to has.
    """
    return tuple(
        _table(comparison, variable)
        for variable in files.variables
        if comparison.masked[variable.name].variable.type not in DATES
    )


def _table(comparison: Comparison, variable: Categories) -> MeasureTable:
    before = np.bincount(variable.original, minlength=variable.size)
    after = np.bincount(variable.masked, minlength=variable.size)
    joined = _joined(before, after, missing=variable.size - 1 if variable.has_missing else None)
    if comparison.original[variable.name].variable.type in DATES:
        joined |= after == 0
    old, new = (100.0 * counts / counts.sum() for counts in (before, after))
    rows = [
        (name, float(old[code]), float(new[code])) for code, name in _names(comparison, variable) if not joined[code]
    ]
    if joined.any():
        rows.append(
            (f"{plural(int(joined.sum()), 'other')}, joined", float(old[joined].sum()), float(new[joined].sum()))
        )
    return MeasureTable(
        f"categories_{variable.name}",
        f"Records by {variable.name}",
        (variable.name, "original", "masked"),
        tuple(rows),
    )


def _joined(before: Integers, after: Integers, missing: int | None) -> Booleans:
    """Which categories are not named."""
    joined: Booleans = (before > 0) & (before < FEWEST_NAMED)
    by_size = np.lexsort((np.arange(len(before)), -np.maximum(before, after)))
    named = [code for code in by_size if not joined[code] and code != missing]
    joined[named[MOST_NAMED:]] = True
    rarest = sorted((code for code in named[:MOST_NAMED] if before[code]), key=lambda code: (before[code], code))
    while rarest and 0 < before[joined].sum() < FEWEST_NAMED:
        joined[rarest.pop(0)] = True
    return joined


def _names(comparison: Comparison, variable: Categories) -> Iterator[tuple[int, str]]:
    """Codes with what they are called: as published or, where no record publishes one, as in the original."""
    published, original = comparison.masked[variable.name], comparison.original[variable.name]
    in_masked, in_original = (_first(codes, variable.size) for codes in (variable.masked, variable.original))
    for code in range(variable.size):
        if variable.has_missing and code == variable.size - 1:
            yield code, "(missing)"
        elif in_masked[code] >= 0:
            yield code, _text(published, in_masked[code])
        else:
            yield code, f"{_text(original, in_original[code])} (not published)"


def _first(codes: Integers32, size: int) -> Integers:
    """The first record of each code; -1 where no record has it."""
    first = np.full(size, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


def _text(column: Column, record: np.int64) -> str:
    cell = column.values[record]
    return f"{cell:g}" if column.variable.is_numeric else str(column.variable.categories[int(cell)])
