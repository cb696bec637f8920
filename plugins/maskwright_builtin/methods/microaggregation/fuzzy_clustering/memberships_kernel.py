"""Squared distances from records to all centroids, and memberships from them, compiled.

Loops run over centroids with independent elements, and sums are kept in a fixed number of lanes: results do not depend
on the width of the processor's vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright_builtin.methods.microaggregation.fuzzy_clustering.elementary_functions import exp2, log2
from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # All of one kind in a call, float64 or float32; a type variable in every signature would say it at length.
    Floats = NDArray[Any]

LANES = 64
"""Sums over centroids have as many partial sums; the number of centroids is padded to a multiple."""

BLOCK = 512
"""Centroids worked on together: their coordinates and weights stay in the nearest cache. Eight times `LANES`, because
`_add_lanes` is written out for as many."""

INTEGER_POWER, POWER, ENTROPY = 0, 1, 2


@compiled
def squares(
    coordinates: Floats, one: Floats, other: Floats, start: int, stop: int, of_one: Floats, of_other: Floats
) -> None:
    """Write squared distances from two records to the centroids in [start, stop).

    Two records share each coordinate that is loaded, and up to eight coordinates each distance that is stored.

    Parameters
    ----------
    coordinates : ndarray of shape (p, c)
        Of the centroids.
    one, other : ndarray of shape (p,)
        The records.
    start, stop : int
        Centroids looked at, the last excluded.
    of_one, of_other : ndarray of shape (c,)
        Written from `start` to `stop`.
    """
    p = coordinates.shape[0]
    a, b = of_one[start:stop], of_other[start:stop]
    # Written out: assigning to slices takes the compiler seconds.
    j = 0
    if p >= 8:
        x0, x1, x2, x3, x4, x5, x6, x7 = one[0], one[1], one[2], one[3], one[4], one[5], one[6], one[7]
        y0, y1, y2, y3, y4, y5, y6, y7 = other[0], other[1], other[2], other[3], other[4], other[5], other[6], other[7]
        v0, v1 = coordinates[0, start:stop], coordinates[1, start:stop]
        v2, v3 = coordinates[2, start:stop], coordinates[3, start:stop]
        v4, v5 = coordinates[4, start:stop], coordinates[5, start:stop]
        v6, v7 = coordinates[6, start:stop], coordinates[7, start:stop]
        for i in range(a.shape[0]):
            c0, c1, c2, c3, c4, c5, c6, c7 = v0[i], v1[i], v2[i], v3[i], v4[i], v5[i], v6[i], v7[i]
            d0, d1, d2, d3 = x0 - c0, x1 - c1, x2 - c2, x3 - c3
            d4, d5, d6, d7 = x4 - c4, x5 - c5, x6 - c6, x7 - c7
            e0, e1, e2, e3 = y0 - c0, y1 - c1, y2 - c2, y3 - c3
            e4, e5, e6, e7 = y4 - c4, y5 - c5, y6 - c6, y7 - c7
            a[i] = ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)) + ((d4 * d4 + d5 * d5) + (d6 * d6 + d7 * d7))
            b[i] = ((e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)) + ((e4 * e4 + e5 * e5) + (e6 * e6 + e7 * e7))
        j = 8
    else:
        for i in range(a.shape[0]):
            a[i] = 0
            b[i] = 0
    while j + 4 <= p:
        x0, x1, x2, x3 = one[j], one[j + 1], one[j + 2], one[j + 3]
        y0, y1, y2, y3 = other[j], other[j + 1], other[j + 2], other[j + 3]
        v0, v1 = coordinates[j, start:stop], coordinates[j + 1, start:stop]
        v2, v3 = coordinates[j + 2, start:stop], coordinates[j + 3, start:stop]
        for i in range(a.shape[0]):
            c0, c1, c2, c3 = v0[i], v1[i], v2[i], v3[i]
            d0, d1, d2, d3 = x0 - c0, x1 - c1, x2 - c2, x3 - c3
            e0, e1, e2, e3 = y0 - c0, y1 - c1, y2 - c2, y3 - c3
            a[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
            b[i] += (e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)
        j += 4
    while j + 2 <= p:
        x0, x1, y0, y1 = one[j], one[j + 1], other[j], other[j + 1]
        v0, v1 = coordinates[j, start:stop], coordinates[j + 1, start:stop]
        for i in range(a.shape[0]):
            c0, c1 = v0[i], v1[i]
            d0, d1, e0, e1 = x0 - c0, x1 - c1, y0 - c0, y1 - c1
            a[i] += d0 * d0 + d1 * d1
            b[i] += e0 * e0 + e1 * e1
        j += 2
    if j < p:
        x0, y0, v0 = one[j], other[j], coordinates[j, start:stop]
        for i in range(a.shape[0]):
            d0, e0 = x0 - v0[i], y0 - v0[i]
            a[i] += d0 * d0
            b[i] += e0 * e0


@compiled
def smallest(distances: Floats, lanes: NDArray[Any]) -> float:
    """Return the least squared distance. All are >= 0, so that their bits are in order as integers, which are faster.

    Integers have one least in whatever order they are looked at, so that the compiler is free to choose one. `lanes` is
    an integer array of the same width.
    """
    bits = distances.view(lanes.dtype)
    least = bits[0]
    for i in range(1, bits.shape[0]):
        least = min(least, bits[i])
    lanes[0] = least
    return float(lanes[:1].view(distances.dtype)[0])


@compiled
def _add_lanes(block: Floats, sums: Floats) -> None:
    """Write the sums of the eight runs of `LANES` numbers of a block, added one after the other."""
    n0, n1, n2 = block[:LANES], block[LANES : 2 * LANES], block[2 * LANES : 3 * LANES]
    n3, n4, n5 = block[3 * LANES : 4 * LANES], block[4 * LANES : 5 * LANES], block[5 * LANES : 6 * LANES]
    n6, n7 = block[6 * LANES : 7 * LANES], block[7 * LANES :]
    for lane in range(LANES):
        four = ((n0[lane] + n1[lane]) + n2[lane]) + n3[lane]
        sums[lane] = (((four + n4[lane]) + n5[lane]) + n6[lane]) + n7[lane]


@compiled
def total_of(numbers: Floats, lanes: NDArray[np.float64]) -> float:
    """Sum in an order that does not depend on the processor: blocks in their own precision, then all in binary64."""
    sums = np.empty(LANES, dtype=numbers.dtype)
    for lane in range(LANES):
        lanes[lane] = 0.0
    for start in range(0, numbers.shape[0], BLOCK):
        part = numbers[start : min(start + BLOCK, numbers.shape[0])]
        if part.shape[0] == BLOCK:
            _add_lanes(part, sums)
        else:
            for lane in range(LANES):
                sums[lane] = part[lane]
            for first in range(LANES, part.shape[0], LANES):
                for lane in range(LANES):
                    sums[lane] += part[first + lane]
        for lane in range(LANES):
            lanes[lane] += sums[lane]
    total = 0.0
    for lane in range(LANES):
        total += lanes[lane]
    return total


@compiled
def _raise(ratios: Floats, exponent: int, result: Floats) -> None:
    """Write whole powers of the ratios, by squaring; `exponent` >= 2."""
    squared = np.empty(BLOCK, dtype=ratios.dtype)
    for start in range(0, ratios.shape[0], BLOCK):
        stop = min(start + BLOCK, ratios.shape[0])
        given, base, out = ratios[start:stop], squared[: stop - start], result[start:stop]
        for i in range(base.shape[0]):
            base[i] = given[i]
        rest, first = exponent, True
        while rest > 0:
            if rest & 1:
                if first:
                    for i in range(out.shape[0]):
                        out[i] = base[i]
                    first = False
                else:
                    for i in range(out.shape[0]):
                        out[i] *= base[i]
            rest >>= 1
            if rest > 0:
                for i in range(out.shape[0]):
                    base[i] *= base[i]


@compiled
def share(
    distances: Floats,
    c: int,
    kind: int,
    exponent: float,
    floor: float,
    shares: Floats,
    least_lanes: NDArray[Any],
    lanes: NDArray[np.float64],
) -> tuple[float, float]:
    """Turn squared distances of one record into unnormalised memberships, the nearest centroid's being 1.

    Parameters
    ----------
    distances : ndarray of shape (padded c,)
        Infinite beyond `c`. On return, for the two powers, ratios of the least to each.
    c : int
        Number of centroids.
    kind : int
        `INTEGER_POWER`, `POWER`: ratio ** exponent. `ENTROPY`: exp(-exponent * (distance - least)).
    exponent : float
        1 / (m - 1), or lambda.
    floor : float
        Powers: ratios below count as 0. Entropy: the largest exponent of e; what is beyond counts as 0. So small
        memberships change nothing, and numbers below the normal range are slow.
    shares : ndarray of shape (padded c,)
        Written; 0 beyond `c`.
    least_lanes : ndarray of shape (LANES,), int64 or int32
        Scratch, as wide as `distances`.
    lanes : ndarray of shape (LANES,), float64
        Scratch.

    Returns
    -------
    least : float
        Least squared distance.
    total : float
        Sum of `shares`.
    """
    least = smallest(distances, least_lanes)
    if kind == ENTROPY:
        # To base 2; distances are taken in binary64 from here.
        rate, lowest = exponent * 1.4426950408889634, floor * 1.4426950408889634
        for i in range(c):
            power = rate * (distances[i] - least)
            # Written without a branch; the product is 1 or 0.
            shares[i] = exp2(-min(power, lowest)) if power < lowest else 0.0
    elif least == 0.0:
        for i in range(distances.shape[0]):
            distances[i] = 1 if distances[i] == 0 else 0
            shares[i] = distances[i]
    else:
        nearest = shares.dtype.type(least)
        lowest_ratio = shares.dtype.type(floor)
        nothing = shares.dtype.type(0)
        for i in range(distances.shape[0]):
            ratio = nearest / distances[i]
            distances[i] = ratio if ratio > lowest_ratio else nothing
            shares[i] = distances[i]
        if kind == INTEGER_POWER:
            if exponent > 1.0:
                _raise(distances, int(exponent), shares)
        else:
            for i in range(c):
                ratio64 = float(distances[i])
                value = exp2(max(exponent * log2(max(ratio64, 1e-300)), -1000.0))
                shares[i] = value if ratio64 > 0.0 else 0.0
    return least, total_of(shares, lanes)
