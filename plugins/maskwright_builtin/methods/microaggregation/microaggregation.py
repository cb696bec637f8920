"""Microaggregation and individual ranking: records replaced by representatives of clusters of at least k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, Field
from pydantic import ValidationError as InvalidParams

from maskwright import (
    Block,
    Claims,
    Classes,
    Cost,
    InputError,
    Masked,
    Method,
    NamesPartition,
    NoParams,
    Partition,
    PromisesK,
    UsesWeights,
    aggregate,
    find_partition,
)
from maskwright_builtin.partitions.records import consecutive_groups

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


OPERATOR_OF_TYPE = {
    "continuous": "mean",
    "integer": "mean",
    "date": "mean",
    "datetime": "mean",
    "ordinal": "lower_median",
    "nominal": "mode",
}
"""By the type of the variable."""


def _one_partition(partition: str | dict[str, dict[str, Any]]) -> str | dict[str, dict[str, Any]]:
    if isinstance(partition, dict) and len(partition) != 1:
        raise ValueError(f"name one partition, as in {{mdav: {{}}}}; there are {len(partition)}")
    return partition


PartitionName = Annotated[str | dict[str, dict[str, Any]], AfterValidator(_one_partition), NamesPartition()]
"""Type of the parameter: the name of a partition, or {name: {its parameters}}."""


def chosen_partition(chosen: str | dict[str, dict[str, Any]]) -> tuple[Partition, BaseModel]:
    """Return the partition plugin that a parameter names, and its parameters."""
    name, given = (chosen, {}) if isinstance(chosen, str) else next(iter(chosen.items()))
    partition = find_partition(name)
    try:
        return partition, partition.params.model_validate(given)
    except InvalidParams as error:
        said = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}" for problem in error.errors()
        )
        raise InputError(f"partition {name!r}: {said}") from error


def households_in(labels: Integers, households: Integers) -> Integers:
    """Number of different households in each group; shape (c,)."""
    return np.bincount(Classes.of([labels, households]).keys[0], minlength=int(labels.max()) + 1)


def with_enough_households(labels: Integers, households: Integers, points: Floats, k: int) -> Integers:
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


def protect_by_microaggregation(block: Block, params: MicroaggregationParams, rng: np.random.Generator) -> Masked:
    """Replace every record by the representative of its cluster.

    Parameters
    ----------
    block : Block
        Records are near each other by their standardised values; a missing cell counts as the mean of the file. The
        plan's `operators` make the representatives; where there are none, a mean for numbers, a lower median for
        ordinal and a mode for nominal variables. Its weights are used when they are requested.
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
        requested and the block has none.

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
    protect=protect_by_microaggregation,
    params=MicroaggregationParams,
    scope="group",
    claims=Claims(
        cost=Cost(cell=0.0),
        cut="near",
        variable_types={"continuous", "integer", "date", "datetime", "ordinal", "nominal"},
        handles_missing=True,
        preserves={"linear", "product", "inequality", "range", "domain", "mean", "k"},
        deterministic=True,
        counts_households=True,
    ),
    reference="Domingo-Ferrer and Mateo-Sanz (2002), IEEE Trans. Knowl. Data Eng. 14(1), 189-201",
    summary="Replaces records by the mean, median or mode of clusters of at least k similar records.",
    example="method: microaggregation\nparams: {k: 5, partition: refine}\n",
)


class IndividualRankingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of individual ranking."""

    k: Annotated[int, PromisesK()] = Field(
        default=3,
        ge=2,
        strict=True,
        description="Smallest number of records of a cluster, for each variable on its own. More protects more and "
        "loses more; usual: 3 to 10.",
    )
    groups: Literal["optimal", "fixed"] = Field(
        default="optimal",
        description="'optimal': clusters of k to 2k - 1 with the smallest sum of squares. 'fixed': clusters of k, the "
        "middle one takes the remainder.",
    )


def protect_by_individual_ranking(block: Block, params: IndividualRankingParams, rng: np.random.Generator) -> Masked:
    """Replace every value by the representative of its cluster of neighbours in the sorted column.

    Parameters
    ----------
    block : Block
        Of one variable. The plan's operator makes the representatives; without one, a mean for numbers and a lower
        median for ordinal variables.

    Returns
    -------
    Masked
        With labels and representatives. Clusters hold at least k values; missing cells stay missing, and are counted
        to the first cluster. Fewer than 2k values are one cluster. Equal values are cut in the order of the records.

    Raises
    ------
    InputError
        When the block has not exactly one variable, or has some values but fewer than k.

    References
    ----------
    Defays, D. and Nanopoulos, P. (1993): Panels of enterprises and confidentiality: the small aggregates method.
    Proceedings of the 1992 symposium on design and analysis of longitudinal surveys, Statistics Canada, 195-204; the
    fixed clusters as in Mateo-Sanz's thesis (MicOI). Optimal clusters: Hansen and Mukherjee (2003), IEEE
    Transactions on Knowledge and Data Engineering 15(4), 1043-1044.
    """
    if block.p != 1:
        raise InputError(f"individual_ranking masks one variable at a time; this block has {block.p}")
    present = np.flatnonzero(~block.missing[:, 0])
    if 0 < len(present) < params.k:
        raise InputError(
            f"k = {params.k} is larger than the number of records with a value of {block.names[0]!r}, {len(present)}: "
            f"no cluster of {params.k} values exists"
        )
    labels = np.zeros(block.n, dtype=np.int64)
    values = np.ascontiguousarray(block.values[present])
    if params.groups == "optimal":
        part = Block(
            values, np.zeros(values.shape, dtype=np.bool_), block.variables, center=block.center, scale=block.scale
        )
        labels[present] = find_partition("univariate").cluster(part, params.k, NoParams(), rng)
    else:
        labels[present] = consecutive_groups(values[:, 0], params.k)
    operators = block.operators or tuple(OPERATOR_OF_TYPE[variable.type] for variable in block.variables)
    representatives = aggregate(block.values, block.missing, labels, operators)
    masked = representatives[labels]
    masked[block.missing] = np.nan
    sizes = np.bincount(labels[present], minlength=len(representatives))
    return Masked(
        values=masked,
        missing=block.missing.copy(),
        labels=labels,
        representatives=representatives,
        notes={"clusters": len(sizes), "smallest_cluster": int(sizes.min()), "largest_cluster": int(sizes.max())},
    )


INDIVIDUAL_RANKING = Method(
    name="individual_ranking",
    protect=protect_by_individual_ranking,
    params=IndividualRankingParams,
    scope="variable",
    claims=Claims(
        cost=Cost(cell=6.7),
        cut="near",
        variable_types={"continuous", "integer", "date", "datetime", "ordinal"},
        handles_missing=True,
        preserves={"range", "domain", "mean", "k"},
        deterministic=True,
    ),
    reference="Defays and Nanopoulos (1993), Panels of enterprises and confidentiality: the small aggregates method, "
    "Statistics Canada, 195-204; Hansen and Mukherjee (2003), IEEE Trans. Knowl. Data Eng. 15(4), 1043-1044",
    summary="Replaces the values of each variable on its own by the means of clusters of at least k neighbours.",
    example="method: individual_ranking\nparams: {k: 5, groups: optimal, k_guarantee: report}\n",
)
