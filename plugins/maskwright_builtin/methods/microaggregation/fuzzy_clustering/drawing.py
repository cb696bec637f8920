"""Start of the clustering, centroids drawn by memberships, and groups of sufficient size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.clustering import checked_centroids
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.geometry import (
    chunks_of,
    fuzziness_of,
    geometry_of,
    scratch_of,
    transposed,
)
from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


def draw_centroids(
    values: Floats,
    centroids: Floats,
    uniforms: Floats,
    *,
    m: float | None = None,
    lambda_: float | None = None,
    scale: Floats | None = None,
    threads: int | None = None,
) -> tuple[Integers, Floats]:
    """Draw a centroid for each record, with its memberships as probabilities.

    `values`: shape (n, p). `centroids`: shape (c, p). `uniforms`: in [0, 1): a record takes the first centroid at which
    its cumulated memberships exceed its number; shape (n,). Returns expected number of records of each centroid: the
    sums of its memberships; shape (n,).

    Torra, V. (2020): Fuzzy clustering-based microaggregation to achieve probabilistic k-anonymity for data with
    constraints, algorithm 1, steps 2 and 3. Memory O(n + c): the matrix of memberships is never made.
    """
    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.drawing_kernel import draw

    geometry = geometry_of(values, scale)
    points = checked_centroids(geometry, centroids)
    fuzziness = fuzziness_of(m, lambda_, geometry.unit)
    n, c = len(geometry.points), len(points)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if uniforms.shape != (n,) or not np.all((uniforms >= 0) & (uniforms < 1)):
        raise InputError(f"there must be one number in [0, 1) for each of {n} records")
    coordinates = transposed(points, "float64")
    floor = fuzziness.floor("float64")
    labels = np.empty(n, dtype=np.int64)

    def task(chunk: slice) -> Floats:
        expected = np.zeros(coordinates.shape[1])
        draw(
            geometry.points[chunk], coordinates, c, fuzziness.kind, fuzziness.exponent, floor,
            uniforms[chunk], labels[chunk], expected, scratch_of("float64"),
        )  # fmt: skip
        return expected

    expected = np.zeros(coordinates.shape[1])
    for part in in_order(task, chunks_of(n), threads):
        expected += part
    return labels, expected[:c]


def enlarge_groups(
    values: Floats, centroids: Floats, labels: Integers, floor: int, *, scale: Floats | None = None
) -> tuple[Integers, int]:
    """Dissolve groups that are smaller than `floor`, the smallest first, until none is.

    Each record of a dissolved group goes to the nearest centroid that still has records. Of equally small groups, and
    of equally near centroids, the first counts.

    `values`: shape (n, p). `centroids`: shape (c, p). `labels`: shape (n,). `scale`: as in `fuzzy_c_means`; shape (p,).
    Returns records with another label than before; shape (n,).
    """
    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.drawing_kernel import dissolve

    geometry = geometry_of(values, scale)
    points = checked_centroids(geometry, centroids)
    n = len(geometry.points)
    if floor > n:
        raise InputError(f"floor = {floor} is larger than the number of records, {n}: no group of {floor} exists")
    result = np.array(labels, dtype=np.int64)
    dissolve(geometry.points, points, floor, result)
    return result, int(np.count_nonzero(result != labels))


NEAREST = 1.0 + 1e-6
"""Fuzziness at which a record belongs to its nearest centroid."""


def random_means(
    values: Floats, c: int, rng: np.random.Generator, *, scale: Floats | None = None, threads: int | None = None
) -> Floats:
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
