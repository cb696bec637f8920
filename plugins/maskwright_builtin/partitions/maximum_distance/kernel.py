"""The loop of maximum distance, compiled: the two mutually farthest records, and their nearest ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined
from maskwright_builtin.numerics.spatial import squared_distance

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

SLACK = 1.0 + 1e-9
"""More than the relative rounding error of a bound made of two radii."""


@inlined
def farthest_from(points: Floats, record: int, alive: Integers) -> tuple[int, float]:
    """Record of `alive`, which ascends, farthest from a record; the first of several.

    `points`: shape (n, p). `alive`: records looked at, ascending; shape (m,).
    """
    best, distance = -1, -1.0
    point = points[record]
    for other in alive:
        if other != record:
            squared = squared_distance(points, other, point)
            if squared > distance:
                best, distance = other, squared
    return best, distance


@compiled
def farthest_pair(
    points: Floats, alive: Integers, labels: Integers, bounds: Floats, partners: Integers, radii: Floats
) -> int:
    """Find the first record of the two ungrouped ones that are farthest from each other.

    `points`: shape (n, p). `alive`: ungrouped records, ascending; m >= 2; shape (m,). `labels`: -1 where ungrouped;
    shape (n,). `bounds`: no record is farther than this (squared) from each one; written; shape (n,). `partners`:
    record at exactly that distance, or -1; written; shape (n,). `radii`: distances from some point; shape (n,).
    """
    outermost = 0.0
    for record in alive:
        outermost = max(outermost, radii[record])
    for record in alive:
        if partners[record] < 0:
            reach = (radii[record] + outermost) * SLACK
            bounds[record] = min(bounds[record], reach * reach)
    while True:
        best: int = alive[0]
        for record in alive:
            if bounds[record] > bounds[best]:
                best = record
        # Distances to ungrouped records only fall: a farthest record that is still there is still the farthest.
        if partners[best] >= 0 and labels[partners[best]] < 0:
            return best
        partners[best], bounds[best] = farthest_from(points, best, alive)


@compiled
def take_nearest(
    points: Floats, record: int, k: int, label: int, alive: Integers, distances: Floats, labels: Integers
) -> Integers:
    """Give a record and its k - 1 nearest ungrouped ones a label; return the records left.

    `alive` ascends and has at least k records. Of equally near ones the first count.

    `points`: shape (n, p). `alive`: ungrouped records, ascending; m >= k; shape (m,). `distances`: scratch memory;
    shape (m,). `labels`: written; shape (n,).
    """
    m = alive.shape[0]
    point = points[record]
    for i in range(m):
        distances[i] = squared_distance(points, alive[i], point) if alive[i] != record else -1.0
    threshold = np.partition(distances[:m], k - 1)[k - 1]
    taken = 0
    for i in range(m):
        if distances[i] < threshold:
            labels[alive[i]] = label
            taken += 1
    left = np.empty(m - k, dtype=np.int64)
    count = 0
    for i in range(m):
        if distances[i] == threshold and taken < k:
            labels[alive[i]] = label
            taken += 1
        elif distances[i] >= threshold:
            left[count] = alive[i]
            count += 1
    return left


@compiled
def make_pairs(
    points: Floats,
    k: int,
    alive: Integers,
    labels: Integers,
    bounds: Floats,
    partners: Integers,
    radii: Floats,
    label: int,
    pairs: int,
) -> tuple[Integers, int]:
    """Make up to `pairs` pairs of clusters while 3k records are ungrouped; return those left and the next label.

    `points`: shape (n, p). `alive`: ungrouped records, ascending; shape (m,). `labels`: negative where ungrouped;
    written; shape (n,). `bounds`, `partners`, `radii`: as `farthest_pair` has them; shape (n,).
    """
    distances = np.empty(alive.shape[0])
    while alive.shape[0] >= 3 * k and pairs > 0:
        pairs -= 1
        first = farthest_pair(points, alive, labels, bounds, partners, radii)
        alive = take_nearest(points, first, k, label, alive, distances, labels)
        second, _ = farthest_from(points, first, alive)
        alive = take_nearest(points, second, k, label + 1, alive, distances, labels)
        label += 2
    return alive, label
