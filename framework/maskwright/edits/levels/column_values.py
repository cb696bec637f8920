"""Computed columns: what rules read of other records, for all records of a level at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.levels.linked_data import DANGLING
from maskwright.data.missing import NO_CELL, MissingCells
from maskwright.data.record_chunk import RecordChunk
from maskwright.data.record_groups import shared_codes
from maskwright.data.variable import Variable
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.expression import variable_names
from maskwright.edits.levels.structure import (
    NEIGHBOURS,
    LinkedColumn,
    MembersColumn,
    OtherRecordColumn,
    StructureColumn,
)
from maskwright.edits.rule_language.rules import parse_expression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.expression import Expression
    from maskwright.edits.levels.binding import BoundEdits

    Booleans = NDArray[np.bool_]
    Numbers = NDArray[np.float64]


def with_linked_columns(
    linked: LinkedData, bound: BoundEdits, level: str, names: Iterable[str] | None = None
) -> Dataset:
    """Records of a level with the columns that its edits read of other records."""
    computed = _Computed(linked, bound)
    chosen = bound.columns[level] if names is None else bound.columns_of(level, names)
    data = linked[level].data
    return replace(data, columns=(*data.columns, *(computed.column(level, each.name) for each in chosen)))


def with_columns_of_rules(linked: LinkedData, bound: BoundEdits, level: str) -> Dataset:
    """The same without the columns of the structure, which no rule that people write can name."""
    named = (each.name for each in bound.columns[level] if not isinstance(each, StructureColumn))
    return with_linked_columns(linked, bound, level, named)


def selected_members(linked: LinkedData, bound: BoundEdits, column: MembersColumn) -> tuple[Booleans, Booleans]:
    """Members that satisfy the condition of a column, and those of which that is not known; each of shape (n,)."""
    return _Computed(linked, bound).meant(linked[column.level], column.condition)


def records_seen(linked: LinkedData, level: str, through: str) -> NDArray[np.int64]:
    """Position of the record that each one of a level sees through a pointer, ``previous`` or ``following``.

    Returns in the same level; negative where there is none; shape (n,).
    """
    own = linked[level]
    return own.pointers[through] if through in own.pointers else _neighbours(own, 1 if through == "following" else -1)


class _Computed:
    """Columns by level and name, each computed when it is first needed."""

    def __init__(self, linked: LinkedData, bound: BoundEdits) -> None:
        self._linked = linked
        self._known = {name: {each.name: each for each in columns} for name, columns in bound.columns.items()}
        self._found: dict[tuple[str, str], Column] = {}

    def column(self, level: str, name: str) -> Column:
        data = self._linked[level].data
        if name in data:
            return data[name]
        if (level, name) not in self._found:
            self._found[level, name] = self._compute(self._linked[level], self._known[level][name])
        return self._found[level, name]

    def _compute(self, level: Level, column: LinkedColumn) -> Column:
        if isinstance(column, StructureColumn):
            if column.broken == "dangles":
                named = level.pointers[column.variable]
                broken = (named == DANGLING) | (named == np.arange(len(named)))
            else:
                broken = level.varying[column.variable]
            return _numbers(column.name, broken.astype(np.float64), np.zeros(len(broken), dtype=np.bool_), 0)
        if isinstance(column, OtherRecordColumn):
            return self._of_other_record(level, column)
        return self._of_members(level, column)

    def _of_other_record(self, level: Level, column: OtherRecordColumn) -> Column:
        home, there = self._others(level, column.through)
        if column.variable is None:
            return _numbers(column.name, (there >= 0).astype(np.float64), np.zeros(len(there), dtype=np.bool_), 0)
        return _taken(self.column(home, column.variable), column.name, there)

    def _others(self, level: Level, through: str) -> tuple[str, NDArray[np.int64]]:
        """Level of the other records, and the position in it of the one that each record sees; negative: none."""
        if through in level.pointers or through in NEIGHBOURS:
            return level.name, records_seen(self._linked, level.name, through)
        return through, self._linked.groups_in(level.name, through)

    def _of_members(self, level: Level, column: MembersColumn) -> Column:
        members = self._linked[column.level]
        groups = self._linked.groups_in(members.name, level.name)
        meant, open_ = self.meant(members, column.condition)
        count = len(level)
        if column.function in ("count", "any", "all", "one", "no"):
            values, missing = _counted(column, groups, meant, open_, count)
            found = _numbers(column.name, values, missing, 0)
        elif column.function == "first":
            assert column.operand is not None
            found = _taken(
                self.column(column.level, column.operand), column.name, _firsts(members, groups, meant, open_, count)
            )
        else:
            assert column.operand is not None
            operand = self.column(column.level, column.operand)
            found = _measured(column, operand, groups, meant, open_, count)
        return self._unless_incomplete(found, level, members)

    def meant(self, members: Level, condition: Expression | None) -> tuple[Booleans, Booleans]:
        """Members that satisfy a condition, and those of which that is not known."""
        if condition is None:
            return np.ones(len(members), dtype=np.bool_), np.zeros(len(members), dtype=np.bool_)
        return self._judged(members, condition)

    def _judged(self, level: Level, condition: Expression) -> tuple[Booleans, Booleans]:
        columns = tuple(self.column(level.name, name) for name in variable_names(condition))
        named = tuple(replace(each, variable=replace(each.variable, name=name))
                      for each, name in zip(columns, variable_names(condition), strict=True))  # fmt: skip
        chunk = RecordChunk.from_dataset(Dataset(named)) if named else RecordChunk(len(level), {})
        verdict = evaluate_exact(condition, chunk)
        return verdict.holds & ~verdict.unknown, verdict.unknown

    def _unless_incomplete(self, column: Column, level: Level, members: Level) -> Column:
        """Column that is missing for groups known to lack members, or to have a group that does."""
        missing = column.missing
        lower = members
        while lower.name != level.name:
            above = self._linked[lower.declared.above or ""]
            if lower.declared.incomplete is not None:
                lacking, _ = self._judged(above, parse_expression(lower.declared.incomplete))
                inside = self._linked.groups_in(above.name, level.name)
                missing = missing | (np.bincount(inside, lacking, len(level)) > 0)
            lower = above
        if missing is column.missing:
            return column
        return column.changed(_blanked(column.values, missing), missing)


def _numbers(name: str, values: Numbers, missing: Booleans, decimals: int | None) -> Column:
    variable = Variable(name, "integer" if decimals == 0 else "continuous", "other", decimals=decimals)
    return Column(variable, np.where(missing, np.nan, values), missing)


def _taken(column: Column, name: str, there: NDArray[np.int64]) -> Column:
    """Cells of other records, missing codes among them; missing where there is no record."""
    variable = replace(column.variable, name=name, role="other", inferred_role=False)
    if not len(column):
        blank = np.full(len(there), np.nan if variable.is_numeric else -1, dtype=column.values.dtype)
        return Column(variable, blank, np.ones(len(there), dtype=np.bool_))
    rows = np.maximum(there, 0)
    missing = column.missing[rows] | (there < 0)
    written = None
    if column.blank is not None:
        written = MissingCells(column.blank.texts, np.where(there < 0, NO_CELL, column.blank.codes[rows]))
    return Column(variable, _blanked(column.values[rows], missing), missing, written)


def _blanked(values: NDArray[Any], missing: Booleans) -> NDArray[Any]:
    """Values with what a column holds where a cell is missing."""
    return np.where(missing, np.nan if values.dtype.kind == "f" else -1, values).astype(values.dtype)


def _counted(
    column: MembersColumn, groups: NDArray[np.int64], meant: Booleans, unknown: Booleans, count: int
) -> tuple[Numbers, Booleans]:
    """Number of members, or truth as 1 and 0, and where it is not known (Kleene's logic)."""
    true = np.bincount(groups, meant, count)
    perhaps = np.bincount(groups, unknown, count)
    match column.function:
        case "count" if column.end == "exact":
            return true.astype(np.float64), perhaps > 0
        case "count":
            most = true + perhaps if column.end == "most" else true
            return most.astype(np.float64), np.zeros(count, dtype=np.bool_)
        case "any":
            return (true > 0).astype(np.float64), (true == 0) & (perhaps > 0)
        case "no":
            return (true == 0).astype(np.float64), (true == 0) & (perhaps > 0)
        case "all":
            false = np.bincount(groups, ~meant & ~unknown, count)
            return (false == 0).astype(np.float64), (false == 0) & (perhaps > 0)
        case _:
            return (true == 1).astype(np.float64), (true < 2) & (perhaps > 0)


def _measured(
    column: MembersColumn,
    operand: Column,
    groups: NDArray[np.int64],
    meant: Booleans,
    unknown: Booleans,
    count: int,
) -> Column:
    """Sum, minimum, maximum, or whether all values differ."""
    lost = np.bincount(groups, (meant & operand.missing) | unknown, count) > 0
    used = meant & ~operand.missing
    inside = groups[used]
    if column.function == "unique":
        (codes,) = shared_codes([operand])
        kinds = int(codes.max(initial=0)) + 1
        pairs = np.unique(inside * kinds + codes[used])
        differ = np.bincount(pairs // kinds, minlength=count) == np.bincount(inside, minlength=count)
        return _numbers(column.name, differ.astype(np.float64), differ & lost, 0)
    values, decimals = np.asarray(operand.values[used], dtype=np.float64), operand.variable.decimals
    if column.function == "sum":
        return _numbers(column.name, _sums(inside, values, decimals, count), lost, decimals)
    lowest = column.function == "min"
    ends = np.full(count, np.inf if lowest else -np.inf)
    (np.minimum if lowest else np.maximum).at(ends, inside, values)
    empty = np.bincount(inside, minlength=count) == 0
    if column.end == "exact":
        return _numbers(column.name, np.where(empty, np.nan, ends), lost | empty, decimals)
    # What is not known could be anything, and so could the extreme of no members.
    open_end = (column.end == "least") == lowest
    beyond = np.inf if column.end == "most" else -np.inf
    values = np.where(empty | (lost & open_end), beyond, ends)
    return _numbers(column.name, values, np.zeros(count, dtype=np.bool_), None)


def _sums(groups: NDArray[np.int64], values: Numbers, decimals: int | None, count: int) -> Numbers:
    """Sums in whole units of the grid, which are exact in any order; without a grid, as binary64 adds them."""
    if decimals is None:
        return np.asarray(np.bincount(groups, values, count), dtype=np.float64)
    scale = 10.0**decimals
    units = np.zeros(count, dtype=np.int64)
    np.add.at(units, groups, np.rint(values * scale).astype(np.int64))
    return units / scale


def _sequence(level: Level, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Records of each group in the declared order, or as they stand."""
    keys = [np.asarray(level.data[name].values, dtype=np.float64) for name in reversed(level.declared.order or ())]
    return np.lexsort((*keys, groups)).astype(np.int64)


def _neighbours(level: Level, step: int) -> NDArray[np.int64]:
    """Position of the record before or after each one of its group; -1: there is none."""
    assert level.groups is not None
    order = _sequence(level, level.groups)
    groups = level.groups[order]
    there = np.full(len(level), -1, dtype=np.int64)
    same = groups[1:] == groups[:-1]
    if step < 0:
        there[order[1:][same]] = order[:-1][same]
    else:
        there[order[:-1][same]] = order[1:][same]
    return there


def _firsts(
    level: Level, groups: NDArray[np.int64], meant: Booleans, unknown: Booleans, count: int
) -> NDArray[np.int64]:
    """Position of the first meant member of each group; -1: none, or one before it that may be meant."""
    order = _sequence(level, groups)
    wanted = order[(meant | unknown)[order]]
    found, first = np.unique(groups[wanted], return_index=True)
    there = np.full(count, -1, dtype=np.int64)
    there[found] = np.where(unknown[wanted[first]], -1, wanted[first])
    return there
