"""What adjusting and rounding cost: squared errors, by step and edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright.masking.context import Standardisation

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.masking.adjusting.adjust import Adjustment

    Moves = Mapping[str, Mapping[str, float]]
    """How far each variable was moved, by edit."""

BY_NO_EDIT = ""
"""In the place of an edit: what was moved for no single one."""


@dataclass(frozen=True)
class Cost:
    """Loss in the unit of the measure ``sse``: percent of the variance of the masked variables.

    `method`: of what the methods returned. `adjustment`, `rounding`: added by bringing rows onto the edits, by
    searching the grid for them too, and by plain rounding to the grid. `edits`: added in records that were moved
    because of this edit only. `several_edits`: added in records that were moved with more than one: not separable.
    `moves`: of each variable, how far each edit moved it, in standard deviations, over all cells; `BY_NO_EDIT`: what
    rounding did.
    """

    method: float = 0.0
    adjustment: float = 0.0
    rounding: float = 0.0
    edits: Mapping[str, float] | None = None
    several_edits: float = 0.0
    moves: Moves = field(default_factory=dict)

    def __add__(self, other: Cost) -> Cost:
        edits = dict(self.edits or {})
        for name, value in (other.edits or {}).items():
            edits[name] = edits.get(name, 0.0) + value
        moves = {name: dict(own) for name, own in self.moves.items()}
        for name, own in other.moves.items():
            known = moves.setdefault(name, {})
            for edit, value in own.items():
                known[edit] = known.get(edit, 0.0) + value
        return Cost(
            self.method + other.method,
            self.adjustment + other.adjustment,
            self.rounding + other.rounding,
            edits,
            self.several_edits + other.several_edits,
            moves,
        )


def cost_of(
    adjustment: Adjustment,
    before: Floats,
    members: Integers | None,
    original: Sequence[Floats],
    scale: Floats,
    variables: int,
    present: Sequence[int] | None = None,
    moves: Moves | None = None,
) -> Cost:
    """Cost of one adjustment unit.

    As in the measure `sse`, the squares of a variable are divided by its cells that are there, less one.

    `before`: rows as the methods returned them; shape (r, q). `members`: row of each record; None when rows are
    records; shape (n,). `original`: original values, NaN where missing; shape (n,). `scale`: standard deviations of the
    original; shape (q,).
    """
    n = len(original[0]) if original else 0
    stages = np.zeros((3, n))
    for column, values in enumerate(original):
        cells_there = int(np.count_nonzero(~np.isnan(values))) if present is None else present[column]
        divisor = max(variables, 1) * max(cells_there - 1, 1)
        for stage, rows in enumerate((before, adjustment.points, adjustment.values)):
            cells = rows[:, column] if members is None else rows[members, column]
            stages[stage] += 100.0 * np.nan_to_num((cells - values) / scale[column]) ** 2 / divisor
    touched = {name: rows if members is None else rows[members] for name, rows in adjustment.touched.items()}
    times = np.zeros(n, dtype=np.int64)
    for violating in touched.values():
        times += violating
    added = stages[2] - stages[0]
    return Cost(
        float(stages[0].sum()),
        float((stages[1] - stages[0]).sum()),
        float((stages[2] - stages[1]).sum()),
        {name: float(added[rows & (times == 1)].sum()) for name, rows in touched.items()},
        float(added[times > 1].sum()),
        moves or {},
    )


def moves_by_edit(
    adjustment: Adjustment,
    before: Floats,
    members: Integers | None,
    names: Sequence[str],
    scale: Floats,
    read: Mapping[str, Collection[str]],
    computing: Mapping[str, Sequence[str]],
) -> Moves:
    """How far each edit moved each variable of a unit.

    What computing a variable moves falls to the edits it is computed by; what is moved further falls to the edits that
    the record violated, in equal shares: to those that read the variable, else to those that moved it through others.

    `before`, `members`, `scale`: as of `cost_of`. `names`: of the columns. `read`: variables that each edit reads.
    `computing`: edits by which variables are computed.
    """
    cells = np.ones(len(before)) if members is None else np.bincount(members, minlength=len(before))
    touched, none = adjustment.touched, np.zeros(len(before))
    moves: dict[str, dict[str, float]] = {}
    for column, name in enumerate(names):
        states = (each[:, column] for each in (before, adjustment.start, adjustment.values))
        first, start, last = (each / scale[column] for each in states)
        by_computing, further = (np.nan_to_num(np.abs(moved)) * cells for moved in (start - first, last - start))
        own: dict[str, float] = {}
        edits = computing.get(name, ())
        for edit in edits:
            own[edit] = float(by_computing.sum()) / len(edits)
        readers = [rows for edit, rows in touched.items() if name in read.get(edit, ())]
        near, every = (np.sum([none, *each], axis=0) for each in (readers, touched.values()))
        for edit, rows in touched.items():
            sharing = near if name in read.get(edit, ()) else np.where(near > 0, 0, every)
            shares = np.divide(further, sharing, out=np.zeros(len(further)), where=rows & (sharing > 0))
            own[edit] = own.get(edit, 0.0) + float(shares.sum())
        own[BY_NO_EDIT] = float(further[every == 0].sum()) + (0.0 if edits else float(by_computing.sum()))
        moves[name] = {edit: value for edit, value in own.items() if value > 0}
    return moves


def cost_of_level(
    original: Dataset,
    masked: Dataset,
    names: Sequence[str],
    groups: Integers | None,
    parts: Sequence[tuple[Integers, Cost]],
) -> Cost:
    """Cost in one level of groups that are masked with their members as one record, composition by composition.

    What the records of a composition lose is measured in the level, and divided among the steps as it is in its joined
    records, where values of both levels are moved together.

    `groups`: group of each record; None where these are the groups; shape (n,).
    """
    part_of = np.zeros(len(original) if groups is None else int(groups.max(initial=-1)) + 1, dtype=np.int64)
    for number, (own, _) in enumerate(parts):
        part_of[own[own < len(part_of)]] = number
    inside = part_of if groups is None else part_of[groups]
    scale = Standardisation.of(original, names).scale
    lost = np.zeros(len(parts))
    for name in names:
        cells_there = int(np.count_nonzero(~original[name].missing))
        squares = ((masked[name].values - original[name].values) / scale[name]) ** 2
        there = ~(original[name].missing | masked[name].missing)
        divisor = max(len(names), 1) * max(cells_there - 1, 1)
        lost += np.bincount(inside[there], 100.0 * squares[there] / divisor, len(parts))
    total = Cost()
    for amount, (_, cost) in zip(lost.tolist(), parts, strict=True):
        of_part = cost.method + cost.adjustment + cost.rounding
        share = amount / of_part if of_part > 0 else 0.0
        adjustment, rounding = cost.adjustment * share, cost.rounding * share
        total += Cost(amount - adjustment - rounding, adjustment, rounding)
    return total


def cost_of_joined(moves: Moves, variables: Mapping[str, str], stated: Mapping[str, str]) -> Cost:
    """Moves of joined records as those of the levels.

    `moves`: of cells of joined records. `variables`: of which they are cells; others are left out. `stated`: edits as
    they were stated, by the name of each in joined records.
    """
    total = Cost()
    for cell, own in moves.items():
        for name, moved in own.items() if cell in variables else ():
            total += Cost(moves={variables[cell]: {stated.get(name, name): moved}})
    return total
