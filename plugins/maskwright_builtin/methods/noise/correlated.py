"""Correlated noise: drawn with the covariances of the variables, so that correlations stay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Block, Masked, Method
from maskwright_builtin.methods.noise.correction import NoiseParams
from maskwright_builtin.methods.single_columns import spread, unchanged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Moments

NOTHING = 1e-12
"""Share of the largest eigenvalue of a correlation matrix below which there is no variation but rounding."""


class CorrelatedNoiseParams(NoiseParams, frozen=True):
    """Parameters of correlated noise."""


def protect(block: Block, params: CorrelatedNoiseParams, rng: np.random.Generator) -> Masked:
    """Add normal noise with the covariances of the variables.

    Parameters
    ----------
    block : Block
        Without missing cells; with the moments of other records that have its cells, where there are some.
    params : CorrelatedNoiseParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        ``X + E``, the rows of E from N(0, p^2 S) with S the covariance matrix of the variables: the expected covariance
        matrix is (1 + p^2) S, and correlations stay in expectation. With ``correction: mean_and_variance`` deviations
        from the mean are mapped linearly so that the whole covariance matrix is exactly S; of such maps it is the one
        that moves records least in Mahalanobis distance. Linear equalities between the variables that hold in every
        record hold in every masked one, because E has no component across them.

    References
    ----------
    Brand, R. (2002): Microdata protection through noise addition. Inference Control in Statistical Databases, LNCS
    2316, 97-116, sections 2 and 3; Kim, J. J. (1986), as for additive noise. The map: Olkin, I. and Pukelsheim, F.
    (1982): The distance between two random vectors with given dispersion matrices. Linear Algebra and its Applications
    48, 257-263.
    """
    told = block.moments
    center = block.values.mean(axis=0) if told is None else told.mean
    deviations = block.values - center
    sizes = np.array([spread(column) for column in block.values.T]) if told is None else _spreads(told)
    varies = sizes > 0.0
    constant = [name for name, has_spread in zip(block.names, varies, strict=True) if not has_spread]
    doubts = (unchanged(constant),) if constant else ()
    values = block.values.copy()
    if varies.any():
        scale = sizes[varies]
        correlations = None if told is None else told.covariance[np.ix_(varies, varies)] / np.outer(scale, scale)
        values[:, varies] = center[varies] + scale * _noisy(deviations[:, varies] / scale, correlations, params, rng)
    changed = int(np.count_nonzero(values != block.values))
    block.progress(1.0)
    return Masked(values, block.missing.copy(), notes={"changed_cells": changed}, doubts=doubts)


def _spreads(told: Moments) -> NDArray[np.float64]:
    """Standard deviations, as `spread` has them; shape (p,)."""
    noise = told.high - told.low <= NOTHING * np.maximum(np.abs(told.low), np.abs(told.high))
    return np.where(noise, 0.0, np.sqrt(np.diag(told.covariance)))


def _noisy(
    points: NDArray[np.float64],
    correlations: NDArray[np.float64] | None,
    params: CorrelatedNoiseParams,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Standardised deviations with noise, corrected; shape (n, q). Correlations of the points, unless they are told."""
    n = len(points)
    eigenvalues, vectors = np.linalg.eigh(points.T @ points / (n - 1) if correlations is None else correlations)
    kept = eigenvalues > NOTHING * eigenvalues[-1]
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    noise = params.p * rng.standard_normal((n, len(eigenvalues))) * np.sqrt(eigenvalues)
    if params.correction == "none":
        return np.asarray(points + noise @ vectors.T)
    noise -= noise.mean(axis=0)
    if params.correction == "mean":
        return np.asarray(points + noise @ vectors.T)
    # In coordinates of principal components with variance 1, so that small components keep their digits.
    deviation = np.sqrt(eigenvalues)
    scores = (points @ vectors + noise) / deviation
    inner, turned = np.linalg.eigh(scores.T @ scores / (n - 1))
    whitening = (turned / np.sqrt(inner)) @ turned.T
    return np.asarray((scores @ whitening * deviation) @ vectors.T)


def _variant(params: CorrelatedNoiseParams) -> Method:
    # Corrected noise depends on that of the other records.
    return CORRELATED_NOISE if params.correction != "none" else replace(CORRELATED_NOISE, others="moments")


CORRELATED_NOISE = Method(
    name="correlated_noise",
    protect=protect,
    params=CorrelatedNoiseParams,
    scope="all",
    # Covariances are those of the whole file.
    cut="none",
    within_strata=False,
    preserves={"linear"},
    variant=_variant,
    reference="Brand (2002), Inference Control in Statistical Databases, LNCS 2316, 97-116; Kim (1986), Proc. ASA "
    "Section on Survey Research Methods, 303-308",
    summary="Adds normal noise with the covariances of the variables; correlations and linear equalities stay.",
    example="method: correlated_noise\nparams: {p: 0.1, correction: mean_and_variance}\n",
)
