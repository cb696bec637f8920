"""Variable-size MDAV (V-MDAV): clusters that take in more than k records where more are near."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Cost, Partition
from maskwright_builtin.partitions.records import centred, standardised_records

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Integers

CLUSTERS = 64
"""Clusters made between two signs of progress."""


class VariableSizeMdavParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of variable-size MDAV."""

    gamma: float = Field(
        default=0.2,
        ge=0.0,
        allow_inf_nan=False,
        description="A cluster takes in one more record when that is nearer to the cluster than gamma times its "
        "distance to the nearest record outside. 0: never; the authors use 0.2 for scattered and 1.1 for clustered "
        "data.",
    )


def cluster(
    block: Block,
    k: int,
    params: VariableSizeMdavParams,
    rng: np.random.Generator,  # noqa: ARG001 - the contract of a partition
) -> Integers:
    """Cut the records of a block into clusters of k to 2k - 1, as many as lie together.

    While at least k records are left: the one farthest from the centroid of all records and its k - 1 nearest are a
    cluster. Of the records left the one nearest to any member joins, as long as its distance to that member is below
    gamma times its distance to the nearest other record left, and the cluster has fewer than 2k - 1. In the end fewer
    than k records are left: each joins the cluster whose centroid is nearest. Of records equally near or far the first
    counts.

    Parameters
    ----------
    block : Block
        Distances are between rows of `Block.standardised`.

    Returns
    -------
    ndarray of shape (n,), int64
        Labels 0, 1, ... in order of creation. Clusters have k to 2k - 1 records, those that get a record in the end up
        to 3k - 2; all records are one cluster when n < 2k.

    Raises
    ------
    InputError
        When k is below 1, or a standardised value is not finite or too large to be squared.

    Notes
    -----
    O(n**2 p). Memory for three copies of the block.

    References
    ----------
    Solanas, A. and Martinez-Balleste, A. (2006): V-MDAV: a multivariate microaggregation with variable group size.
    Proceedings in Computational Statistics (COMPSTAT), 917-925. "Nearest cluster" is read as nearest centroid.
    Of k to 2k - 1 records left some later descriptions make one cluster; here they are treated like all before.
    """
    standardised = standardised_records(block, k)
    n = len(standardised)
    labels = np.full(n, -1, dtype=np.int64)
    if n < 2 * k:
        labels[:] = 0
        return labels
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.partitions.variable_size_mdav.kernel import make_clusters

    points = centred(standardised if block.p else np.zeros((n, 1)))
    far = np.zeros(n)
    for column in points.T:
        far += column * column
    alive, distances = np.arange(n), np.empty(n)
    left, label = n, 0
    while left >= k:
        left, label = make_clusters(points, k, params.gamma, far, alive, left, distances, labels, label, CLUSTERS)
        # Work goes with the square of the number of records left.
        block.progress(1.0 - (left / n) ** 2)
    last = np.sort(alive[:left])
    placed = labels >= 0
    sizes = np.bincount(labels[placed])
    centroids = np.stack([np.bincount(labels[placed], column[placed]) / sizes for column in points.T], axis=1)
    for record in last.tolist():
        labels[record] = int(np.argmin(((centroids - points[record]) ** 2).sum(axis=1)))
    block.progress(1.0)
    return labels


VARIABLE_SIZE_MDAV = Partition(
    name="variable_size_mdav",
    cluster=cluster,
    params=VariableSizeMdavParams,
    deterministic=True,
    reference="Solanas and Martinez-Balleste (2006), V-MDAV, COMPSTAT 2006, 917-925",
    summary="Clusters of k records around outlying ones that take in up to k - 1 more where they lie close.",
    cost=Cost(cell=0.3, pair=0.01),
)
