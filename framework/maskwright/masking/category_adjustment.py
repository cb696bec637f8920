"""Masked categories that break an edit get the nearest combination that satisfies all.

Records that break the edits in the same way are treated together: there are few such combinations, and for each the
valid ones are listed once. Among the nearest, every record draws its own, so that it cannot be inferred which category
it had. Only masked values and edits choose; of the original, only which combinations occur in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.data.dataset import Column, Dataset
from maskwright.data.record_chunk import RecordChunk, column_cells
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.normalisation import as_far_as
from maskwright.foundation.randomness import generator
from maskwright.planning.adjustment_units import is_of_unit
from maskwright.plugins.block import uniform_of_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.context import MaskingContext
    from maskwright.planning.model import AdjustmentUnit

MOST_COMBINATIONS = 10_000
"""Combinations of categories up to which all are tried; beyond, those that occur."""

CELLS_AT_ONCE = 1_000_000
"""Combinations times broken ones that are evaluated at once; bounds memory."""

_CHANGED, _UNSEEN = 2.0, 1.0


@dataclass(frozen=True, eq=False)
class AdjustedCategories:
    """A category unit and what adjusting did to it.

    `moved`, `infeasible`: records that were changed, and those for which no combination satisfies every edit; shape
    (n,). `touched`: records that broke each edit; shape (n,). `failing`: infeasible records that violate it. `changed`,
    `restored`: cells that changed, and those of them that got the category of the original.
    """

    unit: AdjustmentUnit
    columns: Mapping[str, Column]
    moved: Booleans
    infeasible: Booleans
    touched: Mapping[str, Booleans]
    failing: Mapping[str, int] = field(default_factory=dict)
    changed: int = 0
    restored: int = 0

    @property
    def counts(self) -> CategoryCounts:
        """How many records and cells that were."""
        return CategoryCounts(
            self.unit, tuple(self.columns), len(self.moved), int(self.moved.sum()), int(self.infeasible.sum()),
            self.changed, self.restored,
        )  # fmt: skip


@dataclass(frozen=True)
class CategoryCounts:
    """What adjusting did to a category unit, in numbers of records and cells.

    `names`: variables of which some cell changed. `rows`, `moved`, `infeasible`: records, those that were changed, and
    those for which no combination satisfies every edit.
    """

    unit: AdjustmentUnit
    names: tuple[str, ...] = ()
    rows: int = 0
    moved: int = 0
    infeasible: int = 0
    changed: int = 0
    restored: int = 0


def adjust_categories(
    unit: AdjustmentUnit, current: Dataset, context: MaskingContext, occurring: Integers | None = None
) -> AdjustedCategories:
    """Bring the categories of one unit onto their edits.

    A record gets a valid combination with the fewest changed cells; among those, one that occurs in the masked or the
    original file rather than another. Of what is left one is drawn, with a chance in inverse proportion to the steps
    that it is away in the order of ordinal categories: always the nearest one would often be the original. Missing
    cells stay missing. What a record draws depends on its position in the file, not on the other records.

    `occurring`: of records of a larger file: the combinations that `occurring_categories` finds in all of it; shape (m,
    v).
    """
    plan = context.plan
    edits = as_far_as(
        (context.edits[name] for name in unit.edits),
        lambda each: is_of_unit(each, unit.variables, plan.replaced - plan.recoded),
    )
    columns = {
        name: current[name]
        for name in dict.fromkeys([*unit.variables, *(name for edit in edits for name in edit.read)])
    }
    touched = _broken(columns, edits, context.domain)
    failing = np.logical_or.reduce([np.zeros(len(current), dtype=np.bool_), *touched.values()])
    moved, infeasible = np.zeros(len(failing), dtype=np.bool_), np.zeros(len(failing), dtype=np.bool_)
    rows = np.flatnonzero(failing)
    if not len(rows):
        return AdjustedCategories(unit, {}, moved, infeasible, touched)
    before = _codes(columns, unit.variables)
    original = category_codes(context.original, unit.variables)
    occurring = np.concatenate([before, original]) if occurring is None else occurring
    draws = _draws(unit, rows, current, context)
    after = before.copy()
    # Records with the same cells missing have the same variables to change.
    _, patterns = np.unique(before[rows] < 0, axis=0, return_inverse=True)
    for pattern in range(int(patterns.max()) + 1):
        here = np.flatnonzero(patterns.ravel() == pattern)
        free = np.flatnonzero(before[rows[here[0]]] >= 0)
        search = _Search(unit.variables, free, columns, edits, context.domain, _known(occurring, free))
        found, solved = search.nearest(before, rows[here], draws[here])
        after[np.ix_(rows[here[solved]], free)] = found[solved]
        infeasible[rows[here[~solved]]] = True
    moved = (after != before).any(axis=1)
    changed = after != before
    left = {name: int(np.sum(broken & infeasible)) for name, broken in touched.items()}
    true = original if current.origin is None else original[current.origin]
    return AdjustedCategories(
        unit,
        {
            name: columns[name].changed(after[:, place].astype(np.int32))
            for place, name in enumerate(unit.variables)
            if changed[:, place].any()
        },
        moved, infeasible, touched, {name: count for name, count in left.items() if count},
        int(changed.sum()), int(np.sum(changed & (after == true))),
    )  # fmt: skip


def with_categories(data: Dataset, adjusted: Sequence[AdjustedCategories]) -> Dataset:
    """Dataset with the categories that adjusting gave."""
    return data.with_columns({name: column for each in adjusted for name, column in each.columns.items()})


def _broken(columns: Mapping[str, Column], edits: EditSet, domain: Domain | None) -> dict[str, Booleans]:
    """Records that violate each edit; what rests on a missing cell is no violation of an exact edit."""
    n = len(next(iter(columns.values())).missing)
    chunk = RecordChunk(n, {name: column_cells(column) for name, column in columns.items()})
    found: dict[str, Booleans] = {}
    for edit in edits:
        verdict = evaluate(edit, chunk, domain)
        found[edit.name] = ~(verdict.holds | (verdict.unknown & (edit.binding == "exact")))
    return found


def _codes(columns: Mapping[str, Column], names: Sequence[str]) -> Integers:
    """Codes of categories, -1 where missing; shape (n, v)."""
    return np.stack(
        [np.where(columns[name].missing, -1, columns[name].values).astype(np.int64) for name in names], axis=1
    )


def category_codes(data: Dataset, names: Sequence[str]) -> Integers:
    """Codes of categories, -1 where missing; shape (n, v)."""
    return _codes({name: data[name] for name in names}, names)


def occurring_categories(shares: Sequence[Integers]) -> Integers:
    """Rows of `category_codes` that occur, each once and in order; shape (m, v); `shares`: shape (n, v)."""
    return np.unique(np.concatenate(shares), axis=0)


def _draws(unit: AdjustmentUnit, rows: Integers, current: Dataset, context: MaskingContext) -> Floats:
    """A number of each of these records in [0, 1), by its position in the file."""
    first = 0 if context.whole is None else context.whole.first
    records = rows + first if current.origin is None else current.origin[rows]
    rng = generator(context.seed, "categories", *unit.variables)
    # So short that nothing is lost where the number of a kind of record is added.
    return np.floor(uniform_of_records(records, rng, 1)[:, 0] * 2.0**32) / 2.0**32


def _known(occurring: Integers, free: Integers) -> Integers:
    """Combinations of these variables that occur in the masked or the original file; shape (m, f)."""
    together = occurring[:, free]
    return np.unique(together[(together >= 0).all(axis=1)], axis=0)


@dataclass(frozen=True, eq=False)
class _Search:
    """Search for the nearest valid combinations of the variables that have a value.

    `free`: positions of those that may change; shape (f,). `columns`: all that the edits read. `known`: combinations
    that occur; shape (m, f).
    """

    names: tuple[str, ...]
    free: Integers
    columns: Mapping[str, Column]
    edits: EditSet
    domain: Domain | None
    known: Integers

    def nearest(self, before: Integers, rows: Integers, draws: Floats) -> tuple[Integers, Booleans]:
        """New codes of the free variables of each row, shape (r, f), and for which rows there are any."""
        candidates, unseen = self._candidates()
        first, place = self._kinds(rows)
        found = np.zeros((len(rows), len(self.free)), dtype=np.int64)
        solved = np.zeros(len(rows), dtype=np.bool_)
        if not len(candidates):
            return found, solved
        at_once = max(CELLS_AT_ONCE // len(candidates), 1)
        for start in range(0, len(first), at_once):
            kinds = rows[first[start : start + at_once]]
            cost, steps = self._distances(before[np.ix_(kinds, self.free)], candidates, unseen)
            valid = self._valid(kinds, candidates)
            least = np.min(cost, axis=1, where=valid, initial=np.inf, keepdims=True)
            chances = np.cumsum(np.where(valid & (cost == least), 1.0 / steps, 0.0), axis=1)
            own = np.flatnonzero((place >= start) & (place < start + len(kinds)))
            own = own[chances[place[own] - start, -1] > 0.0]
            kind = place[own] - start
            # The chances of all kinds lie one after the other on one line, a unit for each.
            line = chances / np.maximum(chances[:, -1:], 1e-300) + np.arange(len(kinds))[:, None]
            chosen = np.searchsorted(line.ravel(), kind + draws[own], side="right") - kind * len(candidates)
            found[own] = candidates[np.minimum(chosen, _last(chances)[kind])]
            solved[own] = True
        return found, solved

    def _kinds(self, rows: Integers) -> tuple[Integers, Integers]:
        """One of the rows that are alike in all that the edits read, and for each row which one."""
        cells = [
            np.where(column.missing[rows], np.nan, column.values[rows].astype(np.float64))
            for column in self.columns.values()
        ]
        classes = Classes.of(cells)
        return classes.first, classes.codes

    def _candidates(self) -> tuple[Integers, Booleans]:
        """Combinations to look at, shape (c, f), and which of them occur nowhere."""
        occurring = [np.unique(column) for column in self.known.T]
        if not len(self.known) or math.prod(len(each) for each in occurring) > MOST_COMBINATIONS:
            return self.known, np.zeros(len(self.known), dtype=np.bool_)
        grid = np.stack(np.meshgrid(*occurring, indexing="ij"), axis=-1).reshape(-1, len(occurring))
        both = np.concatenate([self.known, grid])
        _, number = np.unique(both, axis=0, return_inverse=True)
        number = number.ravel()
        return grid, ~np.isin(number[len(self.known) :], number[: len(self.known)])

    def _distances(self, current: Integers, candidates: Integers, unseen: Booleans) -> tuple[Floats, Floats]:
        """How far each candidate is from each current combination: its rank, and steps, at least 1; shapes (k, c)."""
        cost = np.where(unseen, _UNSEEN, 0.0) + np.zeros((len(current), 1))
        steps = np.zeros_like(cost)
        for place, position in enumerate(self.free):
            variable = self.columns[self.names[position]].variable
            moved = np.abs(candidates[None, :, place] - current[:, place, None])
            cost += _CHANGED * (moved > 0)
            steps += moved if variable.type == "ordinal" else moved > 0
        return np.asarray(cost), np.maximum(steps, 1.0)

    def _valid(self, kinds: Integers, candidates: Integers) -> Booleans:
        """Whether each candidate satisfies every edit in each of these rows; shape (k, c)."""
        shape = (len(kinds), len(candidates))
        owner = np.repeat(kinds, len(candidates))
        cells = {name: column.taken(owner) for name, column in self.columns.items()}
        for place, position in enumerate(self.free):
            name = self.names[position]
            codes = np.tile(candidates[:, place], len(kinds)).astype(np.int32)
            cells[name] = Column(self.columns[name].variable, codes, np.zeros(len(codes), dtype=np.bool_))
        broken = _broken(cells, self.edits, self.domain)
        return np.asarray(~np.logical_or.reduce(list(broken.values()))).reshape(shape)


def _last(chances: Floats) -> Integers:
    """Last candidate with a chance in each row of cumulated chances; it takes what rounding leaves over."""
    return np.asarray(np.argmax(chances >= chances[:, -1:], axis=1), dtype=np.int64)
