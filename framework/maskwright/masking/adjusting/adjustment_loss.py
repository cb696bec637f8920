"""What adjusting and rounding cost: squared errors, by step and edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.masking.context import Standardisation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.masking.adjusting.adjust import Adjustment


@dataclass(frozen=True)
class Cost:
    """Loss in the unit of the measure ``sse``: percent of the variance of the masked variables.

    `method`: of what the methods returned. `adjustment`, `rounding`: added by bringing rows onto the edits, by
    searching the grid for them too, and by plain rounding to the grid. `edits`: added in records that were moved
    because of this edit only. `several_edits`: added in records that were moved with more than one: not separable.
    """

    method: float = 0.0
    adjustment: float = 0.0
    rounding: float = 0.0
    edits: Mapping[str, float] | None = None
    several_edits: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        edits = dict(self.edits or {})
        for name, value in (other.edits or {}).items():
            edits[name] = edits.get(name, 0.0) + value
        return Cost(
            self.method + other.method,
            self.adjustment + other.adjustment,
            self.rounding + other.rounding,
            edits,
            self.several_edits + other.several_edits,
        )


def cost_of(
    adjustment: Adjustment,
    before: Floats,
    members: Integers | None,
    original: Sequence[Floats],
    scale: Floats,
    variables: int,
    present: Sequence[int] | None = None,
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
    )


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
