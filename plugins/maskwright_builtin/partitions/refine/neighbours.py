"""The nearest records of every record, approximately where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import processors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress

FEW = 5_000
"""So many records are searched exactly."""

MANY = 100_000
"""From so many on, the search is coarser still."""

CROWD = 64
"""So many equal records may fill a leaf of the tree, all of which is looked at."""

SLICE = 50_000
"""Records asked about between two signs of progress."""


def nearest_records(points: NDArray[np.float64], count: int, progress: Progress) -> NDArray[np.int32]:
    """Find the nearest other records of every record.

    `points`: Finite; equal ones near each other in order when there are many; shape (n, p). `count`: neighbours of each
    record, 1 <= count < n. Returns nearest first. Exact up to `FEW` records; beyond, each is at most 3 (5 from `MANY`
    on) times as far away as the true one, in practice a few per cent; shape (n, count).
    """
    from scipy.spatial import KDTree

    n = len(points)
    eps = 0.0 if n <= FEW else 2.0 if n < MANY else 4.0
    if _crowded(points):
        # Many equal records make one leaf that each of them has to search: a last column, too narrow to matter, tells
        # them apart.
        spread = float(np.sqrt(np.square(points).sum() / n)) or 1.0
        apart = np.arange(n, dtype=np.float64) * (1e-9 * spread / n)
        points = np.concatenate([points, apart[:, None]], axis=1)
    tree = KDTree(points)
    threads = 1 if n <= FEW else processors()
    nearest = np.empty((n, count), dtype=np.int32)
    for start in range(0, n, SLICE):
        stop = min(start + SLICE, n)
        found = np.asarray(tree.query(points[start:stop], count + 1, eps=eps, workers=threads)[1])
        itself = found == np.arange(start, stop)[:, None]
        # Among equal records it may be missing: then the last one is left out.
        itself[~itself.any(axis=1), -1] = True
        nearest[start:stop] = found[~itself].reshape(stop - start, count)
        progress(stop / n)
    return nearest


def _crowded(points: NDArray[np.float64]) -> bool:
    """Whether more than `CROWD` records are equal (or, hardly ever, look so)."""
    weights = np.sqrt(np.arange(2.0, points.shape[1] + 2.0))
    # Column by column: equal records then give equal sums.
    keys = np.zeros(len(points))
    for column, weight in zip(points.T, weights, strict=True):
        keys += weight * column
    keys.sort()
    return bool(np.any(keys[CROWD:] == keys[:-CROWD]))
