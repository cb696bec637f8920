"""Groups that violate edits across levels, adjusted with their members onto all edits at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_chunk import RecordChunk, column_cells
from maskwright.edits.edit import LinearPart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.evaluation.domain import domain_tuples
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.joint_rules import (
    JoinedGroups,
    LevelColumns,
    cells_of,
    joined_groups,
    joint_rules,
    put_back,
)
from maskwright.edits.levels.joint_writing import JointEdits, JointWriter
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjust import adjust
from maskwright.masking.adjusting.targets import Targets, take_cells

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.data.record_chunk import Cells
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.joint_rules import JointRules

    Groups = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MovedTogether:
    """What moving groups did.

    `moved`: groups that were moved onto their edits; shape (g,). `infeasible`: groups that break an edit and for which
    no values were found; shape (g,). `large`: groups that break an edit and have too many members; shape (g,).
    `by_edit`: groups that broke each edit. `failing`: infeasible groups that break it still. `left_by_edit`: the same
    with the large groups that break it.
    """

    linked: LinkedData
    moved: Groups
    infeasible: Groups
    large: Groups
    by_edit: Mapping[str, int]
    failing: Mapping[str, int] = field(default_factory=dict)
    left_by_edit: Mapping[str, int] = field(default_factory=dict)

    @property
    def left(self) -> Groups:
        """Groups that break an edit still."""
        return self.infeasible | self.large


def moved_together(
    linked: LinkedData,
    bound: BoundEdits,
    moving: Mapping[str, Collection[str]],
    scale: Mapping[str, float],
    largest: int,
    seed: int,
) -> MovedTogether:
    """Move groups that break an edit onto all edits."""
    top, low = linked.names
    rules = joint_rules(bound, (top, low), moving)
    broken = broken_groups(linked, bound, rules)
    failing = np.logical_or.reduce([np.zeros(len(linked[top]), dtype=np.bool_), *broken.values()])
    by_edit = {name: int(groups.sum()) for name, groups in broken.items()}
    large = failing & (np.diff(linked.starts(low)) > largest)
    left = {name: int((groups & large).sum()) for name, groups in broken.items() if (groups & large).any()}
    nobody = np.zeros(len(failing), dtype=np.bool_)
    if not (failing & ~large).any():
        return MovedTogether(linked, nobody, nobody, large, by_edit, left_by_edit=left)
    columns = LevelColumns.of(linked, bound, rules)
    writer, parts, infeasible = JointWriter(rules), [], nobody.copy()
    still: dict[str, int] = {}
    for number, found in enumerate(joined_groups(columns, among=np.flatnonzero(failing & ~large))):
        written = writer.edits(found.composition)
        joined, lost = _adjusted(columns, found, written, scale, generator(seed, "levels", "together", number))
        parts.append((found, joined))
        infeasible[found.groups[np.logical_or.reduce([np.zeros(len(found), dtype=np.bool_), *lost.values()])]] = True
        for name, rows in lost.items():
            stated = written.stated[name]
            still[stated] = still.get(stated, 0) + int(rows.sum())
    still = {name: count for name, count in still.items() if count}
    for name, count in still.items():
        left[name] = left.get(name, 0) + count
    return MovedTogether(
        put_back(linked, rules, parts), failing & ~large & ~infeasible, infeasible, large, by_edit, still, left
    )


def broken_groups(linked: LinkedData, bound: BoundEdits, rules: JointRules) -> dict[str, Groups]:
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
) -> tuple[dict[str, Column], dict[str, Groups]]:
    """Columns of joined records of one composition on their edits, and those for which none were found, by edit."""
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
    stuck = _stuck(values, names, data, written)
    free = np.flatnonzero(~np.logical_or.reduce([np.zeros(len(found), dtype=np.bool_), *stuck.values()]))
    own = {name: take_cells(cells, free) for name, cells in companions.items()}
    targets = Targets(tuple(data[name].variable for name in names), own)
    unit = np.array([scale[cell.variable] for cell in moving])
    held = np.where(values[free] == 0, 0.0, np.nan)
    adjustment = adjust(values[free], targets, EditSet(written.edits), unit, rng, held=held)
    lost = {name: rows for name, rows in stuck.items() if rows.any()}
    bad = free[adjustment.infeasible]
    for edit in written.edits if len(bad) else ():
        rows = np.zeros(len(found), dtype=np.bool_)
        here = np.flatnonzero(adjustment.infeasible)
        # Such a group stays as it is: what it breaks is what it broke before.
        rows[bad] = ~targets.satisfied(edit, values[bad], here)
        if rows.any():
            lost[edit.name] = rows | lost.get(edit.name, False)
    changed = values.copy()
    kept = free[~adjustment.infeasible]
    changed[kept] = adjustment.values[~adjustment.infeasible]
    return {name: data[name].changed(changed[:, place], data[name].missing) for place, name in enumerate(names)}, lost


def _stuck(
    values: NDArray[np.float64], names: Sequence[str], data: Mapping[str, Column], written: JointEdits
) -> dict[str, Groups]:
    """Rows that break an equality in which nothing can move: money to distribute, and nobody has any."""
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
