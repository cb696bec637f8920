"""Where clustering starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.methods.microaggregation.fuzzy_clustering.drawing import draw_centroids

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEAREST = 1.0 + 1e-6
"""Fuzziness at which a record belongs to its nearest centroid."""


def random_means(
    values: NDArray[np.float64],
    c: int,
    rng: np.random.Generator,
    *,
    scale: NDArray[np.float64] | None = None,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Choose `c` records at random, no two equal while there are others, and take the means of those nearest to each.

    The records themselves would be no good starts: with many centroids and m from about 1.5 on, a centroid that
    coincides with a record is held by it and never moves.

    `values`: shape (n, p). Returns shape (c, p).
    """
    different, first = np.unique(values, axis=0, return_index=True)
    if len(different) >= c:
        chosen = different[np.sort(rng.choice(len(different), c, replace=False))]
    else:
        again = np.setdiff1d(np.arange(len(values)), first)
        chosen = np.concatenate([different, values[rng.choice(again, c - len(different), replace=False)]])
    labels, _ = draw_centroids(values, chosen, np.zeros(len(values)), m=NEAREST, scale=scale, threads=threads)
    sizes = np.bincount(labels, minlength=c)
    # Deviations from the chosen records, which are small, are averaged: sums of the values could lose digits.
    moves = values - chosen[labels]
    sums = np.stack([np.bincount(labels, column, minlength=c) for column in moves.T], axis=1)
    return np.asarray(chosen + sums / np.maximum(sizes, 1)[:, None], dtype=np.float64)
