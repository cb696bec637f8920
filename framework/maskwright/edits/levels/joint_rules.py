"""Groups with all members as joint records, and edits across levels as edits of such a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.data.dataset import Column, Dataset
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits import expression as x
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import LinkedColumn, MembersColumn, OtherRecordColumn, changed_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits

    Places = NDArray[np.int64]


FALSE, TRUE, UNKNOWN = 0, 1, 2
"""Verdicts of a condition."""


@dataclass(frozen=True, eq=False)
class JointRules:
    """Edits that masked variables of two levels touch, and what has to be known of records to write them out.

    `top`, `low`: the levels of the groups and of their members. `changed`: computed columns that say something of them.
    `edits`: of either level, severity error; with what algebra sees of the rule. `conditions`: on what does not move:
    decided for each record. `pointers`: through which members see each other's masked variables.
    """

    top: str
    low: str
    columns: Mapping[str, Mapping[str, LinkedColumn]]
    masked: Mapping[str, frozenset[str]]
    changed: Mapping[str, frozenset[str]]
    edits: tuple[tuple[Edit, x.Expression], ...]
    conditions: Mapping[str, tuple[x.Expression, ...]]
    pointers: tuple[str, ...]

    def moves(self, level: str, names: Iterable[str]) -> bool:
        """Whether one of these variables or computed columns of a level moves."""
        return any(name in self.masked[level] or name in self.changed[level] for name in names)

    def unmoved_columns(self, level: str) -> tuple[str, ...]:
        """Computed columns of a level that the edits read and that do not move."""
        inside = {name for edit, rule in self.edits if edit.level == level for name in x.variable_names(rule)}
        inside |= {name for each in self.conditions[level] for name in x.variable_names(each)}
        # What a record reads through others may be read by the computed columns too.
        inside |= {each.operand or "" for own in self.columns.values() for each in own.values()
                   if isinstance(each, MembersColumn)}  # fmt: skip
        inside |= {each.variable or "" for own in self.columns.values() for each in own.values()
                   if isinstance(each, OtherRecordColumn)}  # fmt: skip
        return tuple(name for name in self.columns[level] if name in inside and name not in self.changed[level])


@dataclass(frozen=True)
class Composition:
    """What groups have in common, so that their edits are the same.

    `own`: verdict of each condition of the upper level. `members`: of each member, in canonical order, the verdict of
    each condition of the lower level. `pointers`: of each pointer, the place of the member that each member points to;
    -1: none.
    """

    own: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    pointers: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class JoinedCell:
    """A column of joined records: a variable or computed column of the group, or of the member at a place.

    `member`: place of the member, 0 for the first; None: the group's own.
    """

    variable: str
    member: int | None = None

    @property
    def name(self) -> str:
        """Name of the column: ``income[1]`` of the first member."""
        return self.variable if self.member is None else f"{self.variable}[{self.member + 1}]"


def joint_rules(bound: BoundEdits, pair: tuple[str, str], masked: Mapping[str, Collection[str]]) -> JointRules:
    """Edits that variables of two levels touch."""
    columns = {level: {each.name: each for each in bound.columns[level]} for level in pair}
    own = {level: frozenset(masked.get(level, ())) for level in pair}
    changed = changed_columns({level: bound.columns[level] for level in pair}, own)
    rules = JointRules(*pair, columns, own, changed, (), dict.fromkeys(pair, ()), ())
    edits = tuple(
        (edit, _rule(edit, bound)) for level in pair for edit in bound.edits[level]
        if edit.severity == "error" and edit.engine is None and rules.moves(level, x.variable_names(_rule(edit, bound)))
    )  # fmt: skip
    found = _Conditions(rules)
    for edit, rule in edits:
        found.collect(rule, edit.level)
    conditions = {level: tuple(found.conditions[level]) for level in pair}
    return replace(rules, edits=edits, conditions=conditions, pointers=tuple(found.pointers))


def _rule(edit: Edit, bound: BoundEdits) -> x.Expression:
    """Rule with the comparisons of what members say as they are written."""
    columns = {(level, each.name): each for level, own in bound.columns.items() for each in own}

    def is_end(level: str, name: str) -> bool:
        column = columns.get((level, name))
        if isinstance(column, OtherRecordColumn) and column.variable is not None:
            return is_end(column.through if column.through in bound.columns else level, column.variable)
        return isinstance(column, MembersColumn) and column.end != "exact"

    by_ends = any(is_end(edit.level, name) for name in x.variable_names(edit.expression))
    return bound.plain[edit.name] if by_ends else edit.expression


class _Conditions:
    """Conditions on what does not move, and pointers, that are found in rules."""

    def __init__(self, rules: JointRules) -> None:
        self._rules = rules
        self.conditions: dict[str, dict[x.Expression, None]] = {rules.top: {}, rules.low: {}}
        self.pointers: dict[str, None] = {}

    def collect(self, rule: x.Expression, level: str) -> None:
        for leaf in _leaves(rule):
            if is_fixed(leaf, level, self._rules):
                self.conditions[level].setdefault(leaf)
                continue
            for name in x.variable_names(leaf):
                self._read(name, level)

    def _read(self, name: str, level: str) -> None:
        column = self._rules.columns[level].get(name)
        if column is None or name not in self._rules.changed[level]:
            return
        if isinstance(column, OtherRecordColumn) and column.variable is not None:
            above = column.through == self._rules.top
            if not above:
                self.pointers.setdefault(column.through)
            self._read(column.variable, self._rules.top if above else level)
        if isinstance(column, MembersColumn):
            if column.condition is not None:
                self.collect(column.condition, column.level)
            if column.operand is not None:
                self._read(column.operand, column.level)


def _leaves(rule: x.Expression) -> Iterator[x.Expression]:
    """Conditions that ``and``, ``or``, ``not`` and ``if`` are made of."""
    match rule:
        case x.And(operands) | x.Or(operands):
            for each in operands:
                yield from _leaves(each)
        case x.Not(operand):
            yield from _leaves(operand)
        case x.IfThen(condition, consequent, otherwise):
            yield from _leaves(condition)
            yield from _leaves(consequent)
            if otherwise is not None:
                yield from _leaves(otherwise)
        case _:
            yield rule


def is_fixed(leaf: x.Expression, level: str, rules: JointRules) -> bool:
    """Whether a condition of a level reads nothing that moves; missing cells stay what they are."""
    match leaf:
        case x.IsMissing(x.VariableReference(name)) | x.IsNumber(x.VariableReference(name)):
            return name not in rules.changed[level]
        case x.MissingAs(x.VariableReference(name)):
            return name not in rules.changed[level]
        case _:
            return not rules.moves(level, x.variable_names(leaf))


@dataclass(frozen=True, eq=False)
class JoinedGroups:
    """Groups of one composition.

    `groups`: their positions in the upper level, ascending; shape (g,). `members`: positions of their members in the
    lower level, in canonical order; shape (g, m).
    """

    composition: Composition
    groups: Places
    members: Places

    def __len__(self) -> int:
        return len(self.groups)


@dataclass(frozen=True, eq=False)
class LevelColumns:
    """What joined records are made of: the records of both levels, with the computed columns that do not move."""

    linked: LinkedData
    rules: JointRules
    data: Mapping[str, Dataset]

    @classmethod
    def of(cls, linked: LinkedData, bound: BoundEdits, rules: JointRules) -> LevelColumns:
        """Compute the columns that the rules read."""
        data = {
            name: with_linked_columns(linked, bound, name, rules.unmoved_columns(name))
            for name in (rules.top, rules.low)
        }
        return cls(linked, rules, data)

    def column(self, found: JoinedGroups, cell: JoinedCell) -> Column:
        """Column of joined records."""
        level = self.rules.top if cell.member is None else self.rules.low
        rows = found.groups if cell.member is None else found.members[:, cell.member]
        column = self.data[level][cell.variable].taken(rows)
        return replace(column, variable=replace(column.variable, name=cell.name))

    def joined(self, found: JoinedGroups, cells: Iterable[JoinedCell]) -> Dataset:
        """Dataset of the groups of one composition."""
        return Dataset(tuple(self.column(found, cell) for cell in dict.fromkeys(cells)))


def joined_groups(columns: LevelColumns, first: str | None = None, among: Places | None = None) -> list[JoinedGroups]:
    """Groups by composition.

    Members stand by what conditions say of them, those of whom they say nothing first (adults before children, where
    rules ask who is a child), and then descending in one variable. That order serves matching alone.
    """
    rules = columns.rules
    top, low = columns.linked[rules.top], columns.linked[rules.low]
    assert low.groups is not None
    own = _verdicts(columns.data[rules.top], rules.conditions[rules.top])
    members = _verdicts(columns.data[rules.low], rules.conditions[rules.low])
    kinds, kind = _kinds(members, low, rules.pointers)
    order = _canonical(low, kind, None if first is None else columns.data[rules.low][first])
    starts = columns.linked.starts(rules.low)
    wanted = np.arange(len(top)) if among is None else np.sort(among)
    sizes = np.diff(starts)[wanted]
    own_kinds, own_kind = _patterns(own)
    found = []
    for size in np.unique(sizes).tolist():
        groups = wanted[sizes == size]
        inside = order[starts[groups][:, None] + np.arange(size)]
        targets = [_places(low.pointers[name], inside, len(low)) for name in rules.pointers]
        patterns, pattern = _patterns(np.column_stack([own_kind[groups], kind[inside], *targets]))
        by_pattern = np.argsort(pattern, kind="stable")
        ends = np.cumsum(np.bincount(pattern, minlength=len(patterns)))
        for number, row in enumerate(patterns):
            here = by_pattern[ends[number - 1] if number else 0 : ends[number]]
            pointed = row[1 + size :].reshape(len(targets), size)
            composition = Composition(
                tuple(own_kinds[row[0]].tolist()),
                tuple(tuple(kinds[each].tolist()) for each in row[1 : 1 + size]),
                tuple(tuple(each) for each in pointed.tolist()),
            )
            found.append(JoinedGroups(composition, groups[here], inside[here]))
    return found


def put_back(
    linked: LinkedData, rules: JointRules, parts: Sequence[tuple[JoinedGroups, Mapping[str, Column]]]
) -> LinkedData:
    """Levels in which variables have the values of joined records."""
    changed: dict[str, Dataset] = {}
    for level in (rules.top, rules.low):
        data = linked[level].data
        columns = {}
        for name in data.names:
            if name not in rules.masked[level]:
                continue
            values, missing = data[name].values.copy(), data[name].missing.copy()
            for found, joined in parts:
                for cell in cells_of(name, None if level == rules.top else len(found.composition)):
                    if cell.name in joined:
                        rows = found.groups if cell.member is None else found.members[:, cell.member]
                        values[rows], missing[rows] = joined[cell.name].values, joined[cell.name].missing
            columns[name] = data[name].changed(values, missing)
        changed[level] = data.with_columns(columns)
    return linked.with_data(changed)


def cells_of(name: str, members: int | None) -> list[JoinedCell]:
    """Columns of joined records that hold a variable: the group's one, or one for each of so many members."""
    return [JoinedCell(name)] if members is None else [JoinedCell(name, place) for place in range(members)]


