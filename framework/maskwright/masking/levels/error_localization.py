"""Error localization in groups with their members: the fields to change, and their adjustment before masking."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.dataset import Dataset
from maskwright.data.levels.linking import with_pointers
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.expression import InSet, Number, Text, VariableReference
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.expansion import OPEN, Pattern, UndefinedValue, name_of, written_out
from maskwright.edits.levels.structure import NEIGHBOURS, MembersColumn, StructureColumn
from maskwright.edits.localisation.localize import Localisation, localize
from maskwright.edits.localisation.search import Located
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import Problem, refuse_problems
from maskwright.foundation.findings import Notice
from maskwright.foundation.nearest_names import unknown_name
from maskwright.masking.field_adjustment import FieldAdjustment, adjust_fields, adjustment_notices, adjustment_record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits

    Rows = NDArray[np.int64]


MOST_MEMBERS = 8
"""Members up to which a group is one record."""

MOST_APART = 100
"""Members up to which the records of a group are looked at one by one."""

UNDECIDED = "what is missing in it leaves its edits undecided"

KEYS = 1000.0
"""Cost of changing a key, in which everything else would be changed first."""


@dataclass(frozen=True, eq=False)
class LocatedGroups:
    """Groups whose members stand and point alike, and their fields to change.

    `rows`: these groups, in the top level; shape (m,). `cells`: the variable that a column of a long record shows, and
    the place of the member; None: the group's own. `rules`: all that is asked of a long record.
    """

    rows: Rows
    joined: Dataset
    cells: Mapping[str, tuple[str, int | None]]
    rules: EditSet
    found: Localisation


def joined_localisation(groups: ViolatingGroups, located: Sequence[LocatedGroups]) -> Localisation:
    """Fields to change of all groups that violate an edit."""
    top = groups.linked.levels[0]
    found: dict[int, Located] = {}
    names: tuple[str, ...] = ()
    for part in located:
        names = part.joined.names if len(part.joined.names) > len(names) else names
        each_of = zip(part.found.numbers, part.found.found, strict=True)
        found |= {int(part.rows[number - 1]): each for number, each in each_of}
    found |= {row: not_located(why) for row, why in groups.left_out.items() if row not in found}
    found |= {row: not_located(UNDECIDED) for row in groups.bad if row not in found}
    numbers = np.array(sorted(found), dtype=np.int64)
    several = tuple(found[int(row)] for row in numbers)
    every = dict.fromkeys((*names, *(name for each in several for name in each.fields or ())), 1.0)
    return Localisation(len(top), numbers + 1, several, every, level=top.name)


def not_located(reason: str) -> Located:
    """Fields of nobody, and why."""
    return Located(None, {}, proven=False, reason=reason)


def costs_of(linked: LinkedData, weights: Mapping[str, float]) -> dict[str, float]:
    """Cost of changing each variable of either level."""
    names = [name for level in linked for name in level.data.names]
    unknown = [Problem(unknown_name("variable", name, names)) for name in weights if name not in names]
    refuse_problems(unknown)
    keys = {level.declared.key for level in linked}
    return {name: float(weights.get(name, KEYS if name in keys else 1.0)) for name in names}


@dataclass(eq=False)
class ViolatingGroups:
    """Groups that violate an edit, as long records.

    `bad`: groups that violate an edit of severity error, in the top level. `left_out`: those that are not looked at, or
    not as a whole, and why.
    """

    linked: LinkedData
    bound: BoundEdits

    def __post_init__(self) -> None:
        self.left_out: dict[int, str] = {}
        self.bad = self._violating()

    def _violating(self) -> dict[int, None]:
        """Groups that violate an edit; those whose rows differ are `left_out`."""
        found: dict[int, None] = {}
        for level in self.linked:
            edits = [edit for edit in self.bound.edits[level.name] if edit.severity == "error"]
            data = with_linked_columns(self.linked, self.bound, level.name)
            structure = {each.name for each in self.bound.columns[level.name] if isinstance(each, StructureColumn)}
            chunk = RecordChunk.from_dataset(data)
            domain = Domain.from_dataset(data, domain_tuples(edits))
            for edit in edits:
                verdict = evaluate_exact(edit.expression, chunk, domain)
                rows = np.flatnonzero(~verdict.holds & ~verdict.unknown)
                homes = rows if level.groups is None else level.groups[rows]
                if level.groups is None and structure & set(edit.variables):
                    why = f"its rows differ ({edit.name}): which of them is right, no edit says"
                    self.left_out |= {int(home): why for home in homes}
                    continue
                found |= dict.fromkeys(np.unique(homes).tolist())
        return found

    def located(self, costs: Mapping[str, float], workers: int | None = None) -> Iterator[LocatedGroups]:
        """Fields to change, of groups that stand alike at a time; says of all others why not in `left_out`."""
        for pattern, rows in self._patterns():
            joined, cells = self._joined(pattern, rows), self._cells(pattern)
            whole = pattern.members <= MOST_MEMBERS
            try:
                rules = self._rules(pattern, whole=whole)
            except UndefinedValue as error:
                self.left_out |= dict.fromkeys(map(int, rows), str(error))
                continue
            own = {name: costs[variable] for name, (variable, _) in cells.items()}
            found = localize(joined, rules, own, Domain.from_dataset(joined, ()), workers=workers)
            if not whole:
                why = self.left_out[int(rows[0])]
                found = replace(found, found=tuple(replace(each, proven=False, reason=why) for each in found.found))
            yield LocatedGroups(rows, joined, cells, rules, found)

    def _patterns(self) -> Iterator[tuple[Pattern, Rows]]:
        """Groups whose members stand and point alike."""
        top, low = self.linked.levels
        starts = self.linked.starts(low.name)
        alike: dict[tuple[tuple[tuple[int, ...], ...], tuple[Number | Text, ...]], list[int]] = {}
        targets = self._targets()
        keys = _literals(low.data[low.declared.key])
        for row in sorted(set(self.bad) - set(self.left_out)):
            first, last = int(starts[row]), int(starts[row + 1])
            if last - first > MOST_MEMBERS:
                apart = f"look at the edits of the {top.name} and of each {low.name} apart"
                self.left_out[row] = f"more than {MOST_MEMBERS} members: {apart}"
                if last - first > MOST_APART:
                    continue
            seen = tuple(tuple(np.where(to[first:last] < 0, -1, to[first:last] - first).tolist())
                         for to in targets.values())  # fmt: skip
            alike.setdefault((seen, tuple(keys(place) for place in range(first, last))), []).append(row)
        for (seen, named), rows in alike.items():
            members = len(named)
            truths = {
                each.name: (OPEN,) * members for each in self.bound.columns[top.name]
                if isinstance(each, MembersColumn) and each.condition is not None
            }  # fmt: skip
            yield (
                Pattern(
                    top.name, low.name, members, dict(zip(targets, seen, strict=True)), truths, low.declared.key, named
                ),
                np.array(rows, dtype=np.int64),
            )

    def _targets(self) -> dict[str, Rows]:
        """Whom each member sees by pointers and as neighbours."""
        low = self.linked.levels[1]
        found = dict(low.pointers)
        assert low.groups is not None
        keys = [np.asarray(low.data[name].values, dtype=np.float64) for name in reversed(low.declared.order or ())]
        order = np.lexsort((*keys, low.groups)).astype(np.int64)
        same = low.groups[order[1:]] == low.groups[order[:-1]]
        for name in NEIGHBOURS:
            there = np.full(len(low), -1, dtype=np.int64)
            one, other = (order[1:], order[:-1]) if name == "previous" else (order[:-1], order[1:])
            there[one[same]] = other[same]
            found[name] = there
        return found

    def _joined(self, pattern: Pattern, rows: Rows) -> Dataset:
        """Long records of groups that stand alike."""
        top, low = self.linked.levels
        starts = self.linked.starts(low.name)[rows]
        columns = [column.taken(rows) for column in top.data]
        for place in range(pattern.members):
            for column in low.data:
                taken = column.taken(starts + place)
                name = name_of(column.name, place)
                columns.append(replace(taken, variable=replace(taken.variable, name=name)))
        return Dataset(tuple(columns))

    def _cells(self, pattern: Pattern) -> dict[str, tuple[str, int | None]]:
        """Variable and member of each column of long records."""
        top, low = self.linked.levels
        own: dict[str, tuple[str, int | None]] = {name: (name, None) for name in top.data.names}
        return own | {
            name_of(name, place): (name, place) for place in range(pattern.members) for name in low.data.names
        }

    def _written_out(self, edit: Edit, pattern: Pattern) -> list[Edit]:
        """Edit on long records; with pointers as they stand where it would have too many cases otherwise."""
        try:
            return list(written_out(edit, self.bound, pattern))
        except UndefinedValue:
            return list(written_out(edit, self.bound, replace(pattern, keys=())))

    def _rules(self, pattern: Pattern, *, whole: bool) -> EditSet:
        """All edits on these long records; without `whole`, those that each record obeys by itself."""
        found: list[Edit] = []
        for level in self.linked:
            structure = {each.name for each in self.bound.columns[level.name] if isinstance(each, StructureColumn)}
            for edit in self.bound.edits[level.name]:
                if edit.severity != "error" or structure & set(edit.variables):
                    continue
                if not whole and {each.name for each in self.bound.columns[level.name]} & set(edit.variables):
                    continue
                plain = replace(edit, expression=self.bound.plain.get(edit.name, edit.expression))
                try:
                    found += self._written_out(plain, pattern)
                except UndefinedValue:
                    raise UndefinedValue(
                        f"edit {edit.name} cannot be written out for {pattern.members} members"
                    ) from None
        return EditSet(tuple(found)) + _pointing(pattern) if whole else EditSet(tuple(found))


def _literals(column: Column) -> Callable[[int], Number | Text]:
    """Values of a column as rules write them."""
    if column.variable.is_numeric:
        return lambda row: Number(Fraction(repr(float(column.values[row]))))
    return lambda row: Text(column.variable.categories[int(column.values[row])])


def _pointing(pattern: Pattern) -> EditSet:
    """Edits that pointers name nobody, or another member."""
    items = []
    for pointer in pattern.pointers:
        for place in range(pattern.members):
            named = pattern.nameable(place).values()
            no_member: Number | Text = Text("0") if isinstance(pattern.keys[0], Text) else Number(Fraction(0))
            rule = InSet(VariableReference(name_of(pointer, place)), (no_member, *named))
            items.append({"rule": rule_text(rule), "name": f"pointer: {name_of(pointer, place)}"})
    return EditSet.parse(items)


KEY_IS_WRONG = "a key would have to change, and whose it is no edit says"


@dataclass(frozen=True, eq=False)
class CorrectedLevels:
    """Data of several levels in which located fields have values with which all edits of their group hold.

    `record`: for the run record: counts, numbers of groups and names of fields; no values. Confidential.
    """

    linked: LinkedData
    record: dict[str, Any]
    notices: tuple[Notice, ...]


def corrected_levels(
    linked: LinkedData, bound: BoundEdits, weights: Mapping[str, float], workers: int | None = None
) -> CorrectedLevels:
    """Locate the fields in error of groups and their members, and adjust them; all other cells stay as they are."""
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
    still = (
        Notice("violated-still", "", f"an edit is still violated in {plural(count, f'{found.level} record')}: {reason}",
               count, level=found.level)
        for reason, count in why.items()
    )  # fmt: skip
    return CorrectedLevels(after, adjustment_record(found, done), (*adjustment_notices(found, done), *still))


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
