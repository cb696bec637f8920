"""What empty cells say of the cells that are empty with them, or are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Attack, Inference, Published

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright_builtin.numerics.arrays import Floats, Integers


AT_ONCE = 20
"""Variables whose states are combined before the codes of the combinations are made small again."""


class EmptinessParams(BaseModel, extra="forbid", frozen=True):
    """When records that are empty alike are believed."""

    least: int = Field(3, ge=1, description="Other records that have to be empty alike and to show the variable.")
    share: float = Field(0.95, gt=0.5, le=1, description="Share of them that has to show one value.")


def infer_by_emptiness(published: Published, params: EmptinessParams) -> Iterator[Inference]:
    """What nearly all other records with the same empty cells show: those of one other variable, and of all others.

    Who has no employer has no job; where questions are skipped, or cells were emptied for what they say, an empty cell
    says which answer led to it. Of a cell that is published, its own record is left out.
    """
    data = published.data
    empty = {each.name: each.missing for each in data if each.missing.any() and not each.missing.all()}
    for name in published.targets:
        values = published.values(name)
        others = {other: cells.astype(np.int64) for other, cells in empty.items() if other != name}
        for other, state in others.items():
            yield Inference(name, f"whether {other} is empty", _named(state, values, params))
        if len(others) > 1:
            yield Inference(name, "which other cells are empty", _named(_patterns([*others.values()]), values, params))


def _patterns(states: Sequence[Integers]) -> Integers:
    """Codes 0, 1, ... of the combinations of states, 0 or 1 each; shape (n,)."""
    codes = np.zeros(len(states[0]), dtype=np.int64)
    for first in range(0, len(states), AT_ONCE):
        for state in states[first : first + AT_ONCE]:
            codes = 2 * codes + state
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes


def _named(states: Integers, values: Floats, params: EmptinessParams) -> Floats:
    """The value that nearly all other records of the same state show; NaN where there is none; shape (n,)."""
    shown = np.isfinite(values)
    distinct, codes = np.unique(values[shown], return_inverse=True)
    width = int(states.max(initial=-1)) + 1
    pairs, many = np.unique(states[shown] * len(distinct) + codes, return_counts=True)
    of_state, code = np.divmod(pairs, max(len(distinct), 1))
    total = np.bincount(states[shown], minlength=width)
    # The last of a state in this order is its most frequent value, and stays.
    order = np.argsort(many, kind="stable")
    most, most_of = np.full(width, -1), np.zeros(width, dtype=np.int64)
    most[of_state[order]], most_of[of_state[order]] = code[order], many[order]
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
