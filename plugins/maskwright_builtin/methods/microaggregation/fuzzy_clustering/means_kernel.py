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
def _eight(column: Floats, weights: Floats, first: int, start: int, stop: int, sums: Floats) -> None:
    """Write, or for later rows add, the weighted sum of eight numbers for the centroids in [start, stop)."""
    r = first
    x0, x1, x2, x3 = column[r], column[r + 1], column[r + 2], column[r + 3]
    x4, x5, x6, x7 = column[r + 4], column[r + 5], column[r + 6], column[r + 7]
    w0, w1 = weights[r, start:stop], weights[r + 1, start:stop]
    w2, w3 = weights[r + 2, start:stop], weights[r + 3, start:stop]
    w4, w5 = weights[r + 4, start:stop], weights[r + 5, start:stop]
    w6, w7 = weights[r + 6, start:stop], weights[r + 7, start:stop]
    if first == 0:
        for i in range(w0.shape[0]):
            sums[i] = ((x0 * w0[i] + x1 * w1[i]) + (x2 * w2[i] + x3 * w3[i])) + (
                (x4 * w4[i] + x5 * w5[i]) + (x6 * w6[i] + x7 * w7[i])
            )
    else:
        for i in range(w0.shape[0]):
            sums[i] += ((x0 * w0[i] + x1 * w1[i]) + (x2 * w2[i] + x3 * w3[i])) + (
                (x4 * w4[i] + x5 * w5[i]) + (x6 * w6[i] + x7 * w7[i])
            )


@compiled
def _add_weighted(columns: Floats, weights: Floats, sums: NDArray[np.float64]) -> None:
    """Add a tile's weighted contents, as columns of shape (q, TILE), to the sums of all centroids."""
    q, padded = sums.shape
    # A tile is summed apart: a loop that writes binary64 works on binary32 at half the speed.
    tile = np.empty(BLOCK, dtype=weights.dtype)
    for start in range(0, padded, BLOCK):
        stop = min(start + BLOCK, padded)
        for j in range(q):
            for first in range(0, TILE, 8):
                _eight(columns[j], weights, first, start, stop, tile)
            out = sums[j, start:stop]
            for i in range(out.shape[0]):
                out[i] += tile[i]


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
