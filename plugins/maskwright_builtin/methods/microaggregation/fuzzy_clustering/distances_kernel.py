"""Squared distances from pairs of records to all centroids, compiled.

Loops run over centroids with independent elements: results do not depend on the width of the processor's vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright_builtin.numerics.compilation import compiled_uncounted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # All of one kind in a call, float64 or float32; a type variable in every signature would say it at length.
    Numbers = NDArray[Any]

# Written out, here as below: assigning to slices takes the compiler seconds. Five coordinates of two records are as
# many numbers as sixteen registers hold beside what is worked on.
TOGETHER = 5


@compiled_uncounted
def _first_coordinates(
    coordinates: Numbers, count: int, one: Numbers, other: Numbers, start: int, stop: int, a: Numbers, b: Numbers
) -> None:
    """Write the sums of squares over the first coordinates, one to `TOGETHER` of them."""
    x0, y0, v0 = one[0], other[0], coordinates[0, start:stop]
    if count == 1:
        for i in range(a.shape[0]):
            c0 = v0[i]
            d0, e0 = x0 - c0, y0 - c0
            a[i] = d0 * d0
            b[i] = e0 * e0
        return
    x1, y1, v1 = one[1], other[1], coordinates[1, start:stop]
    if count == 2:
        for i in range(a.shape[0]):
            c0, c1 = v0[i], v1[i]
            d0, d1, e0, e1 = x0 - c0, x1 - c1, y0 - c0, y1 - c1
            a[i] = d0 * d0 + d1 * d1
            b[i] = e0 * e0 + e1 * e1
        return
    x2, y2, v2 = one[2], other[2], coordinates[2, start:stop]
    if count == 3:
        for i in range(a.shape[0]):
            c0, c1, c2 = v0[i], v1[i], v2[i]
            d0, d1, d2, e0, e1, e2 = x0 - c0, x1 - c1, x2 - c2, y0 - c0, y1 - c1, y2 - c2
            a[i] = (d0 * d0 + d1 * d1) + d2 * d2
            b[i] = (e0 * e0 + e1 * e1) + e2 * e2
        return
    x3, y3, v3 = one[3], other[3], coordinates[3, start:stop]
    if count == 4:
        for i in range(a.shape[0]):
            c0, c1, c2, c3 = v0[i], v1[i], v2[i], v3[i]
            d0, d1, d2, d3 = x0 - c0, x1 - c1, x2 - c2, x3 - c3
            e0, e1, e2, e3 = y0 - c0, y1 - c1, y2 - c2, y3 - c3
            a[i] = (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
            b[i] = (e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)
        return
    x4, y4, v4 = one[4], other[4], coordinates[4, start:stop]
    for i in range(a.shape[0]):
        c0, c1, c2, c3, c4 = v0[i], v1[i], v2[i], v3[i], v4[i]
        d0, d1, d2, d3, d4 = x0 - c0, x1 - c1, x2 - c2, x3 - c3, x4 - c4
        e0, e1, e2, e3, e4 = y0 - c0, y1 - c1, y2 - c2, y3 - c3, y4 - c4
        a[i] = ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)) + d4 * d4
        b[i] = ((e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)) + e4 * e4


@compiled_uncounted
def squares(
    coordinates: Numbers, one: Numbers, other: Numbers, start: int, stop: int, of_one: Numbers, of_other: Numbers
) -> None:
    """Write squared distances from two records to the centroids in [start, stop).

    Two records share each coordinate that is loaded, and up to `TOGETHER` coordinates each distance that is stored.

    `coordinates`: of the centroids; shape (p, c). `one`, `other`: the records; shape (p,). `of_one`, `of_other`:
    written from `start` to `stop`; shape (c,).
    """
    p = coordinates.shape[0]
    a, b = of_one[start:stop], of_other[start:stop]
    done = (p - 1) % TOGETHER + 1
    _first_coordinates(coordinates, done, one, other, start, stop, a, b)
    for j in range(done, p, TOGETHER):
        x0, x1, x2, x3, x4 = one[j], one[j + 1], one[j + 2], one[j + 3], one[j + 4]
        y0, y1, y2, y3, y4 = other[j], other[j + 1], other[j + 2], other[j + 3], other[j + 4]
        v0, v1 = coordinates[j, start:stop], coordinates[j + 1, start:stop]
        v2, v3 = coordinates[j + 2, start:stop], coordinates[j + 3, start:stop]
        v4 = coordinates[j + 4, start:stop]
        for i in range(a.shape[0]):
            c0, c1, c2, c3, c4 = v0[i], v1[i], v2[i], v3[i], v4[i]
            d0, d1, d2, d3, d4 = x0 - c0, x1 - c1, x2 - c2, x3 - c3, x4 - c4
            e0, e1, e2, e3, e4 = y0 - c0, y1 - c1, y2 - c2, y3 - c3, y4 - c4
            a[i] += ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)) + d4 * d4
            b[i] += ((e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)) + e4 * e4


@compiled_uncounted
def inverse_squares(
    coordinates: Numbers, one: Numbers, other: Numbers, start: int, stop: int, of_one: Numbers, of_other: Numbers
) -> None:
    """Write inverses of what `squares` writes, infinite where a record and a centroid coincide.

    With the last coordinates, whose additions leave the processor time to divide.
    """
    j = coordinates.shape[0] - TOGETHER
    a, b = of_one[start:stop], of_other[start:stop]
    unit = of_one.dtype.type(1)
    if j <= 0:
        squares(coordinates, one, other, start, stop, of_one, of_other)
        for i in range(a.shape[0]):
            a[i] = unit / a[i]
            b[i] = unit / b[i]
        return
    squares(coordinates[:j], one, other, start, stop, of_one, of_other)
    x0, x1, x2, x3, x4 = one[j], one[j + 1], one[j + 2], one[j + 3], one[j + 4]
    y0, y1, y2, y3, y4 = other[j], other[j + 1], other[j + 2], other[j + 3], other[j + 4]
    v0, v1 = coordinates[j, start:stop], coordinates[j + 1, start:stop]
    v2, v3 = coordinates[j + 2, start:stop], coordinates[j + 3, start:stop]
    v4 = coordinates[j + 4, start:stop]
    for i in range(a.shape[0]):
        c0, c1, c2, c3, c4 = v0[i], v1[i], v2[i], v3[i], v4[i]
        d0, d1, d2, d3, d4 = x0 - c0, x1 - c1, x2 - c2, x3 - c3, x4 - c4
        e0, e1, e2, e3, e4 = y0 - c0, y1 - c1, y2 - c2, y3 - c3, y4 - c4
        a[i] = unit / (a[i] + (((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)) + d4 * d4))
        b[i] = unit / (b[i] + (((e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)) + e4 * e4))


@compiled_uncounted
def smallest(distances: Numbers, lanes: NDArray[Any]) -> float:
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


@compiled_uncounted
def largest(numbers: Numbers, lanes: NDArray[Any]) -> float:
    """Return the largest of numbers >= 0, found as `smallest` finds the least."""
    bits = numbers.view(lanes.dtype)
    most = bits[0]
    for i in range(1, bits.shape[0]):
        most = max(most, bits[i])
    lanes[0] = most
    return float(lanes[:1].view(numbers.dtype)[0])
