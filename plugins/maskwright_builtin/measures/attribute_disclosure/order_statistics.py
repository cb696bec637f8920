"""Where the i-th smallest of n values must lie between two bounds: posterior intervals of order statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.measures.attribute_disclosure.laws import Law

RECORDS_AT_ONCE = 16_384


def posterior_intervals(
    law: Law, low: NDArray[np.float64], high: NDArray[np.float64], rank: NDArray[np.int64], n: int, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Equal-tailed intervals that hold the order statistics with probability ``1 - alpha``, given bounds.

    The share of the law below the i-th smallest of n values has the beta distribution ``B(i, n - i + 1)``; cut off to
    the shares below `low` and `high` it is the posterior distribution.

    `law`: distribution of the single values. `low`, `high`: bounds known for certain, ``low < high``; shape (r,).
    `rank`: i, from 1; shape (r,). `alpha`: between 0 and 1. Returns NaN where the law gives the bounds no probability
    that could be told from 0; shape (r,).

    Mateo-Sanz, doctoral thesis (in Catalan), chapter 3, formulas 3.4 to 3.8.
    """
    from maskwright_builtin.measures.attribute_disclosure.order_statistics_kernel import truncated_quantiles

    ends = np.empty((2, len(rank)))

    def solve(chunk: slice) -> None:
        i = rank[chunk].astype(np.float64)
        begin, end = law.below(low[chunk]), law.below(high[chunk])
        # In the upper half shares are counted from above, where they are small numbers with all their digits.
        flipped = begin + end > 1.0
        begin[flipped], end[flipped] = law.above(high[chunk][flipped]), law.above(low[chunk][flipped])
        known = begin < end
        a, b = np.where(flipped, n - i, i - 1.0), np.where(flipped, i - 1.0, n - i)
        found = np.full((2, len(i)), np.nan)
        shares = np.where(flipped, 1.0 - alpha / 2.0, alpha / 2.0)
        first, second = np.empty(known.sum()), np.empty(known.sum())
        truncated_quantiles(
            begin[known], end[known], a[known], b[known], shares[known], 1.0 - shares[known], first, second
        )
        for side, solved in enumerate((first, second)):
            value = np.empty(len(solved))
            up = flipped[known]
            value[up], value[~up] = law.with_above(solved[up]), law.with_below(solved[~up])
            # Inverting the law must not leave the bounds by a rounding error.
            found[side, known] = np.clip(value, low[chunk][known], high[chunk][known])
        ends[:, chunk] = found

    chunks = [slice(begin, begin + RECORDS_AT_ONCE) for begin in range(0, len(rank), RECORDS_AT_ONCE)]
    for _ in in_order(solve, chunks):
        pass
    return ends[0], ends[1]
