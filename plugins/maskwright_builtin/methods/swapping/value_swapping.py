"""Swapping of values between records: data swapping, rank swapping, data shuffling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Claims, Cost, IndependentVariables, InputError, Masked, Method
from maskwright_builtin.methods.column_masking import mask_columns
from maskwright_builtin.methods.synthetic.regression import RegressionRoles, independent_columns, require_records
from maskwright_builtin.numerics.ordering import matched_by_rank, stable_order

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


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


def protect_by_data_swapping(block: Block, params: DataSwappingParams, rng: np.random.Generator) -> Masked:
    """Exchange the values of all variables of the block between random pairs of records.

    Parameters
    ----------
    block : Block
        Its variables are swapped together, so that everything that holds between them in each record, edits included,
        holds afterwards.

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


def _classes(block: Block, params: DataSwappingParams) -> Integers:
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


def _pairs(classes: Integers, rng: np.random.Generator) -> Integers:
    """Random pairs of records of the same class, each record in one at most; shape (2, pairs)."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    sizes = np.bincount(classes)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = np.flatnonzero((place % 2 == 0) & (place + 1 < np.repeat(sizes, sizes)))
    return np.stack([order[first], order[first + 1]]) if len(first) else np.empty((2, 0), dtype=np.int64)


DATA_SWAPPING = Method(
    name="data_swapping",
    protect=protect_by_data_swapping,
    params=DataSwappingParams,
    scope="group",
    claims=Claims(
        cut="none",
        changes_few=True,
        variable_types={"continuous", "integer", "date", "datetime", "ordinal", "nominal"},
        handles_missing=True,
        preserves={"linear", "product", "inequality", "range", "domain", "mean", "covariance", "combinations"},
    ),
    reference="Dalenius and Reiss (1982), Journal of Statistical Planning and Inference 6(1), 73-85",
    summary="Random pairs of records exchange the values of a group of variables; edits inside the group stay.",
    example="method: data_swapping\nparams: {rate: 0.2}\n",
)


class RankSwappingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of rank swapping."""

    p: float = Field(
        default=10.0,
        gt=0,
        le=100,
        description="Largest difference of the ranks of two values that are swapped, in percent of the number of "
        "values. More protects more and loses more; usual: 1 to 20.",
    )


def protect_by_rank_swapping(block: Block, params: RankSwappingParams, rng: np.random.Generator) -> Masked:
    """Swap the values of each variable between records whose ranks are near each other.

    Returns
    -------
    Masked
        Along the m values in ascending order (equal ones in the order of the records), each that is not swapped yet is
        swapped with one of those not swapped yet among the next floor(p m / 100) ranks, each as likely; where there is
        none, it stays. No value moves by more than p percent of m ranks, and the values of each variable are those of
        the original. Missing cells stay missing. O(m log m) time.

    Raises
    ------
    InputError
        When p percent of the values of a variable are less than one rank, so that none could be swapped.

    References
    ----------
    Moore, R. A. (1996): Controlled data-swapping techniques for masking public use microdata sets. Research report
    RR96-04, US Bureau of the Census; method Rank p of Mateo-Sanz's thesis.
    """

    def change(values: Floats, position: int) -> Floats:
        m = len(values)
        # A product such as 0.07 * 100 may fall short of the whole number it stands for.
        reach = math.floor(params.p * m / 100.0 * (1.0 + 1e-12))
        if reach < 1 or m < 2:
            name = repr(block.names[position])
            raise InputError(
                f"{name} has a single value to mask: there is none to swap it with"
                if m < 2
                else f"p = {params.p:g} percent of the {m} values of {name} are less than one rank, so that none could "
                f"be swapped: take p of at least {math.ceil(1000.0 / m) / 10.0:g}"
            )
        order = stable_order(values)
        swapped = np.empty_like(values)
        swapped[order] = values[order[_partners(m, reach, rng)]]
        return swapped

    return mask_columns(block, change)


def _partners(m: int, reach: int, rng: np.random.Generator) -> Integers:
    """Rank that each of m ranks is swapped with."""
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.methods.swapping.rank_swapping_kernel import TRIES, swap_ranks

    partners = np.full(m, -1, dtype=np.int64)
    rank = 0
    while rank < m:
        rank = swap_ranks(partners, reach, rank, rng.random(m + 2 * TRIES))
    return partners


