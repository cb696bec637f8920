"""One pass over the records for a set of centroids, compiled: memberships are used as they arise and never kept.

Records are taken `TILE` at a time. Their distances to all centroids, then their memberships, stand in scratch of
`TILE` rows. Loops run over centroids with independent elements, and sums are kept in a fixed number of lanes: results
depend neither on the width of the processor's vectors nor on how many threads share the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    # All of one kind in a call, float64 or float32; a type variable in every signature would say it at length.
    Floats = NDArray[Any]

Function = TypeVar("Function", bound="Callable[..., Any]")

TILE = 8
"""Records of a tile; `add_weighted` is written out for eight."""

LANES = 64
"""Sums over centroids have as many partial sums; the number of centroids is padded to a multiple."""

BLOCK = 512
"""Centroids worked on together: their coordinates and weights stay in the nearest cache."""

INTEGER_POWER, POWER, ENTROPY = 0, 1, 2


def compiled(function: Function) -> Function:
    """Compile on first call and keep the machine code; other threads run meanwhile. Never with fast-math."""
    return cast("Function", njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile into the callers, so that their loops can be vectorised."""
    return cast("Function", njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function))


@inlined
def exp2(exponent: float) -> float:
    """2 to a power in [-1000, 0]; relative error below 4e-16. Has no branches: the library's cannot be vectorised."""
    # Adding 1.5 * 2**52 leaves the nearest integer in the low bits.
    shifted = exponent + 6755399441055744.0
    fraction = (exponent - (shifted - 6755399441055744.0)) * 0.6931471805599453
    # Taylor's series of exp on +-0.35.
    total = 1.0 / 6227020800.0
    total = total * fraction + 1.0 / 479001600.0
    total = total * fraction + 1.0 / 39916800.0
    total = total * fraction + 1.0 / 3628800.0
    total = total * fraction + 1.0 / 362880.0
    total = total * fraction + 1.0 / 40320.0
    total = total * fraction + 1.0 / 5040.0
    total = total * fraction + 1.0 / 720.0
    total = total * fraction + 1.0 / 120.0
    total = total * fraction + 1.0 / 24.0
    total = total * fraction + 1.0 / 6.0
    total = total * fraction + 0.5
    total = total * fraction + 1.0
    total = total * fraction + 1.0
    bits = np.float64(total).view(np.int64) + (np.float64(shifted).view(np.int64) << np.int64(52))
    return float(np.int64(bits).view(np.float64))


@inlined
def log2(number: float) -> float:
    """Logarithm to base 2 of a normal positive number; absolute error below 4e-16 on [0.7, 1], relative elsewhere."""
    bits = np.float64(number).view(np.int64)
    # The mantissa is taken from [sqrt(1/2), sqrt(2)), so that nothing cancels near 1.
    above = bits - np.int64(0x3FE6A09E667F3BCD)
    whole = above >> np.int64(52)
    mantissa = np.int64(bits - (whole << np.int64(52))).view(np.float64)
    characteristic = np.int64(whole + np.int64(0x4338000000000000)).view(np.float64) - 6755399441055744.0
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    # The series of the inverse hyperbolic tangent on +-0.172.
    total = 1.0 / 21.0
    total = total * square + 1.0 / 19.0
    total = total * square + 1.0 / 17.0
    total = total * square + 1.0 / 15.0
    total = total * square + 1.0 / 13.0
    total = total * square + 1.0 / 11.0
    total = total * square + 1.0 / 9.0
    total = total * square + 1.0 / 7.0
    total = total * square + 1.0 / 5.0
    total = total * square + 1.0 / 3.0
    total = total * square + 1.0
    return float(characteristic + 2.0 * ratio * total * 1.4426950408889634)


