"""Maximum distance (DM): clusters around the two records that are farthest from each other, again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Block, Cost, NoParams, Partition
from maskwright_builtin.partitions.records import centred, standardised_records

if TYPE_CHECKING:
    from pydantic import BaseModel

    from maskwright_builtin.numerics.arrays import Integers

PAIRS = 64
"""Pairs of clusters made between two signs of progress."""


def cluster(
    block: Block,
    k: int,
    params: BaseModel,  # noqa: ARG001 - the contract of a partition
    rng: np.random.Generator,  # noqa: ARG001
) -> Integers:
    """Cut the records of a block into clusters by maximum distance.

    While at least 3k records are ungrouped: of the two that are farthest from each other, the first and its k - 1
    nearest records are a cluster; then the record farthest from the first among the rest and its k - 1 nearest ones.
    When at least 2k are left, the first of the farthest two and its k - 1 nearest are a cluster, and the rest another;
    else all are one. Of records equally near or far, and of farthest pairs, the first counts.

    Parameters
    ----------
    block : Block
        Distances are between rows of `Block.standardised`.

    Returns
    -------
    ndarray of shape (n,), int64
        Labels 0, 1, ... in order of creation. Clusters have k records, the last one k to 2k - 1; all records are one
        cluster when n < 2k.

    Raises
    ------
    InputError
        When k is below 1, or a standardised value is not finite or too large to be squared.

    Notes
    -----
    Quadratic in n: for each pair of clusters a few passes over the ungrouped records. Memory for three copies of the
    block.

    References
    ----------
    Mateo-Sanz, J. M. and Domingo-Ferrer, J. (1999): A method for data-oriented multivariate microaggregation.
    Statistical Data Protection '98, 89-99; method DM of Mateo-Sanz's thesis, which leaves open ties, and what happens
    when the second record is among the nearest of the first.
    """
    standardised = standardised_records(block, k)
    n = len(standardised)
    labels = np.full(n, -1, dtype=np.int64)
    if n < 2 * k:
        labels[:] = 0
        return labels
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.partitions.maximum_distance import kernel

    points = centred(standardised if block.p else np.zeros((n, 1)))
    bounds = np.full(n, np.inf)
    partners = np.full(n, -1, dtype=np.int64)
    radii = np.sqrt(np.einsum("ij,ij->i", points, points))
    alive, label = np.arange(n), 0
    while len(alive) >= 3 * k:
        alive, label = kernel.make_pairs(points, k, alive, labels, bounds, partners, radii, label, PAIRS)
        # Work goes with the square of the number of ungrouped records.
        block.progress(1.0 - (len(alive) / n) ** 2)
    if len(alive) >= 2 * k:
        first = kernel.farthest_pair(points, alive, labels, bounds, partners, radii) if len(alive) > 1 else alive[0]
        alive = kernel.take_nearest(points, first, k, label, alive, np.empty(len(alive)), labels)
        label += 1
    labels[alive] = label
    block.progress(1.0)
    return labels


MAXIMUM_DISTANCE = Partition(
    name="maximum_distance",
    cluster=cluster,
    params=NoParams,
    deterministic=True,
    reference="Mateo-Sanz and Domingo-Ferrer (1999), A method for data-oriented multivariate microaggregation, "
    "Statistical Data Protection '98, 89-99",
    summary="Clusters of k records around the two records that are farthest from each other.",
    cost=Cost(cell=1.0, pair=13.0),
)
