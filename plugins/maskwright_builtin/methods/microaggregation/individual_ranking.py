"""Individual ranking: each variable is microaggregated on its own, along its sorted values."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, InputError, Masked, Method, NoParams, PromisesK, aggregate, find_partition
from maskwright_builtin.methods.microaggregation.operators import OPERATOR_OF_TYPE
from maskwright_builtin.partitions.consecutive import consecutive_groups


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


def protect(block: Block, params: IndividualRankingParams, rng: np.random.Generator) -> Masked:
    """Replace every value by the representative of its cluster of neighbours in the sorted column.

    Parameters
    ----------
    block : Block
        Of one variable. The plan's operator makes the representatives; without one, a mean for numbers and a lower
        median for ordinal variables.
    params : IndividualRankingParams
    rng : numpy.random.Generator
        Left alone.

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
    protect=protect,
    params=IndividualRankingParams,
    scope="variable",
    cut="near",
    variable_types={"continuous", "integer", "date", "datetime", "ordinal"},
    handles_missing=True,
    # Under the operator that the plan chooses: domain under the lower median, means under "mean".
    preserves={"range", "domain", "mean", "k"},
    deterministic=True,
    reference="Defays and Nanopoulos (1993), Panels of enterprises and confidentiality: the small aggregates method, "
    "Statistics Canada, 195-204; Hansen and Mukherjee (2003), IEEE Trans. Knowl. Data Eng. 15(4), 1043-1044",
    summary="Replaces the values of each variable on its own by the means of clusters of at least k neighbours.",
    example="method: individual_ranking\nparams: {k: 5, groups: optimal, k_guarantee: report}\n",
)