RANK_SWAPPING = Method(
    name="rank_swapping",
    protect=protect_by_rank_swapping,
    params=RankSwappingParams,
    scope="variable",
    claims=Claims(
        cut="none",
        within_strata=False,
        variable_types={"continuous", "integer", "date", "datetime", "ordinal"},
        handles_missing=True,
        preserves={"range", "domain", "mean"},
    ),
    reference="Moore (1996), Controlled data-swapping techniques, US Bureau of the Census, RR96-04",
    summary="Swaps values of a variable between records whose ranks differ by at most p percent.",
    example="method: rank_swapping\nparams: {p: 15}\n",
)


NOTHING = 1e-9
"""Variance, of a variable with variance 1, that is nothing but rounding."""


class DataShufflingParams(RegressionRoles, frozen=True):
    """Parameters of data shuffling."""


def protect_by_shuffling(block: Block, params: DataShufflingParams, rng: np.random.Generator) -> Masked:
    """Deal out the values of each dependent variable anew.

    Parameters
    ----------
    block : Block
        Its variables are the dependents; the independents are companions.

    Returns
    -------
    Masked
        All variables are given a joint normal distribution (a Gaussian copula) with product-moment correlations
        2 sin(pi r / 6), r their rank correlations. New scores of the dependents are drawn given the normal scores of
        the independents, without use of the dependents' own, and the r-th smallest original value goes to the record
        with the r-th smallest new score. Values of each variable are those of the original, rank correlations are
        theirs in expectation, and given the independents nothing else ties a value to its record. Without independents
        records are wholly new combinations.

    Raises
    ------
    InputError
        Missing cells, too few records, or a dependent whose ranks the independents determine: it would come back.
    """
    # SciPy's statistics take a second to import: not before they are needed.
    from scipy.special import ndtri
    from scipy.stats import rankdata

    independent = independent_columns(block, params.independent)
    q = independent.shape[1]
    require_records(block.n, q + 2, "2 more than independent variables")
    ranks = np.column_stack([rankdata(column) for column in np.hstack([independent, block.values]).T])
    correlations = _normal_correlations(ranks)
    block.progress(0.4)
    scores = ndtri((ranks[:, :q] - 0.5) / block.n)
    slopes = np.linalg.pinv(correlations[:q, :q], rcond=NOTHING, hermitian=True) @ correlations[:q, q:]
    left = correlations[q:, q:] - correlations[q:, :q] @ slopes
    determined = [
        name
        for name, variance, column in zip(block.names, np.diag(left), block.values.T, strict=True)
        if variance <= NOTHING and np.ptp(column) > 0.0
    ]
    if determined:
        raise InputError(
            f"the independent variables determine the ranks of {', '.join(determined)} among the {block.n} records "
            "that are masked together, so that the original values would be published; take an independent variable out"
        )
    eigenvalues, vectors = np.linalg.eigh(left)
    noise = rng.standard_normal(block.values.shape) * np.sqrt(np.maximum(eigenvalues, 0.0)) @ vectors.T
    drawn = scores @ slopes + noise
    values = np.empty_like(drawn)
    for position, column in enumerate(block.values.T):
        values[:, position] = matched_by_rank(drawn[:, position], np.sort(column))
    block.progress(1.0)
    return Masked(values, block.missing.copy(), notes={"changed_cells": int(np.count_nonzero(values != block.values))})


def _normal_correlations(ranks: Floats) -> Floats:
    """Correlations of the normal distribution with these rank correlations, brought to positive semidefinite.

    A constant variable has correlation 0 with all.
    """
    centred = ranks - ranks.mean(axis=0)
    sizes = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    varies = sizes > 0.0
    centred[:, varies] /= sizes[varies]
    correlations = 2.0 * np.sin(np.pi / 6.0 * np.clip(centred.T @ centred, -1.0, 1.0))
    np.fill_diagonal(correlations, 1.0)
    eigenvalues, vectors = np.linalg.eigh(correlations)
    if eigenvalues[0] < 0.0:
        correlations = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
        scale = np.sqrt(np.diag(correlations))
        correlations = correlations / np.outer(scale, scale)
    return np.asarray(correlations)


def fewest_records(params: DataShufflingParams, p: int) -> int:  # noqa: ARG001 - the contract
    """Records that a stratum needs."""
    return len(params.independent) + 2


DATA_SHUFFLING = Method(
    name="data_shuffling",
    protect=protect_by_shuffling,
    params=DataShufflingParams,
    scope="all",
    claims=Claims(
        cost=Cost(cell=6.0),
        cut="none",
        variable_types={"continuous", "integer", "date", "datetime"},
        preserves={"range", "domain", "mean"},
        fewest_records=fewest_records,
    ),
    reference="Muralidhar and Sarathy (2006), Management Science 52(5), 658-670",
    summary="Deals out the values of each variable anew, keeping rank correlations with other variables.",
    example="method: data_shuffling\nparams: {}\n",
)
