"""Fields of groups and their members that break edits are located and adjusted before a run masks anything."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.levels.located_groups import (
    LocatedGroups,
    ViolatingGroups,
    costs_of,
    joined_localisation,
    not_located,
)
from maskwright.data.levels.linking import with_pointers
from maskwright.edits.evaluation.domain import Domain
from maskwright.masking.field_adjustment import FieldAdjustment, adjust_fields, adjustment_notices, adjustment_record

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.levels.binding import BoundEdits

KEY_IS_WRONG = "a key would have to change, and whose it is no edit says"


@dataclass(frozen=True, eq=False)
class MendedLevels:
    """Data of several levels in which located fields have values with which all edits of their group hold.

    `record`: for the run record: counts, numbers of groups and names of fields; no values. Confidential.
    """

    linked: LinkedData
    record: dict[str, Any]
    notices: tuple[str, ...]


def mended_levels(
    linked: LinkedData, bound: BoundEdits, weights: Mapping[str, float], workers: int | None = None
) -> MendedLevels:
    """Locate the fields in error of groups and their members, and adjust them; all other cells stay as they are.

    `linked`: whose rows agree on what is declared of their group. `weights`: how much each variable is trusted: the
    cost of changing it. `workers`: processes that locate errors at the same time; by default one for each processor
    given to this one.
    """
    keys = {level.declared.key for level in linked}
    groups = ViolatingGroups(linked, bound)
    located = [_without_keys(each, keys) for each in groups.located(costs_of(linked, weights), workers)]
    found = joined_localisation(groups, located)
    spread = {column.name: _spread(column) for level in linked for column in level.data if column.variable.is_numeric}
    changed = _Changed(linked)
    adjusted, filled = Counter[str](), Counter[str]()
    for each in located:
        own = {name: spread[variable] for name, (variable, _) in each.cells.items() if variable in spread}
        done = adjust_fields(each.joined, each.rules, each.found, Domain.from_dataset(each.joined, ()), own)
        changed.take(each, done)
        for counted, of in ((adjusted, done.adjusted), (filled, done.filled)):
            for name, count in of.items():
                counted[each.cells[name][0]] += count
    after = changed.linked()
    wrong = ViolatingGroups(after, bound).bad
    rows = [int(number) - 1 for number, each in zip(found.numbers, found.found, strict=True) if each.fields is not None]
    left = [row for row in rows if row in wrong]
    names = [name for level in linked for name in level.data.names]
    done = FieldAdjustment(
        linked.levels[0].data, {name: adjusted[name] for name in names if adjusted[name]},
        {name: filled[name] for name in names if filled[name]}, len(rows) - len(left), len(left),
    )  # fmt: skip
    why = Counter(groups.left_out[row] for row in left if row in groups.left_out)
    said = (f"{count} {found.level} record(s) violate an edit still: {reason}" for reason, count in why.items())
    return MendedLevels(after, adjustment_record(found, done), (*adjustment_notices(found, done), *said))


def _without_keys(located: LocatedGroups, keys: Collection[str]) -> LocatedGroups:
    """Fields to change, of groups in which no key is one of them."""
    named = frozenset(name for name, (variable, _) in located.cells.items() if variable in keys)
    found = tuple(not_located(KEY_IS_WRONG) if named & set(each.fields or ()) else each for each in located.found.found)
    return replace(located, found=replace(located.found, found=found))


def _spread(column: Column) -> float:
    """Standard deviation of the values that are there; 1 where there is none."""
    values = column.values[~column.missing]
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 1.0
    return spread if np.isfinite(spread) and spread > 0 else 1.0


class _Changed:
    """Columns of levels into which what was adjusted in long records is written back."""

    def __init__(self, linked: LinkedData) -> None:
        self._linked = linked
        self._columns: dict[str, Column] = {}
        self._level = {name: level for level in linked for name in level.data.names}
        self._starts = linked.starts(linked.levels[1].name)

    def take(self, located: LocatedGroups, done: FieldAdjustment) -> None:
        """Take the cells that were adjusted in these groups."""
        for name in dict.fromkeys((*done.adjusted, *done.filled)):
            variable, place = located.cells[name]
            before, after = located.joined[name], done.data[name]
            differs = ~after.missing & ((before.values != after.values) | before.missing)
            rows = located.rows if place is None else self._starts[located.rows] + place
            self._write(variable, rows[differs], after, differs)

    def _write(self, name: str, rows: NDArray[np.int64], after: Column, chosen: NDArray[np.bool_]) -> None:
        column = self._columns.get(name, self._level[name].data[name])
        values, missing, variable = column.values.copy(), column.missing.copy(), column.variable
        new = after.values[chosen]
        if not variable.is_numeric:
            words = tuple(dict.fromkeys((*variable.categories, *after.variable.categories)))
            variable = replace(variable, categories=words)
            codes = np.array([words.index(each) for each in after.variable.categories], dtype=values.dtype)
            new = codes[new]
        values[rows] = new
        missing[rows] = False
        self._columns[name] = column.changed(values, missing, variable)

    def linked(self) -> LinkedData:
        """Levels with what was written; pointers name whom they name now."""
        levels = [self._changed(level) for level in self._linked]
        return replace(self._linked, levels=tuple(levels))

    def _changed(self, level: Level) -> Level:
        own = {name: column for name, column in self._columns.items() if name in level.data}
        changed = replace(level, data=level.data.with_columns(own))
        return with_pointers(changed) if set(own) & set(level.declared.pointers) else changed
