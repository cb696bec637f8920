"""Which records belong together: levels found in one flat file, or linked from a file of each level."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
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
from maskwright.foundation.errors import Problem, refuse_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import LevelDeclaration, LevelPlaces


def levels_of_flat(data: Dataset, declared: Mapping[str, LevelDeclaration], file: str = "the data") -> LinkedData:
    """Levels of one flat file, whose rows are records of the lowest level."""
    *above, bottom = declared
    lowest = declared[bottom]
    own = variables_of_levels(data.names, declared)
    problems = [problem for name in [*declared][1:] for problem in texts_as_order(name, declared[name], data)]
    problems += [problem for name in declared for problem in missing_keys(data[declared[name].key], name, file)]
    codes, inside = {}, np.zeros(len(data), dtype=np.int64)
    for name in above:
        codes[name] = inside = _combined(inside, *shared_codes([data[declared[name].key]]))
    problems += twice_within(inside, data[lowest.key], bottom, file)
    refuse_problems(problems)
    levels: list[Level] = []
    notes: list[str] = []
    place = np.zeros(len(data), dtype=np.int64)
    for name in above:
        outer, (place, firsts) = place, _by_first_row(codes[name], place)
        groups = outer[firsts] if levels else None
        plain = _plain(data.taken(firsts).without([each for each in data.names if each not in own[name]]))
        levels.append(with_pointers(Level(name, declared[name], plain, groups, firsts)))
        if not _is_sorted(place):
            notes.append(f"{file}: the rows of a {name} do not stand together; they are put so")
    order = np.argsort(place, kind="stable").astype(np.int64)
    body = _in_order(data, order).without([name for name in data.names if name not in own[bottom]])
    levels.append(with_pointers(Level(bottom, lowest, _plain(body), place[order], order)))
    linked = LinkedData(tuple(levels), (*notes, *large_groups(levels[-2], levels[-1])))
    upper = tuple(replace(level, varying=variations(data, linked, level)) for level in levels[:-1])
    return replace(linked, levels=(*upper, levels[-1]))


def linked_levels(
    data: Mapping[str, Dataset], declared: Mapping[str, LevelDeclaration], files: Mapping[str, str]
) -> LinkedData:
    """Levels of which each has its own records, linked by the key of the level above.

    Keys of levels further above, where a file has them, say with that key which group is meant: it need not be unique.
    """
    refuse_problems(unknown_of_files(declared, {name: data[name].names for name in declared}, files))
    problems: list[Problem] = []
    for upper, lower in pairwise(declared):
        key, body = declared[upper].key, data[lower]
        problems += texts_as_order(lower, declared[lower], body)
        problems += wrong_pointers(lower, declared[lower], body.names)
        problems += _on_two_levels(data, declared, lower)
        problems += without_key_of_group(upper, key, body.names, files[lower])
        if key in body and key in data[upper]:
            problems += different_kinds(data[upper][key], body[key], (upper, lower), files)
    refuse_problems(problems)
    top = next(iter(declared))
    found = LinkedData((Level(top, declared[top], _plain(data[top]), None, np.arange(len(data[top]))),))
    for lower in [*declared][1:]:
        found = _with_members(found, lower, declared[lower], data[lower], files)
    return replace(found, notes=(*found.notes, *large_groups(*found.levels[-2:])))


def _with_members(
    linked: LinkedData, name: str, declared: LevelDeclaration, body: Dataset, files: Mapping[str, str]
) -> LinkedData:
    """Linked levels with one more below them."""
    upper, file = linked.levels[-1], files[name]
    named = [level for level in linked if level.declared.key in body]
    keys_above = [level.data[level.declared.key].taken(linked.groups_in(upper.name, level.name)) for level in named]
    (above, here), *further = [shared_codes([key, body[key.name]]) for key in keys_above]
    for more, more_here in further:
        above, here = _coded_together((above, here), (more, more_here))
    place = np.full(int(max(above.max(initial=-1), here.max(initial=-1))) + 2, -1, dtype=np.int64)
    place[above[above >= 0]] = np.flatnonzero(above >= 0)
    groups = np.where(here >= 0, place[here], -1)
    in_file = np.empty(len(upper), dtype=np.int64)
    in_file[upper.rows] = above
    keys = upper.data[upper.declared.key], body[upper.declared.key]
    # A key that is one only within its group does not say alone which record is meant.
    is_alone = upper.groups is None or len(named) < len(linked.levels)
    problems = [
        *(missing_keys(keys[0], upper.name, files[upper.name]) if upper.groups is None else ()),
        *(problem for level in named for problem in missing_keys(body[level.declared.key], name, file)),
        *missing_keys(body[declared.key], name, file),
        *(twice(in_file, keys[0].name, upper.name, files[upper.name]) if is_alone else ()),
        *twice_within(here, body[declared.key], name, file),
        *orphans((groups < 0) & (here >= 0), keys, (upper.name, name), files),
    ]
    without = np.sort(upper.rows[np.bincount(groups[groups >= 0], minlength=len(upper)) == 0])
    if len(without) and upper.declared.members == "required":
        wrong = f"{files[upper.name]}: without any {name}: {places(without)} of the level {upper.name}"
        problems.append(Problem(wrong, hint="`members: required` is declared"))
    refuse_problems(problems)
    order = np.argsort(groups, kind="stable").astype(np.int64)
    notes = list(linked.notes)
    if not _is_sorted(groups):
        notes.append(f"{file}: records are not in the order of {files[upper.name]}; they are put so")
    if len(without):
        count = f"{len(without):,} of {len(upper):,}"
        notes.append(f"{files[upper.name]}: {count} records of the level {upper.name} have no {name}")
    own = _in_order(body, order).without([level.declared.key for level in named])
    members = with_pointers(Level(name, declared, _plain(own), groups[order], order))
    return LinkedData((*linked.levels, members), tuple(notes))


def unknown_of_files(
    declared: Mapping[str, LevelDeclaration],
    names: Mapping[str, Sequence[str]],
    files: Mapping[str, str],
    places_of: Mapping[str, LevelPlaces] | None = None,
) -> list[Problem]:
    """A problem for each variable that a level names and that its own file does not have."""
    known = places_of or {}
    unknown = [
        problem
        for name, level in declared.items()
        for others in ({other: names[other] for other in declared if other != name},)
        for problem in unknown_names(name, level, names[name], files[name], others, known.get(name, NO_PLACES))
    ]
    own = {name: set(level.stated_names) for name, level in declared.items()}
    for one, other in combinations(declared, 2) if unknown else ():
        if own[one] <= set(names[other]) and own[other] <= set(names[one]):
            hint = f"{files[other]} has what {one} names, and {files[one]} what {other} names: give them in this order"
            return [replace(each, hint=hint) for each in unknown]
    return unknown


def variations(data: Dataset, linked: LinkedData, level: Level) -> dict[str, NDArray[np.bool_]]:
    """Groups of a flat file in whose rows a variable of their level is not the same; shape (groups,).

    A missing cell next to a known one varies too, and one missing code next to another: one of them is published.
    """
    members = linked.levels[-1]
    groups = linked.groups_in(members.name, level.name)
    found = {}
    for column in level.data:
        if column.name == level.declared.key:
            continue
        codes = _with_missing_codes(data[column.name])
        rows = codes[members.rows]
        found[column.name] = np.bincount(groups, rows != codes[level.rows][groups], len(level)) > 0
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
    """Copy in which a varying variable of an upper level has the value of most rows of its group, ties the first's."""
    members = linked.levels[-1]
    return replace(
        linked,
        levels=tuple(
            _with_most_frequent(data, level, members.rows, linked.groups_in(members.name, level.name))
            if level.varying else level
            for level in linked
        ),
    )  # fmt: skip