@compiled
def _add_squares(coordinates: Floats, record: Floats, start: int, stop: int, distances: Floats) -> None:
    """Write squared distances from one record to the centroids in [start, stop)."""
    p = coordinates.shape[0]
    out = distances[start:stop]
    out[:] = 0
    j = 0
    while j + 4 <= p:
        x0, x1, x2, x3 = record[j], record[j + 1], record[j + 2], record[j + 3]
        v0, v1 = coordinates[j, start:stop], coordinates[j + 1, start:stop]
        v2, v3 = coordinates[j + 2, start:stop], coordinates[j + 3, start:stop]
        for i in range(out.shape[0]):
            d0, d1, d2, d3 = x0 - v0[i], x1 - v1[i], x2 - v2[i], x3 - v3[i]
            out[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
        j += 4
    while j < p:
        x0, v0 = record[j], coordinates[j, start:stop]
        for i in range(out.shape[0]):
            d0 = x0 - v0[i]
            out[i] += d0 * d0
        j += 1


@compiled
def _smallest(distances: Floats, lanes: NDArray[Any]) -> float:
    """Return the least squared distance. All are >= 0, so that their bits are in order as integers, which are faster.

    `lanes` is an integer array of the same width.
    """
    bits = distances.view(lanes.dtype)
    lanes[:] = bits[:LANES]
    for start in range(LANES, bits.shape[0], LANES):
        part = bits[start : start + LANES]
        for lane in range(LANES):
            lanes[lane] = min(lanes[lane], part[lane])
    for lane in range(1, LANES):
        lanes[0] = min(lanes[0], lanes[lane])
    return float(lanes[:1].view(distances.dtype)[0])


@compiled
def _total(numbers: Floats, lanes: NDArray[np.float64]) -> float:
    """Sum in binary64, in an order that does not depend on the processor."""
    lanes[:] = 0.0
    for start in range(0, numbers.shape[0], LANES):
        part = numbers[start : start + LANES]
        for lane in range(LANES):
            lanes[lane] += part[lane]
    total = 0.0
    for lane in range(LANES):
        total += lanes[lane]
    return total


@compiled
def _raise(ratios: Floats, exponent: int, result: Floats) -> None:
    """Write whole powers of the ratios, by squaring; `exponent` >= 1."""
    if exponent == 1:
        result[:] = ratios
        return
    for start in range(0, ratios.shape[0], BLOCK):
        stop = min(start + BLOCK, ratios.shape[0])
        base, out = ratios[start:stop].copy(), result[start:stop]
        rest, first = exponent, True
        while rest > 0:
            if rest & 1:
                if first:
                    out[:] = base
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
    least = _smallest(distances, least_lanes)
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
        shares[:] = distances
    else:
        nearest = shares.dtype.type(least)
        lowest_ratio = shares.dtype.type(floor)
        nothing = shares.dtype.type(0)
        for i in range(distances.shape[0]):
            ratio = nearest / distances[i]
            distances[i] = ratio if ratio > lowest_ratio else nothing
        if kind == INTEGER_POWER:
            _raise(distances, int(exponent), shares)
        else:
            for i in range(c):
                ratio64 = float(distances[i])
                value = exp2(max(exponent * log2(max(ratio64, 1e-300)), -1000.0))
                shares[i] = value if ratio64 > 0.0 else 0.0
    return least, _total(shares, lanes)


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
def _add_weighted(records: Floats, weights: Floats, sums: NDArray[np.float64], mass: NDArray[np.float64]) -> None:
    """Add a tile's weighted records to the sums of all centroids."""
    p, padded = sums.shape
    # Sums of eight are made apart: a loop that writes binary64 works on binary32 at half the speed.
    eight = np.empty(BLOCK, dtype=weights.dtype)
    for start in range(0, padded, BLOCK):
        stop = min(start + BLOCK, padded)
        w0, w1, w2, w3 = weights[0, start:stop], weights[1, start:stop], weights[2, start:stop], weights[3, start:stop]
        w4, w5, w6, w7 = weights[4, start:stop], weights[5, start:stop], weights[6, start:stop], weights[7, start:stop]
        out = mass[start:stop]
        for i in range(out.shape[0]):
            eight[i] = ((w0[i] + w1[i]) + (w2[i] + w3[i])) + ((w4[i] + w5[i]) + (w6[i] + w7[i]))
        for i in range(out.shape[0]):
            out[i] += eight[i]
        for j in range(p):
            x0, x1, x2, x3 = records[0, j], records[1, j], records[2, j], records[3, j]
            x4, x5, x6, x7 = records[4, j], records[5, j], records[6, j], records[7, j]
            out = sums[j, start:stop]
            for i in range(out.shape[0]):
                eight[i] = ((x0 * w0[i] + x1 * w1[i]) + (x2 * w2[i] + x3 * w3[i])) + (
                    (x4 * w4[i] + x5 * w5[i]) + (x6 * w6[i] + x7 * w7[i])
                )
            for i in range(out.shape[0]):
                out[i] += eight[i]


@compiled
def accumulate(
    records: Floats,
    coordinates: Floats,
    c: int,
    kind: int,
    exponent: float,
    floor: float,
    sums: NDArray[np.float64],
    mass: NDArray[np.float64],
    least_lanes: NDArray[Any],
) -> float:
    """Add weighted records to the sums of the centroids; return the objective of these records.

    Parameters
    ----------
    records : ndarray of shape (n, p), float64 or float32
        One chunk.
    coordinates : ndarray of shape (p, padded c), same dtype
        Centroids, transposed; infinite beyond `c`.
    c, kind, exponent, floor
        As in `share`.
    sums : ndarray of shape (p, padded c), float64
    mass : ndarray of shape (padded c,), float64
        Added to: weighted records and weights of each centroid.
    least_lanes : ndarray of shape (LANES,)
        As in `share`.

    Returns
    -------
    float
        Sum over the records of u ** m times squared distance; with entropy, u times squared distance plus
        u log(u) / lambda.
    """
    n, p = records.shape
    padded = coordinates.shape[1]
    distances = np.empty((TILE, padded), dtype=records.dtype)
    shares = np.zeros((TILE, padded), dtype=records.dtype)
    tile = np.zeros((TILE, p), dtype=records.dtype)
    lanes = np.empty(LANES)
    m = 1.0 + 1.0 / exponent
    objective = 0.0
    for first in range(0, n, TILE):
        count = min(TILE, n - first)
        tile[:count] = records[first : first + count]
        # Missing to a whole tile: records at the origin, of weight 0.
        tile[count:] = 0
        distances[count:] = 0
        for start in range(0, padded, BLOCK):
            stop = min(start + BLOCK, padded)
            for row in range(count):
                _add_squares(coordinates, tile[row], start, stop, distances[row])
        for row in range(count):
            least, total = share(distances[row], c, kind, exponent, floor, shares[row], least_lanes, lanes)
            if kind == ENTROPY:
                objective += least - np.log(total) / exponent
                _weigh(shares[row], distances[row], 1.0 / total, kind)
            else:
                objective += least * total ** (1.0 - m)
                _weigh(shares[row], distances[row], total**-m, kind)
        _add_weighted(tile, distances, sums, mass)
    return objective


@compiled
def draw(
    records: Floats,
    coordinates: Floats,
    c: int,
    kind: int,
    exponent: float,
    floor: float,
    uniforms: NDArray[np.float64],
    labels: NDArray[np.int64],
    expected: NDArray[np.float64],
    least_lanes: NDArray[Any],
) -> None:
    """Give each record a centroid with its memberships as probabilities.

    Parameters
    ----------
    records, coordinates, c, kind, exponent, floor
        As in `accumulate`.
    uniforms : ndarray of shape (n,), float64
        In [0, 1), one for each record.
    labels : ndarray of shape (n,), int64
        Written.
    expected : ndarray of shape (padded c,), float64
        Added to: memberships, whose sums are the expected sizes.
    least_lanes : ndarray of shape (LANES,)
        As in `share`.
    """
    n = records.shape[0]
    padded = coordinates.shape[1]
    distances = np.empty(padded, dtype=records.dtype)
    shares = np.zeros(padded, dtype=records.dtype)
    lanes = np.empty(LANES)
    for row in range(n):
        for start in range(0, padded, BLOCK):
            _add_squares(coordinates, records[row], start, min(start + BLOCK, padded), distances)
        _, total = share(distances, c, kind, exponent, floor, shares, least_lanes, lanes)
        for i in range(padded):
            expected[i] += shares[i] / total
        target = uniforms[row] * total
        below, chosen = 0.0, -1
        for i in range(c):
            if shares[i] > 0:
                chosen = i
                below += shares[i]
                if below > target:
                    break
        labels[row] = chosen


@compiled
def dissolve(
    records: NDArray[np.float64], centroids: NDArray[np.float64], smallest: int, labels: NDArray[np.int64]
) -> None:
    """Dissolve groups below `smallest`, smallest and then first ones first, into the nearest groups left.

    Parameters
    ----------
    records : ndarray of shape (n, p), float64
    centroids : ndarray of shape (c, p), float64
    smallest : int
        At most n.
    labels : ndarray of shape (n,), int64
        Written.
    """
    n, p = records.shape
    c = centroids.shape[0]
    # Members of a group as a chain: the first one, and of each the next one.
    heads, following = np.full(c, -1), np.full(n, -1)
    sizes = np.zeros(c, dtype=np.int64)
    for row in range(n - 1, -1, -1):
        group = labels[row]
        following[row] = heads[group]
        heads[group] = row
        sizes[group] += 1
    while True:
        least = -1
        for group in range(c):
            if 0 < sizes[group] < smallest and (least < 0 or sizes[group] < sizes[least]):
                least = group
        if least < 0:
            return
        row = heads[least]
        sizes[least] = 0
        while row >= 0:
            after = following[row]
            nearest, best = -1, np.inf
            for group in range(c):
                if sizes[group] == 0:
                    continue
                distance = 0.0
                for j in range(p):
                    distance += (records[row, j] - centroids[group, j]) ** 2
                if nearest < 0 or distance < best:
                    nearest, best = group, distance
            labels[row] = nearest
            following[row] = heads[nearest]
            heads[nearest] = row
            sizes[nearest] += 1
            row = after
