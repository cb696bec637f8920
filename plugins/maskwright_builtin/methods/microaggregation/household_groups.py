"""Groups of records that hold k different households each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def households_in(labels: NDArray[np.int64], households: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of different households in each group; shape (c,)."""
    return np.bincount(np.unique(np.stack([labels, households], axis=1), axis=0)[:, 0], minlength=int(labels.max()) + 1)


def with_enough_households(
    labels: NDArray[np.int64], households: NDArray[np.int64], points: NDArray[np.float64], k: int
) -> NDArray[np.int64]:
    """Join groups until each holds records of at least k households.

    Round after round, the groups with fewest households first, each that is short of k is joined with the group whose
    centroid is nearest to its own, unless it was joined by another one in the same round.

    `labels`: groups 0..c-1; shape (n,). `households`: at least k different ones; shape (n,). `points`: standardised
    records; shape (n, q). Returns groups 0..d-1, d <= c; shape (n,).
    """
    from scipy.spatial import cKDTree  # heavy: plugins are listed without it

    while True:
        count = households_in(labels, households)
        small = np.flatnonzero(count < k)
        if not len(small) or len(count) == 1:
            return labels
        size = np.bincount(labels)
        centroids = np.stack([np.bincount(labels, weights=column) / size for column in points.T], axis=1)
        nearest = np.asarray(cKDTree(centroids).query(centroids[small], k=2)[1])
        other = np.where(nearest[:, 0] == small, nearest[:, 1], nearest[:, 0])
        target = np.arange(len(count))
        joined = np.zeros(len(count), dtype=np.bool_)
        for place in np.argsort(count[small], kind="stable"):
            one, into = small[place], other[place]
            if not joined[one]:
                target[target == one] = target[into]
                joined[[one, into]] = True
        labels = np.unique(target[labels], return_inverse=True)[1].astype(np.int64)