def _with_most_frequent(data: Dataset, level: Level, of_members: NDArray[np.int64], groups: NDArray[np.int64]) -> Level:
    columns = {}
    for name, varies in level.varying.items():
        if not varies.any():
            continue
        (codes,) = shared_codes([data[name]])
        chosen = np.array(level.rows)
        inside = np.flatnonzero(varies[groups])
        chosen[varies] = _most_frequent(groups[inside], codes[of_members[inside]], of_members[inside])
        columns[name] = data[name].taken(chosen)
    constant = {name: np.zeros_like(varies) for name, varies in level.varying.items()}
    return replace(level, data=level.data.with_columns(columns), varying=constant)


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


def variables_of_levels(names: Sequence[str], declared: Mapping[str, LevelDeclaration]) -> dict[str, tuple[str, ...]]:
    """Variables of each level of a flat file, keys included."""
    problems = [problem for name, level in declared.items() for problem in unknown_names(name, level, names)]
    claimed = {name: {level.key, *level.pointers, *(level.variables or ())} for name, level in declared.items()}
    problems += [
        Problem(f"the levels {one} and {other} both claim the variable {each!r}")
        for one, other in combinations(declared, 2) for each in sorted(claimed[one] & claimed[other])
    ]  # fmt: skip
    for name in [*declared][1:]:
        problems += wrong_pointers(name, declared[name], names)
    *unstated, rest = [name for name, level in declared.items() if level.variables is None] or [[*declared][-1]]
    for name in unstated:
        hint = (
            f"`maskwright advise levels DATA --key {declared[name].key}` lists those that are the same in every group"
        )
        message = f"level {name}: nothing says which variables of the flat file are its own"
        problems.append(Problem(message, None, hint))
    refuse_problems(problems)
    taken = set().union(*(own for name, own in claimed.items() if name != rest))
    claimed[rest] |= set(names) - taken
    return {level: tuple(name for name in names if name in own) for level, own in claimed.items()}


