"""Microaggregation: records are replaced by the representative of their cluster of at least k records."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, InputError, Masked, Method, PromisesK, UsesWeights, aggregate
from maskwright_builtin.methods.microaggregation.chosen_partition import PartitionName, chosen_partition
from maskwright_builtin.methods.microaggregation.household_groups import with_enough_households
from maskwright_builtin.methods.microaggregation.operators import OPERATOR_OF_TYPE


class MicroaggregationParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of microaggregation."""

    k: Annotated[int, PromisesK()] = Field(
        default=3,
        ge=2,
        strict=True,
        description="Smallest number of records of a cluster, or of different households whose records are in it where "
        "'data: cluster' declares households. More protects more and loses more; usual: 3 to 10.",
    )
    weighted: Annotated[bool, UsesWeights()] = Field(
        default=False,
        description="Means of clusters are weighted with the variable of role weight, so that weighted totals are kept "
        "instead of plain ones. A record whose weight outdoes the others of its cluster is close to the mean.",
    )
    partition: PartitionName = Field(
        default="refine",
        description="How records are cut into clusters: the name of a partition, or {name: {its parameters}}. refine "
        "loses least; mdav is the classical one, faster and comparable with published figures.",
    )


def protect(block: Block, params: MicroaggregationParams, rng: np.random.Generator) -> Masked:
    """Replace every record by the representative of its cluster.

    Parameters
    ----------
    block : Block
        Records are near each other by their standardised values; a missing cell counts as the mean of the file. The
        plan's `operators` make the representatives; where there are none, a mean for numbers, a lower median for
        ordinal and a mode for nominal variables. Its weights are used when they are asked for.
    params : MicroaggregationParams
    rng : numpy.random.Generator
        For partitions that are not deterministic.

    Returns
    -------
    Masked
        With labels and representatives. Where the block has households, clusters with records of
        fewer than k of them are joined with the nearest, so that k counts households. Missing cells stay missing.
        Fewer than 2k records are one cluster.

    Raises
    ------
    InputError
        When there are fewer than k records, the partition is unknown or its parameters are wrong, or weights are
        asked for and the block has none.

    References
    ----------
    Domingo-Ferrer, J. and Mateo-Sanz, J. M. (2002): Practical data-oriented microaggregation for statistical
    disclosure control. IEEE Transactions on Knowledge and Data Engineering 14(1), 189-201. The partitions have their
    own.
    """
    if block.n < params.k:
        raise InputError(
            f"k = {params.k} is larger than the number of records, {block.n}: no cluster of {params.k} records exists"
        )
    if block.households is not None and (households := len(np.unique(block.households))) < params.k:
        raise InputError(
            f"k = {params.k} is larger than the number of {block.groups_said}, {households}: no cluster of {params.k} "
            "exists"
        )
    if params.weighted and block.weights is None:
        raise InputError(
            "'weighted: true' needs survey weights of the records that it masks: one numeric variable with 'role: "
            "weight' and no missing cell, on their own level where the data have several"
        )
    partition, partition_params = chosen_partition(params.partition)
    labels = np.asarray(partition.cluster(block, params.k, partition_params, rng), dtype=np.int64)
    if block.households is not None:
        labels = with_enough_households(labels, block.households, block.standardised(), params.k)
    operators = block.operators or tuple(OPERATOR_OF_TYPE[variable.type] for variable in block.variables)
    representatives = aggregate(
        block.values, block.missing, labels, operators, weights=block.weights if params.weighted else None
    )
    values = representatives[labels]
    values[block.missing] = np.nan
    sizes = np.bincount(labels)
    return Masked(
        values=values,
        missing=block.missing.copy(),
        labels=labels,
        representatives=representatives,
        notes={"clusters": len(sizes), "smallest_cluster": int(sizes.min()), "largest_cluster": int(sizes.max())},
    )


MICROAGGREGATION = Method(
    name="microaggregation",
    protect=protect,
    params=MicroaggregationParams,
    scope="group",
    cut="near",
    variable_types={"continuous", "integer", "date", "datetime", "ordinal", "nominal"},
    handles_missing=True,
    # Each under the operator that the plan chooses for it; means under "mean".
    preserves={"linear", "product", "inequality", "range", "domain", "mean", "k"},
    deterministic=True,
    counts_households=True,
    reference="Domingo-Ferrer and Mateo-Sanz (2002), IEEE Trans. Knowl. Data Eng. 14(1), 189-201",
    summary="Replaces records by the mean, median or mode of clusters of at least k similar records.",
    example="method: microaggregation\nparams: {k: 5, partition: refine}\n",
)
