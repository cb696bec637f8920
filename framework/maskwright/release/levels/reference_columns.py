"""Columns that rules read of other records, computed a second time from the cells of a written file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from maskwright.edits.evaluation.reference_values import Undetermined, truth
from maskwright.edits.evaluation.reference_vectors import ExactVectors
from maskwright.edits.expression import variable_names
from maskwright.edits.levels.structure import LinkedColumn, MembersColumn, OtherRecordColumn, StructureColumn
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.release.levels.packed_columns import Compared, TakenColumn, comparable, differing_rows
from maskwright.release.reference_validation import cells_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LevelDeclaration
    from maskwright.edits.evaluation.reference_evaluator import ReferenceEvaluator
    from maskwright.edits.evaluation.reference_vectors import Cells
    from maskwright.edits.expression import Expression
    from maskwright.release.reference_reader import Readable

    Booleans = NDArray[np.bool_]
    Rows = NDArray[np.int64]


BEYOND = 1e14
"""More than any amount that is compared exactly."""
MOST_ALONE = 300_000
"""Records up to which a condition is evaluated on each combination of texts."""


@dataclass(frozen=True, eq=False)
class ComputedColumn:
    """Numbers that are computed; NaN where they are unknown."""

    values: NDArray[np.float64]

    def text(self, row: int) -> str | None:
        """Shortest decimal of a number."""
        value = float(self.values[row])
        return None if np.isnan(value) else f"{Decimal(repr(value)):f}"

    def numbers(self, _: int | None) -> tuple[NDArray[np.float64], Booleans]:
        """Numbers; none has to be looked at."""
        return self.values, np.zeros(len(self.values), dtype=np.bool_)

    def taken(self, rows: Rows) -> ComputedColumn:
        """Numbers of these records, in this order."""
        return ComputedColumn(self.values[rows])

    def days(self, _: str) -> tuple[NDArray[np.float64], Booleans]:
        """Numbers are no dates."""
        raise Undetermined


@dataclass(frozen=True, eq=False)
class WrittenLevel:
    """The records of one level as a written file shows them."""

    name: str
    declared: LevelDeclaration
    records: int
    columns: Mapping[str, Readable]
    decimals: Mapping[str, int | None]


@dataclass(frozen=True, eq=False)
class _Members:
    """Records of a level by the records of one above; `groups`: shape (n,), `count`: of the level above."""

    groups: Rows
    count: int

    def sum(self, each: NDArray[Any]) -> NDArray[Any]:
        """Sums of numbers or truths of members, by group."""
        found = pd.Series(each.astype(np.int64)).groupby(self.groups).sum()
        return np.asarray(found.reindex(range(self.count), fill_value=0))


@dataclass(eq=False)
class SecondColumns:
    """Columns of levels, the top one first, each computed when it is first requested.

    `opinion`: what cells are, with their texts. `rows_of_groups`: of one flat file: what each row says of its groups,
    to find rows that differ.
    """

    levels: Sequence[WrittenLevel]
    opinion: ReferenceEvaluator
    known: Mapping[str, Mapping[str, LinkedColumn]]
    rows_of_groups: Mapping[str, Readable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._found: dict[tuple[str, str], Readable] = {}
        self._seen: dict[str, Rows] = {}
        self._groups: dict[str, Rows] = {}
        for depth, level in enumerate(self.levels[1:], 1):
            self._groups[level.name] = self._linked(level, self.levels[:depth])

    def _linked(self, level: WrittenLevel, above: Sequence[WrittenLevel]) -> Rows:
        """Record just above that each record belongs to, by the keys that its file has of the levels above."""
        own, theirs = [], []
        for upper in above:
            key = upper.declared.key
            if key in level.columns:
                seen = upper.columns[key] if upper is above[-1] else TakenColumn(
                    upper.columns[key], self.groups_in(above[-1].name, upper.name)
                )  # fmt: skip
                one, other = comparable([seen, level.columns[key]], [above[-1].records, level.records])
                own.append(one.values)
                theirs.append(other.values)
        if not own:
            raise Undetermined
        index, wanted = (
            pd.Index(each[0]) if len(each) == 1 else pd.MultiIndex.from_arrays(each) for each in (own, theirs)
        )
        found = np.asarray(index.get_indexer(wanted), dtype=np.int64)
        if (found < 0).any():
            raise Undetermined
        return found

    def groups_in(self, name: str, above: str) -> Rows:
        """Record of a level above, or of its own, that each record of a level belongs to; shape (n,)."""
        place = [each.name for each in self.levels].index(name)
        found = np.arange(self.levels[place].records)
        while self.levels[place].name != above:
            found, place = self._groups[self.levels[place].name][found], place - 1
        return found

    def _members(self, name: str, above: str) -> _Members:
        return _Members(self.groups_in(name, above), self.level(above).records)

    def column(self, level: str, name: str) -> Readable:
        """Column of a level."""
        own = self.level(level)
        if name in own.columns:
            return own.columns[name]
        if (level, name) not in self._found:
            self._found[level, name] = self._computed(own, self.known[level][name])
        return self._found[level, name]

    def meant(self, level: str, name: str) -> tuple[str, str] | None:
        """Level and variable whose cells a column shows; None: it is a number of its own."""
        if name in self.level(level).columns:
            return level, name
        column = self.known[level][name]
        if isinstance(column, OtherRecordColumn) and column.variable is not None:
            return self.meant(self._home(level, column.through), column.variable)
        if isinstance(column, MembersColumn) and column.function == "first" and column.operand is not None:
            return self.meant(column.level, column.operand)
        return None

    def cells(self, level: str, name: str) -> Cells:
        """Numbers of a column."""
        stated = self.meant(level, name)
        column = self.column(level, name)
        if stated is None:
            return cells_of(column, "", self.opinion, None)
        return cells_of(column, stated[1], self.opinion, self.level(stated[0]).decimals.get(stated[1]))

    def _comparable(self, *named: tuple[WrittenLevel, str]) -> list[Compared]:
        """Columns that the file has, as numbers that are equal where cells are."""
        return comparable([level.columns[name] for level, name in named], [level.records for level, _ in named])

    def _has_no_value(self, level: WrittenLevel, name: str, stated: Compared) -> Booleans:
        """Cells that are empty or hold a missing code: each text is asked once."""
        shown = self.meant(level.name, name)
        if shown is None or not self.opinion.missing.get(shown[1]):
            return stated.empty
        _, firsts, which = np.unique(stated.values, return_index=True, return_inverse=True)
        column = self.column(level.name, name)
        lacking = [self.opinion.is_blank(shown[1], column.text(row)) for row in firsts.tolist()]
        return stated.empty | np.array(lacking, dtype=np.bool_)[which.ravel()]

    def level(self, name: str) -> WrittenLevel:
        """Level of this name."""
        return next(each for each in self.levels if each.name == name)

    def _home(self, level: str, through: str) -> str:
        return through if any(each.name == through for each in self.levels) else level

    def _computed(self, level: WrittenLevel, column: LinkedColumn) -> Readable:
        match column:
            case OtherRecordColumn(_, through, variable):
                there = self._others(level, through)
                if variable is None:
                    return ComputedColumn((there >= 0).astype(np.float64))
                return TakenColumn(self.column(self._home(level.name, through), variable), there)
            case StructureColumn(_, variable, "dangles"):
                there = self._pointed(level, variable)
                return ComputedColumn(((there == -2) | (there == np.arange(level.records))).astype(np.float64))
            case StructureColumn(_, variable):
                return ComputedColumn(self._differs(level, variable))
            case MembersColumn():
                return self._of_members(level, column)
        raise Undetermined

    def _others(self, level: WrittenLevel, through: str) -> Rows:
        if self._home(level.name, through) != level.name:
            return self.groups_in(level.name, through)
        if through in level.declared.pointers:
            return self._pointed(level, through)
        groups = self._groups[level.name]
        order = self._sequence(level, groups)
        place = pd.Series(order)
        shifted = place.groupby(groups[order], sort=False).shift(-1 if through == "following" else 1)
        there = np.full(level.records, -1, dtype=np.int64)
        there[order] = shifted.fillna(-1).to_numpy().astype(np.int64)
        return there

    def _sequence(self, level: WrittenLevel, groups: Rows) -> Rows:
        """Members by group, and in their declared order or as they stand."""
        frame = pd.DataFrame({"group": groups})
        for name in level.declared.order or ():
            cells = self.cells(level.name, name)
            frame[name] = np.where(cells.known, cells.values, np.nan)
        return np.asarray(frame.sort_values([str(name) for name in frame], kind="stable").index, dtype=np.int64)

    def _pointed(self, level: WrittenLevel, pointer: str) -> Rows:
        """Record that each record points to; -1: to none, -2: to one that its group does not have."""
        if pointer not in self._seen:
            keys, wanted = self._comparable((level, level.declared.key), (level, pointer))
            named, _ = pd.factorize(np.concatenate([keys.values, wanted.values]))
            within = np.tile(self._groups[level.name], 2) * (int(named.max(initial=0)) + 2) + named
            own, theirs = np.split(within, 2)
            there = pd.Index(own).get_indexer(pd.Index(theirs))
            no_member = self._has_no_value(level, pointer, wanted) | wanted.zero
            self._seen[pointer] = np.where(no_member, -1, np.where(there < 0, -2, there))
        return self._seen[pointer]

    def _differs(self, level: WrittenLevel, variable: str) -> NDArray[np.float64]:
        """Whether the rows of a group differ in what they say of it."""
        column, rows = self.rows_of_groups[variable], self.levels[-1]
        groups = self.groups_in(rows.name, level.name)
        firsts = np.empty(level.records, dtype=np.int64)
        firsts[groups[::-1]] = np.arange(rows.records)[::-1]
        if not differing_rows(column, firsts[groups]).any():
            return np.zeros(level.records)
        (stated,) = comparable([column], [rows.records])
        different = pd.Series(stated.values).groupby(groups).nunique(dropna=False).reindex(range(level.records))
        return np.asarray(different > 1, np.float64)

    def _judged(self, level: str, condition: Expression) -> tuple[Booleans, Booleans]:
        """Records for which a condition is true, and those for which it is false."""
        n = self.level(level).records
        try:
            found = truth(condition, ExactVectors(lambda name: self.cells(level, name)))
            true, false = (np.array(np.broadcast_to(each, n)) for each in found)
        except Undetermined:
            return self._alone(level, condition, n)
        return true, false

    def _alone(self, level: str, condition: Expression, n: int) -> tuple[Booleans, Booleans]:
        """Truth for each combination of texts."""
        names = variable_names(condition)
        if n > MOST_ALONE:
            raise Undetermined
        meant = {name: stated[1] for name in names if (stated := self.meant(level, name)) is not None}
        opinion = with_meanings(self.opinion, meant)
        columns = [self.column(level, name) for name in names]
        records = [tuple(column.text(row) for column in columns) for row in range(n)]
        verdict = {
            each: opinion.condition_verdict(condition, dict(zip(names, each, strict=True))) for each in set(records)
        }
        found = [verdict[each] for each in records]
        return np.array([each is True for each in found]), np.array([each is False for each in found])

    def _of_members(self, level: WrittenLevel, column: MembersColumn) -> Readable:
        members = self.level(column.level)
        by = self._members(column.level, level.name)
        true, false = np.ones(members.records, dtype=np.bool_), np.zeros(members.records, dtype=np.bool_)
        if column.condition is not None:
            true, false = self._judged(column.level, column.condition)
        unknown = ~(true | false)
        lacking = self._lacking(level, members)
        if column.function == "first":
            return self._first(column, by, true, false, lacking)
        if column.function in ("count", "any", "all", "one", "no"):
            values = _column_values(column, *(by.sum(each) for each in (true, false, unknown)))
        else:
            values = self._measured(column, by, true, unknown)
        assert len(values) == level.records
        return ComputedColumn(np.where(lacking, np.nan, values))

    def _lacking(self, level: WrittenLevel, members: WrittenLevel) -> Booleans:
        """Groups that are known to lack members, or to have a group that does."""
        names = [each.name for each in self.levels]
        found = np.zeros(level.records, dtype=np.bool_)
        for place in range(names.index(level.name), names.index(members.name)):
            stated = self.levels[place + 1].declared.incomplete
            if stated is not None:
                lacking = self._judged(names[place], parse_expression(stated))[0]
                found |= self._members(names[place], level.name).sum(lacking) > 0
        return found

    def _first(
        self, column: MembersColumn, by: _Members, true: Booleans, false: Booleans, lacking: Booleans
    ) -> Readable:
        assert column.operand is not None
        order = self._sequence(self.level(column.level), by.groups)
        requested = order[~false[order]]
        firsts = pd.Series(requested).groupby(by.groups[requested]).first()
        there = firsts.reindex(range(by.count), fill_value=-1).to_numpy().astype(np.int64)
        there[(there >= 0) & ~true[np.maximum(there, 0)]] = -1
        there[lacking] = -1
        return TakenColumn(self.column(column.level, column.operand), there)

    def _measured(self, column: MembersColumn, by: _Members, true: Booleans, unknown: Booleans) -> NDArray[np.float64]:
        assert column.operand is not None
        if column.function == "unique":
            return self._unique(column, by, true, unknown)
        cells = self.cells(column.level, column.operand)
        lost = by.sum((true & ~cells.known) | unknown) > 0
        used = true & cells.known
        if column.function == "sum":
            units, under, _ = cells.exact
            return np.where(lost, np.nan, by.sum(np.where(used, units, 0)) / under)
        grouped = pd.Series(np.where(used, cells.values, np.nan)).groupby(by.groups)
        lowest = column.function == "min"
        found = (grouped.min() if lowest else grouped.max()).reindex(range(by.count)).to_numpy(np.float64)
        no_member = np.isnan(found)
        if column.end == "exact":
            return np.where(lost, np.nan, found)
        beyond = BEYOND if column.end == "most" else -BEYOND
        is_open = (column.end == "least") == lowest
        return np.where(no_member | (lost & is_open), beyond, found)

    def _unique(self, column: MembersColumn, by: _Members, true: Booleans, unknown: Booleans) -> NDArray[np.float64]:
        assert column.operand is not None
        members = self.level(column.level)
        (stated,) = comparable([self.column(column.level, column.operand)], [members.records])
        values, missing = stated.values, self._has_no_value(members, column.operand, stated)
        used = true & ~missing
        twice = pd.DataFrame({"group": by.groups[used], "value": values[used]}).duplicated()
        same = np.zeros(members.records, dtype=np.bool_)
        same[np.flatnonzero(used)[twice.to_numpy()]] = True
        differ, lost = by.sum(same) == 0, by.sum((true & missing) | unknown) > 0
        return np.where(differ & lost, np.nan, differ.astype(np.float64))


def _column_values(
    column: MembersColumn, true: NDArray[Any], false: NDArray[Any], unknown: NDArray[Any]
) -> NDArray[np.float64]:
    """Counts, and truths as 1 and 0; NaN where it is not known."""
    function, end = column.function, column.end
    if function == "count":
        return (true + unknown if end == "most" else np.where((unknown > 0) & (end == "exact"), np.nan, true)) * 1.0
    surely = {"any": true > 0, "no": (true + unknown) == 0, "all": (false + unknown) == 0,
              "one": (true == 1) & (unknown == 0)}[function]  # fmt: skip
    never = {"any": (true + unknown) == 0, "no": true > 0, "all": false > 0,
             "one": (true > 1) | ((true + unknown) == 0)}[function]  # fmt: skip
    return np.where(surely, 1.0, np.where(never, 0.0, np.nan))


def in_order(columns: Mapping[str, Readable], rows: Rows) -> dict[str, Readable]:
    """Columns whose cells are those of these rows."""
    return {name: TakenColumn(column, rows) for name, column in columns.items()}


def with_meanings(opinion: ReferenceEvaluator, meanings: Mapping[str, str]) -> ReferenceEvaluator:
    """Opinion that knows of columns whose cells are those of a variable."""

    def shown(known: Mapping[str, Any]) -> dict[str, Any]:
        return {**known, **{name: known[text] for name, text in meanings.items() if text in known}}

    return replace(
        opinion, binary=opinion.binary | {name for name, text in meanings.items() if text in opinion.binary},
        missing=shown(opinion.missing), meant=shown(opinion.meant), dates=shown(opinion.dates),
    )  # fmt: skip
