"""Memberships of one record in all centroids, from its squared distances, compiled.

Loops run over centroids with independent elements, and sums are kept in a fixed number of lanes: results do not depend
on the width of the processor's vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright_builtin.methods.microaggregation.fuzzy_clustering.distances_kernel import largest, smallest
from maskwright_builtin.numerics.compilation import compiled_uncounted, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.distances_kernel import Numbers
    from maskwright_builtin.numerics.arrays import Floats


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


LANES = 64
"""Sums over centroids have as many partial sums; the number of centroids is padded to a multiple."""

BLOCK = 512
"""Centroids worked on together: their coordinates and weights stay in the nearest cache. Eight times `LANES`, because
`_add_lanes` is written out for as many."""

INTEGER_POWER, POWER, ENTROPY = 0, 1, 2


@compiled_uncounted
def _add_lanes(block: Numbers, sums: Numbers) -> None:
    """Write the sums of the eight runs of `LANES` numbers of a block, added one after the other."""
    n0, n1, n2 = block[:LANES], block[LANES : 2 * LANES], block[2 * LANES : 3 * LANES]
    n3, n4, n5 = block[3 * LANES : 4 * LANES], block[4 * LANES : 5 * LANES], block[5 * LANES : 6 * LANES]
    n6, n7 = block[6 * LANES : 7 * LANES], block[7 * LANES :]
    for lane in range(LANES):
        four = ((n0[lane] + n1[lane]) + n2[lane]) + n3[lane]
        sums[lane] = (((four + n4[lane]) + n5[lane]) + n6[lane]) + n7[lane]


@compiled_uncounted
def _total_of_lanes(lanes: Floats) -> float:
    # Four chains of additions: one would wait for each of them.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for lane in range(0, LANES, 4):
        a += lanes[lane]
        b += lanes[lane + 1]
        c += lanes[lane + 2]
        d += lanes[lane + 3]
    return (a + b) + (c + d)


@compiled_uncounted
def total_of(numbers: Numbers, lanes: Floats, sums: Numbers) -> float:
    """Sum in an order that does not depend on the processor: blocks in their own precision, then all in binary64."""
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
    return _total_of_lanes(lanes)


@compiled_uncounted
def _raise(ratios: Numbers, exponent: int, result: Numbers, squared: Numbers) -> None:
    """Write whole powers of the ratios, by squaring; `exponent` >= 2, `squared` is scratch of a block."""
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


@compiled_uncounted
def share(
    distances: Numbers,
    c: int,
    kind: int,
    exponent: float,
    floor: float,
    shares: Numbers,
    least_lanes: NDArray[Any],
    lanes: Floats,
    scratch: Numbers,
) -> tuple[float, float]:
    """Turn squared distances of one record into unnormalised memberships, the nearest centroid's being 1.

    `distances`: infinite beyond `c`. On return, for the two powers, ratios of the least to each; shape (padded c,).
    `shares`: Written; 0 beyond `c`; shape (padded c,). `least_lanes`: scratch, as wide as `distances`; shape (LANES,).
    `lanes`: scratch; shape (LANES,). `scratch`: scratch; shape (BLOCK,).
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
                _raise(distances, int(exponent), shares, scratch)
        else:
            for i in range(c):
                ratio64 = float(distances[i])
                value = exp2(max(exponent * log2(max(ratio64, 1e-300)), -1000.0))
                shares[i] = value if ratio64 > 0.0 else 0.0
    return least, total_of(shares, lanes, scratch[:LANES])


@compiled_uncounted
def _block_of_squares(block: Numbers, least: float, floor: float, sums: Numbers) -> None:
    """Write the squares of the ratios of a whole block of inverse distances, and their sums as `_add_lanes` does."""
    nearest, lowest, nothing = block.dtype.type(least), block.dtype.type(floor), block.dtype.type(0)
    n0, n1, n2 = block[:LANES], block[LANES : 2 * LANES], block[2 * LANES : 3 * LANES]
    n3, n4, n5 = block[3 * LANES : 4 * LANES], block[4 * LANES : 5 * LANES], block[5 * LANES : 6 * LANES]
    n6, n7 = block[6 * LANES : 7 * LANES], block[7 * LANES :]
    for lane in range(LANES):
        r0, r1, r2, r3 = nearest * n0[lane], nearest * n1[lane], nearest * n2[lane], nearest * n3[lane]
        r4, r5, r6, r7 = nearest * n4[lane], nearest * n5[lane], nearest * n6[lane], nearest * n7[lane]
        r0, r1 = r0 if r0 > lowest else nothing, r1 if r1 > lowest else nothing
        r2, r3 = r2 if r2 > lowest else nothing, r3 if r3 > lowest else nothing
        r4, r5 = r4 if r4 > lowest else nothing, r5 if r5 > lowest else nothing
        r6, r7 = r6 if r6 > lowest else nothing, r7 if r7 > lowest else nothing
        n0[lane], n1[lane], n2[lane], n3[lane] = r0 * r0, r1 * r1, r2 * r2, r3 * r3
        n4[lane], n5[lane], n6[lane], n7[lane] = r4 * r4, r5 * r5, r6 * r6, r7 * r7
        sums[lane] = ((((((r0 + r1) + r2) + r3) + r4) + r5) + r6) + r7


@compiled_uncounted
def share_squared(
    inverses: Numbers, floor: float, least_lanes: NDArray[Any], lanes: Floats, scratch: Numbers
) -> tuple[float, float]:
    """Turn inverse squared distances of one record into squares of the memberships that `share` finds for m = 2.

    `inverses`: 0 beyond c; infinite where the record and a centroid coincide. On return squares of the ratios of the
    least distance to each; shape (padded c,).
    """
    # Ratios are products with it: that of the nearest is 1 up to its rounding.
    least = 1.0 / largest(inverses, least_lanes)
    if least == 0.0:
        for i in range(inverses.shape[0]):
            inverses[i] = 1 if inverses[i] == np.inf else 0
        return least, total_of(inverses, lanes, scratch[:LANES])
    nearest, lowest = inverses.dtype.type(least), inverses.dtype.type(floor)
    nothing = inverses.dtype.type(0)
    sums = scratch[:LANES]
    for lane in range(LANES):
        lanes[lane] = 0.0
    for start in range(0, inverses.shape[0], BLOCK):
        part = inverses[start : min(start + BLOCK, inverses.shape[0])]
        if part.shape[0] == BLOCK:
            _block_of_squares(part, least, floor, sums)
        else:
            for lane in range(LANES):
                sums[lane] = 0
            for first in range(0, part.shape[0], LANES):
                run = part[first : first + LANES]
                for lane in range(LANES):
                    ratio = nearest * run[lane]
                    ratio = ratio if ratio > lowest else nothing
                    run[lane] = ratio * ratio
                    sums[lane] += ratio
        for lane in range(LANES):
            lanes[lane] += sums[lane]
    return least, _total_of_lanes(lanes)
