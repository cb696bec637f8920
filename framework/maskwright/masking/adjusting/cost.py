"""What adjusting and rounding cost in loss: squared errors after each step, and by edit where that is clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.masking.adjusting.adjust import Adjustment


@dataclass(frozen=True)
class Cost:
    """Loss in the unit of the measure ``sse``: percent of the variance of the masked variables.

    Attributes
    ----------
    method : float
        Of what the methods returned.
    adjustment, rounding : float
        Added by bringing rows onto the edits, and then onto the published grid.
    edits : mapping of edit name to float
        Added in records that violated this edit only.
    several_edits : float
        Added in records that violated more than one: not separable.
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
    before: NDArray[np.float64],
    members: NDArray[np.int64] | None,
    original: Sequence[NDArray[np.float64]],
    scale: NDArray[np.float64],
    variables: int,
    present: Sequence[int] | None = None,
) -> Cost:
    """Cost of one adjustment unit.

    As in the measure `sse`, the squares of a variable are divided by its cells that are there, less one.

    Parameters
    ----------
    adjustment : Adjustment
    before : ndarray of shape (r, q), float64
        Rows as the methods returned them.
    members : ndarray of shape (n,), int64, or None
        Row of each record; None when rows are records.
    original : sequence of q ndarrays of shape (n,)
        Original values, NaN where missing.
    scale : ndarray of shape (q,)
        Standard deviations of the original.
    variables : int
        Masked numeric variables of the whole file that have a value: the loss is the mean over them.
    present : sequence of q int, optional
        Cells of the whole file with a value, where these records are some of it; the cost is their share then.
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
