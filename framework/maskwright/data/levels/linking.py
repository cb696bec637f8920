"""Which records belong together: levels found in one flat file, or linked from a file of each level."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.levels.consistency import (
    different_kinds,
    large_groups,
    missing_keys,
    orphans,
    places,
    texts_as_order,
    twice,
    twice_within,
    unknown_names,
    without_key_of_group,
    wrong_pointers,
)
from maskwright.data.levels.linked_data import ABSENT, DANGLING, NO_PLACES, Level, LinkedData
from maskwright.data.record_groups import shared_codes
from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import LevelDeclaration, LevelPlaces


def levels_of_flat(data: Dataset, declared: Mapping[str, LevelDeclaration], file: str = "the data") -> LinkedData:
    """Levels of one flat file, whose rows are records of the lowest level."""
    top, bottom = declared
    upper, lower = declared[top], declared[bottom]
    own = variables_of_levels(data.names, declared, (top, bottom))
    (codes,) = shared_codes([data[upper.key]])
    problems = [
        *texts_as_order(bottom, lower, data),
        *missing_keys(data[upper.key], top, file),
        *missing_keys(data[lower.key], bottom, file),
        *twice_within(codes, data[lower.key], bottom, file),
    ]
    if problems:
        raise InputError(problems)
    groups, firsts = _by_first_row(codes)
    order = np.argsort(groups, kind="stable").astype(np.int64)
    head = Level(top, upper, data.taken(firsts).without([n for n in data.names if n not in own[top]]), None, firsts)
    body = _in_order(data, order).without([name for name in data.names if name not in own[bottom]])
    members = Level(bottom, lower, _plain(body), groups[order], order)
    members = with_pointers(members)
    notes = [] if _is_sorted(groups) else [f"{file}: the rows of a {top} do not stand together; they are put so"]
    notes += large_groups(groups, declared)
    linked = LinkedData((replace(head, data=_plain(head.data)), members), tuple(notes))
    varying = variations(data, linked)
    return replace(linked, levels=(replace(linked.levels[0], varying=varying), members))


def linked_levels(
    data: Mapping[str, Dataset], declared: Mapping[str, LevelDeclaration], files: Mapping[str, str]
) -> LinkedData:
    """Levels of which each has its own records, linked by the key of the upper level."""
    top, bottom = declared
    upper, lower = declared[top], declared[bottom]
    head, body = data[top], data[bottom]
    unknown = unknown_of_files(declared, {top: head.names, bottom: body.names}, files)
    if unknown:
        raise InputError(unknown)
    problems = [
        *texts_as_order(bottom, lower, body),
        *wrong_pointers(bottom, lower, body.names),
        *_on_two_levels(head, body, upper.key, top),
    ]
    problems += without_key_of_group(top, upper.key, body.names, files[bottom])
    if upper.key in body and upper.key in head:
        problems += different_kinds(head[upper.key], body[upper.key], (top, bottom), files)
    if problems:
        raise InputError(problems)
    above, here = shared_codes([head[upper.key], body[upper.key]])
    place = np.full(int(max(above.max(initial=-1), here.max(initial=-1))) + 2, -1, dtype=np.int64)
    place[above[above >= 0]] = np.flatnonzero(above >= 0)
    groups = np.where(here >= 0, place[here], -1)
    problems = [
        *missing_keys(head[upper.key], top, files[top]),
        *missing_keys(body[upper.key], bottom, files[bottom]),
        *missing_keys(body[lower.key], bottom, files[bottom]),
        *twice(above, upper.key, top, files[top]),
        *twice_within(here, body[lower.key], bottom, files[bottom]),
        *orphans((groups < 0) & (here >= 0), (head[upper.key], body[upper.key]), (top, bottom), files),
    ]
    without = np.flatnonzero(np.bincount(groups[groups >= 0], minlength=len(head)) == 0)
    if len(without) and upper.members == "required":
        wrong = f"{files[top]}: without any {bottom}: {places(without)} of the level {top}"
        problems.append(Problem(wrong, hint="`members: required` is declared"))
    if problems:
        raise InputError(problems)
    order = np.argsort(groups, kind="stable").astype(np.int64)
    notes = []
    if not _is_sorted(groups):
        notes.append(f"{files[bottom]}: records are not in the order of {files[top]}; they are put so")
    if len(without):
        notes.append(f"{files[top]}: {len(without):,} of {len(head):,} records of the level {top} have no {bottom}")
    notes += large_groups(groups, declared)
    members = Level(bottom, lower, _plain(_in_order(body, order).without([upper.key])), groups[order], order)
    top_level = Level(top, upper, _plain(head), None, np.arange(len(head)))
    return LinkedData((top_level, with_pointers(members)), tuple(notes))


def unknown_of_files(
    declared: Mapping[str, LevelDeclaration],
    names: Mapping[str, Sequence[str]],
    files: Mapping[str, str],
    places_of: Mapping[str, LevelPlaces] | None = None,
) -> list[Problem]:
    """A problem for each variable that a level names and that its own file does not have."""
    top, bottom = declared
    known = places_of or {}
    unknown = [
        problem
        for (name, level), other in zip(declared.items(), (bottom, top), strict=True)
        for problem in unknown_names(
            name, level, names[name], files[name], {other: names[other]}, known.get(name, NO_PLACES)
        )
    ]
    own = {name: set(level.stated_names) for name, level in declared.items()}
    if unknown and own[top] <= set(names[bottom]) and own[bottom] <= set(names[top]):
        hint = f"{files[bottom]} has what {top} names, and {files[top]} what {bottom} names: give them in this order"
        return [replace(each, hint=hint) for each in unknown]
    return unknown


def variations(data: Dataset, linked: LinkedData) -> dict[str, NDArray[np.bool_]]:
    """Groups of a flat file in whose rows a variable of the upper level is not the same; shape (groups,).

    A missing cell next to a known one varies too, and one missing code next to another: one of them is published.
    """
    head, members = linked.levels
    assert members.groups is not None
    found = {}
    for column in head.data:
        if column.name == head.declared.key:
            continue
        codes = _with_missing_codes(data[column.name])
        rows = codes[members.rows]
        found[column.name] = np.bincount(members.groups, rows != codes[head.rows][members.groups], len(head)) > 0
    return found


def _with_missing_codes(column: Column) -> NDArray[np.int64]:
    """Codes of the values, below 0 for missing cells: -1 for empty ones, and another number for each missing code."""
    (codes,) = shared_codes([column])
    if column.blank is None:
        return codes
    numbers = {"": -1}
    texts = (*column.blank.texts, "", "")  # the last two: a cell that was emptied, and none at all
    kinds = np.array([numbers.setdefault(text.strip(), -1 - len(numbers)) for text in texts])
    return np.where(column.missing, kinds[column.blank.codes], codes)


def with_most_frequent(data: Dataset, linked: LinkedData) -> LinkedData:
    """Copy in which a varying variable of the upper level has the value of most rows of its group, ties the first's."""
    head, members = linked.levels
    assert members.groups is not None
    rows = np.array(head.rows)
    columns = {}
    for name, varies in head.varying.items():
        if not varies.any():
            continue
        (codes,) = shared_codes([data[name]])
        chosen = rows.copy()
        inside = np.flatnonzero(varies[members.groups])
        chosen[varies] = _most_frequent(members.groups[inside], codes[members.rows[inside]], members.rows[inside])
        columns[name] = data[name].taken(chosen)
    constant = {name: np.zeros_like(varies) for name, varies in head.varying.items()}
    changed = linked.with_data({head.name: head.data.with_columns(columns)})
    return replace(changed, levels=(replace(changed.levels[0], varying=constant), *changed.levels[1:]))


