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
    from collections.abc import Mapping

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


@dataclass(eq=False)
class SecondColumns:
    """Columns of two levels, the upper one first, each computed when it is first requested.

    `opinion`: what cells are, beside their texts. `rows_of_groups`: of one flat file: what each row says of its group,
    to find rows that differ.
    """

    upper: WrittenLevel
    lower: WrittenLevel
    opinion: ReferenceEvaluator
    known: Mapping[str, Mapping[str, LinkedColumn]]
    rows_of_groups: Mapping[str, Readable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._found: dict[tuple[str, str], Readable] = {}
        self._seen: dict[str, Rows] = {}
        key = self.upper.declared.key
        own, theirs = self._comparable((self.upper, key), (self.lower, key))
        self.groups = np.asarray(pd.Index(own.values).get_indexer(pd.Index(theirs.values)), dtype=np.int64)
        if (self.groups < 0).any():
            raise Undetermined

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
        return self.upper if name == self.upper.name else self.lower

    def _home(self, level: str, through: str) -> str:
        return through if through == self.upper.name else level

    def _computed(self, level: WrittenLevel, column: LinkedColumn) -> Readable:
        match column:
            case OtherRecordColumn(_, through, variable):
                there = self._others(level, through)
                if variable is None:
                    return ComputedColumn((there >= 0).astype(np.float64))
                return TakenColumn(self.column(self._home(level.name, through), variable), there)
            case StructureColumn(_, variable, "dangles"):
                there = self._pointed(variable)
                return ComputedColumn(((there == -2) | (there == np.arange(level.records))).astype(np.float64))
            case StructureColumn(_, variable):
                return ComputedColumn(self._differs(variable))
            case MembersColumn():
                return self._of_members(column)
        raise Undetermined

    def _others(self, level: WrittenLevel, through: str) -> Rows:
        if through == self.upper.name:
            return self.groups
        if through in level.declared.pointers:
            return self._pointed(through)
        order = self._sequence()
        place = pd.Series(order)
        shifted = place.groupby(self.groups[order], sort=False).shift(-1 if through == "following" else 1)
        there = np.full(level.records, -1, dtype=np.int64)
        there[order] = shifted.fillna(-1).to_numpy().astype(np.int64)
        return there

    def _sequence(self) -> Rows:
        """Members by group, and in their declared order or as they stand."""
        frame = pd.DataFrame({"group": self.groups})
        for name in self.lower.declared.order or ():
            cells = self.cells(self.lower.name, name)
            frame[name] = np.where(cells.known, cells.values, np.nan)
        return np.asarray(frame.sort_values([str(name) for name in frame], kind="stable").index, dtype=np.int64)

    def _pointed(self, pointer: str) -> Rows:
        """Record that each record points to; -1: to none, -2: to one that its group does not have."""
        if pointer not in self._seen:
            keys, wanted = self._comparable((self.lower, self.lower.declared.key), (self.lower, pointer))
            named, _ = pd.factorize(np.concatenate([keys.values, wanted.values]))
            within = np.tile(self.groups, 2) * (int(named.max(initial=0)) + 2) + named
            own, theirs = np.split(within, 2)
            there = pd.Index(own).get_indexer(pd.Index(theirs))
            no_member = self._has_no_value(self.lower, pointer, wanted) | wanted.zero
            self._seen[pointer] = np.where(no_member, -1, np.where(there < 0, -2, there))
        return self._seen[pointer]

    def _differs(self, variable: str) -> NDArray[np.float64]:
        """Whether the rows of a group differ in what they say of it."""
        column = self.rows_of_groups[variable]
        firsts = np.empty(self.upper.records, dtype=np.int64)
        firsts[self.groups[::-1]] = np.arange(self.lower.records)[::-1]
        if not differing_rows(column, firsts[self.groups]).any():
            return np.zeros(self.upper.records)
        (stated,) = comparable([column], [self.lower.records])
        different = (
            pd.Series(stated.values).groupby(self.groups).nunique(dropna=False).reindex(range(self.upper.records))
        )
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

    def _of_members(self, column: MembersColumn) -> Readable:
        n, members = self.upper.records, self.lower.records
        true, false = np.ones(members, dtype=np.bool_), np.zeros(members, dtype=np.bool_)
        if column.condition is not None:
            true, false = self._judged(self.lower.name, column.condition)
        unknown = ~(true | false)
        if column.function == "first":
            return self._first(column, true, false)
        if column.function in ("count", "any", "all", "one", "no"):
            values = _column_values(column, *(self._sum(each) for each in (true, false, unknown)))
        else:
            values = self._measured(column, true, unknown)
        assert len(values) == n
        return ComputedColumn(np.where(self._lacking(), np.nan, values))

    def _sum(self, each: NDArray[Any]) -> NDArray[Any]:
        """Sums of numbers or truths of members, by group."""
        found = pd.Series(each.astype(np.int64)).groupby(self.groups).sum()
        return np.asarray(found.reindex(range(self.upper.records), fill_value=0))

    def _lacking(self) -> Booleans:
        """Groups that are known to lack members."""
        if self.lower.declared.incomplete is None:
            return np.zeros(self.upper.records, dtype=np.bool_)
        return self._judged(self.upper.name, parse_expression(self.lower.declared.incomplete))[0]

    def _first(self, column: MembersColumn, true: Booleans, false: Booleans) -> Readable:
        assert column.operand is not None
        order = self._sequence()
        requested = order[~false[order]]
        firsts = pd.Series(requested).groupby(self.groups[requested]).first()
        there = firsts.reindex(range(self.upper.records), fill_value=-1).to_numpy().astype(np.int64)
        there[(there >= 0) & ~true[np.maximum(there, 0)]] = -1
        there[self._lacking()] = -1
        return TakenColumn(self.column(column.level, column.operand), there)

    def _measured(self, column: MembersColumn, true: Booleans, unknown: Booleans) -> NDArray[np.float64]:
        assert column.operand is not None
        if column.function == "unique":
            return self._unique(column, true, unknown)
        cells = self.cells(column.level, column.operand)
        lost = self._sum((true & ~cells.known) | unknown) > 0
        used = true & cells.known
        if column.function == "sum":
            units, under, _ = cells.exact
            return np.where(lost, np.nan, self._sum(np.where(used, units, 0)) / under)
        grouped = pd.Series(np.where(used, cells.values, np.nan)).groupby(self.groups)
        lowest = column.function == "min"
        found = (grouped.min() if lowest else grouped.max()).reindex(range(self.upper.records)).to_numpy(np.float64)
        no_member = np.isnan(found)
        if column.end == "exact":
            return np.where(lost, np.nan, found)
        beyond = BEYOND if column.end == "most" else -BEYOND
        is_open = (column.end == "least") == lowest
        return np.where(no_member | (lost & is_open), beyond, found)

    def _unique(self, column: MembersColumn, true: Booleans, unknown: Booleans) -> NDArray[np.float64]:
        assert column.operand is not None
        (stated,) = comparable([self.column(column.level, column.operand)], [self.lower.records])
        values, missing = stated.values, self._has_no_value(self.lower, column.operand, stated)
        used = true & ~missing
        twice = pd.DataFrame({"group": self.groups[used], "value": values[used]}).duplicated()
        same = np.zeros(self.lower.records, dtype=np.bool_)
        same[np.flatnonzero(used)[twice.to_numpy()]] = True
        differ, lost = self._sum(same) == 0, self._sum((true & missing) | unknown) > 0
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