def _verdicts(data: Dataset, conditions: Sequence[x.Expression]) -> NDArray[np.int8]:
    """Verdict of each condition on each record; shape (n, conditions)."""
    found = np.zeros((len(data), len(conditions)), dtype=np.int8)
    for place, condition in enumerate(conditions):
        names = x.variable_names(condition)
        columns = tuple(replace(data[name], variable=replace(data[name].variable, name=name)) for name in names)
        verdict = evaluate_exact(condition, RecordChunk.from_dataset(Dataset(columns)))
        found[:, place] = np.where(verdict.unknown, UNKNOWN, np.where(verdict.holds, TRUE, FALSE))
    return found


def _kinds(verdicts: NDArray[np.int8], low: Level, pointers: Sequence[str]) -> tuple[NDArray[np.int8], Places]:
    """Different verdicts of members, and which each member has; those that point to another differ from others."""
    has = np.stack([low.pointers[name] >= 0 for name in pointers], axis=1) if pointers else verdicts[:, :0]
    kinds, kind = _patterns(np.column_stack([verdicts, has]).astype(np.int8))
    return kinds[:, : verdicts.shape[1]], kind


def _patterns(rows: NDArray[Any]) -> tuple[NDArray[Any], Places]:
    """Different rows, sorted by their first numbers first, and which one each row is."""
    if not rows.shape[1]:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    classes = Classes.of(list(rows.T))
    ordered = classes.merge()
    return rows[classes.first[ordered.first]], ordered.codes[classes.codes]


def _canonical(low: Level, kind: Places, first: Column | None) -> Places:
    """Positions of the members, group after group, in canonical order."""
    assert low.groups is not None
    keys: list[NDArray[np.float64] | Places] = [kind, low.groups]
    if first is not None and first.variable.is_numeric:
        keys.insert(0, -np.nan_to_num(np.asarray(first.values, dtype=np.float64), nan=-np.inf))
    return np.lexsort(keys).astype(np.int64)


def _places(targets: Places, inside: Places, count: int) -> Places:
    """Place within its group of the member that each one points to; -1: none."""
    place = np.full(count, -1, dtype=np.int64)
    place[inside] = np.arange(inside.shape[1])
    there = targets[inside]
    return np.where(there >= 0, place[np.maximum(there, 0)], -1)
