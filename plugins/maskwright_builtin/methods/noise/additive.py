"""Additive noise, drawn for each variable on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from maskwright import Block, Masked, Method
from maskwright_builtin.methods.noise.correction import NoiseParams, corrected
from maskwright_builtin.methods.single_columns import mask_columns, spread, unchanged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class AdditiveNoiseParams(NoiseParams, frozen=True):
    """Parameters of additive noise."""

    sd: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Standard deviation of the noise in the unit of the variables (days of dates and datetimes), in "
        "place of p. For variables of different units take a step for each.",
    )

    @model_validator(mode="after")
    def _one_size(self) -> AdditiveNoiseParams:
        if self.sd is not None and "p" in self.model_fields_set:
            raise ValueError("p and sd both say how much noise to add: give one of them")
        return self


def protect(block: Block, params: AdditiveNoiseParams, rng: np.random.Generator) -> Masked:
    """Add normal noise to every value, each variable on its own.

    Parameters
    ----------
    block : Block
    params : AdditiveNoiseParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        ``x + e`` with e from N(0, (p s)^2), s the standard deviation (ddof = 1) of the variable's values, or from
        N(0, sd^2), then corrected as asked for. Covariances between variables stay in expectation, so that
        correlations shrink by 1 / (1 + p^2); `correlated_noise` keeps them. Missing cells stay missing. A variable
        whose values are all equal stays, with a doubt, where noise is in proportion to its spread or corrected.

    References
    ----------
    Brand, R. (2002): Microdata protection through noise addition. Inference Control in Statistical Databases, LNCS
    2316, 97-116, section 2; method Addt of Mateo-Sanz's thesis.
    """
    doubts: list[str] = []

    def change(values: NDArray[np.float64], position: int) -> NDArray[np.float64]:
        deviation = spread(values)
        if deviation == 0.0 and (params.sd is None or params.correction != "none"):
            doubts.append(unchanged([block.names[position]]))
            return values
        size = params.p * deviation if params.sd is None else params.sd * block.variables[position].day
        return corrected(values, values + size * rng.standard_normal(len(values)), params.correction)

    return mask_columns(block, change, doubts=doubts)


ADDITIVE_NOISE = Method(
    name="additive_noise",
    protect=protect,
    params=AdditiveNoiseParams,
    scope="variable",
    # Standard deviations and corrected moments are those of the whole file.
    cut="none",
    within_strata=False,
    variable_types={"continuous", "integer", "date", "datetime"},
    handles_missing=True,
    reference="Brand (2002), Inference Control in Statistical Databases, LNCS 2316, 97-116; Kim (1986), Proc. ASA "
    "Section on Survey Research Methods, 303-308",
    summary="Adds normal noise to each variable on its own, by default in proportion to its standard deviation.",
    example="method: additive_noise\nparams: {p: 0.1, correction: mean_and_variance}\n",
)
