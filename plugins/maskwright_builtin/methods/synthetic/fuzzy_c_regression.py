"""Synthetic values from fuzzy c-regression: each record takes the value that one of c linear models fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from maskwright import Block, Claims, Cost, InputError, Iteration, Masked, Method
from maskwright_builtin.methods.microaggregation.fuzzy_clustering import fuzzy_c_means
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.drawing import random_means
from maskwright_builtin.methods.synthetic.radial_basis import radial_functions
from maskwright_builtin.methods.synthetic.regression import (
    RegressionRoles,
    independent_columns,
    orthonormal_basis,
    regress,
    require_records,
    require_spread,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright_builtin.methods.synthetic.c_regression import CRegression
    from maskwright_builtin.numerics.arrays import Floats


START_RECORDS = 5_000
"""Records that the clustering to start from looks at, at most."""

NEARLY_ALL = 0.99
"""Share of a variable's variance from which on fitted values are called nearly the original ones."""


class FuzzyCRegressionParams(RegressionRoles, frozen=True):
    """Parameters of fuzzy c-regression."""

    c: int = Field(
        default=4,
        ge=1,
        strict=True,
        description="Number of models. 1: one regression, as IPSO-A. Larger is nearer to the original, and riskier.",
    )
    models: Literal["per_variable", "joint"] = Field(
        default="per_variable",
        description="per_variable: each dependent has memberships of its own. joint: one for all; linear equalities "
        "among the variables survive, and much more is lost.",
    )
    basis: Literal["linear", "radial"] = Field(
        default="linear",
        description="What the dependents are regressed on: the independents themselves, or radial basis functions of "
        "them (Gaussian), which follow curves.",
    )
    centres: int = Field(
        default=10,
        ge=1,
        strict=True,
        description="For basis: radial, number of radial functions. More is nearer to the original, and riskier.",
    )
    label: Literal["nearest", "draw"] = Field(
        default="nearest",
        description="Whose fitted value a record takes: the model of its highest membership (which tells on which side "
        "of the other models it lay), or one drawn with its memberships.",
    )
    residuals: Literal["none", "resample"] = Field(
        default="none",
        description="resample: add the residual of another record of the same model, so that variances do not shrink.",
    )
    intercept: bool = Field(default=True, description="Whether models have a constant.")
    m: float = Field(default=1.5, gt=1, le=100, description="Fuzziness of the memberships.")
    tolerance: float = Field(default=1e-4, ge=0, description="Stop when no membership changes by more.")
    max_iterations: int = Field(default=30, ge=1, strict=True, description="Stop after so many iterations.")


def protect(block: Block, params: FuzzyCRegressionParams, rng: np.random.Generator) -> Masked:
    """Replace the dependent variables by values that fuzzy c-regression fits.

    Parameters
    ----------
    block : Block
        Its variables are the dependents; the independents are companions.
    rng : numpy.random.Generator
        For the clustering to start from, the draw of labels and the residuals.

    Returns
    -------
    Masked
        Memberships start from fuzzy c-means, of the same m, of the standardised dependent and independent variables.
        With `basis: radial` each model is a radial basis function network: a constant, and Gaussian functions of the
        distance from centres, which fuzzy c-means finds among the independents and all models share.

    Raises
    ------
    InputError
        More models than a third of the records, more centres than records less two, no independent variable for
        `basis: radial`, missing cells, or a dependent that the independents determine.

    References
    ----------
    Cano, I. and Torra, V. (2009): Generation of synthetic data by means of fuzzy c-regression. FUZZ-IEEE 2009,
    1145-1150; their figures are those of models for each dependent variable by itself. Radial functions are named
    there as future work.
    """
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.methods.synthetic.c_regression import fuzzy_c_regression

    independents, design, center = _prepared(block, params, rng)
    targets = (block.values - center) / block.scale
    sets = _sets(block, params)
    fitted = np.empty_like(targets)
    notes: dict[str, Any] = {"largest_iterations": 0, "not_converged": 0}
    for number, columns in enumerate(sets):
        start = _start(independents, targets[:, columns], params, rng)
        found = fuzzy_c_regression(
            design, targets[:, columns], start, m=params.m, tolerance=params.tolerance,
            max_iterations=params.max_iterations,
        )  # fmt: skip
        fitted[:, columns] = _values(design, targets[:, columns], found, params, rng)
        notes["largest_iterations"] = max(notes["largest_iterations"], len(found.objective))
        notes["not_converged"] += int(found.change >= params.tolerance)
        block.progress((number + 1) / len(sets))
    explained = _explained(targets, fitted)
    notes["largest_share_explained"] = explained
    return Masked(
        values=fitted * block.scale + center, missing=block.missing.copy(), notes=notes, doubts=_too_near(explained)
    )


