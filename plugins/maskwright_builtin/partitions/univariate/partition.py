"""The optimal partition of one variable: no other clusters of at least k have a smaller sum of squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Block, Cost, InputError, NoParams, Partition
from maskwright_builtin.numerics.ordering import stable_order
from maskwright_builtin.partitions.records import centred, standardised_records

if TYPE_CHECKING:
    from pydantic import BaseModel

    from maskwright_builtin.numerics.arrays import Floats, Integers


def cluster(
    block: Block,
    k: int,
    params: BaseModel,  # noqa: ARG001 - the contract of a partition
    rng: np.random.Generator,  # noqa: ARG001
) -> Integers:
    """Cut the records along their only variable so that the within-cluster sum of squares is as small as possible.

    An optimal partition has consecutive records of the sorted column in each cluster, and at most 2k - 1 of them: the
    best one is found by dynamic programming over the beginnings of the column.

    Parameters
    ----------
    block : Block
        Of one variable.

    Returns
    -------
    ndarray of shape (n,), int64
        Labels 0, 1, ... in ascending order of the values; clusters have k to 2k - 1 records. All records are one
        cluster when n < 2k. Equal values are cut in the order of the records.

    Raises
    ------
    InputError
        When the block has not exactly one variable, k is below 1, or a standardised value is not finite or too large
        to be squared.

    Notes
    -----
    O(n log n + n k) time, O(n) memory.
    """
    if block.p != 1:
        names = ", ".join(repr(name) for name in block.names[:5]) + (", ..." if block.p > 5 else "")
        raise InputError(
            f"partition 'univariate' cuts along one variable; this group has {block.p} ({names}): to cut along each "
            "variable on its own use the method individual_ranking, to cut along all of them the partition mdav or "
            "refine, and for groups of one variable set group_size: 1"
        )
    standardised = standardised_records(block, k)
    # Categories of a nominal variable are cut in the order of their codes, which puts equal ones together.
    nominal = block.variables[0].type == "nominal"
    column = np.nan_to_num(block.values[:, 0]) if nominal else standardised[:, 0]
    return univariate_labels(column, k)


def univariate_labels(values: Floats, k: int) -> Integers:
    """Cut a column, finite and at most `records.LARGEST` in size, optimally; labels as `cluster` gives them."""
    n = len(values)
    if n < 2 * k:
        return np.zeros(n, dtype=np.int64)
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.partitions.univariate.kernel import best_sizes, labels_of_cut

    order = stable_order(values)
    sorted_values = np.ascontiguousarray(centred(values[order, None])[:, 0])
    labels = np.empty(n, dtype=np.int64)
    labels[order] = labels_of_cut(best_sizes(sorted_values, k))
    return labels


UNIVARIATE = Partition(
    name="univariate",
    cluster=cluster,
    params=NoParams,
    deterministic=True,
    one_variable=True,
    reference="Hansen and Mukherjee (2003), IEEE Trans. Knowl. Data Eng. 15(4), 1043-1044",
    summary="Clusters along one variable with the smallest possible sum of squares.",
    cost=Cost(cell=1.0),
)
