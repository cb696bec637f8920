"""IPSO: information preserving statistical obfuscation, synthetic values from a linear regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Block, Masked, Method
from maskwright_builtin.methods.synthetic.moments_and_edits import MomentsAndEdits, note_moments, onto_edits
from maskwright_builtin.methods.synthetic.regression import Regression, new_residuals, regress
from maskwright_builtin.methods.synthetic.roles import independent_columns, require_records, require_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def protect(block: Block, params: IpsoParams, rng: np.random.Generator) -> Masked:
    """Replace the dependent variables by synthetic values.

    Parameters
    ----------
    block : Block
        Its variables are the dependents; the independents are companions.
    params : IpsoParams
    rng : numpy.random.Generator

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


def _residuals(found: Regression, params: IpsoParams, rng: np.random.Generator) -> NDArray[np.float64]:
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


def fewest_records(params: IpsoParams, p: int) -> int:
    """Degrees of freedom when no variable depends on others; `protect` counts ranks and may need fewer."""
    if params.variant != "C":
        return len(params.independent) + 2
    return len(params.independent) + (2 * p if params.uncorrelated else p) + 1


IPSO = Method(
    name="ipso",
    protect=protect,
    params=IpsoParams,
    scope="all",
    cut="none",
    # Residuals of a block of similar records are small, and so are the new ones.
    preserves={"linear", "mean"},
    fewest_records=fewest_records,
    reference="Burridge (2003), Statistics and Computing 13(4), 321-327",
    summary="Replaces dependent variables by synthetic values; regressions, means and covariances stay exact.",
    example="method: ipso\nparams: {variant: C}\n",
)
