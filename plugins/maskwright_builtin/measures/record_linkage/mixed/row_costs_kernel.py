"""Compiled: what two rows cost on keys of any type, and how far each key agrees.

All costs are whole numbers, held in binary64 below 2^53: sums are exact in any order, so that ties are ties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


ROUNDER = 2.0**52
"""Added and taken off again, it rounds a number from 0 to 2^51 to a whole one."""


class Costs(NamedTuple):
    """What two rows cost on each key; all whole numbers.

    `linear`: the cost is the gap times `weight`, rounded; else one of three levels; shape (d,). `weight`: shape (d,).
    `near`, `next`: largest gap of the first and of the second level; shape (d,). `top`: cost of the first level, of
    each query where it depends on what agrees; shape (1 or q, d). `close`, `far`, `gone`: cost of the second and third
    level, and where the key is missing in either row; shape (d,). `factor`: of the sum, by the number of keys that both
    rows have; shape (d + 1,).
    """

    linear: Booleans
    weight: Floats
    near: Floats
    next: Floats
    top: Floats
    close: Floats
    far: Floats
    gone: Floats
    factor: Floats


@inlined
def gap_between(low: float, high: float, other_low: float, other_high: float) -> float:
    """How far two stretches lie apart; 0 where they touch."""
    below, above = other_low - high, low - other_high
    gap = below if below > above else above
    return gap if gap > 0.0 else 0.0


@inlined
def cost_of(gap: float, i: int, j: int, costs: Costs) -> float:
    """What a gap on key j costs query i."""
    if costs.linear[j]:
        return float((gap * costs.weight[j] + ROUNDER) - ROUNDER)
    if gap <= costs.near[j]:
        return float(costs.top[i if costs.top.shape[0] > 1 else 0, j])
    return float(costs.close[j] if gap <= costs.next[j] else costs.far[j])


@inlined
def least_cost_of(gap: float, i: int, j: int, costs: Costs) -> float:
    """The least that a gap of at least this size can cost."""
    if costs.linear[j]:
        return float((gap * costs.weight[j] + ROUNDER) - ROUNDER)
    least = costs.far[j]
    if gap <= costs.next[j]:
        least = min(least, costs.close[j])
    if gap <= costs.near[j]:
        least = min(least, costs.top[i if costs.top.shape[0] > 1 else 0, j])
    return float(least)


@compiled
def pair_costs(
    low: Floats,
    high: Floats,
    present: Integers,
    query: Integers,
    other_low: Floats,
    other_high: Floats,
    other_present: Integers,
    target: Integers,
    costs: Costs,
    found: Floats,
) -> None:
    """Costs of some pairs of rows; infinite where no key is there in both.

    `low`, `high`: shape (q, d). `present`: shape (q,). `query`: row of each pair in the first file; shape (c,).
    `found`: written; shape (c,).
    """
    d = low.shape[1]
    for at in range(query.shape[0]):
        i, k = query[at], target[at]
        common = present[i] & other_present[k]
        total, keys = 0.0, 0
        for j in range(d):
            if common >> j & 1:
                total += cost_of(gap_between(low[i, j], high[i, j], other_low[k, j], other_high[k, j]), i, j, costs)
                keys += 1
            else:
                total += costs.gone[j]
        found[at] = total * costs.factor[keys] if keys else np.inf


@compiled
def count_levels(
    low: Floats,
    high: Floats,
    present: Integers,
    counts: Integers,
    other_low: Floats,
    other_high: Floats,
    other_present: Integers,
    other_counts: Integers,
    near: Floats,
    next_: Floats,
    place: Integers,
    found: Integers,
) -> None:
    """Add up pairs of records by the level of every key: agree, next, farther, missing.

    `near`, `next_`: shape (d,). `place`: what each level of each key adds to the number of the pattern; shape (4, d).
    `found`: added to; shape (patterns,).
    """
    d = low.shape[1]
    for i in range(low.shape[0]):
        for k in range(other_low.shape[0]):
            pattern = 0
            common = present[i] & other_present[k]
            for j in range(d):
                if common >> j & 1:
                    gap = gap_between(low[i, j], high[i, j], other_low[k, j], other_high[k, j])
                    level = 0 if gap <= near[j] else (1 if gap <= next_[j] else 2)
                else:
                    level = 3
                pattern += place[level, j]
            found[pattern] += counts[i] * other_counts[k]
