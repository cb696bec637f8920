"""Regressions of dependents on independents, and adjustment to the edits that keeps means and covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import DependentVariables, EditSet, IndependentVariables, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Block
    from maskwright_builtin.numerics.arrays import Floats, Integers


TALL = 10
"""Records for each column from which on random columns are certain to be far from dependent."""

ROUNDING = 64 * np.finfo(np.float64).eps
"""Singular values below this, times the largest and the square root of the number of records, are rounding noise."""


@dataclass(frozen=True, eq=False)
class Regression:
    """Regression of dependents on an intercept and independents.

    `mean`: of the dependents; shape (b, 1, L). `fitted`: fitted values less `mean`; shape (b, m, L). `residuals`: shape
    (b, m, L). `factor`: r with R'R = E'E for the residuals E: singular values times right singular vectors, rows beyond
    the rank 0; shape (b, L, L). `residual_rank`, `design_rank`, `joint_rank`: ranks of the residuals, of the
    independents, and of independents and dependents together, without the intercept; shape (b,). `basis`: orthonormal
    columns that span the independents and dependents, without the intercept; spare columns are 0; shape (b, m, r).
    `design`: likewise, of the independents alone; shape (b, m, p).
    """

    mean: Floats
    fitted: Floats
    residuals: Floats
    factor: Floats
    residual_rank: Integers
    design_rank: Integers
    joint_rank: Integers
    basis: Floats
    design: Floats


def regress(dependents: Floats, independents: Floats) -> Regression:
    """Regress dependents on an intercept and independents, whatever their ranks.

    `dependents`: shape (b, m, L). `independents`: p may be 0: then the fitted value is the mean; shape (b, m, p).

    Columns are centred and scaled first, and bases come from orthogonal decompositions: a Gram matrix is never formed
    nor inverted, so that columns that depend on each other exactly, or lie at an offset of 1e8, do no harm.
    """
    mean = dependents.mean(axis=1, keepdims=True)
    centred = dependents - mean
    # A second pass takes away what the rounding of the first mean left.
    mean = mean + centred.mean(axis=1, keepdims=True)
    centred = dependents - mean
    scaled, spread = _unit_columns(centred, dependents)
    others = independents - independents.mean(axis=1, keepdims=True)
    others = others - others.mean(axis=1, keepdims=True)
    design, design_rank = orthonormal_basis(_unit_columns(others, independents)[0])
    fitted = design @ (_transposed(design) @ scaled)
    residuals = scaled - fitted
    residuals -= design @ (_transposed(design) @ residuals)
    left, sizes, right = _svd(residuals)
    # Relative to the columns, which have length 1: what remains of a column that the design explains is rounding.
    kept = sizes > ROUNDING * np.sqrt(dependents.shape[1])
    sizes = np.where(kept, sizes, 0.0)
    residual_rank = np.asarray(kept.sum(axis=1), dtype=np.int64)
    return Regression(
        mean=mean,
        fitted=fitted * spread,
        residuals=residuals * spread,
        factor=_square(sizes[:, :, None] * right) * spread,
        residual_rank=residual_rank,
        design_rank=design_rank,
        joint_rank=design_rank + residual_rank,
        basis=np.concatenate([design, left * kept[:, None, :]], axis=2),
        design=design,
    )


def new_residuals(noise: Floats, avoid: Floats, factor: Floats, rank: Integers) -> Floats:
    """Residuals made of noise, with mean 0 and cross products ``factor' factor``, orthogonal to given columns.

    `noise`: standard normal draws; shape (b, m, L). `avoid`: orthonormal columns, orthogonal to the intercept; shape
    (b, m, r). `factor`: shape (b, L, L). `rank`: rank of `factor`; at least as many dimensions must be left beside
    `avoid` and the intercept; shape (b,). Returns shape (b, m, L).
    """
    columns = int(rank.max(initial=0))
    if columns == 0:
        return np.zeros_like(noise)
    free = noise[:, :, :columns] - noise[:, :, :columns].mean(axis=1, keepdims=True)
    tall = noise.shape[1] > TALL * (columns + avoid.shape[2])
    # Twice is enough: the second pass removes what cancellation left of the first.
    for _ in range(2):
        free -= avoid @ (_transposed(avoid) @ free)
        free -= free.mean(axis=1, keepdims=True)
        if tall:
            # Noise with room to spare is far from dependent, so that its Gram matrix does no harm, and is faster.
            free = free @ _transposed(np.linalg.inv(np.linalg.cholesky(_transposed(free) @ free)))
    orthonormal = free if tall else np.linalg.qr(free)[0]
    return np.asarray(orthonormal @ factor[:, :columns, :])


def orthonormal_basis(columns: Floats) -> tuple[Floats, Integers]:
    """Orthonormal columns that span the given ones, those beyond the rank 0; and the rank.

    `columns`: of about equal lengths; shape (b, m, p). Returns shape (b, m, min(m, p).
    """
    if columns.shape[2] == 0:
        return np.zeros((*columns.shape[:2], 0)), np.zeros(len(columns), dtype=np.int64)
    left, sizes, _ = _svd(columns)
    kept = sizes > ROUNDING * np.sqrt(columns.shape[1]) * np.maximum(sizes[:, :1], 1.0)
    return left * kept[:, None, :], np.asarray(kept.sum(axis=1), dtype=np.int64)


def square_factor(cross: Floats) -> tuple[Floats, Floats]:
    """Factor R with R'R = `cross`, by eigenvalues, and the smallest eigenvalue; negative ones count as 0.

    `cross`: symmetric; shape (b, L, L). Returns largest eigenvalue first, so that rows beyond the rank are 0; shape (b,
    L, L).
    """
    values, vectors = np.linalg.eigh(cross)
    values, vectors = values[:, ::-1], vectors[:, :, ::-1]
    noise = ROUNDING * np.maximum(values[:, :1], 0.0)
    sizes = np.sqrt(np.where(values > noise, values, 0.0))
    return sizes[:, :, None] * _transposed(vectors), values[:, -1]


def _svd(columns: Floats) -> tuple[Floats, Floats, Floats]:
    """Thin singular value decomposition; tall stacks by way of QR, which is several times faster."""
    if columns.shape[1] > 2 * columns.shape[2] > 0:
        orthonormal, triangle = np.linalg.qr(columns)
        left, sizes, right = np.linalg.svd(triangle, full_matrices=False)
        return orthonormal @ left, sizes, right
    left, sizes, right = np.linalg.svd(columns, full_matrices=False)
    return left, sizes, right


def _square(factor: Floats) -> Floats:
    """Zero rows below, where there were fewer records than dependents."""
    b, rows, columns = factor.shape
    if rows == columns:
        return factor
    return np.concatenate([factor, np.zeros((b, columns - rows, columns))], axis=1)


def _unit_columns(centred: Floats, raw: Floats) -> tuple[Floats, Floats]:
    """Centred columns scaled to length 1, or to 0 where only rounding noise is left, and the lengths."""
    length = np.sqrt(np.einsum("bmp,bmp->bp", centred, centred))
    noise = ROUNDING * np.sqrt(raw.shape[1]) * np.abs(raw).max(axis=1, initial=0.0)
    varies = length > noise
    length = np.where(varies, length, 1.0)[:, None, :]
    return np.where(varies[:, None, :], centred / length, 0.0), length


def _transposed(stack: Floats) -> Floats:
    return stack.transpose(0, 2, 1)


class RegressionRoles(BaseModel, extra="forbid", frozen=True):
    """Which variables are dependent and which independent."""

    dependent: Annotated[tuple[str, ...], DependentVariables()] = Field(
        default=(),
        description="Variables to replace. Default: those of the step, or all numeric confidential and "
        "quasi-identifying ones, less the independent ones.",
    )
    independent: Annotated[tuple[str, ...], IndependentVariables()] = Field(
        default=(),
        description="Numeric variables that explain the dependent ones. They are read and stay as they are.",
    )

    @model_validator(mode="after")
    def _apart(self) -> RegressionRoles:
        for role, names in (("dependent", self.dependent), ("independent", self.independent)):
            if len(set(names)) < len(names):
                raise ValueError(f"{role}: a variable is listed twice")
        both = sorted(set(self.dependent) & set(self.independent))
        if both:
            raise ValueError(f"{', '.join(both)}: dependent and independent at once")
        return self


def independent_columns(block: Block, names: Sequence[str]) -> Floats:
    """Columns of the independent variables; shape (n, p)."""
    strangers = [name for name in names if name not in block.companions]
    if strangers:
        raise InputError(f"the independent variables {', '.join(strangers)} are not in the data of this step")
    columns = (np.column_stack([block.companions[name] for name in names]) if names else np.zeros((block.n, 0))).astype(
        np.float64
    )
    holes = [name for name, column in zip(names, columns.T, strict=True) if not np.isfinite(column).all()]
    holes += [name for name, gone in zip(block.names, block.missing.T, strict=True) if gone.any()]
    if holes:
        raise InputError(
            f"regression takes no missing cells; there are some in {', '.join(holes)}. Leave these variables or "
            "records out, or impute them first"
        )
    return columns


def require_spread(block: Block, regression: Regression) -> None:
    """Refuse dependents that the independents determine: their synthetic values would be the true ones."""
    sizes = np.sqrt(np.einsum("bmp,bmp->p", regression.residuals, regression.residuals))
    total = np.sqrt(np.einsum("mp,mp->p", *[block.values - block.values.mean(axis=0)] * 2))
    noise = 1e-9 * total
    varies = total > 1e-9 * np.abs(block.values).max(axis=0, initial=0.0)
    determined = list(
        dict.fromkeys(name for name, bare in zip(block.names, (sizes <= noise) & varies, strict=True) if bare)
    )
    if determined:
        raise InputError(
            f"the independent variables determine {', '.join(determined)} among the {block.n} records that are masked "
            "together, so that the original values would be published; take an independent variable out"
        )


def require_records(n: int, needed: int, why: str) -> None:
    """Refuse blocks with too few degrees of freedom."""
    if n < needed:
        raise InputError(
            f"{n} records are masked together and at least {needed} are needed ({why}); with fewer, original values "
            "would come back. Use fewer variables, larger blocks, or merge strata"
        )


RESTORED = 1e-6
"""Largest shift of a mean (in standard deviations) or a correlation at which the moments count as kept."""

BEYOND = 0.9
"""How far beyond the edits a round goes on, as a share of the way to them; halves the number of rounds."""

FINITE_FREE = frozenset({"linear", "range", "product", "governing"})
"""Kinds of edit that do not need the values of the original file."""


class MomentsAndEdits(RegressionRoles, frozen=True):
    """Whether edits may cost the means and covariances."""

    restore_moments: bool = Field(
        default=False,
        description="Look for values that satisfy the edits and keep means and covariances too, before the engine "
        "adjusts what is left. The record says how far it came before that; what adjusting cost the means and "
        "covariances in the end, with edits that read other variables too, stands under moment_drift.",
    )
    max_rounds: int = Field(
        default=200,
        ge=1,
        strict=True,
        description="For restore_moments: rounds of bringing values onto the one and the other.",
    )


@dataclass(frozen=True)
class Restored:
    """How far values satisfy edits and moments together.

    `before`: largest shift of a mean (in standard deviations of the dependent) or of a covariance (in products of
    standard deviations) among dependents and independents that bringing the values onto the edits at once would cost.
    `after`: the same after `rounds` rounds. `records`: records that broke an edit at first.
    """

    rounds: int
    before: float
    after: float
    records: int


def onto_edits(
    block: Block, params: MomentsAndEdits, target: Regression, values: Floats, *, restore: bool = True
) -> tuple[Floats, Restored | None]:
    """Values on the edits that keep the moments, as near as alternating projections come.

    `params`: nothing is done without `restore_moments`. `target`: of the original block, a stack of one: its means,
    fitted values and residual cross products are kept. `values`: synthetic values; shape (n, L). `restore`: whether
    these values keep moments in the first place. Returns on the edits as far as they can be projected on; what is left,
    and rounding, is the engine's; shape (n, L).

    Values on the edits are the nearest ones, in standardised distance. Values with the moments are F + QR nearest to
    a given residual Z: with the singular value decomposition ZR' = USV', Q = UV' (orthogonal Procrustes problem).
    The two are taken in turn until they agree, each time going on beyond the edits (over-relaxation). Where the set
    of records with these moments and edits is empty, they never do, and the shift of the moments says by how much.
    """
    edits = EditSet(
        tuple(
            edit
            for edit in block.edits
            if edit.kind in FINITE_FREE and set(edit.variables) <= {*block.names, *block.companions}
        )
    )
    if not (restore and params.restore_moments and len(edits)):
        return values, None

    # Its search trees take time to import: not before they are needed.
    from maskwright import project

    def feasible(points: Floats) -> Floats:
        return project(points, block.variables, edits, block.scale, block.companions)[0]

    scale = block.scale
    best = point = feasible(values)
    records = int(np.count_nonzero((best != values).any(axis=1)))
    before = after = moments_shift(target, best, scale)
    rounds = 0
    while after > RESTORED and rounds < params.max_rounds:
        rounds += 1
        kept = _with_moments(target, point, scale)
        met = feasible(kept)
        shift = moments_shift(target, met, scale)
        if shift < after:
            best, after = met, shift
        point = met + BEYOND * (met - kept)
        block.progress(0.4 + 0.6 * rounds / params.max_rounds)
    return best, Restored(rounds, before, after, records)


def note_moments(restored: Restored | None) -> dict[str, Any]:
    """What the run record should hold of it."""
    if restored is None:
        return {}
    notes: dict[str, Any] = {
        "records_brought_onto_edits": restored.records,
        "largest_rounds": restored.rounds,
        "largest_moment_shift_without_restoring": restored.before,
        "largest_moment_shift_before_adjustment": restored.after,
    }
    if restored.after > RESTORED:
        warning = (
            "the edits and the means and covariances could not both be kept: the edits are, and a mean or covariance "
            "is off, by how much stands in the run record"
        )
        notes["warnings"] = [warning]
    return notes


def moments_shift(target: Regression, values: Floats, scale: Floats) -> float:
    """Largest shift of a mean or covariance of the dependents, with each other and with the independents.

    `values`: shape (n, L). `scale`: standard deviations of the dependents; independents count in theirs; shape (L,).
    """
    n = len(values)
    shift = np.abs(values.mean(axis=0) - target.mean[0, 0]) / scale
    moved = (values - values.mean(axis=0)) / scale
    kept = (target.fitted + target.residuals)[0] / scale
    covariance = np.abs(moved.T @ moved - kept.T @ kept) / max(n - 1, 1)
    across = np.abs(target.design[0].T @ (moved - kept)) / np.sqrt(max(n - 1, 1))
    return float(max(shift.max(initial=0.0), covariance.max(initial=0.0), across.max(initial=0.0)))


def _with_moments(target: Regression, values: Floats, scale: Floats) -> Floats:
    """Nearest values whose moments are those of the target."""
    design = target.design[0]
    free = (values - target.mean[0] - target.fitted[0]) / scale
    free -= free.mean(axis=0)
    free -= design @ (design.T @ free)
    factor = target.factor[0] / scale
    rank = int(target.residual_rank[0])
    left, _, right = np.linalg.svd(free @ factor[:rank].T, full_matrices=False)
    return np.asarray(target.mean[0] + target.fitted[0] + (left @ right @ factor[:rank]) * scale)


def hybrid_factor(target: Regression, alpha: Floats) -> tuple[Floats, float]:
    """Factor of the residuals that a share `alpha` of the old ones leaves room for, and its smallest eigenvalue.

    `alpha`: shape (L, L). Returns of the cross products E'E - alpha E'E alpha', on the scale of correlations; negative:
    there is no such factor; shape (1, L, L).
    """
    cross = target.residuals[0].T @ target.residuals[0]
    length = np.sqrt(np.diag(cross))
    length = np.where(length > 0, length, 1.0)
    left = (cross - alpha @ cross @ alpha.T) / np.outer(length, length)
    factor, smallest = square_factor(((left + left.T) / 2)[None])
    return factor * length, float(smallest[0])
