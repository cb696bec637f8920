"""Multiplicative noise: each value is multiplied by a random factor around 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Block, Masked, Method, uniform_by_record
from maskwright_builtin.methods.single_columns import mask_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray


class MultiplicativeNoiseParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of multiplicative noise."""

    p: float = Field(
        default=0.1,
        gt=0,
        le=10,
        description="Standard deviation of the factor, whose mean is 1: 0.1 changes values by about ten percent.",
    )
    distribution: Literal["lognormal", "truncated_normal"] = Field(
        default="lognormal",
        description="'lognormal': positive factors of any size. 'truncated_normal': a normal factor cut off so that it "
        "lies between 0 and 2; p at most 0.5, above which the cut would show.",
    )

    @model_validator(mode="after")
    def _cut_far_out(self) -> MultiplicativeNoiseParams:
        if self.distribution == "truncated_normal" and self.p > 0.5:
            raise ValueError("p is at most 0.5 for the truncated normal distribution; take lognormal for more noise")
        return self


def protect(block: Block, params: MultiplicativeNoiseParams, rng: np.random.Generator) -> Masked:
    """Multiply every value by a factor of its own.

    Parameters
    ----------
    block : Block
    params : MultiplicativeNoiseParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        ``x f``. Lognormal: ``f = exp(s z - s^2 / 2)``, z from N(0, 1) and s^2 = ln(1 + p^2), so that E f = 1 and
        Var f = p^2. Truncated normal: N(1, p^2) within (0, 2); its variance is below p^2 (by a quarter at p = 0.5,
        not visibly up to 0.3). Zeros stay 0 and signs stay. Missing cells stay missing.

    References
    ----------
    Kim, J. J. and Winkler, W. E. (2003): Multiplicative noise for masking continuous data. Research report statistics
    2003-01, US Bureau of the Census.
    """
    warnings: list[str] = []
    drawn = uniform_by_record(block, rng, block.p)

    def change(values: NDArray[np.float64], position: int) -> NDArray[np.float64]:
        if (values == 0.0).all():
            warnings.append("values that are all 0 stay as they are: a factor does not change 0")
        return np.asarray(values * _factors(params, drawn[~block.missing[:, position], position]))

    return mask_columns(block, change, {"warnings": warnings})


def _factors(params: MultiplicativeNoiseParams, uniform: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factors at these places of their distribution function."""
    from scipy.special import ndtr, ndtri  # not before it is needed

    if params.distribution == "lognormal":
        variance = np.log1p(params.p**2)
        return np.asarray(np.exp(np.sqrt(variance) * ndtri(uniform) - variance / 2.0))
    low, high = ndtr(-1.0 / params.p), ndtr(1.0 / params.p)
    return np.asarray(1.0 + params.p * ndtri(low + (high - low) * uniform))


MULTIPLICATIVE_NOISE = Method(
    name="multiplicative_noise",
    protect=protect,
    params=MultiplicativeNoiseParams,
    scope="variable",
    cut="any",
    variable_types={"continuous", "integer"},
    handles_missing=True,
    reference="Kim and Winkler (2003), Multiplicative noise for masking continuous data, US Bureau of the Census, "
    "Statistics 2003-01",
    summary="Multiplies each value by a random factor around 1; large values change more.",
    example="method: multiplicative_noise\nparams: {p: 0.1, distribution: lognormal}\n",
)
