"""Additive noise: every value is moved by a share of its variable's standard deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from maskwright import Block, Claims, Masked, Method

if TYPE_CHECKING:
    import numpy as np


class NoiseParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of additive noise."""

    share: float = Field(
        default=0.1, gt=0, le=10, description="Standard deviation of the noise, as a share of the variable's own."
    )


def add_noise(block: Block, params: NoiseParams, rng: np.random.Generator) -> Masked:
    """Add independent normal noise to every value.

    Parameters
    ----------
    block : Block
        Numeric variables; missing cells stay missing.
    params : NoiseParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        Without clusters: adjustment and rounding act on each record.
    """
    noise = rng.standard_normal(block.values.shape) * (params.share * block.scale)
    return Masked(block.values + noise, block.missing.copy())


EXAMPLE_NOISE = Method(
    name="example_noise",
    protect=add_noise,
    params=NoiseParams,
    scope="variable",
    claims=Claims(variable_types={"continuous", "integer"}, handles_missing=True),
    summary="Independent normal noise on every value.",
    reference="Spruill (1983), The confidentiality and analytic usefulness of masked business microdata.",
    example="method: example_noise\nparams: {share: 0.2}\n",
)
