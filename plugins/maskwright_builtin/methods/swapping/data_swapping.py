"""Data swapping: a share of the records exchange the values of a group of variables, pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, IndependentVariables, InputError, Masked, Method

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DataSwappingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of data swapping."""

    rate: float = Field(
        default=0.1,
        gt=0,
        le=1,
        description="Share of the records that take part in a swap. More protects more and loses more; usual: 0.01 to "
        "0.3.",
    )
    within: Annotated[tuple[str, ...], IndependentVariables()] = Field(
        default=(),
        description="Numeric variables, not masked by the step: records swap only with records that have the same "
        "values of all of them, so that statistics by these variables stay.",
    )


def protect(block: Block, params: DataSwappingParams, rng: np.random.Generator) -> Masked:
    """Exchange the values of all variables of the block between random pairs of records.

    Parameters
    ----------
    block : Block
        Its variables are swapped together, so that everything that holds between them in each record, edits included,
        holds afterwards.
    params : DataSwappingParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        Records are paired at random among those with the same `within` values and the same cells missing, and as many
        pairs as the rate asks for, at least one, are drawn and swapped; each record takes part in one swap at most.
        Distributions of the variables, and all statistics among variables of one group, stay exactly; those between
        groups are weakened. Records without a partner stay; it is a doubt when there are too few pairs.

    Raises
    ------
    InputError
        When a `within` variable is masked by the step or not in the data.

    References
    ----------
    Dalenius, T. and Reiss, S. P. (1982): Data-swapping: a technique for disclosure control. Journal of Statistical
    Planning and Inference 6(1), 73-85; pairs at a given rate as in Gomatam, Karr and Sanil (2005), Data swapping as a
    decision problem. Journal of Official Statistics 21(4), 635-655.
    """
    pairs = _pairs(_classes(block, params), rng)
    wanted = max(round(params.rate * block.n / 2.0), 1)
    drawn = pairs[:, rng.permutation(pairs.shape[1])[:wanted]]
    source = np.arange(block.n)
    source[drawn[0]], source[drawn[1]] = drawn[1], drawn[0]
    doubts = []
    if drawn.shape[1] < wanted:
        doubts.append("fewer pairs of records can be swapped than the rate asks for: too few have equals to swap with")
    block.progress(1.0)
    values = block.values[source]
    return Masked(
        values,
        block.missing[source],
        notes={"swapped_records": 2 * drawn.shape[1]},
        doubts=tuple(doubts),
    )


def _classes(block: Block, params: DataSwappingParams) -> NDArray[np.int64]:
    """Class of each record: those of one class may swap."""
    strangers = [name for name in params.within if name not in block.companions]
    if strangers:
        raise InputError(f"within: {', '.join(strangers)} are not in the data of this step")
    # NaN equals nothing, also not itself: a missing companion is a class of its own kind.
    columns = [np.nan_to_num(block.companions[name], nan=np.inf) for name in params.within]
    columns += [gone for gone in block.missing.T if gone.any()]
    classes = np.zeros(block.n, dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, classes = np.unique(classes * (int(codes.max()) + 1) + codes, return_inverse=True)
    return np.asarray(classes, dtype=np.int64)


def _pairs(classes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Random pairs of records of the same class, each record in one at most; shape (2, pairs)."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    sizes = np.bincount(classes)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = np.flatnonzero((place % 2 == 0) & (place + 1 < np.repeat(sizes, sizes)))
    return np.stack([order[first], order[first + 1]]) if len(first) else np.empty((2, 0), dtype=np.int64)


DATA_SWAPPING = Method(
    name="data_swapping",
    protect=protect,
    params=DataSwappingParams,
    scope="group",
    cut="none",
    # Partners in a block of similar records are near each other.
    changes_few=True,
    variable_types={"continuous", "integer", "date", "datetime", "ordinal", "nominal"},
    handles_missing=True,
    preserves={"linear", "product", "inequality", "range", "domain", "mean", "covariance", "combinations"},
    reference="Dalenius and Reiss (1982), Journal of Statistical Planning and Inference 6(1), 73-85",
    summary="Random pairs of records exchange the values of a group of variables; edits inside the group stay.",
    example="method: data_swapping\nparams: {rate: 0.2}\n",
)