def iterations(block: Block, params: FuzzyCRegressionParams, rng: np.random.Generator) -> Iterator[Iteration]:
    """Models of all dependent variables after each iteration; those that have converged stay as they are."""
    from maskwright_builtin.methods.synthetic.c_regression import regression_iterations

    if params.label != "nearest" or params.residuals != "none":
        raise InputError("iterations are those of 'label: nearest' and 'residuals: none': nothing is drawn in them")
    if params.basis != "linear":
        raise InputError("iterations are those of 'basis: linear': other models have no slopes to be shown")
    independents, design, center = _prepared(block, params, rng)
    targets = (block.values - center) / block.scale
    sets = _sets(block, params)
    going = [
        regression_iterations(
            design, targets[:, each], _start(independents, targets[:, each], params, rng), m=params.m,
            tolerance=params.tolerance, max_iterations=params.max_iterations,
        )
        for each in sets
    ]  # fmt: skip
    found = [next(each) for each in going]
    as_written = _as_written(design, independents)
    while True:
        fitted, models = np.empty_like(targets), np.empty((params.c, as_written.shape[0], block.p))
        memberships = np.empty((block.n, params.c, block.p))
        for columns, each in zip(sets, found, strict=True):
            fitted[:, columns] = _values(design, targets[:, columns], each, params, rng)
            models[:, :, columns] = as_written @ each.models
            memberships[:, :, columns] = each.memberships[:, :, None]
        models *= block.scale
        models[:, 0] += center
        later = [next(each, None) for each in going]
        yield Iteration(
            values=fitted * block.scale + center, objective=float(sum(each.objective[-1] for each in found)),
            memberships=memberships, models=models, is_last=not any(later),
        )  # fmt: skip
        if not any(later):
            return
        found = [old if new is None else new for old, new in zip(found, later, strict=True)]


