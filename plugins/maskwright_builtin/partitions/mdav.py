"""MDAV: clusters of k records from the outside of the cloud inwards, exactly as defined, however it is pruned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from maskwright import Block, InputError, NoParams, Partition, Progress

if TYPE_CHECKING:
    from maskwright_builtin.partitions.mdav_kernel import Leaves, Workspace

RECORDS_PER_SHELL = 8000
"""Outer shells hold the farthest records, but cut the leaves less compact: measured optimum for 10 columns."""

LARGEST = 1e150
"""Largest standardised value whose square, and a sum of such, is finite."""

SLICE = 1_000_000
"""Leaves scanned in one call of the kernel: a few calls per second."""


def mdav_labels(standardised: NDArray[np.float64], k: int, progress: Progress) -> NDArray[np.int64]:
    """Cut standardised records into clusters by MDAV.

    Parameters
    ----------
    standardised : ndarray of shape (n, p), float64
        Finite and below 1e150 in size.
    k : int
        Smallest cluster size, >= 1.
    progress : callable
        Told the share done.

    Returns
    -------
    ndarray of shape (n,), int64
        Labels 0, 1, ... in order of creation; all 0 when n < 2k.
    """
    from maskwright_builtin.partitions import mdav_kernel as kernel  # noqa: PLC0415 - numba takes half a second

    n, p = standardised.shape
    labels = np.full(n, -1, dtype=np.int64)
    if n < 2 * k:
        labels[:] = 0
        return labels
    if p == 0:
        standardised = np.zeros((n, 1))
    sums = kernel.sum_columns(standardised)
    remaining, label = n, 0
    status = kernel.REBUILD if remaining >= 3 * k else kernel.FEW_LEFT
    while status != kernel.FEW_LEFT:
        leaves, work = _build(standardised, labels, sums[0] / remaining, k)
        status = kernel.SLICE_ENDED
        while status == kernel.SLICE_ENDED:
            status, remaining, label = kernel.make_clusters(
                standardised, labels, sums, leaves, work, remaining, label, SLICE
            )
            # Work goes with the square of the remaining records.
            progress(1.0 - (remaining / n) ** 2)
    if remaining >= 2 * k:
        leaves, work = _build(standardised, labels, sums[0] / remaining, k)
        farthest, _, _ = kernel.find_farthest(standardised, sums[0] / remaining, leaves, work)
        kernel.take_cluster(standardised, farthest, label, labels, sums, leaves, work)
        remaining -= k
        label += 1
    labels[labels < 0] = label
    progress(1.0)
    return labels


def _build(
    standardised: NDArray[np.float64], labels: NDArray[np.int64], center: NDArray[np.float64], k: int
) -> tuple[Leaves, Workspace]:
    """Cut the remaining records (label -1) into leaves around `center`."""
    from maskwright_builtin.partitions import mdav_kernel as kernel  # noqa: PLC0415

    members = np.flatnonzero(labels < 0)
    p = standardised.shape[1]
    m = -(-len(members) // kernel.LEAF)
    centred = standardised[members] - center
    # Two steps, so that no square overflows or vanishes. Distances below 2**-600 are 0 when squared: no larger factor.
    first = math.ldexp(1.0, -max(math.frexp(np.abs(centred).max())[1], -600))
    centred *= first
    radii = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    second = math.ldexp(1.0, -max(math.frexp(radii.max())[1], -100))
    centred *= second
    radii *= second
    scaled = centred.astype(np.float32)
    small_radii = radii.astype(np.float32)
    shells = 1 << max(0, round(math.log2(len(members) / RECORDS_PER_SHELL)))
    order = kernel.leaf_order(scaled, small_radii, shells)
    leaves = kernel.Leaves(
        values=np.empty((m, p, kernel.LEAF), dtype=np.float32),
        rows=np.empty(m * kernel.LEAF, dtype=np.int64),
        slots=np.empty(len(standardised), dtype=np.int64),
        counts=np.empty(m, dtype=np.int64),
        low=np.empty((p, m), dtype=np.float32),
        high=np.empty((p, m), dtype=np.float32),
        inner=np.empty(m, dtype=np.float32),
        outer=np.empty(m, dtype=np.float32),
        uniform=np.empty(m, dtype=np.bool_),
        center=center,
        scale=first * second,
        slack=(p + 8) * (1.0 + math.sqrt(p)) * 2.0**-21,
    )
    kernel.fill_leaves(standardised, scaled, small_radii, members, order, leaves)
    work = kernel.Workspace(
        point=np.empty(p, dtype=np.float32),
        bounds=np.empty(m, dtype=np.float32),
        sums=np.empty(m, dtype=np.float32),
        candidates=np.empty(m, dtype=np.int64),
        distances=np.empty(kernel.LEAF, dtype=np.float32),
        heap=np.empty(k - 1, dtype=np.float64),
        heap_rows=np.empty(k - 1, dtype=np.int64),
    )
    return leaves, work


def cluster(
    block: Block,
    k: int,
    params: BaseModel,  # noqa: ARG001 - the contract of a partition
    rng: np.random.Generator,  # noqa: ARG001
) -> NDArray[np.int64]:
    """Cut the records of a block into clusters by MDAV (maximum distance to average vector).

    While at least 3k records remain: the record r farthest from their centroid and its k - 1 nearest records are a
    cluster; then the record farthest from r among the rest and its k - 1 nearest ones. When at least 2k are left, the
    record farthest from the centroid and its k - 1 nearest ones are a cluster, and the rest another; else all are one.
    Squared distances are sums over the columns in order, in binary64; of records equally near or far the first counts.

    Parameters
    ----------
    block : Block
        Distances are between rows of `Block.standardised`.
    k : int
        Smallest cluster size, >= 1.
    params : NoParams
    rng : numpy.random.Generator
        Left alone.

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
    disclosure control. IEEE Transactions on Knowledge and Data Engineering 14(1), 189-201.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    standardised = block.standardised()
    # The comparison is false for NaN.
    wrong = ~(np.abs(standardised) <= LARGEST).all(axis=0)
    if wrong.any():
        names = ", ".join(repr(name) for name, bad in zip(block.names, wrong, strict=True) if bad)
        raise InputError(f"records have no distances: values of {names} are not finite, or too far apart to be squared")
    return mdav_labels(standardised, k, block.progress)


MDAV = Partition(
    name="mdav",
    cluster=cluster,
    params=NoParams,
    deterministic=True,
    reference="Domingo-Ferrer and Mateo-Sanz (2002), IEEE Trans. Knowl. Data Eng. 14(1), 189-201",
    summary="Clusters of k records around the record farthest from the mean and the one farthest from it, exactly.",
)
