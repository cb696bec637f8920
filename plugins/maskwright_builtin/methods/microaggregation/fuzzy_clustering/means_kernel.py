"""One pass over the records for a set of centroids, compiled: memberships are used as they arise and never kept.

Records are taken a tile at a time. Their distances to all centroids, then their memberships, stand in scratch of as
many rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright_builtin.methods.microaggregation.fuzzy_clustering.distances_kernel import inverse_squares, squares
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.memberships_kernel import (
    BLOCK,
    ENTROPY,
    INTEGER_POWER,
    LANES,
    share,
    share_squared,
)
from maskwright_builtin.numerics.compilation import compiled, compiled_uncounted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.distances_kernel import Numbers
    from maskwright_builtin.numerics.arrays import Floats

WIDE = 1024
"""Centroids worked on together."""

TILE = 256
"""Bytes of a column in a tile of records: 64 in binary32, 32 in binary64. `_three` and `_two` take four at once."""

APART = 16
"""Numbers between rows of scratch: rows a multiple of 4096 bytes apart would compete for the same places of the nearest
cache."""


@compiled_uncounted
def _weigh(shares: Numbers, ratios: Numbers, kind: int) -> None:
    """Write unnormalised memberships' powers u ** m, or u with entropy, in place of the ratios."""
    if kind == ENTROPY:
        for i in range(shares.shape[0]):
            ratios[i] = shares[i]
    else:
        # u ** m = u * u ** (m - 1), and u ** (m - 1) is the ratio over the total ** (m - 1): no power is taken.
        for i in range(shares.shape[0]):
            ratios[i] = shares[i] * ratios[i]


@compiled_uncounted
def _three(
    columns: Numbers, j: int, first: int, weights: Numbers, start: int, stop: int, a: Numbers, b: Numbers, c: Numbers
) -> None:
    """Write, or for later rows add, the weighted sums of four numbers of three columns, which share loaded weights.

    For the centroids in [start, stop). Twelve numbers are what sixteen registers hold beside the sums.
    """
    x, y, z, r = columns[j], columns[j + 1], columns[j + 2], first
    x0, x1, x2, x3 = x[r], x[r + 1], x[r + 2], x[r + 3]
    y0, y1, y2, y3 = y[r], y[r + 1], y[r + 2], y[r + 3]
    z0, z1, z2, z3 = z[r], z[r + 1], z[r + 2], z[r + 3]
    w0, w1 = weights[r, start:stop], weights[r + 1, start:stop]
    w2, w3 = weights[r + 2, start:stop], weights[r + 3, start:stop]
    if first == 0:
        for i in range(w0.shape[0]):
            u0, u1, u2, u3 = w0[i], w1[i], w2[i], w3[i]
            a[i] = (x0 * u0 + x1 * u1) + (x2 * u2 + x3 * u3)
            b[i] = (y0 * u0 + y1 * u1) + (y2 * u2 + y3 * u3)
            c[i] = (z0 * u0 + z1 * u1) + (z2 * u2 + z3 * u3)
    else:
        for i in range(w0.shape[0]):
            u0, u1, u2, u3 = w0[i], w1[i], w2[i], w3[i]
            a[i] += (x0 * u0 + x1 * u1) + (x2 * u2 + x3 * u3)
            b[i] += (y0 * u0 + y1 * u1) + (y2 * u2 + y3 * u3)
            c[i] += (z0 * u0 + z1 * u1) + (z2 * u2 + z3 * u3)


@compiled_uncounted
def _two(x: Numbers, y: Numbers, first: int, weights: Numbers, start: int, stop: int, a: Numbers, b: Numbers) -> None:
    """Do the same for two columns."""
    r = first
    x0, x1, x2, x3 = x[r], x[r + 1], x[r + 2], x[r + 3]
    y0, y1, y2, y3 = y[r], y[r + 1], y[r + 2], y[r + 3]
    w0, w1 = weights[r, start:stop], weights[r + 1, start:stop]
    w2, w3 = weights[r + 2, start:stop], weights[r + 3, start:stop]
    if first == 0:
        for i in range(w0.shape[0]):
            u0, u1, u2, u3 = w0[i], w1[i], w2[i], w3[i]
            a[i] = (x0 * u0 + x1 * u1) + (x2 * u2 + x3 * u3)
            b[i] = (y0 * u0 + y1 * u1) + (y2 * u2 + y3 * u3)
    else:
        for i in range(w0.shape[0]):
            u0, u1, u2, u3 = w0[i], w1[i], w2[i], w3[i]
            a[i] += (x0 * u0 + x1 * u1) + (x2 * u2 + x3 * u3)
            b[i] += (y0 * u0 + y1 * u1) + (y2 * u2 + y3 * u3)


@compiled_uncounted
def _add(part: Numbers, sums: Floats) -> None:
    for i in range(sums.shape[0]):
        sums[i] += part[i]


