"""What empty cells say of the cells that are empty with them, or are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Attack, Inference, Published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright_builtin.numerics.arrays import Floats, Integers


class EmptinessParams(BaseModel, extra="forbid", frozen=True):
    """When records that are empty alike are believed."""

    least: int = Field(3, ge=1, description="Other records that have to be empty alike and to show the variable.")
    share: float = Field(0.95, gt=0.5, le=1, description="Share of them that has to show one value.")


def infer_by_emptiness(published: Published, params: EmptinessParams) -> Iterator[Inference]:
    """What nearly all other records with the same empty cells show: those of one other variable, and of all others.

    Who has no employer has no job; where questions are skipped, or cells were suppressed for their value, the empty
    cell shows it. Of a cell that is published, its own record is left out.
    """
    data = published.data
    empty = {each.name: each.missing for each in data if each.missing.any() and not each.missing.all()}
    for name in published.targets:
        values = published.values(name)
        others = {other: cells.astype(np.int64) for other, cells in empty.items() if other != name}
        for other, state in others.items():
            yield Inference(name, f"whether {other} is empty", _named(state, values, params))
        if len(others) > 1:
            _, together = np.unique(np.column_stack([*others.values()]), axis=0, return_inverse=True)
            yield Inference(name, "which other cells are empty", _named(together.reshape(-1), values, params))


def _named(states: Integers, values: Floats, params: EmptinessParams) -> Floats:
    """The value that nearly all other records of the same state show; NaN where there is none; shape (n,)."""
    shown = np.isfinite(values)
    distinct, codes = np.unique(values[shown], return_inverse=True)
    pairs, many = np.unique(np.column_stack([states[shown], codes]), axis=0, return_counts=True)
    width = int(states.max(initial=-1)) + 1
    total = np.bincount(states[shown], minlength=width)
    # The last of a state in this order is its most frequent value.
    order = np.lexsort((many, pairs[:, 0]))
    most, most_of = np.full(width, -1), np.zeros(width, dtype=np.int64)
    most[pairs[order, 0]], most_of[pairs[order, 0]] = pairs[order, 1], many[order]
    own = np.zeros(len(values), dtype=np.int64)
    own[shown] = codes == most[states[shown]]
    others, agreeing = total[states] - shown, most_of[states] - own
    is_sure = (others >= params.least) & (agreeing >= params.share * others) & (most[states] >= 0)
    return np.where(is_sure, np.append(distinct, np.nan)[most[states]], np.nan)


EMPTINESS = Attack(
    name="emptiness",
    infer=infer_by_emptiness,
    params=EmptinessParams,
    reference="Rubin (1976), Inference and missing data, Biometrika 63(3), 581-592: missing not at random.",
    summary="What cells that are empty say of others: skipped questions, codes that were emptied for what they say.",
)
