"""What adjustment acts on: cluster representatives, or records where there are none.

A row holds the masked values of the variables that may move. Edits may also read *companions*: variables that are
published as they are. A row that stands for a whole cluster satisfies an edit only if all its records do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright.data.number_text import libxml2_numbers
from maskwright.data.record_chunk import Cells, RecordChunk, number_cells
from maskwright.edits.evaluation.binary64 import evaluate_binary64, evaluate_xpath
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.expression import Arithmetic, Comparison, Expression, Number, nodes, variable_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.adjusting.constraints import Requirement


@dataclass(frozen=True, eq=False)
class Targets:
    """The rows of one adjustment unit: representatives or records.

    `variables`: numeric variables that may move. `companions`: variables that edits read and that do not move.
    `members`: row of each record; None when row i is record i; shape (n,). `domain`: combinations of values in the
    original file, for domain edits. `moving`: of variables that may move, as far as edits ask for their missing codes:
    the codes stay in their cells. `multiples`: units of the grid of which steps have promised that published values are
    multiples. `drawn`: whether the rows are records that methods drew anew. `in_decimals_alone`: whether a rule has to
    hold in decimal arithmetic only.
    """

    variables: tuple[Variable, ...]
    companions: Mapping[str, Cells]
    members: Integers | None = None
    domain: Domain | None = None
    moving: Mapping[str, Cells] = field(default_factory=dict)
    multiples: Mapping[str, int] = field(default_factory=dict)
    drawn: bool = False
    in_decimals_alone: bool = False
    _fixed: dict[Requirement, Booleans] = field(default_factory=dict, init=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables that may move."""
        return tuple(variable.name for variable in self.variables)

    def of_rows(self, rows: Integers) -> Targets:
        """Targets of some rows, numbered anew; `rows`: ascending; shape (m,)."""
        records, members = rows, None
        if self.members is not None:
            number = np.full(int(self.members.max(initial=-1)) + 1, -1, dtype=np.int64)
            number[rows] = np.arange(len(rows))
            records = np.flatnonzero(number[self.members] >= 0)
            members = number[self.members[records]]
        companions = {name: take_cells(cells, records) for name, cells in self.companions.items()}
        moving = {name: take_cells(cells, records) for name, cells in self.moving.items()}
        return replace(self, companions=companions, members=members, moving=moving)

    def beside(self, columns: Mapping[str, Cells]) -> Targets:
        """Targets with further companions, of which each row has one value, and so all its records."""
        own = columns if self.members is None else {
            name: take_cells(cells, self.members) for name, cells in columns.items()
        }  # fmt: skip
        return replace(self, companions={**self.companions, **own})

    @property
    def strides(self) -> dict[str, int]:
        """Units of the grid that rounded values of a variable lie apart."""
        return {
            variable.name: lcm(variable.units_in_a_step, self.multiples.get(variable.name, 1))
            for variable in self.variables
        }

    def satisfied(self, edit: Edit, values: Floats, index: Integers) -> Booleans:
        """Whether rows satisfy an edit as every validator will see it.

        A rule has to hold in decimal arithmetic and in binary64, one in XPath also as libxml2 reads numbers. An edit
        that is unknown because a cell is missing is not violated. Between numbers without a grid, few equalities can
        hold in binary64: they may miss as much as validation allows; inequalities may not.

        `values`: what the rows hold; NaN where missing; shape (m, q). `index`: their row numbers; shape (m,). Returns
        shape (m,).
        """
        places = [variable.decimals for variable in self.variables if variable.name in edit.variables]
        # Sums of whole numbers are exact in binary64, so there the two arithmetics cannot differ.
        same = not any(places) and _sums_whole_numbers(edit)
        both = not self.in_decimals_alone and (not _has_equality(edit) if None in places else not same)

        def judge(columns: RecordChunk) -> Booleans:
            verdict = evaluate(edit, columns, self.domain)
            if edit.binding == "xpath1":
                in_libxml2 = evaluate_xpath(_literals_as_libxml2(edit.expression), _as_libxml2(columns), self.domain)
                if edit.kind in ("checked", "domain"):
                    return verdict.holds & in_libxml2.holds
                # What holds only because binary64 rounds would fail for whoever computes with decimals.
                exact = evaluate_exact(edit.expression, columns, self.domain)
                return verdict.holds & in_libxml2.holds & (exact.holds | exact.unknown)
            if not both:
                return verdict.holds | verdict.unknown
            return verdict.unknown | (verdict.holds & evaluate_binary64(edit.expression, columns, self.domain))

        return self._judge(edit.read, judge, values, index)

    def known(self, requirement: Requirement, values: Floats, index: Integers) -> Booleans:
        """Whether a requirement is met, or not known to be missed, by every record of the rows as they stand.

        Where a missing cell leaves it open, the edit is unknown and not violated: nothing has to move for it.

        `values`: shape (m, q). `index`: row numbers; shape (m,). Returns shape (m,).
        """

        def judge(columns: RecordChunk) -> Booleans:
            if requirement.binding == "xpath1":
                holds = evaluate_xpath(requirement.expression, columns, self.domain).holds
                return holds if requirement.wanted else ~holds
            verdict = evaluate_exact(requirement.expression, columns, self.domain)
            truth = verdict.holds if requirement.wanted else ~verdict.holds
            return truth | verdict.unknown

        names = variable_names(requirement.expression)
        if set(names).issubset(self.companions) and self.companions:
            # Whatever the rows are moved to, this stays: a dozen conditions on categories are looked up, not judged.
            if requirement not in self._fixed:
                self._fixed[requirement] = self._judge(names, judge, values, np.arange(self._rows))
            return self._fixed[requirement][index]
        return self._judge(names, judge, values, index)

    @cached_property
    def _rows(self) -> int:
        """Number of rows."""
        if self.members is not None:
            return int(self.members.max(initial=-1)) + 1
        return len(next(iter(self.companions.values())).numbers)

    def fixed_numbers(self, name: str, index: Integers) -> Floats:
        """Numbers of a companion for rows that are records, or whose records agree on it."""
        if self.members is None:
            return self.companions[name].numbers[index]
        order, bounds = self._by_row
        return self.companions[name].numbers[order[bounds[index]]]

    def _judge(
        self, names: Sequence[str], judge: Callable[[RecordChunk], Booleans], values: Floats, index: Integers
    ) -> Booleans:
        if len(index) == 0:
            return np.zeros(0, dtype=np.bool_)
        outside = [name for name in names if name in self.companions]
        if self.members is None or not (outside or any(name in self.moving for name in names)):
            cells = self._moving_cells(names, values, np.arange(len(index)), index)
            cells.update({name: take_cells(self.companions[name], index) for name in outside})
            return judge(RecordChunk(len(index), cells))
        records, starts = self._records_of(index)
        owner = np.repeat(np.arange(len(index)), np.diff(np.append(starts, len(records))))
        cells = self._moving_cells(names, values, owner, records)
        cells.update({name: take_cells(self.companions[name], records) for name in outside})
        return np.asarray(np.logical_and.reduceat(judge(RecordChunk(len(records), cells)), starts))

    def _moving_cells(
        self, names: Sequence[str], values: Floats, owner: Integers, records: Integers
    ) -> dict[str, Cells]:
        cells: dict[str, Cells] = {}
        for position, variable in enumerate(self.variables):
            if variable.name in names:
                numbers = values[owner, position]
                own = number_cells(numbers, np.isnan(numbers), variable.decimals)
                if variable.name in self.moving:
                    recorded = take_cells(self.moving[variable.name], records)
                    own = replace(own, nothing=recorded.nothing, codes=recorded.codes)
                cells[variable.name] = own
        return cells

    @cached_property
    def _by_row(self) -> tuple[Integers, Integers]:
        """Records in the order of their rows, and where each row starts."""
        assert self.members is not None
        order = np.argsort(self.members, kind="stable")
        return order, np.searchsorted(self.members[order], np.arange(int(self.members.max()) + 2))

    def records_of_row(self, row: int) -> Integers:
        """Records that a row stands for."""
        return np.array([row]) if self.members is None else self._records_of(np.array([row]))[0]

    def _records_of(self, index: Integers) -> tuple[Integers, Integers]:
        """Records of the given rows, row after row, and where each row starts."""
        order, bounds = self._by_row
        counts = bounds[index + 1] - bounds[index]
        starts = np.cumsum(counts) - counts
        positions = np.repeat(bounds[index] - starts, counts) + np.arange(int(counts.sum()))
        return order[positions], starts


