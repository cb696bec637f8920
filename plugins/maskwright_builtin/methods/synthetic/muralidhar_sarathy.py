"""Muralidhar-Sarathy hybrid data: a share of each original residual, and noise that keeps means and covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, field_validator, model_validator

from maskwright import Block, InputError, Masked, Method
from maskwright_builtin.methods.synthetic.moments_and_edits import (
    MomentsAndEdits,
    hybrid_factor,
    note_moments,
    onto_edits,
)
from maskwright_builtin.methods.synthetic.regression import new_residuals, regress
from maskwright_builtin.methods.synthetic.roles import independent_columns, require_records, require_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

INDEFINITE = -1e-9
"""Eigenvalues above this, on the scale of correlations, are 0 but for rounding."""


class MuralidharSarathyParams(MomentsAndEdits, frozen=True):
    """Parameters of Muralidhar-Sarathy hybrid data."""

    alpha: float | dict[str, float] | tuple[tuple[float, ...], ...] = Field(
        default=0.5,
        description="Share of the original residual that is kept: a number from 0 (synthetic) to 1 (the original); "
        "or one for each variable, as {variable: share}; or a whole matrix, a list for each dependent "
        "in file order, for variables in standard deviations.",
    )

    @field_validator("alpha")
    @classmethod
    def _within_bounds(
        cls, alpha: float | dict[str, float] | tuple[tuple[float, ...], ...]
    ) -> float | dict[str, float] | tuple[tuple[float, ...], ...]:
        if isinstance(alpha, tuple):
            if not alpha or any(len(row) != len(alpha) for row in alpha):
                raise ValueError("a matrix has as many rows as columns")
            if not all(np.isfinite(value) for row in alpha for value in row):
                raise ValueError("the matrix holds a number that is not finite")
            return alpha
        shares = alpha.values() if isinstance(alpha, dict) else (alpha,)
        if not all(0 <= share <= 1 for share in shares):
            raise ValueError("a share lies between 0 and 1")
        return alpha

    @model_validator(mode="after")
    def _for_dependents(self) -> MuralidharSarathyParams:
        strangers = sorted(set(self.alpha) - set(self.dependent)) if isinstance(self.alpha, dict) else []
        if self.dependent and strangers:
            raise ValueError(f"alpha: {', '.join(strangers)} not among the dependent variables")
        return self


def protect(block: Block, params: MuralidharSarathyParams, rng: np.random.Generator) -> Masked:
    """Replace the dependent variables by hybrid values.

    Parameters
    ----------
    block : Block
        Its variables are the dependents; the independents are companions.
    params : MuralidharSarathyParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        ``F + E alpha' + QR``, with fitted values F and residuals E of the regression on the independents,
        R'R = E'E - alpha E'E alpha' and orthonormal columns Q, drawn orthogonal to the intercept, the independents
        and the dependents: means and covariances are exact in the sample, not only in expectation.

    Raises
    ------
    InputError
        R'R is not positive semidefinite, too few records, missing cells, alpha for other variables, or a dependent that
        the independents determine.

    References
    ----------
    Muralidhar, K. and Sarathy, R. (2008): Generating sufficiency-based non-synthetic perturbed data. Transactions on
    Data Privacy 1(1), 17-33.
    """
    alpha = _alpha_matrix(block, params)
    found = regress(block.values[None], independent_columns(block, params.independent)[None])
    rank = int(found.residual_rank[0])
    require_records(
        block.n, int(found.joint_rank[0]) + rank + 1, "1 + rank of the independents + twice the rank of the residuals"
    )
    require_spread(block, found)
    factor, smallest = hybrid_factor(found, alpha)
    if smallest < INDEFINITE:
        raise InputError(
            "alpha leaves no room for noise: what the residuals keep varies more than the residuals, in some direction "
            f"(smallest eigenvalue of R - alpha R alpha' on the scale of correlations: {smallest:.3g}). Take shares "
            "that are nearer to each other, or one share for all"
        )
    noise = rng.standard_normal(found.fitted.shape)
    block.progress(0.4)
    new = new_residuals(noise, found.basis, factor, found.residual_rank)
    values = (found.mean + found.fitted + found.residuals @ alpha.T + new)[0]
    values, restored = onto_edits(block, params, found, values)
    notes = {"residual_rank": rank, "smallest_noise_eigenvalue": smallest, **note_moments(restored)}
    doubts: tuple[str, ...] = ()
    if np.array_equal(alpha, np.eye(block.p)):
        doubts = ("alpha is 1: these are the original values, nothing is protected",)
    block.progress(1.0)
    return Masked(values=values, missing=block.missing.copy(), notes=notes, doubts=doubts)


def _alpha_matrix(block: Block, params: MuralidharSarathyParams) -> NDArray[np.float64]:
    alpha = params.alpha
    if isinstance(alpha, dict):
        # Records with missing cells come in blocks of fewer variables.
        wrong = sorted(set(block.names) - set(alpha))
        if wrong:
            raise InputError(
                f"alpha: one share for each dependent variable ({', '.join(block.names)}); too many or missing: "
                f"{', '.join(wrong)}"
            )
        return np.diag([alpha[name] for name in block.names])
    if isinstance(alpha, tuple):
        if len(alpha) != block.p:
            raise InputError(
                f"alpha has {len(alpha)} rows; there are {block.p} dependent variables in the records that are masked "
                "together (where cells are missing, there are fewer: give one share for each variable instead)"
            )
        return np.array(alpha, dtype=np.float64) * block.scale[:, None] / block.scale
    return float(alpha) * np.eye(block.p)


def fewest_records(params: MuralidharSarathyParams, p: int) -> int:
    """Degrees of freedom when no variable depends on others; `protect` counts ranks and may need fewer."""
    return len(params.independent) + 2 * p + 1


MURALIDHAR_SARATHY = Method(
    name="muralidhar_sarathy",
    protect=protect,
    params=MuralidharSarathyParams,
    scope="all",
    cut="none",
    # Residuals of a block of similar records are small, and so is the noise.
    preserves={"mean"},
    fewest_records=fewest_records,
    reference="Muralidhar and Sarathy (2008), Transactions on Data Privacy 1(1), 17-33",
    summary="Mixes original residuals and noise in dependent variables; means and covariances stay exact.",
    example="method: muralidhar_sarathy\nparams: {alpha: 0.5}\n",
)
