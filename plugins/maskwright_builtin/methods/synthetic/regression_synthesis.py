"""Synthesis by linear regression: IPSO, and Muralidhar-Sarathy hybrid data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from maskwright import Block, Claims, InputError, Masked, Method
from maskwright_builtin.methods.synthetic.regression import (
    MomentsAndEdits,
    Regression,
    hybrid_factor,
    independent_columns,
    new_residuals,
    note_moments,
    onto_edits,
    regress,
    require_records,
    require_spread,
)

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats


class IpsoParams(MomentsAndEdits, frozen=True):
    """Parameters of IPSO."""

    variant: Literal["A", "B", "C"] = Field(
        default="C",
        description="A: fitted values; variances shrink. B: fitted values and random residuals; regression "
        "coefficients stay exact. C: as B, and means and covariances of all dependent and independent variables stay "
        "exact.",
    )
    uncorrelated: bool = Field(
        default=True,
        description="For C: the new residuals have no correlation with the old ones, which protects more and needs "
        "more records. false: Burridge's IPSO-C, random up to the covariance.",
    )


def protect_by_ipso(block: Block, params: IpsoParams, rng: np.random.Generator) -> Masked:
    """Replace the dependent variables by synthetic values.

    Parameters
    ----------
    block : Block
        Its variables are the dependents; the independents are companions.

    Returns
    -------
    Masked
        With Y the dependents, H the projector on the independents and an intercept, F = HY and E = Y - F: variant A
        is F; B is F + (I - H)N, the rows of N normal with the covariance of E; C is F + QR with R'R = E'E and
        orthonormal columns Q, drawn orthogonal to the intercept, the independents and, if `uncorrelated`, Y. Linear
        equalities among all these variables stay as they are, because F and the row space of E satisfy them.

    Raises
    ------
    InputError
        Fewer records than degrees of freedom, missing cells, or a dependent that the independents determine.

    References
    ----------
    Burridge, J. (2003): Information preserving statistical obfuscation. Statistics and Computing 13(4), 321-327.
    Muralidhar, K. and Sarathy, R. (2008): Generating sufficiency-based non-synthetic perturbed data. Transactions on
    Data Privacy 1(1), 17-33.
    """
    found = regress(block.values[None], independent_columns(block, params.independent)[None])
    needed, why = _limit(found, params)
    require_records(block.n, needed, why)
    require_spread(block, found)
    block.progress(0.4)
    values = (found.mean + found.fitted + _residuals(found, params, rng))[0]
    values, restored = onto_edits(block, params, found, values, restore=params.variant == "C")
    block.progress(1.0)
    return Masked(
        values=values,
        missing=block.missing.copy(),
        notes={"residual_rank": int(found.residual_rank[0]), "largest_limit": needed, **note_moments(restored)},
    )


def _limit(found: Regression, params: IpsoParams) -> tuple[int, str]:
    """Fewest records that leave new residuals room beside what they are orthogonal to, and why."""
    design, residual = int(found.design_rank[0]), int(found.residual_rank[0])
    if params.variant != "C":
        return design + 2, "more than the regression has coefficients"
    if params.uncorrelated:
        return design + 2 * residual + 1, "1 + rank of the independents + twice the rank of the residuals"
    return design + residual + 1, "1 + rank of the independents + rank of the residuals"


def _residuals(found: Regression, params: IpsoParams, rng: np.random.Generator) -> Floats:
    if params.variant == "A":
        return np.zeros_like(found.fitted)
    shape = found.fitted.shape
    noise = rng.standard_normal(shape)
    if params.variant == "C":
        avoid = found.basis if params.uncorrelated else found.design
        return new_residuals(noise, avoid, found.factor, found.residual_rank)
    freedom = shape[1] - 1 - int(found.design_rank[0])
    normal = noise @ found.factor / np.sqrt(freedom)
    normal -= normal.mean(axis=1, keepdims=True)
    normal -= found.design @ (found.design.transpose(0, 2, 1) @ normal)
    return np.asarray(normal)


def fewest_records_of_ipso(params: IpsoParams, p: int) -> int:
    """Degrees of freedom when no variable depends on others; `protect` counts ranks and may need fewer."""
    if params.variant != "C":
        return len(params.independent) + 2
    return len(params.independent) + (2 * p if params.uncorrelated else p) + 1


IPSO = Method(
    name="ipso",
    protect=protect_by_ipso,
    params=IpsoParams,
    scope="all",
    claims=Claims(cut="none", preserves={"linear", "mean"}, fewest_records=fewest_records_of_ipso),
    reference="Burridge (2003), Statistics and Computing 13(4), 321-327",
    summary="Replaces dependent variables by synthetic values; regressions, means and covariances stay exact.",
    example="method: ipso\nparams: {variant: C}\n",
)


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


def protect_by_muralidhar_sarathy(block: Block, params: MuralidharSarathyParams, rng: np.random.Generator) -> Masked:
    """Replace the dependent variables by hybrid values.

    Parameters
    ----------
    block : Block
        Its variables are the dependents; the independents are companions.

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


def _alpha_matrix(block: Block, params: MuralidharSarathyParams) -> Floats:
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


def fewest_records_of_muralidhar_sarathy(params: MuralidharSarathyParams, p: int) -> int:
    """Degrees of freedom when no variable depends on others; `protect` counts ranks and may need fewer."""
    return len(params.independent) + 2 * p + 1


MURALIDHAR_SARATHY = Method(
    name="muralidhar_sarathy",
    protect=protect_by_muralidhar_sarathy,
    params=MuralidharSarathyParams,
    scope="all",
    claims=Claims(cut="none", preserves={"mean"}, fewest_records=fewest_records_of_muralidhar_sarathy),
    reference="Muralidhar and Sarathy (2008), Transactions on Data Privacy 1(1), 17-33",
    summary="Mixes original residuals and noise in dependent variables; means and covariances stay exact.",
    example="method: muralidhar_sarathy\nparams: {alpha: 0.5}\n",
)