def _on_two_levels(
    data: Mapping[str, Dataset], declared: Mapping[str, LevelDeclaration], lower: str
) -> Iterator[Problem]:
    """Variables of a level that one above has too, but for the keys by which its records name their groups."""
    above = list(declared)[: list(declared).index(lower)]
    keys = {declared[level].key for level in above}
    for upper in above:
        head, key = data[upper], declared[upper].key
        for name in head.names:
            if name in keys or name not in data[lower]:
                continue
            if _is_unique(head, name) and not _is_unique(head, key):
                message = f"level {upper}: several of its records have the same {key!r}, which is said to be its key"
                hint = f"{name!r} tells them apart, and stands in both files: say `key: {name}`."
                yield Problem(message, None, hint)
                continue
            hint = "Rename one, or drop it from one of the files: a variable belongs to one level."
            yield Problem(f"the levels {upper} and {lower} both have a variable {name!r}", None, hint)


def _is_unique(data: Dataset, name: str) -> bool:
    values = data[name].values[~data[name].missing]
    return len(np.unique(values)) == len(data)


def with_pointers(level: Level) -> Level:
    """Level with what its pointers point to; records of the top level are members of no group, and have none."""
    if level.groups is None:
        return level
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


def _combined(above: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of pairs; -1 where either is missing."""
    return np.where((above >= 0) & (codes >= 0), above * (int(codes.max(initial=0)) + 1) + codes, -1)


def _coded_together(
    codes: tuple[NDArray[np.int64], NDArray[np.int64]], more: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes 0, 1, ... of the pairs of two files, equal where the pairs are; -1 where either is missing."""
    both = _combined(np.concatenate(codes), np.concatenate(more))
    found = np.where(both >= 0, np.searchsorted(np.unique(both[both >= 0]), both), -1)
    return found[: len(codes[0])], found[len(codes[0]) :]


def _by_first_row(codes: NDArray[np.int64], above: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups numbered in the order of those `above` them and then of their first row, and these rows."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.lexsort((first, above[first]))
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return rank[inverse], first[order].astype(np.int64)


def _is_sorted(groups: NDArray[np.int64]) -> bool:
    return bool((groups[1:] >= groups[:-1]).all())


def _in_order(data: Dataset, order: NDArray[np.int64]) -> Dataset:
    """Records in an order; no copy where they stand in it."""
    return data if np.array_equal(order, np.arange(len(data))) else data.taken(order)


def _plain(data: Dataset) -> Dataset:
    """Records counted where they stand: they come from no other file."""
    return replace(data, origin=None)
