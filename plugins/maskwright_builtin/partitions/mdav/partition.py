"""MDAV: clusters of k records from the outside of the cloud inwards, exactly as defined, however it is pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Cost, Partition, Progress
from maskwright_builtin.partitions.records import standardised_records

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

SLICE = 300_000
"""Leaves scanned in one call of the kernel: a few calls per second."""


class MdavParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of MDAV."""

    last: Literal["farthest", "opposite"] = Field(
        default="farthest",
        description="When 2k to 3k - 1 records are left, one of the last two clusters is made around: 'farthest', the "
        "record farthest from their centroid, as defined; 'opposite', the one farthest from that record, which is what "
        "some rows of the thesis's tables (DMM) were computed with.",
    )


def cluster(
    block: Block,
    k: int,
    params: MdavParams,
    rng: np.random.Generator,  # noqa: ARG001 - the contract of a partition
) -> Integers:
    """Cut the records of a block into clusters by MDAV (maximum distance to average vector).

    While at least 3k records remain: the record r farthest from their centroid and its k - 1 nearest records are a
    cluster; then the record farthest from r among the rest and its k - 1 nearest ones. When at least 2k are left, the
    record farthest from the centroid and its k - 1 nearest ones are a cluster, and the rest another; else all are one.
    Squared distances are sums over the columns in order, in binary64; of records equally near or far the first counts.

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
    Quadratic in n at worst; see ``benchmarks/README.md``. Memory for about four copies of the block.

    References
    ----------
    Domingo-Ferrer, J. and Mateo-Sanz, J. M. (2002): Practical data-oriented microaggregation for statistical
    disclosure control. IEEE Transactions on Knowledge and Data Engineering 14(1), 189-201; method DMM of Mateo-Sanz's
    thesis.
    """
    return mdav_labels(standardised_records(block, k), k, block.progress, opposite=params.last == "opposite")


def mdav_labels(
    standardised: Floats, k: int, progress: Progress, *, opposite: bool = False, threads: int | None = None
) -> Integers:
    """Cut points as `standardised_records` makes them into clusters; labels as `cluster` gives them.

    `standardised`: shape (n, p).
    """
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.partitions.mdav import kernel
    from maskwright_builtin.partitions.mdav.leaves import cut_leaves
    from maskwright_builtin.partitions.mdav.lookahead import TRIAL, Lookahead
    from maskwright_builtin.partitions.mdav.search import find_farthest, workspace

    n, p = standardised.shape
    labels = np.full(n, -1, dtype=np.int64)
    if n < 2 * k:
        labels[:] = 0
        return labels
    if p == 0:
        standardised = np.zeros((n, 1))
    sums = kernel.sum_columns(standardised)
    remaining, label, status = n, 0, kernel.SLICE_ENDED
    leaves = cut_leaves(standardised, np.arange(n), sums[0] / remaining)
    work, trial = workspace(leaves, k), True
    with Lookahead(standardised, k, threads) as foresight:
        foresight.start(leaves)
        while status != kernel.FEW_LEFT:
            if status == kernel.REBUILD:
                leaves = cut_leaves(standardised, np.flatnonzero(labels < 0), sums[0] / remaining)
                work, trial = workspace(leaves, k), True
                foresight.start(leaves)
            elif status == kernel.NOT_LISTED:
                foresight.decide(remaining)
                if foresight.pays:
                    foresight.ask(sums, remaining, label)
            trial = trial and foresight.pays
            ahead = foresight.pays and not trial
            budget, before = TRIAL * len(leaves.counts) if trial else SLICE, label
            status, remaining, label, spent = kernel.make_clusters(
                standardised, labels, sums, leaves, foresight.lists(ahead), work, remaining, label, budget, ahead
            )
            foresight.note(spent, (label - before) // 2, alone=not ahead)
            trial = False
            # Work goes with the square of the number of remaining records.
            progress(1.0 - (remaining / n) ** 2)
    if remaining >= 2 * k:
        farthest, _, _ = find_farthest(standardised, sums[0] / remaining, leaves, work)
        if opposite:
            farthest, _, _ = find_farthest(standardised, standardised[farthest], leaves, work)
        kernel.take_cluster(standardised, farthest, label, labels, sums, leaves, foresight.lists(ahead=False), work)
        label += 1
    labels[labels < 0] = label
    progress(1.0)
    return labels


MDAV = Partition(
    name="mdav",
    cluster=cluster,
    params=MdavParams,
    deterministic=True,
    reference="Domingo-Ferrer and Mateo-Sanz (2002), IEEE Trans. Knowl. Data Eng. 14(1), 189-201",
    summary="Clusters of k records around the record farthest from the mean and the one farthest from it, exactly.",
    cost=Cost(cell=0.15, pair=0.01),
)
