"""One pass over the records for a set of centroids, compiled: memberships are used as they arise and never kept.

Records are taken `TILE` at a time. Their distances to all centroids, then their memberships, stand in scratch of
`TILE` rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright_builtin.methods.microaggregation.fuzzy_clustering.memberships_kernel import (
    BLOCK,
    ENTROPY,
    LANES,
    share,
    squares,
)
from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.memberships_kernel import Floats

TILE = 16
"""Records of a tile; a multiple of eight, because `_eight` is written out for as many."""


@compiled
def _weigh(shares: Floats, ratios: Floats, factor: float, kind: int) -> None:
    """Turn unnormalised memberships into weights u ** m (in `ratios`), or u with entropy."""
    scale = shares.dtype.type(factor)
    if kind == ENTROPY:
        for i in range(shares.shape[0]):
            ratios[i] = shares[i] * scale
    else:
        # u ** m = u * u ** (m - 1), and u ** (m - 1) is the ratio over the total ** (m - 1): no power is taken.
        for i in range(shares.shape[0]):
            ratios[i] = (shares[i] * ratios[i]) * scale


@compiled
def _eight(
    one: Floats, other: Floats, weights: Floats, first: int, start: int, stop: int, of_one: Floats, of_other: Floats
) -> None:
    """Write, or for later rows add, the weighted sums of eight numbers of two columns, which share loaded weights.

    For the centroids in [start, stop).
    """
    r = first
    x0, x1, x2, x3 = one[r], one[r + 1], one[r + 2], one[r + 3]
    x4, x5, x6, x7 = one[r + 4], one[r + 5], one[r + 6], one[r + 7]
    y0, y1, y2, y3 = other[r], other[r + 1], other[r + 2], other[r + 3]
    y4, y5, y6, y7 = other[r + 4], other[r + 5], other[r + 6], other[r + 7]
    w0, w1 = weights[r, start:stop], weights[r + 1, start:stop]
    w2, w3 = weights[r + 2, start:stop], weights[r + 3, start:stop]
    w4, w5 = weights[r + 4, start:stop], weights[r + 5, start:stop]
    w6, w7 = weights[r + 6, start:stop], weights[r + 7, start:stop]
    if first == 0:
        for i in range(w0.shape[0]):
            u0, u1, u2, u3, u4, u5, u6, u7 = w0[i], w1[i], w2[i], w3[i], w4[i], w5[i], w6[i], w7[i]
            of_one[i] = ((x0 * u0 + x1 * u1) + (x2 * u2 + x3 * u3)) + ((x4 * u4 + x5 * u5) + (x6 * u6 + x7 * u7))
            of_other[i] = ((y0 * u0 + y1 * u1) + (y2 * u2 + y3 * u3)) + ((y4 * u4 + y5 * u5) + (y6 * u6 + y7 * u7))
    else:
        for i in range(w0.shape[0]):
            u0, u1, u2, u3, u4, u5, u6, u7 = w0[i], w1[i], w2[i], w3[i], w4[i], w5[i], w6[i], w7[i]
            of_one[i] += ((x0 * u0 + x1 * u1) + (x2 * u2 + x3 * u3)) + ((x4 * u4 + x5 * u5) + (x6 * u6 + x7 * u7))
            of_other[i] += ((y0 * u0 + y1 * u1) + (y2 * u2 + y3 * u3)) + ((y4 * u4 + y5 * u5) + (y6 * u6 + y7 * u7))


@compiled
def _add_weighted(columns: Floats, weights: Floats, sums: NDArray[np.float64]) -> None:
    """Add a tile's weighted contents, as columns of shape (q, TILE), to the sums of all centroids."""
    q, padded = sums.shape
    # A tile is summed apart: a loop that writes binary64 works on binary32 at half the speed.
    of_one, of_other = np.empty(BLOCK, dtype=weights.dtype), np.empty(BLOCK, dtype=weights.dtype)
    for start in range(0, padded, BLOCK):
        stop = min(start + BLOCK, padded)
        for j in range(0, q, 2):
            # Where there is no other column, the last one is its own partner, to no effect.
            partner = min(j + 1, q - 1)
            for first in range(0, TILE, 8):
                _eight(columns[j], columns[partner], weights, first, start, stop, of_one, of_other)
            out = sums[j, start:stop]
            for i in range(out.shape[0]):
                out[i] += of_one[i]
            if partner > j:
                out = sums[partner, start:stop]
                for i in range(out.shape[0]):
                    out[i] += of_other[i]


@compiled
def accumulate(
    records: Floats,
    contents: Floats,
    coordinates: Floats,
    c: int,
    kind: int,
    exponent: float,
    floor: float,
    sums: NDArray[np.float64],
    least_lanes: NDArray[Any],
) -> float:
    """Add weighted contents of the records to the sums of the centroids; return the objective of these records.

    Parameters
    ----------
    records : ndarray of shape (n, p), float64 or float32
        One chunk.
    contents : ndarray of shape (n, q), same dtype
        What is summed; the records themselves for their means.
    coordinates : ndarray of shape (p, padded c), same dtype
        Centroids, transposed; infinite beyond `c`.
    c, kind, exponent, floor
        As in `share`.
    sums : ndarray of shape (q + 1, padded c), float64
        Added to: weighted contents and, last, weights of each centroid.
    least_lanes : ndarray of shape (LANES,)
        As in `share`.

    Returns
    -------
    float
        Sum over the records of u ** m times squared distance; with entropy, u times squared distance plus
        u log(u) / lambda.
    """
    n, q = contents.shape
    padded = coordinates.shape[1]
    distances = np.zeros((TILE, padded), dtype=records.dtype)
    shares = np.zeros((TILE, padded), dtype=records.dtype)
    # Numbers of a column beside each other, and a column of ones for the weights.
    columns = np.ones((q + 1, TILE), dtype=records.dtype)
    lanes = np.empty(LANES)
    m = 1.0 + 1.0 / exponent
    objective = 0.0
    for first in range(0, n, TILE):
        count = min(TILE, n - first)
        for row in range(count):
            for j in range(q):
                columns[j, row] = contents[first + row, j]
        for start in range(0, padded, BLOCK):
            stop = min(start + BLOCK, padded)
            for row in range(0, count, 2):
                # Where there is no other record, the last one is its own partner, to no effect.
                other = records[min(first + row + 1, n - 1)]
                squares(
                    coordinates, records[first + row], other, start, stop, distances[row], distances[row + 1]
                )  # fmt: skip
        for row in range(count):
            least, total = share(distances[row], c, kind, exponent, floor, shares[row], least_lanes, lanes)
            if kind == ENTROPY:
                objective += least - np.log(total) / exponent
                _weigh(shares[row], distances[row], 1.0 / total, kind)
            else:
                objective += least * total ** (1.0 - m)
                _weigh(shares[row], distances[row], total**-m, kind)
        # Missing to a whole tile: whatever records, of weight 0.
        for row in range(count, TILE):
            for i in range(padded):
                distances[row, i] = 0
        _add_weighted(columns, distances, sums)
    return objective
