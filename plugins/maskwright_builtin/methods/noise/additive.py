"""Additive noise, drawn for each variable on its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field, model_validator

from maskwright import Block, ExactMoments, Gathering, Masked, Method, uniform_by_record
from maskwright_builtin.methods.noise.correction import NoiseParams, corrected
from maskwright_builtin.methods.single_columns import mask_columns, spread, spread_of, unchanged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


class AdditiveNoiseParams(NoiseParams, frozen=True):
    """Parameters of additive noise."""

    sd: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Standard deviation of the noise in the unit of the variables (days of dates and datetimes), in "
        "place of p. For variables of different units take a step for each. Without correction the noise of a record "
        "does not depend on others: blocks and runs over parts give the same.",
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
    if params.correction == "none":
        return _by_record(block, params, rng)
    doubts: list[str] = []

    def change(values: NDArray[np.float64], position: int) -> NDArray[np.float64]:
        deviation = spread(values)
        if deviation == 0.0:
            doubts.append(unchanged([block.names[position]]))
            return values
        size = params.p * deviation if params.sd is None else params.sd * block.variables[position].day
        return corrected(values, values + size * rng.standard_normal(len(values)), params.correction)

    return mask_columns(block, change, doubts=doubts)


def _by_record(block: Block, params: AdditiveNoiseParams, rng: np.random.Generator) -> Masked:
    """Add noise that is a function of the record's position in the file, and of how much the file varies."""
    from scipy.special import ndtri  # not before it is needed

    drawn = ndtri(uniform_by_record(block, rng, block.p))
    if params.sd is None:
        found = SPREADS.of(block, params)["spreads"]
        sizes = [params.p * spread_of(ExactMoments.from_json(found[name])) for name in block.names]
    else:
        sizes = [params.sd * variable.day for variable in block.variables]
    doubts: list[str] = []

    def change(values: NDArray[np.float64], position: int) -> NDArray[np.float64]:
        if sizes[position] == 0.0:
            doubts.append(unchanged([block.names[position]]))
            return values
        own = drawn[~block.missing[:, position], position]
        return np.asarray(values + sizes[position] * own)

    return mask_columns(block, change, doubts=doubts)


def moments_of_some(block: Block, params: AdditiveNoiseParams) -> dict[str, Any]:  # noqa: ARG001 - the contract
    """Exact moments of each variable, of the cells that some records have."""
    columns = (block.values[~block.missing[:, j], j : j + 1] for j in range(block.p))
    return {
        "spreads": {
            name: ExactMoments.of(column).to_json() for name, column in zip(block.names, columns, strict=True)
        }
    }  # fmt: skip


def moments_of_all(facts: Sequence[Mapping[str, Any]], params: AdditiveNoiseParams) -> dict[str, Any]:  # noqa: ARG001
    """The same of all records."""
    found: dict[str, ExactMoments] = {}
    for each in facts:
        for name, said in each["spreads"].items():
            own = ExactMoments.from_json(said)
            found[name] = found[name] + own if name in found else own
    return {"spreads": {name: each.to_json() for name, each in found.items()}}


SPREADS = Gathering(partial=moments_of_some, merged=moments_of_all, not_with="a correction")


def _variant(params: AdditiveNoiseParams) -> Method:
    """With noise of a stated size, and no correction, each record is masked by itself; corrected, it is not."""
    if params.correction != "none":
        return replace(ADDITIVE_NOISE, gathering=None)
    return ADDITIVE_NOISE if params.sd is None else replace(ADDITIVE_NOISE, cut="any", gathering=None)


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
    gathering=SPREADS,
    variant=_variant,
    reference="Brand (2002), Inference Control in Statistical Databases, LNCS 2316, 97-116; Kim (1986), Proc. ASA "
    "Section on Survey Research Methods, 303-308",
    summary="Adds normal noise to each variable on its own, by default in proportion to its standard deviation.",
    example="method: additive_noise\nparams: {p: 0.1, correction: mean_and_variance}\n",
)