def _as_libxml2(columns: RecordChunk) -> RecordChunk:
    """The same cells with their numbers as libxml2 reads them."""
    cells = {name: columns[name] for name in columns.names}
    return RecordChunk(
        columns.n,
        {name: replace(each, numbers=libxml2_numbers(each.numbers, each.decimals)) for name, each in cells.items()},
    )


@lru_cache(maxsize=1024)
def _literals_as_libxml2(expression: Expression) -> Expression:
    """The same rule with its decimal literals as libxml2 reads them: in the way in which it reads cells."""

    def read(part: Any) -> Any:
        if isinstance(part, Number):
            places = next((d for d in range(16) if (part.value * 10**d).denominator == 1), None)
            return Number(Fraction(float(libxml2_numbers(np.array([float(part.value)]), places)[0])))
        if isinstance(part, tuple):
            return tuple(read(each) for each in part)
        if is_dataclass(part) and not isinstance(part, type):
            return replace(part, **{each.name: read(getattr(part, each.name)) for each in fields(part)})
        return part

    rewritten: Expression = read(expression)
    return rewritten


@lru_cache(maxsize=1024)
def _has_equality(edit: Edit) -> bool:
    return any(isinstance(node, Comparison) and node.operator in ("==", "!=") for node in nodes(edit.expression))


@lru_cache(maxsize=1024)
def _sums_whole_numbers(edit: Edit) -> bool:
    return edit.kind in ("linear", "range") and not any(
        (isinstance(node, Number) and node.value.denominator != 1)
        or (isinstance(node, Arithmetic) and node.operator not in ("+", "-", "*"))
        for node in nodes(edit.expression)
    )


def take_cells(cells: Cells, index: Integers) -> Cells:
    """Cells of the records `index`."""
    nothing = cells.nothing
    return replace(
        cells,
        numbers=cells.numbers[index],
        missing=cells.missing[index],
        absent=cells.absent[index],
        text=lambda: cells.text().take(pa.array(index)),
        nothing=None if nothing is None else lambda: nothing().take(pa.array(index)),
        spoken=None if cells.spoken is None else cells.spoken[index],
    )