@compiled_uncounted
def _add_weighted(columns: Numbers, weights: Numbers, sums: Floats, parts: Numbers) -> None:
    """Add a tile's weighted contents, as columns of shape (q, records), to the sums of all centroids.

    A tile is summed apart, in `parts`: a loop that writes binary64 works on binary32 at half the speed.
    """
    q, padded = sums.shape
    tile = columns.shape[1]
    a, b, c = parts[0], parts[1], parts[2]
    for start in range(0, padded, WIDE):
        stop = min(start + WIDE, padded)
        for j in range(0, q - 2, 3):
            for first in range(0, tile, 4):
                _three(columns, j, first, weights, start, stop, a, b, c)
            _add(a, sums[j, start:stop])
            _add(b, sums[j + 1, start:stop])
            _add(c, sums[j + 2, start:stop])
        rest = q % 3
        if rest > 0:
            # One that is left is its own partner, to no effect.
            for first in range(0, tile, 4):
                _two(columns[q - rest], columns[q - 1], first, weights, start, stop, a, b)
            _add(a, sums[q - rest, start:stop])
            if rest == 2:
                _add(b, sums[q - 1, start:stop])


@compiled_uncounted
def _by_tiles(
    records: Numbers,
    contents: Numbers,
    coordinates: Numbers,
    c: int,
    kind: int,
    exponent: float,
    floor: float,
    sums: Floats,
    least_lanes: NDArray[Any],
    weights: Numbers,
    shares: Numbers,
    columns: Numbers,
    parts: Numbers,
    scratch: Numbers,
    lanes: Floats,
) -> float:
    """Do the work of `accumulate`, with scratch for it.

    `weights` are distances of a tile, then weights up to a factor of the record. `columns` are the numbers of a column
    beside each other, and last a column of ones for the weights; times the factor.
    """
    n, q = contents.shape
    padded = coordinates.shape[1]
    tile = columns.shape[1]
    m = 1.0 + 1.0 / exponent
    twofold = kind == INTEGER_POWER and exponent == 1.0
    objective = 0.0
    for first in range(0, n, tile):
        count = min(tile, n - first)
        for start in range(0, padded, WIDE):
            stop = min(start + WIDE, padded)
            for row in range(0, count, 2):
                # Where there is no other record, the last one is its own partner, to no effect.
                other = records[min(first + row + 1, n - 1)]
                if twofold:
                    inverse_squares(
                        coordinates, records[first + row], other, start, stop, weights[row], weights[row + 1]
                    )
                else:
                    squares(coordinates, records[first + row], other, start, stop, weights[row], weights[row + 1])
        for row in range(count):
            if twofold:
                least, total = share_squared(weights[row, :padded], floor, least_lanes, lanes, scratch)
                factor = 1.0 / (total * total)
                objective += least / total
            else:
                least, total = share(
                    weights[row, :padded], c, kind, exponent, floor, shares, least_lanes, lanes, scratch
                )
                _weigh(shares, weights[row, :padded], kind)
                if kind == ENTROPY:
                    factor = 1.0 / total
                    objective += least - np.log(total) / exponent
                else:
                    factor = total**-m
                    objective += least * total ** (1.0 - m)
            scale = records.dtype.type(factor)
            for j in range(q):
                columns[j, row] = contents[first + row, j] * scale
            columns[q, row] = scale
        # Missing to a whole tile: what the weights are does not matter.
        for j in range(q + 1):
            for row in range(count, tile):
                columns[j, row] = 0
        _add_weighted(columns, weights, sums, parts)
    return objective


@compiled
def accumulate(
    records: Numbers,
    contents: Numbers,
    coordinates: Numbers,
    c: int,
    kind: int,
    exponent: float,
    floor: float,
    sums: Floats,
    least_lanes: NDArray[Any],
) -> float:
    """Add weighted contents of the records to the sums of the centroids; return the objective of these records.

    `records`: one chunk; shape (n, p). `contents`: what is summed; the records themselves for their means; shape (n,
    q). `coordinates`: centroids, transposed; infinite beyond `c`; shape (p, padded c). `sums`: added to: weighted
    contents and, last, weights of each centroid; shape (q + 1, padded c). `least_lanes`: as in `share`; shape (LANES,).
    """
    padded = coordinates.shape[1]
    dtype = records.dtype
    tile = TILE // records.itemsize
    weights, shares = np.zeros((tile, padded + APART), dtype=dtype), np.zeros(padded, dtype=dtype)
    columns = np.zeros((contents.shape[1] + 1, tile), dtype=dtype)
    parts, scratch, lanes = np.empty((3, WIDE + APART), dtype=dtype), np.empty(BLOCK, dtype=dtype), np.empty(LANES)
    return _by_tiles(
        records, contents, coordinates, c, kind, exponent, floor, sums, least_lanes, weights, shares, columns, parts,
        scratch, lanes,
    )  # fmt: skip