def _most_frequent(groups: NDArray[np.int64], codes: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row with the most frequent known code of each group, ascending groups; ties to the first row."""
    order = np.lexsort((rows, codes, groups))
    groups, codes, rows = groups[order], codes[order], rows[order]
    begins = np.flatnonzero(np.r_[True, (groups[1:] != groups[:-1]) | (codes[1:] != codes[:-1])])
    counts = np.diff(np.r_[begins, len(groups)])
    known = codes[begins] >= 0
    best = np.lexsort((rows[begins], -counts, ~known, groups[begins]))
    kept = best[np.r_[True, groups[begins][best][1:] != groups[begins][best][:-1]]]
    return np.asarray(rows[begins][kept])


def variables_of_levels(
    names: Sequence[str], declared: Mapping[str, LevelDeclaration], pair: tuple[str, str]
) -> dict[str, tuple[str, ...]]:
    """Variables of each level of a flat file, keys included."""
    top, bottom = pair
    problems = [problem for name, level in declared.items() for problem in unknown_names(name, level, names)]
    claimed = [{level.key, *level.pointers, *(level.variables or ())} for level in declared.values()]
    both = set.intersection(*claimed)
    problems += [Problem(f"the levels {top} and {bottom} both claim the variable {each!r}") for each in sorted(both)]
    problems += wrong_pointers(bottom, declared[bottom], names)
    if declared[top].variables is None and declared[bottom].variables is None:
        hint = f"`maskwright advise levels DATA --key {declared[top].key}` lists those that are the same in every group"
        problems.append(Problem(f"level {top}: nothing says which variables of the flat file are its own", None, hint))
    if problems:
        raise InputError(problems)
    low = {declared[bottom].key, *declared[bottom].pointers, *(declared[bottom].variables or ())}
    stated = declared[top].variables
    upper = {declared[top].key, *(set(names) - low if stated is None else stated)}
    return {
        top: tuple(name for name in names if name in upper),
        bottom: tuple(name for name in names if name not in upper),
    }


def _on_two_levels(head: Dataset, body: Dataset, key: str, top: str) -> Iterator[Problem]:
    for name in head.names:
        if name != key and name in body:
            if _is_unique(head, name) and not _is_unique(head, key):
                message = f"level {top}: several of its records have the same {key!r}, which is said to be its key"
                hint = f"{name!r} tells them apart, and stands in both files: say `key: {name}`."
                yield Problem(message, None, hint)
                continue
            hint = "Rename one, or drop it from one of the files: a variable belongs to one level."
            yield Problem(f"both levels have a variable {name!r}", None, hint)


def _is_unique(data: Dataset, name: str) -> bool:
    values = data[name].values[~data[name].missing]
    return len(np.unique(values)) == len(data)


def with_pointers(level: Level) -> Level:
    """Level with what its pointers point to."""
    assert level.groups is not None
    names = list(level.declared.pointers)
    codes, *targets = shared_codes([level.data[level.declared.key], *(level.data[name] for name in names)])
    size = int(max(each.max(initial=-1) for each in (codes, *targets))) + 2
    own = level.groups * size + codes
    order = np.argsort(own, kind="stable")
    pointers = {}
    for name, codes_named in zip(names, targets, strict=True):
        column = level.data[name]
        absent = column.missing | _is_zero(column)
        wanted = level.groups * size + codes_named
        found = np.minimum(np.searchsorted(own[order], wanted), len(order) - 1)
        there = own[order][found] == wanted
        pointers[name] = np.where(absent, ABSENT, np.where(there, order[found], DANGLING))
    return replace(level, pointers=pointers)


def _is_zero(column: Column) -> NDArray[np.bool_]:
    if column.variable.is_numeric:
        return np.asarray(column.values == 0)
    zero = np.array([text.strip() == "0" for text in (*column.variable.categories, "")])
    return np.asarray(zero[column.values])


def _by_first_row(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups numbered by their first row, and these rows, ascending."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], np.sort(first).astype(np.int64)


def _is_sorted(groups: NDArray[np.int64]) -> bool:
    return bool((groups[1:] >= groups[:-1]).all())


def _in_order(data: Dataset, order: NDArray[np.int64]) -> Dataset:
    """Records in an order; no copy where they stand in it."""
    return data if np.array_equal(order, np.arange(len(data))) else data.taken(order)


def _plain(data: Dataset) -> Dataset:
    """Records counted where they stand: they come from no other file."""
    return replace(data, origin=None)