def _prepared(block: Block, params: FuzzyCRegressionParams, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Independent variables, the design made of them, and what the dependent ones are counted from."""
    independents = independent_columns(block, params.independent)
    explaining = independents
    if params.basis == "radial":
        if not params.independent:
            raise InputError("basis: radial needs independent variables, from which distances are computed")
        require_records(block.n, params.centres + 2, "two more than centres")
        explaining = radial_functions(independents, params.centres, rng)
    whole = regress(block.values[None], explaining[None])
    why = "three for each model, and more than a model has coefficients"
    require_records(block.n, max(3 * params.c, int(whole.design_rank[0]) + 2), why)
    require_spread(block, whole)
    design = _design(explaining, intercept=params.intercept)
    return independents, design, block.center if params.intercept else np.zeros(block.p)


def _sets(block: Block, params: FuzzyCRegressionParams) -> list[slice]:
    """Dependent variables that have memberships in common."""
    if params.models == "joint":
        return [slice(0, block.p)]
    return [slice(column, column + 1) for column in range(block.p)]


def _as_written(design: Floats, independents: Floats) -> Floats:
    """What turns coefficients on the design into a constant and slopes of the independents; shape (1 + p, q)."""
    middle, spread = independents.mean(axis=0), independents.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    plain = np.column_stack([np.ones(len(design)), (independents - middle) / spread])
    result = np.linalg.lstsq(plain, design, rcond=None)[0]
    result[1:] /= spread[:, None]
    result[0] -= middle @ result[1:]
    return np.asarray(result, dtype=np.float64)


def _design(independents: Floats, *, intercept: bool) -> Floats:
    """Orthogonal columns of mean square 1 that span the independents, and the constant."""
    n = len(independents)
    spread = np.sqrt(np.mean(independents**2, axis=0))
    scaled = independents / np.where(spread > 0, spread, 1.0)
    if intercept:
        scaled = independents - independents.mean(axis=0)
        deviation = scaled.std(axis=0)
        scaled = scaled / np.where(deviation > 0, deviation, 1.0)
    basis, rank = orthonormal_basis(scaled[None] / np.sqrt(n))
    columns = basis[0][:, : int(rank[0])] * np.sqrt(n)
    return np.ascontiguousarray(np.column_stack([np.ones(n), columns]) if intercept else columns)


def _start(independents: Floats, targets: Floats, params: FuzzyCRegressionParams, rng: np.random.Generator) -> Floats:
    """Memberships in the clusters of fuzzy c-means."""
    n = len(targets)
    if params.c == 1:
        return np.ones((n, 1))
    deviation = independents.std(axis=0, ddof=1)
    points = np.column_stack(
        [(independents - independents.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), targets]
    )
    some = points
    if n > START_RECORDS:
        some = points[np.sort(rng.choice(n, START_RECORDS, replace=False))]
    # One thread: so few records are clustered sooner than threads are started.
    first = random_means(some, params.c, rng, threads=1)
    clusters = fuzzy_c_means(some, first, m=params.m, tolerance=1e-4, max_iterations=50, threads=1)
    memberships = np.empty((n, params.c))
    for cluster, centroid in enumerate(clusters.centroids):
        distance = np.maximum(np.einsum("np,np->n", points - centroid, points - centroid), 1e-100)
        memberships[:, cluster] = np.log(distance)
    memberships *= -1.0 / (params.m - 1.0)
    memberships -= memberships.max(axis=1, keepdims=True)
    np.exp(memberships, out=memberships)
    memberships /= memberships.sum(axis=1, keepdims=True)
    return memberships


def _values(
    design: Floats, targets: Floats, found: CRegression, params: FuzzyCRegressionParams, rng: np.random.Generator
) -> Floats:
    if params.label == "nearest":
        labels = np.argmax(found.memberships, axis=1)
    else:
        reached = np.cumsum(found.memberships, axis=1)
        drawn = rng.random(len(design))[:, None] * reached[:, -1:]
        labels = np.minimum((reached <= drawn).sum(axis=1), params.c - 1)
    fitted = np.empty_like(targets)
    for label in range(params.c):
        records = np.flatnonzero(labels == label)
        fitted[records] = design[records] @ found.models[label]
        if params.residuals == "resample" and len(records):
            residuals = targets[records] - fitted[records]
            fitted[records] += residuals[rng.permutation(len(records))]
    return fitted


def _explained(targets: Floats, fitted: Floats) -> float:
    """Largest share of a dependent's variance that the fitted values explain."""
    total = np.sum((targets - targets.mean(axis=0)) ** 2, axis=0)
    left = np.sum((targets - fitted) ** 2, axis=0)
    return float(np.max(1 - left[total > 0] / total[total > 0], initial=0.0))


def _too_near(explained: float) -> tuple[str, ...]:
    doubt = (
        f"a dependent variable comes out nearly as it was (more than {NEARLY_ALL:.0%} of its variance is explained): "
        "take fewer models or independent variables, 'label: draw', or 'residuals: resample'"
    )
    return (doubt,) if explained > NEARLY_ALL else ()


def fewest_records(params: FuzzyCRegressionParams, p: int) -> int:  # noqa: ARG001 - the signature is the contract's
    """Three for each model, and more than a model has coefficients."""
    return max(3 * params.c, 2 + (len(params.independent) if params.basis == "linear" else params.centres))


FUZZY_C_REGRESSION = Method(
    name="fuzzy_c_regression",
    protect=protect,
    params=FuzzyCRegressionParams,
    scope="all",
    claims=Claims(cost=Cost(cell=5.6), cut="none", fewest_records=fewest_records),
    iterations=iterations,
    reference="Cano and Torra (2009), FUZZ-IEEE, 1145-1150",
    summary="Replaces dependent variables by the values that one of c regressions fits for each record.",
    example="method: fuzzy_c_regression\nparams: {c: 4}\n",
)
