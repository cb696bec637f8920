"""Microaggregation along one axis: records sorted by a key or factor, cut into consecutive clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Block, Cost, InputError, Partition
from maskwright_builtin.partitions.records import consecutive_groups, standardised_records
from maskwright_builtin.partitions.univariate.partition import univariate_labels

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


ROTATIONS = 500
"""Steps of the varimax rotation at most; some twenty are usual."""


def first_rotated_factor(points: Floats) -> Floats:
    """Scores on the first rotated factor.

    Principal-component factors of the correlation matrix with eigenvalue above 1 (at least one), varimax rotation with
    Kaiser's normalisation of the rows, regression scores ``Z R^-1 A`` with the rotated loadings A; the factor with the
    largest sum of squared loadings, pointing towards larger values of the variables in the sum.

    `points`: constant columns do not take part; shape (n, q). Returns shape (n,).

    Kaiser, H. F. (1958): The varimax criterion for analytic rotation in factor analysis. Psychometrika 23(3), 187-200.
    """
    deviations = points - points.mean(axis=0)
    sizes = np.sqrt(np.einsum("ij,ij->j", deviations, deviations))
    deviations = deviations[:, sizes > 0.0] / sizes[sizes > 0.0]
    if deviations.shape[1] == 0:
        return np.zeros(len(points))
    correlation = deviations.T @ deviations
    eigenvalues, vectors = np.linalg.eigh(correlation)
    kept = eigenvalues > 1.0 + 1e-12
    kept[-1] = True
    loadings = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    communalities = np.sqrt((loadings**2).sum(axis=1))[:, None]
    rotated = _varimax(loadings / communalities) * communalities
    factor = rotated[:, np.argmax((rotated**2).sum(axis=0))]
    weights = np.linalg.pinv(correlation, rcond=1e-10, hermitian=True) @ factor
    return np.asarray(deviations @ weights) * (-1.0 if factor.sum() < 0.0 else 1.0)


def _varimax(loadings: Floats) -> Floats:
    """Rotate to the largest variance of squared loadings, by singular value decompositions."""
    rotation = np.eye(loadings.shape[1])
    reached = 0.0
    for _ in range(ROTATIONS):
        turned = loadings @ rotation
        left, singular, right = np.linalg.svd(loadings.T @ (turned**3 - turned * (turned**2).mean(axis=0)))
        rotation = left @ right
        if singular.sum() <= reached * (1.0 + 1e-14):
            break
        reached = float(singular.sum())
    return np.asarray(loadings @ rotation)


class ProjectionParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of partitions along one axis."""

    onto: Literal["z_scores", "principal_component", "rotated_factor", "variable"] = Field(
        default="z_scores",
        description="What records are sorted by. 'z_scores': the sum of the standardised values (MicZ). "
        "'principal_component': the first principal component of the correlations. 'rotated_factor': the first of the "
        "factors with eigenvalue above 1 after varimax rotation, which is what the thesis's MicPCP computed. "
        "'variable': one variable.",
    )
    variable: str | None = Field(default=None, description="For 'onto: variable': its name.")
    groups: Literal["optimal", "fixed"] = Field(
        default="fixed",
        description="'fixed': clusters of k, the middle one takes the remainder. 'optimal': clusters of k to 2k - 1 "
        "with the smallest sum of squares of the key.",
    )

    @model_validator(mode="after")
    def _named(self) -> ProjectionParams:
        if (self.onto == "variable") != (self.variable is not None):
            raise ValueError("'onto: variable' and 'variable: NAME' belong together")
        return self


def cluster(
    block: Block,
    k: int,
    params: ProjectionParams,
    rng: np.random.Generator,  # noqa: ARG001 - the contract of a partition
) -> Integers:
    """Sort the records by a key and cut them into consecutive clusters.

    Parameters
    ----------
    block : Block
        Keys are made from `Block.standardised`.

    Returns
    -------
    ndarray of shape (n,), int64
        Labels 0, 1, ... in ascending order of the key. A component or factor points towards larger values of the
        variables that it weighs, in the sum. All records are one cluster when n < 2k; equal keys are cut in the order
        of the records.

    Raises
    ------
    InputError
        When the named variable is not in the block, k is below 1, or values have no distances.

    References
    ----------
    Mateo-Sanz's thesis, univariate microaggregation (MicZ, MicPCP, single variable). The text says that MicPCP sorts by
    the first principal component; its published figures are those of the rotated factor.
    """
    points = standardised_records(block, k)
    if params.onto == "variable":
        if params.variable not in block.names:
            raise InputError(
                f"partition 'projection': variable {params.variable!r} is not in the group {', '.join(block.names[:5])}"
                + (", ..." if block.p > 5 else "")
                + "; set 'group_size: all', or name a variable of each group"
            )
        position = block.names.index(params.variable)
        nominal = block.variables[position].type == "nominal"
        key = np.nan_to_num(block.values[:, position]) if nominal else _column(block, position)
    elif params.onto == "z_scores":
        key = points.sum(axis=1)
    elif params.onto == "principal_component":
        key = _first_component(points)
    else:
        key = first_rotated_factor(points)
    return univariate_labels(key, k) if params.groups == "optimal" else consecutive_groups(key, k)


def _column(block: Block, position: int) -> Floats:
    """Standardised column; a missing cell is the file's mean."""
    column = (block.values[:, position] - block.center[position]) / block.scale[position]
    return np.where(block.missing[:, position], 0.0, column)


def _first_component(points: Floats) -> Floats:
    """Scores on the first principal component of the correlations."""
    deviations = points - points.mean(axis=0)
    sizes = np.sqrt(np.einsum("ij,ij->j", deviations, deviations))
    deviations = np.divide(deviations, sizes, out=np.zeros_like(deviations), where=sizes > 0.0)
    _, vectors = np.linalg.eigh(deviations.T @ deviations)
    first = vectors[:, -1]
    return np.asarray(deviations @ first) * (-1.0 if first.sum() < 0.0 else 1.0)


PROJECTION = Partition(
    name="projection",
    cluster=cluster,
    params=ProjectionParams,
    deterministic=True,
    reference="Defays and Nanopoulos (1993), Panels of enterprises and confidentiality: the small aggregates method, "
    "Statistics Canada, 195-204",
    summary="Clusters of records that follow each other on one axis: sum of z-scores, component, factor or variable.",
    cost=Cost(cell=1.0),
)
