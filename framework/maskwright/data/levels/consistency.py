"""Consistency of levels: mistakes of keys and pointers, and variables that are constant within groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright.data.levels.linked_data import NO_PLACES
from maskwright.data.record_groups import shared_codes
from maskwright.foundation.errors import Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import Level, LevelDeclaration, LevelPlaces, LinkedData
    from maskwright.foundation.errors import Place


MOST_PLACES = 10
"""Places of one mistake that are named."""


def places(rows: NDArray[np.int64], firsts: NDArray[np.int64] | None = None) -> str:
    """Records by their numbers, counted from 1, at most ten of them; `firsts`: the record that each repeats."""
    named = [str(row + 1) for row in rows[:MOST_PLACES].tolist()]
    if firsts is not None:
        named = [f"{row} (first in {first + 1})" for row, first in zip(named, firsts.tolist(), strict=False)]
    shown = ", ".join(named)
    more = f" and {len(rows) - MOST_PLACES:,} more" if len(rows) > MOST_PLACES else ""
    return f"record{'s' if len(rows) > 1 else ''} {shown}{more}"


def unknown_names(
    level: str,
    declared: LevelDeclaration,
    names: Sequence[str],
    file: str | None = None,
    elsewhere: Mapping[str, Collection[str]] | None = None,
    places_of: LevelPlaces = NO_PLACES,
) -> Iterator[Problem]:
    """Variables that a level names and its file does not have."""
    for each in dict.fromkeys(declared.stated_names):
        if each in names:
            continue
        message = f"level {level}: {unknown_name('variable', each, names)}"
        place = places_of.names.get(each)
        having = [name for name, own in (elsewhere or {}).items() if each in own]
        if having:
            yield Problem(f"{file}: {message}", place, f"It is a variable of the level {having[0]}.")
        elif file is None or place is None:
            yield Problem(message if file is None else f"{file}: {message}", place)
        else:
            yield Problem(message, place, f"It is looked for in {file}.")


def without_key_of_group(
    top: str, key: str, names: Sequence[str], file: str, place: Place | None = None
) -> Iterator[Problem]:
    """The key of a level, where records of the one below do not have it."""
    if key in names:
        return
    near = nearest_name(key, names)
    meant = f"; did you mean {near!r}?" if near else ""
    hint = "Records of the lower level say by it which group they belong to"
    hint += f": call it in both files as {file} does, or rename it there." if near else "."
    yield Problem(f"{file} has no variable {key!r}, the key of the level {top!r}{meant}", place, hint)


def wrong_pointers(
    level: str, declared: LevelDeclaration, names: Sequence[str], places_of: LevelPlaces = NO_PLACES
) -> Iterator[Problem]:
    """Pointers to something else than the key of their level; a key that the file lacks is reported for itself."""
    if declared.key not in names:
        return
    for name, target in declared.pointers.items():
        if target != declared.key:
            near = nearest_name(target, [declared.key])
            meant = f"; did you mean {near!r}?" if near else f": it is {declared.key!r}"
            sentence = f"level {level}: pointer {name} names {target!r}, no key of its level{meant}"
            yield Problem(sentence, places_of.targets.get(name))


def missing_keys(column: Column, level: str, file: str) -> Iterator[Problem]:
    """Records without a key."""
    rows = np.flatnonzero(column.missing)
    if len(rows):
        message = f"{file}: the key {column.name!r} of the level {level} is missing in {places(rows)}"
        yield Problem(message, None, "Give these records their keys, or take them out of the file.")


def twice(codes: NDArray[np.int64], key: str, level: str, file: str, within: str = "") -> Iterator[Problem]:
    """Records whose key another one before them has; codes below 0 are no keys."""
    known = np.flatnonzero(codes >= 0)
    _, first, which = np.unique(codes[known], return_index=True, return_inverse=True)
    firsts = known[first[which.ravel()]]
    again = np.flatnonzero(firsts != known)
    if len(again):
        message = f"{file}: the key {key!r} of the level {level} occurs again{within} in "
        hint = "Take out records that are twice in the file, give others keys of their own, or name another `key`."
        yield Problem(message + places(known[again], firsts[again]), None, hint)


def twice_within(groups: NDArray[np.int64], key: Column, level: str, file: str) -> Iterator[Problem]:
    """Records whose key another one of their group has; groups below 0 are none."""
    (codes,) = shared_codes([key])
    pairs = np.where((groups >= 0) & (codes >= 0), groups * (int(codes.max(initial=0)) + 1) + codes, -1)
    yield from twice(pairs, key.name, level, file, " within its group")


def different_kinds(above: Column, here: Column, pair: tuple[str, str], files: Mapping[str, str]) -> Iterator[Problem]:
    """A key that is a number in one file and a text in the other."""
    if above.variable.is_numeric != here.variable.is_numeric:
        ways = [f"a {'number' if each.variable.is_numeric else 'text'} in {files[level]}"
                for each, level in zip((above, here), pair, strict=True)]  # fmt: skip
        hint = f"Declare `{above.name}: {{type: nominal}}`: it is a text in both then, and 007 and 7 are different."
        yield Problem(f"the key {above.name!r} is {' and '.join(ways)}", None, hint)


def orphans(
    alone: NDArray[np.bool_], keys: tuple[Column, Column], pair: tuple[str, str], files: Mapping[str, str]
) -> Iterator[Problem]:
    """Records of the lower level whose key of the upper level no record there has."""
    rows = np.flatnonzero(alone)
    if not len(rows):
        return
    (top, bottom), (above, here) = pair, keys
    hint = f"Add their {top} to {files[top]}, or take these records out of {files[bottom]}."
    if _is_padded(above) or _is_padded(here):
        hint = f"{above.name!r} has blanks around some values, with which they are others: take them away"
    elif _without_zeros(above, np.flatnonzero(~above.missing)) & _without_zeros(here, rows):
        hint = f"{above.name!r} is written in different ways in the two files, as 007 and 7: write it alike"
    elif _are_numbers(above) != _are_numbers(here):
        ways = [f"{'numbers' if _are_numbers(each) else 'texts'} in {files[level]}"
                for each, level in zip(keys, pair, strict=True)]  # fmt: skip
        hint = f"{above.name!r} holds {' and '.join(ways)}, as K007 and 7: write it alike"
    yield Problem(f"{files[bottom]}: {places(rows)} belong{'s' * (len(rows) == 1)} to no {top} of {files[top]}",
                  None, hint)  # fmt: skip


def _is_padded(column: Column) -> bool:
    """Whether blanks stand around a value."""
    return not column.variable.is_numeric and any(text != text.strip() for text in column.variable.categories)


def _are_numbers(column: Column) -> bool:
    """Whether every value is a number, also where all are read as text."""
    if column.variable.is_numeric:
        return True
    return all(text.strip().isdigit() for text in column.variable.categories)


def large_groups(upper: Level, lower: Level) -> list[str]:
    """Notice of groups with more members than are adjusted together."""
    assert lower.groups is not None
    largest = upper.declared.largest_group
    sizes = np.bincount(lower.groups)
    large = int((sizes > largest).sum())
    if not large:
        return []
    message = (
        f"{large:,} of {int((sizes > 0).sum()):,} records of the level {upper.name} have more than {largest:,} of the "
        "level"
    )
    why = f"(`largest_group`), at most {int(sizes.max()):,}: their totals are derived, not adjusted"
    return [f"{message} {lower.name} {why}"]


def _without_zeros(column: Column, rows: NDArray[np.int64]) -> set[str]:
    """Values of these cells as text, without zeros before them."""
    if column.variable.is_numeric:
        return {f"{value:g}" for value in np.unique(column.values[rows]).tolist()}
    categories = column.variable.categories
    return {categories[code].strip().lstrip("0") for code in np.unique(column.values[rows]).tolist()}


def texts_as_order(name: str, level: LevelDeclaration, data: Dataset) -> Iterator[Problem]:
    """Variables that are to say which record of a group comes first, and are texts."""
    for each in level.order or ():
        if not data[each].variable.is_numeric:
            hint = "Declare its type, if it is one: {type: date} or {type: integer}."
            yield Problem(f"level {name}: order: {each} is neither a number nor a date", hint=hint)


ENOUGH = 20
"""Groups, at least, in which the values of two members would differ by chance: in fewer all may agree by chance."""
EXCEPTIONS = 0.01
"""Share of these in which they may differ all the same: a file has mistakes."""


class Agreement(NamedTuple):
    """Groups of two or more in which all members have the same value of a variable, and all groups of two or more."""

    alike: int
    several: int


def constant_within_groups(linked: LinkedData, low: Level) -> dict[str, Agreement]:
    """Variables of a level that are the same within nearly all groups, where chance would let many differ.

    Counted is how many groups would differ if the values of first members were dealt anew to two members of each.
    """
    assert low.groups is not None
    together = low.groups[1:] == low.groups[:-1]
    sizes = np.bincount(low.groups, minlength=len(linked.starts(low.name)) - 1)
    several = int(np.count_nonzero(sizes > 1))
    firsts = linked.starts(low.name)[:-1][sizes > 1]
    found = {}
    for column in low.data if several >= ENOUGH else ():
        if column.name in low.key_columns:
            continue
        differing = _groups_in_which(together & _changes(column), low.groups)
        # Most columns end here, after one comparison of neighbours; only the others are sorted.
        if differing <= EXCEPTIONS * several:
            expected = several * _share_of_unequal_pairs(column, firsts)
            if expected >= ENOUGH and differing <= EXCEPTIONS * expected:
                found[column.name] = Agreement(several - differing, several)
    return found


def _changes(column: Column) -> NDArray[np.bool_]:
    """Whether each cell but the first is another than the one before it."""
    missing, values = column.missing, column.values
    changes = (values[1:] != values[:-1]) & ~(missing[1:] & missing[:-1]) | (missing[1:] != missing[:-1])
    if missing.any():
        kinds = column.missing_kinds()
        changes |= kinds[1:] != kinds[:-1]
    return np.asarray(changes, dtype=np.bool_)


def _groups_in_which(changes: NDArray[np.bool_], groups: NDArray[np.int64]) -> int:
    """Groups, whose records stand together, in which any record is another than the one before it."""
    return len(np.unique(groups[1:][changes]))


def _share_of_unequal_pairs(column: Column, rows: NDArray[np.int64]) -> float:
    """Share of the pairs of these cells that are unequal; all missing cells count as one value."""
    there = ~column.missing[rows]
    counts = np.unique(column.values[rows][there], return_counts=True)[1]
    shares = np.append(counts, len(rows) - int(there.sum())) / len(rows)
    return 1.0 - float(np.sum(shares**2))
