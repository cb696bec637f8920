"""Data shuffling: the values of each variable are dealt out anew, along rank correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Block, InputError, Masked, Method
from maskwright_builtin.methods.distribution.ordered_matching import matched_by_rank
from maskwright_builtin.methods.synthetic.roles import RegressionRoles, independent_columns, require_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTHING = 1e-9
"""Variance, of a variable with variance 1, that is nothing but rounding."""


class DataShufflingParams(RegressionRoles, frozen=True):
    """Parameters of data shuffling."""


def protect(block: Block, params: DataShufflingParams, rng: np.random.Generator) -> Masked:
    """Deal out the values of each dependent variable anew.

    Parameters
    ----------
    block : Block
        Its variables are the dependents; the independents are companions.
    params : DataShufflingParams
    rng : numpy.random.Generator

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

    References
    ----------
    Muralidhar, K. and Sarathy, R. (2006): Data shuffling: a new masking approach for numerical data. Management
    Science 52(5), 658-670.
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


def _normal_correlations(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
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
    protect=protect,
    params=DataShufflingParams,
    scope="all",
    cut="none",
    variable_types={"continuous", "integer", "date", "datetime"},
    # Ranks of a block of similar records are near each other.
    preserves={"range", "domain", "mean"},
    fewest_records=fewest_records,
    reference="Muralidhar and Sarathy (2006), Management Science 52(5), 658-670",
    summary="Deals out the values of each variable anew, keeping rank correlations with other variables.",
    example="method: data_shuffling\nparams: {}\n",
)
