"""Values that a step put at a limit, and how many of them edits have brought back among the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.plugins.limit import Limit


@dataclass(frozen=True, eq=False)
class CodedValues:
    """Records whose value of a variable a step put at one of its limits.

    `step`: 1-based. `records`: rows of the original; shape (m,). `reach`: how far the values that were not put there
    go: what lies within has left the limit.
    """

    step: int
    variable: str
    records: NDArray[np.int64]
    side: int
    reach: float


def coded_values(step: int, limits: Iterable[Limit], before: Dataset, after: Dataset) -> Iterator[CodedValues]:
    """Values that a step put at its limits.

    `limits`: of numeric variables, as the step published them.
    """
    for limit in limits:
        old, new = before[limit.variable], after[limit.variable]
        if not old.variable.is_numeric or not new.variable.is_numeric:
            continue
        for bound, side in ((limit.high, 1), (limit.low, -1)):
            if bound is None:
                continue
            there = ~new.missing & (new.values == bound) & (new.values != old.values)
            others = new.values[~new.missing & ~there]
            if there.any() and len(others):
                rows = np.flatnonzero(there)
                rows = rows if after.origin is None else after.origin[rows]
                yield CodedValues(step, limit.variable, rows, side, float(np.max(side * others)))


def coded_value_notices(coded: Iterable[CodedValues], masked: Dataset) -> Iterator[str]:
    """Sentences on values that have left their limit; a loss, and no disclosure.

    `masked`: as published, with the rows that its records have in the original.
    """
    for each in coded:
        column = masked[each.variable]
        if not column.variable.is_numeric:
            continue
        rows = np.arange(len(masked)) if masked.origin is None else masked.origin
        own = np.isin(rows, each.records) & ~column.missing
        left = int(np.sum(each.side * column.values[own] < each.reach))
        if left:
            side = "below" if each.side > 0 else "above"
            yield (
                f"of {int(own.sum())} values of {each.variable} that step {each.step} put at its limit, {left} have "
                f"come to lie {side} others that it left as they were, to keep edits or by a later step"
            )
