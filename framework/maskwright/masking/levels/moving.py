"""Groups with their members moved onto edits, two levels at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright.data.record_chunk import Cells, RecordChunk, column_cells
from maskwright.edits.edit import LinearPart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.evaluation.domain import domain_tuples
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.joint_rules import (
    JoinedGroups,
    JointRules,
    LevelColumns,
    cells_of,
    joined_groups,
    joint_rules,
    put_back,
)
from maskwright.edits.levels.joint_writing import JointEdits, JointWriter
from maskwright.edits.levels.pairs import on_two_levels, tied_to_groups
from maskwright.edits.levels.structure import sources_of
from maskwright.foundation.findings import Notice
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjust import adjust
from maskwright.masking.adjusting.adjustment_loss import Cost, cost_of_joined, moves_by_edit
from maskwright.masking.adjusting.targets import Targets, take_cells
from maskwright.masking.levels.adjustment import derived_instead
from maskwright.planning.levels.bound_edits import outcomes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.foundation.arrays import Booleans, Floats
    from maskwright.planning.levels.cross_level_edits import AcrossLevels


MOST_PASSES = 6
"""Passes over all pairs of levels after the first two, as long as records violate an edit."""


@dataclass(frozen=True, eq=False)
class Moved:
    """Levels of which groups were moved."""

    linked: LinkedData
    together: tuple[MovedTogether, ...]
    notices: tuple[Notice, ...]

    def followed_by(self, other: Moved) -> Moved:
        """What this and what another pass after it did: that one has seen which groups are left."""
        moved = (replace(each, failing={}, left_by_edit={}) for each in self.together)
        stated = (each for each in self.notices if each.kind == "groups-moved")
        others = (each for each in other.notices if each.kind != "groups-moved")
        return Moved(other.linked, (*moved, *other.together), (*stated, *others))


@dataclass(frozen=True, eq=False)
class Moving:
    """Groups moved onto their edits; `moving`, `shaped`: variables of each level, with those derived and without."""

    bound: BoundEdits
    planned: PlannedLevels
    moving: Mapping[str, Sequence[str]]
    shaped: Mapping[str, Sequence[str]]
    scale: Mapping[str, float]
    seed: int

    def onto_edits(self, linked: LinkedData) -> Moved:
        """Move the records of each two levels, the upper ones first, or the lower ones if fewer violate an edit then.

        What an equality of two levels reads is not moved again in a pass. With more levels passes follow: what is moved
        onto the edits of two levels may be off those of two others, by less each time.
        """
        pairs = linked.pairs
        found = self.over(pairs, linked)
        left = violations(found.linked, self.bound)
        if len(pairs) == 1 or not left:
            return found
        further = self.over(pairs[::-1], linked)
        for number in range(1 + MOST_PASSES):
            if number:
                further = further.followed_by(self.over(pairs[::-1], further.linked))
            fewer = violations(further.linked, self.bound)
            if fewer < left:
                found, left = further, fewer
            if not left:
                break
        return found

    def over(self, pairs: Sequence[tuple[str, str]], linked: LinkedData) -> Moved:
        """Move the records of each two levels, in this order."""
        steps = (step for found in self.planned.steps.values() for step in found.steps)
        weights = {name: weight for step in steps for name, weight in step.planning.adjustment_weights.items()}
        dear = {name: value / math.sqrt(weights.get(name, 1.0)) for name, value in self.scale.items()}
        together: list[MovedTogether] = []
        notices: list[Notice] = []
        settled: set[Source] = set()
        for number, pair in enumerate(pairs):
            levels = dict.fromkeys(level for each in pairs[number:] for level in each)
            changing = {(level, name) for level in levels for name in self.moving[level]} - settled
            own, rules = on_two_levels(linked, self.bound, pair, changing)
            # A total stands for those below it: onto one further above it moves itself.
            free = {
                level: [
                    name for name in self.moving[level] if (level, name) in changing
                    and not (level == pair[0] and name in self.planned.across.standing)
                ]
                for level in pair
            }  # fmt: skip
            largest = linked[pair[0]].declared.largest_group
            ways = self.planned.otherwise
            instead = None if ways is None else _derived_of_pair(ways, self.bound, pair, settled)
            # Where nothing can be derived instead, an edit that does not hold stops the release.
            found = moved_together(own, rules, free, dear, largest, self.seed, is_last_way=instead is None)
            linked = linked.with_data(
                {level: put_on(linked, level, found.linked[level].data)[level].data for level in pair}
            )
            left = np.flatnonzero(found.left)
            derives = len(left) > 0 and instead is not None
            if instead is not None and derives:
                rng = generator(self.seed, "levels", "derived instead")
                movable = self.shaped[pair[0]]
                linked = derived_instead(linked, self.bound, pair[0], instead, left, self.scale, movable, rng)
            together.append(found)
            notices += found.notices(derives=derives)
            settled |= tied_to_groups(rules, pair[0]) & changing
        return Moved(linked, tuple(together), tuple(notices))


def violations(linked: LinkedData, bound: BoundEdits) -> int:
    """Records that violate an edit of severity error, of all levels and edits."""
    found = (each for outcome in outcomes(linked, bound).values() for each in outcome.edits)
    return sum(each.violations for each in found if each.severity == "error")


def _derived_of_pair(
    across: AcrossLevels, bound: BoundEdits, pair: tuple[str, str], settled: Collection[Source]
) -> AcrossLevels | None:
    """What the records of a level derive from those of one below; None: nothing, or records further above need it."""
    own = across.of_level(pair[0])
    derived = tuple(
        each for each in own.derived
        if all(level in pair for term, _ in each.terms for level, _ in sources_of(bound.columns, pair[0], term))
    )  # fmt: skip
    if not derived or any((each.level, each.variable) in settled for each in derived):
        return None
    return replace(own, derived=derived)


def put_on(linked: LinkedData, level: str, others: Dataset) -> LinkedData:
    """Copy in which a level has its columns from data that hold more."""
    kept = linked[level].data
    return linked.with_data({level: replace(kept, columns=tuple(others[column.name] for column in kept))})


@dataclass(frozen=True, eq=False)
class MovedTogether:
    """What moving groups did.

    `moved`: groups that were moved onto their edits; shape (g,). `infeasible`: groups that break an edit and for which
    no values were found; shape (g,). `large`: groups that break an edit and have too many members; shape (g,).
    `by_edit`: groups that broke each edit. `cost`: how far each edit moved each variable. `failing`: infeasible groups
    that break it still. `left_by_edit`: the same with the large groups that break it. `in_decimals`: groups in which
    edits hold in decimal arithmetic only.
    """

    linked: LinkedData
    moved: Booleans
    infeasible: Booleans
    large: Booleans
    by_edit: Mapping[str, int]
    failing: Mapping[str, int] = field(default_factory=dict)
    left_by_edit: Mapping[str, int] = field(default_factory=dict)
    in_decimals: int = 0
    cost: Cost = field(default_factory=Cost)

    @property
    def left(self) -> Booleans:
        """Groups that break an edit still."""
        return self.infeasible | self.large

    def notices(self, *, derives: bool) -> tuple[Notice, ...]:
        """What became of the groups; `derives`: totals of those that are left are derived."""
        top = self.linked.names[0]
        notices = []
        if self.moved.any():
            count = int(self.moved.sum())
            message = (
                f"{count:,} {top} records were moved with their members onto edits: k does not hold for what was moved"
            )
            notices.append(Notice("groups-moved", "", message, count, level=top))
        if self.in_decimals:
            message = (
                f"in {self.in_decimals:,} {top} records edits hold in decimal arithmetic, and no values were found "
                "with which they hold in binary arithmetic too: give equalities of numbers with decimals a tolerance"
            )
            notices.append(Notice("sums-in-binary", "", message, self.in_decimals, level=top))
        instead = "their totals are derived" if derives else "they are left as they are"
        for name, count in self.failing.items():
            message = f"edit {name!r}: no values were found for {count:,} {top} records and their members; {instead}"
            notices.append(Notice("groups-not-moved", name, message, count, level=top))
        if self.large.any():
            count = int(self.large.sum())
            message = (
                f"{count:,} {top} records have more members than largest_group, {instead}: a larger one "
                f"(`largest_group` of the level {top}) has values searched for them too, which takes longer"
            )
            notices.append(Notice("groups-too-large", "", message, count, level=top))
        return tuple(notices)


def moved_together(
    linked: LinkedData,
    bound: BoundEdits,
    moving: Mapping[str, Collection[str]],
    scale: Mapping[str, float],
    largest: int,
    seed: int,
    *,
    is_last_way: bool = False,
) -> MovedTogether:
    """Move groups that break an edit onto all edits.

    They have to hold in decimal and in binary64 arithmetic. `is_last_way`: where no values are found for that, decimal
    arithmetic is enough, as it is for what is derived.
    """
    top, low = linked.names
    rules = joint_rules(bound, (top, low), moving)
    broken = broken_groups(linked, bound, rules)
    failing = np.logical_or.reduce([np.zeros(len(linked[top]), dtype=np.bool_), *broken.values()])
    by_edit = {name: int(groups.sum()) for name, groups in broken.items()}
    large = failing & (np.diff(linked.starts(low)) > largest)
    left = {name: int((groups & large).sum()) for name, groups in broken.items() if (groups & large).any()}
    none = np.zeros(len(failing), dtype=np.bool_)
    if not (failing & ~large).any():
        return MovedTogether(linked, none, none, large, by_edit, left_by_edit=left)
    columns = LevelColumns.of(linked, bound, rules)
    writer, parts, infeasible = JointWriter(rules), [], none.copy()
    still: dict[str, int] = {}
    in_decimals, cost = 0, Cost()
    for number, found in enumerate(joined_groups(columns, among=np.flatnonzero(failing & ~large))):
        written = writer.edits(found.composition)
        rng = generator(seed, "levels", "together", number)
        done = _adjusted(columns, found, written, scale, rng, is_last_way=is_last_way)
        parts.append((found, done.columns))
        lost = [np.zeros(len(found), dtype=np.bool_), *done.lost.values()]
        infeasible[found.groups[np.logical_or.reduce(lost)]] = True
        in_decimals += done.in_decimals
        cost += done.cost
        for name, rows in done.lost.items():
            stated = written.stated[name]
            still[stated] = still.get(stated, 0) + int(rows.sum())
    still = {name: count for name, count in still.items() if count}
    for name, count in still.items():
        left[name] = left.get(name, 0) + count
    return MovedTogether(
        put_back(linked, rules, parts), failing & ~large & ~infeasible, infeasible, large, by_edit, still, left,
        in_decimals, cost,
    )  # fmt: skip


def broken_groups(linked: LinkedData, bound: BoundEdits, rules: JointRules) -> dict[str, Booleans]:
    """Groups in which each edit does not hold, where there are such; edit name to shape (g,)."""
    found = {}
    for level in (rules.top, rules.low):
        edits = [edit for edit, _ in rules.edits if edit.level == level]
        data = with_linked_columns(linked, bound, level, EditSet(tuple(edits)).variables)
        chunk = RecordChunk.from_dataset(data)
        for edit in edits:
            if domain_tuples(EditSet((edit,))):
                continue
            verdict = evaluate(edit, chunk)
            bad = ~(verdict.holds | verdict.unknown)
            groups = linked[level].groups
            if groups is not None:
                bad = np.bincount(groups, bad, len(linked[rules.top])) > 0
            if bad.any():
                found[edit.name] = bad
    return found


def _adjusted(
    columns: LevelColumns,
    found: JoinedGroups,
    written: JointEdits,
    scale: Mapping[str, float],
    rng: np.random.Generator,
    *,
    is_last_way: bool,
) -> _Adjusted:
    """Joined records of one composition on their edits."""
    rules = columns.rules
    moving = [
        cell for level in (rules.top, rules.low) for name in columns.data[level].names if name in rules.masked[level]
        for cell in cells_of(name, None if level == rules.top else len(found.composition))
    ]  # fmt: skip
    cells = {cell.name: cell for cell in (*moving, *written.cells)}
    data = {name: columns.column(found, cell) for name, cell in cells.items()}
    names = tuple(cell.name for cell in moving)
    values = np.stack([np.where(data[name].missing, np.nan, data[name].values) for name in names], axis=1)
    companions: dict[str, Cells] = {
        cell.name: column_cells(data[cell.name]) for cell in written.cells if cell.name not in names
    }
    variables, unit = tuple(data[name].variable for name in names), np.array([scale[cell.variable] for cell in moving])
    edits, changed = EditSet(written.edits), values.copy()
    stuck = _stuck(values, names, data, written)
    tried = np.flatnonzero(~np.logical_or.reduce([np.zeros(len(found), dtype=np.bool_), *stuck.values()]))
    in_decimals, bad, cost = 0, np.arange(len(tried)), Cost()
    of_cells, read = {cell.name: cell.variable for cell in moving}, {edit.name: edit.variables for edit in edits}
    targets = Targets(variables, {name: take_cells(cells, tried) for name, cells in companions.items()})
    for alone in (False, True) if is_last_way else (False,):
        own = {name: take_cells(cells, tried) for name, cells in companions.items()}
        targets = Targets(variables, own, in_decimals_alone=alone)
        held = np.where(values[tried] == 0, 0.0, np.nan)
        adjustment = adjust(values[tried], targets, edits, unit, rng, held=held)
        done = ~adjustment.infeasible
        changed[tried[done]] = adjustment.values[done]
        taken = replace(adjustment, start=values[tried], values=changed[tried])
        moves = moves_by_edit(taken, values[tried], None, names, unit, read, {})
        cost += cost_of_joined(moves, of_cells, written.stated)
        in_decimals += int(done.sum()) if alone else 0
        tried, bad = tried[~done], np.flatnonzero(~done)
        if not len(tried):
            break
    lost = {name: rows for name, rows in stuck.items() if rows.any()}
    for edit in edits if len(bad) else ():
        rows = np.zeros(len(found), dtype=np.bool_)
        # Such a group stays as it is: what it breaks is what it broke before.
        rows[tried] = ~targets.satisfied(edit, values[tried], bad)
        if rows.any():
            lost[edit.name] = rows | lost.get(edit.name, False)
    columns_on_edits = {
        name: data[name].changed(changed[:, place], data[name].missing) for place, name in enumerate(names)
    }
    return _Adjusted(columns_on_edits, lost, in_decimals, cost)


class _Adjusted(NamedTuple):
    """Joined records of one composition on their edits.

    `lost`: those for which no values were found, by edit. `in_decimals`: those on which edits hold in decimal
    arithmetic only.
    """

    columns: dict[str, Column]
    lost: dict[str, Booleans]
    in_decimals: int
    cost: Cost


def _stuck(
    values: Floats, names: Sequence[str], data: Mapping[str, Column], written: JointEdits
) -> dict[str, Booleans]:
    """Rows that break an equality in which nothing can move: money to distribute, and no one has any."""
    place = {name: number for number, name in enumerate(names)}
    found = {}
    for edit in written.edits:
        for part in edit.parts:
            if not isinstance(part, LinearPart) or part.relation != "==" or part.tolerance:
                continue
            rest = np.full(len(values), -float(part.constant))
            nothing = np.ones(len(values), dtype=np.bool_)
            for name, factor in part.coefficients:
                if name in place:
                    nothing &= values[:, place[name]] == 0
                else:
                    rest = rest + float(factor) * np.asarray(data[name].values, dtype=np.float64)
            rows = nothing & (np.abs(rest) > 0)
            if rows.any():
                found[edit.name] = rows
    return found
