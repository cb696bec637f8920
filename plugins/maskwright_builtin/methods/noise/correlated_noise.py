"""Correlated noise: drawn with the covariances of the variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Block, Claims, ExactMoments, Gathering, Masked, Method, uniform_by_record
from maskwright_builtin.methods.column_masking import spread, spreads_of
from maskwright_builtin.methods.noise.independent_noise import NoiseParams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.numerics.arrays import Booleans, Floats


NOTHING = 1e-12
"""Share of the largest eigenvalue of a correlation matrix below which there is no variation but rounding."""


class CorrelatedNoiseParams(NoiseParams, frozen=True):
    """Parameters of correlated noise."""


def protect(block: Block, params: CorrelatedNoiseParams, rng: np.random.Generator) -> Masked:
    """Add normal noise with the covariances of the variables.

    Parameters
    ----------
    block : Block
        Without missing cells; it has the moments of all records that have its cells.

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
    if params.correction == "none":
        return _by_record(block, params, rng)
    center = block.values.mean(axis=0)
    sizes = np.array([spread(column) for column in block.values.T])
    varies = sizes > 0.0
    values = block.values.copy()
    if varies.any():
        scale = sizes[varies]
        points = (block.values - center)[:, varies] / scale
        values[:, varies] = center[varies] + scale * _corrected(points, params, rng)
    return _masked(block, values, varies)


def _by_record(block: Block, params: CorrelatedNoiseParams, rng: np.random.Generator) -> Masked:
    """Add noise that is a function of the record's position in the file, and of how all records vary together."""
    from scipy.special import ndtri  # not before it is needed

    moments = _moments_of(COVARIANCES.of(block, params), block.names)
    sizes = spreads_of(moments)
    varies = sizes > 0.0
    values = block.values.copy()
    if varies.any():
        scale = sizes[varies]
        correlations = moments.covariance[np.ix_(varies, varies)] / np.outer(scale, scale)
        eigenvalues, vectors = _components(correlations)
        drawn = ndtri(uniform_by_record(block, rng, len(eigenvalues)))
        # Added one by one: a product of matrices may round otherwise where there are more records.
        noise = np.zeros((block.n, len(scale)))
        for component, (eigenvalue, vector) in enumerate(zip(eigenvalues, vectors.T, strict=True)):
            noise += drawn[:, component : component + 1] * (params.p * np.sqrt(eigenvalue) * vector)
        values[:, varies] += scale * noise
    return _masked(block, values, varies)


def _masked(block: Block, values: Floats, varies: Booleans) -> Masked:
    constant = [name for name, has_spread in zip(block.names, varies, strict=True) if not has_spread]
    changed = int(np.count_nonzero(values != block.values))
    block.progress(1.0)
    return Masked(
        values, block.missing.copy(), notes={"changed_cells": changed},
        without_spread=tuple(constant),
    )  # fmt: skip


def _components(correlations: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues that are more than rounding, and their vectors."""
    eigenvalues, vectors = np.linalg.eigh(correlations)
    kept = eigenvalues > NOTHING * eigenvalues[-1]
    return eigenvalues[kept], vectors[:, kept]


def _corrected(points: Floats, params: CorrelatedNoiseParams, rng: np.random.Generator) -> Floats:
    """Standardised deviations with noise, corrected; shape (n, q)."""
    n = len(points)
    eigenvalues, vectors = _components(points.T @ points / (n - 1))
    noise = params.p * rng.standard_normal((n, len(eigenvalues))) * np.sqrt(eigenvalues)
    noise -= noise.mean(axis=0)
    if params.correction == "mean":
        return np.asarray(points + noise @ vectors.T)
    # In coordinates of principal components with variance 1, so that small components keep their digits.
    deviation = np.sqrt(eigenvalues)
    scores = (points @ vectors + noise) / deviation
    inner, turned = np.linalg.eigh(scores.T @ scores / (n - 1))
    whitening = (turned / np.sqrt(inner)) @ turned.T
    return np.asarray((scores @ whitening * deviation) @ vectors.T)


def moments_of_some(block: Block, params: CorrelatedNoiseParams) -> dict[str, Any]:  # noqa: ARG001 - the contract
    """Exact moments of some records, for each pattern of missing cells."""
    patterns, places = np.unique(block.missing, axis=0, return_inverse=True)
    found = []
    for number, pattern in enumerate(patterns):
        there = np.flatnonzero(~pattern)
        own = np.flatnonzero(places.ravel() == number)
        names = [block.names[place] for place in there]
        found.append([names, ExactMoments.of(block.values[np.ix_(own, there)]).to_json()])
    return {"patterns": found}


def moments_of_all(facts: Sequence[Mapping[str, Any]], params: CorrelatedNoiseParams) -> dict[str, Any]:  # noqa: ARG001
    """The same of all records."""
    found: dict[tuple[str, ...], ExactMoments] = {}
    for each in facts:
        for names, plain in each["patterns"]:
            own, key = ExactMoments.from_json(plain), tuple(names)
            found[key] = found[key] + own if key in found else own
    return {"patterns": [[list(names), each.to_json()] for names, each in found.items()]}


def _moments_of(gathered: Mapping[str, Any], names: Sequence[str]) -> ExactMoments:
    """Moments of all records that have a value of these variables, and maybe of others."""
    having = [(own, ExactMoments.from_json(plain)) for own, plain in gathered["patterns"] if set(names) <= set(own)]
    shares = [each.among([own.index(name) for name in names]) for own, each in having]
    return sum(shares[1:], shares[0])


COVARIANCES = Gathering(partial=moments_of_some, merged=moments_of_all, not_with="a correction")


def _variant(params: CorrelatedNoiseParams) -> Method:
    # Corrected noise depends on that of the other records.
    return CORRELATED_NOISE if params.correction == "none" else CORRELATED_NOISE.claiming(gathering=None)


CORRELATED_NOISE = Method(
    name="correlated_noise",
    protect=protect,
    params=CorrelatedNoiseParams,
    scope="all",
    claims=Claims(cut="none", within_strata=False, preserves={"linear"}, gathering=COVARIANCES),
    variant=_variant,
    reference="Brand (2002), Inference Control in Statistical Databases, LNCS 2316, 97-116; Kim (1986), Proc. ASA "
    "Section on Survey Research Methods, 303-308",
    summary="Adds normal noise with the covariances of the variables; correlations and linear equalities stay.",
    example="method: correlated_noise\nparams: {p: 0.1, correction: mean_and_variance}\n",
)
