"""Statistics of a partition of variables that need their correlations only (Mateo-Sanz thesis, chapter 8).

Variables are standardised vectors V of unit length, so that V_i V_j is the correlation of i and j, and M of a block is
the mean of its vectors: every statistic is a mean of correlations. The thesis's vectors have the length of the root of
n; its figures are n times these, which changes no comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

INTRA = range(1, 13)
INTER = range(13, 27)
SINGLE = range(27, 30)
OVER_BLOCKS = 15
"""First code B for the mean, median and sd of an indicator over the blocks."""


def within_block(correlation: Vector, block: Sequence[int], statistic: int) -> Vector:
    """List of one of the statistics 1 to 12 of a block.

    `correlation`: shape (p, p). Returns one value for each variable or pair of variables of the block; empty for pairs
    in a block of one.

    1 squared lengths; 2 their differences; 3 squared distances; 4 differences of squared length and that of M;
    5 squared distances from M; 6 products; 7 cosines; 8 covariances; 9 correlations; 10 and 11 products with lengths,
    covariances with variances; 12 variances. After standardisation 1, 2 and 12 are constant, 6 to 9 are equal, and so
    are 10 and 11.
    """
    inside = correlation[np.ix_(block, block)]
    if statistic in (1, 12):
        return np.ones(len(block))
    if statistic == 4:
        return np.full(len(block), abs(1.0 - inside.mean()))
    if statistic == 5:
        deviations: Vector = 1.0 - 2.0 * inside.mean(axis=1) + inside.mean()
        return deviations
    above = inside[np.triu_indices(len(block), 1)]
    if statistic == 2:
        return np.zeros(len(above))
    if statistic == 3:
        distances: Vector = 2.0 - 2.0 * above
        return distances
    return np.concatenate([above, np.ones(len(block))]) if statistic in (10, 11) else above


def between_blocks(correlation: Vector, blocks: Sequence[Sequence[int]]) -> Mapping[int, Vector]:
    """Lists of the statistics 13 to 29 of a partition.

    Of the mean vectors M of the blocks, their mean Psi, and the mean Omega of all variables: 13 squared lengths of M;
    14 their differences; 15 squared distances; 16 and 17 the same against Psi; 18 products; 19 cosines;
    20 covariances; 21 correlations; 22 and 23 products with lengths, covariances with variances; 24 variances; 25 and
    26 against Omega; 27, 28 Psi against Omega; 29 the squared length of Psi.
    """
    products = np.array([[correlation[np.ix_(a, b)].mean() for b in blocks] for a in blocks])
    with_omega = np.array([correlation[list(a)].mean() for a in blocks])
    lengths, above = np.diag(products), np.triu_indices(len(blocks), 1)
    psi, omega = products.mean(), correlation.mean()
    pairs = products[above]
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = pairs / np.sqrt(lengths[above[0]] * lengths[above[1]])
    both = np.concatenate([pairs, lengths])
    return {
        13: lengths, 14: np.abs(lengths[above[0]] - lengths[above[1]]),
        15: lengths[above[0]] + lengths[above[1]] - 2.0 * pairs,
        16: np.abs(lengths - psi), 17: lengths + psi - 2.0 * products.mean(axis=1),
        18: pairs, 19: cosines, 20: pairs, 21: cosines, 22: both, 23: both, 24: lengths,
        25: np.abs(lengths - omega), 26: lengths + omega - 2.0 * with_omega,
        27: np.array([abs(psi - omega)]), 28: np.array([psi + omega - 2.0 * with_omega.mean()]), 29: np.array([psi]),
    }  # fmt: skip


def indicator(values: Vector, number: int) -> float:
    """Indicator 1 to 7 of a list: min, max, max-min, max+min, mean, median, sd; NaN of an empty one."""
    if not len(values):
        return float("nan")
    if number == 5:
        return float(np.mean(values))
    if number == 6:
        return float(np.median(values))
    if number == 7:
        return float(np.std(values))
    low, high = float(values.min()), float(values.max())
    return (low, high, high - low, high + low)[number - 1]


def coded(correlation: Vector, blocks: Sequence[Sequence[int]], statistic: int, number: int) -> float:
    """Indicator of a partition by the thesis's code ``statistic-number``.

    `correlation`: shape (p, p). `blocks`: the smallest first, as `partitions` gives them. `statistic`: a, 1 to 29.
    `number`: B. For A to 12: 1 to 7 of the smallest block, 8 to 14 of the largest, 15 to 35 the mean, median and sd
    over the blocks of each indicator, in turn. For A of 13 to 26: 1 to 7. Beyond: 1. Returns NaN where it does not
    exist (pairs in a block of one).
    """
    if statistic in INTRA and 1 <= number <= 14:
        block = blocks[0] if number <= 7 else blocks[-1]
        return indicator(within_block(correlation, block, statistic), (number - 1) % 7 + 1)
    if statistic in INTRA and OVER_BLOCKS <= number <= 35:
        which, over = divmod(number - OVER_BLOCKS, 3)
        found = np.array([indicator(within_block(correlation, each, statistic), which + 1) for each in blocks])
        return indicator(found, (5, 6, 7)[over])
    if (statistic in INTER and 1 <= number <= 7) or (statistic in SINGLE and number == 1):
        return indicator(between_blocks(correlation, blocks)[statistic], number)
    raise ValueError(f"there is no indicator {statistic}-{number}")
