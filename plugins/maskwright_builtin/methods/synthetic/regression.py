"""Least squares with collinear columns, new residuals, and the dependent and independent variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import DependentVariables, IndependentVariables, InputError

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
    determined = [name for name, bare in zip(block.names, (sizes <= noise) & varies, strict=True) if bare]
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
