"""The loop of variable-size MDAV, compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined
from maskwright_builtin.numerics.spatial import squared_distance

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@inlined
def nearest_left(alive: Integers, left: int, distances: Floats) -> int:
    """Place in `alive` of the record with the smallest distance; of several the lowest record.

    `alive`: records without a label, in its first places; shape (n,). `distances`: of each record; shape (n,).
    """
    best = 0
    for i in range(1, left):
        one, other = alive[i], alive[best]
        if distances[one] < distances[other] or (distances[one] == distances[other] and one < other):
            best = i
    return best


@inlined
def take(
    points: Floats, place: int, label: int, alive: Integers, left: int, distances: Floats, labels: Integers
) -> int:
    """Give a record a label and note how near the others are to it; return how many are left.

    `points`: shape (n, p). `alive`: records without a label, in its first places; changed; shape (n,). `distances`:
    lowered to the squared distance from the record; shape (n,). `labels`: written; shape (n,).
    """
    record = alive[place]
    labels[record] = label
    left -= 1
    alive[place] = alive[left]
    for i in range(left):
        distances[alive[i]] = min(distances[alive[i]], squared_distance(points, alive[i], points[record]))
    return left


@compiled
def make_clusters(
    points: Floats,
    k: int,
    gamma: float,
    far: Floats,
    alive: Integers,
    left: int,
    distances: Floats,
    labels: Integers,
    label: int,
    clusters: int,
) -> tuple[int, int]:
    """Make up to `clusters` clusters while k records are left; return how many are left, and the next label.

    `points`: shape (n, p). `far`: squared distances from the centroid of all records; shape (n,). `alive`: the records
    left, in its first `left` places; written; shape (n,). `distances`: scratch; shape (n,). `labels`: written; shape
    (n,).
    """
    while left >= k and clusters > 0:
        clusters -= 1
        seed = 0
        for i in range(left):
            one, other = alive[i], alive[seed]
            if far[one] > far[other] or (far[one] == far[other] and one < other):
                seed = i
        distances[:] = np.inf
        left = take(points, seed, label, alive, left, distances, labels)
        # Until the k - 1 nearest are there, only distances to the seed count.
        members = np.empty(k - 1, dtype=np.int64)
        for i in range(k - 1):
            place = nearest_left(alive, left, distances)
            members[i] = alive[place]
            labels[alive[place]] = label
            left -= 1
            alive[place] = alive[left]
        for i in range(k - 1):
            for other in range(left):
                row = alive[other]
                distances[row] = min(distances[row], squared_distance(points, row, points[members[i]]))
        size = k
        while size < 2 * k - 1 and left > 1:
            place = nearest_left(alive, left, distances)
            record = alive[place]
            outside = np.inf
            for i in range(left):
                if i != place:
                    outside = min(outside, squared_distance(points, alive[i], points[record]))
            if not math.sqrt(distances[record]) < gamma * math.sqrt(outside):
                break
            left = take(points, place, label, alive, left, distances, labels)
            size += 1
        label += 1
    return left, label
