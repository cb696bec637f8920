"""µ-Approx: clusters of k and more records from a forest of nearest records, with a bound on their loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Block, Cost, InputError, NoParams, Partition
from maskwright_builtin.partitions.records import centred, standardised_records

if TYPE_CHECKING:
    from pydantic import BaseModel

    from maskwright_builtin.numerics.arrays import Integers

MOST_RECORDS = 100_000
"""Records up to which all distances are computed: some minutes."""

RECORDS_AT_ONCE = 512
"""Records whose trees grow between two signs of progress."""


def cluster(
    block: Block,
    k: int,
    params: BaseModel,  # noqa: ARG001 - the contract of a partition
    rng: np.random.Generator,  # noqa: ARG001
) -> Integers:
    """Cut the records of a block into clusters of k to 3k - 3 by a forest of nearest records.

    Forest: every record is a tree. As long as a tree has fewer than k records, its root gets an edge to the nearest
    record of another tree, and is a root no longer. Cutting: of the edges that leave at least k records on either side
    the longest is cut, until there are none. A tree that still has 2k records or more then has a centre, all of whose
    branches have fewer than k: the centre and its branches, the nearest first, are put together to clusters of at
    least k. Of records equally near, and of edges equally long, the first counts.

    Parameters
    ----------
    block : Block
        Distances are between rows of `Block.standardised`.

    Returns
    -------
    ndarray of shape (n,), int64
        Labels 0, 1, ..., in the order of the first record of each cluster. Clusters have k to max(2k - 1, 3k - 3)
        records; all records are one cluster when n < 2k.

    Raises
    ------
    InputError
        When k is below 1, a standardised value is not finite or too large to be squared, or the block has more than
        100,000 records.

    Notes
    -----
    The sum of squares within clusters is at most ``(2k - 1) m^2 / 2`` times the smallest possible, with m = max(2k - 1,
    3k - 3), of order k^3 as the authors': for k = 3, 90 times. A bound for the worst case; what it loses on data is
    near what other heuristics lose. Why: an edge begins in each record at most once, and is no longer than
    the distance to the (k - 1)th nearest, so than that to the farthest member of the record's best cluster; over a
    cluster of s these squares add up to at most 2 s times its sum of squares. A cluster of m records whose tree, with
    the centre, has m edges has at most m^2 / 4 times the sum of their squares.

    O(n**2 p) time. Memory for three copies of the block.

    References
    ----------
    Domingo-Ferrer, J., Sebe, F. and Solanas, A. (2008): A polynomial-time approximation to optimal multivariate
    microaggregation. Computers and Mathematics with Applications 55 (4), 714-732; the forest is that of Aggarwal et al.
    (2005), Approximation algorithms for k-anonymity, Journal of Privacy Technology. Which tree grows first, and which
    edge is cut, are left open there: here the tree of the first record, and the longest edge.
    """
    n = block.n
    if n > MOST_RECORDS:
        raise InputError(
            f"mu_approx computes the distances between all records, of at most {MOST_RECORDS:,}, not {n:,}; choose "
            "smaller blocks or the partition mdav"
        )
    standardised = standardised_records(block, k)
    labels = np.zeros(n, dtype=np.int64)
    if n < 2 * k:
        return labels
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.partitions.mu_approx import kernel

    points = centred(standardised if block.p else np.zeros((n, 1)))
    above, sizes, parents = np.arange(n), np.ones(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    lengths = np.zeros(n)
    for first in range(0, n, RECORDS_AT_ONCE):
        last = min(first + RECORDS_AT_ONCE, n)
        kernel.grow_forest(points, k, first, last, above, sizes, parents, lengths)
        block.progress(last / n)
    order = kernel.leaves_first(parents)
    kernel.cut_long_edges(parents, order, lengths, k)
    roots, branches, far = kernel.branches_of_stars(parents, order, lengths, k)
    kernel.label_branches(roots, branches, np.lexsort((branches, far, roots)), k, labels)
    _, firsts, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(firsts))[inverse.ravel()].astype(np.int64)


MU_APPROX = Partition(
    name="mu_approx",
    cluster=cluster,
    params=NoParams,
    deterministic=True,
    reference="Domingo-Ferrer, Sebe and Solanas (2008), A polynomial-time approximation to optimal multivariate "
    "microaggregation, Computers and Mathematics with Applications 55 (4), 714-732",
    summary="Clusters of k to 3k - 3 records from a forest of nearest records, with a bound on their loss.",
    cost=Cost(cell=1.0, pair=1.2),
)
