"""Drawing a centroid for each record, and dissolving small groups, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright_builtin.methods.microaggregation.fuzzy_clustering.distances_kernel import squares
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.memberships_kernel import BLOCK, LANES, share
from maskwright_builtin.numerics.compilation import compiled
from maskwright_builtin.numerics.spatial import squared_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.distances_kernel import Numbers
    from maskwright_builtin.numerics.arrays import Floats, Integers


@compiled
def draw(
    records: Numbers,
    coordinates: Numbers,
    c: int,
    kind: int,
    exponent: float,
    floor: float,
    uniforms: Floats,
    labels: Integers,
    expected: Floats,
    least_lanes: NDArray[Any],
) -> None:
    """Give each record a centroid with its memberships as probabilities.

    `uniforms`: in [0, 1), one for each record; shape (n,). `labels`: written; shape (n,). `expected`: added to:
    memberships, whose sums are the expected sizes; shape (padded c,). `least_lanes`: as in `share`; shape (LANES,).
    """
    n = records.shape[0]
    padded = coordinates.shape[1]
    distances = np.empty((2, padded), dtype=records.dtype)
    shares = np.zeros(padded, dtype=records.dtype)
    lanes, scratch = np.empty(LANES), np.empty(BLOCK, dtype=records.dtype)
    for first in range(0, n, 2):
        last = min(first + 1, n - 1)
        for start in range(0, padded, BLOCK):
            squares(
                coordinates, records[first], records[last], start, min(start + BLOCK, padded),
                distances[0], distances[1],
            )  # fmt: skip
        for row in range(first, last + 1):
            _, total = share(distances[row - first], c, kind, exponent, floor, shares, least_lanes, lanes, scratch)
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
def dissolve(records: Floats, centroids: Floats, smallest: int, labels: Integers) -> None:
    """Dissolve groups below `smallest`, smallest and then first ones first, into the nearest groups left.

    `records`: shape (n, p). `centroids`: shape (c, p). `labels`: written; shape (n,).
    """
    n = records.shape[0]
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
        row = int(heads[least])
        sizes[least] = 0
        while row >= 0:
            after = int(following[row])
            nearest, best = -1, np.inf
            for group in range(c):
                if sizes[group] == 0:
                    continue
                distance = squared_distance(records, row, centroids[group])
                if nearest < 0 or distance < best:
                    nearest, best = group, distance
            labels[row] = nearest
            following[row] = heads[nearest]
            heads[nearest] = row
            sizes[nearest] += 1
            row = after
