"""Additive and multiplicative noise drawn for each variable, and the correction of its moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Block, Claims, ExactMoments, Gathering, Masked, Method, uniform_by_record
from maskwright_builtin.methods.column_masking import mask_columns, spread, spread_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.numerics.arrays import Floats


Correction = Literal["none", "mean", "mean_and_variance"]


class NoiseParams(BaseModel, extra="forbid", frozen=True):
    """How much noise, and what is corrected afterwards."""

    p: float = Field(
        default=0.1,
        gt=0,
        le=10,
        description="Standard deviation of the noise, as a share of that of the variable: 0.1 is ten percent. Usual: "
        "0.01 to 0.5. More protects more and loses more.",
    )
    correction: Correction = Field(
        default="none",
        description="'none': noise inflates variances by 1 + p^2, and means move a little. 'mean': means are exactly "
        "those of the original. 'mean_and_variance': variances too (and covariances, where noise is correlated).",
    )


def corrected(original: Floats, noisy: Floats, correction: Correction) -> Floats:
    """Linear map of a noisy column onto the original's mean, or mean and variance.

    Kim, J. J. (1986): A method for limiting disclosure in microdata based on random noise and transformation.
    Proceedings of the section on survey research methods, American Statistical Association, 303-308; with the factor
    from the sample at hand, so that the moments are exact, not only expected.

    `original`, `noisy`: m >= 2, each with some spread; shape (m,).
    """
    if correction == "none":
        return noisy
    center = original.mean()
    deviations = noisy - noisy.mean()
    if correction == "mean_and_variance":
        deviations *= np.std(original - center) / np.std(deviations)
    return np.asarray(center + deviations)


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


def protect_by_additive_noise(block: Block, params: AdditiveNoiseParams, rng: np.random.Generator) -> Masked:
    """Add normal noise to every value, each variable on its own.

    Returns
    -------
    Masked
        ``x + e`` with e from N(0, (p s)^2), s the standard deviation (ddof = 1) of the variable's values, or from
        N(0, sd^2), then corrected as requested. Covariances between variables stay in expectation, so that
        correlations shrink by 1 / (1 + p^2); `correlated_noise` keeps them. Missing cells stay missing. A variable
        whose values are all equal stays (`Masked.without_spread`) where noise is in proportion to its spread or is
        corrected.

    References
    ----------
    Brand, R. (2002): Microdata protection through noise addition. Inference Control in Statistical Databases, LNCS
    2316, 97-116, section 2; method Addt of Mateo-Sanz's thesis.
    """
    if params.correction == "none":
        return _by_record(block, params, rng)
    equal: list[str] = []

    def change(values: Floats, position: int) -> Floats:
        deviation = spread(values)
        if deviation == 0.0:
            equal.append(block.names[position])
            return values
        size = params.p * deviation if params.sd is None else params.sd * block.variables[position].day
        return corrected(values, values + size * rng.standard_normal(len(values)), params.correction)

    return mask_columns(block, change, without_spread=equal)


def _by_record(block: Block, params: AdditiveNoiseParams, rng: np.random.Generator) -> Masked:
    """Add noise that is a function of the record's position in the file, and of how much the file varies."""
    from scipy.special import ndtri  # not before it is needed

    drawn = ndtri(uniform_by_record(block, rng, block.p))
    if params.sd is None:
        found = SPREADS.of(block, params)["spreads"]
        sizes = [params.p * spread_of(ExactMoments.from_json(found[name])) for name in block.names]
    else:
        sizes = [params.sd * variable.day for variable in block.variables]
    equal: list[str] = []

    def change(values: Floats, position: int) -> Floats:
        if sizes[position] == 0.0:
            equal.append(block.names[position])
            return values
        own = drawn[~block.missing[:, position], position]
        return np.asarray(values + sizes[position] * own)

    return mask_columns(block, change, without_spread=equal)


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
        for name, plain in each["spreads"].items():
            own = ExactMoments.from_json(plain)
            found[name] = found[name] + own if name in found else own
    return {"spreads": {name: each.to_json() for name, each in found.items()}}


SPREADS = Gathering(partial=moments_of_some, merged=moments_of_all, not_with="a correction")


def _variant(params: AdditiveNoiseParams) -> Method:
    """With noise of a stated size, and no correction, each record is masked by itself; corrected, it is not."""
    if params.correction != "none":
        return ADDITIVE_NOISE.claiming(gathering=None)
    return ADDITIVE_NOISE if params.sd is None else ADDITIVE_NOISE.claiming(cut="any", gathering=None)


ADDITIVE_NOISE = Method(
    name="additive_noise",
    protect=protect_by_additive_noise,
    params=AdditiveNoiseParams,
    scope="variable",
    claims=Claims(
        cut="none",
        within_strata=False,
        variable_types={"continuous", "integer", "date", "datetime"},
        handles_missing=True,
        gathering=SPREADS,
    ),
    variant=_variant,
    reference="Brand (2002), Inference Control in Statistical Databases, LNCS 2316, 97-116; Kim (1986), Proc. ASA "
    "Section on Survey Research Methods, 303-308",
    summary="Adds normal noise to each variable on its own, by default in proportion to its standard deviation.",
    example="method: additive_noise\nparams: {p: 0.1, correction: mean_and_variance}\n",
)


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


def protect_by_multiplicative_noise(
    block: Block, params: MultiplicativeNoiseParams, rng: np.random.Generator
) -> Masked:
    """Multiply every value by a factor of its own.

    Returns
    -------
    Masked
        ``x f``. Lognormal: ``f = exp(s z - s^2 / 2)``, z from N(0, 1) and s^2 = ln(1 + p^2), so that E f = 1 and
        Var f = p^2. Truncated normal: N(1, p^2) within (0, 2); its variance is below p^2 (by a quarter at p = 0.5,
        not visibly up to 0.3). Zeros stay 0 and signs stay. Missing cells stay missing.
    """
    warnings: list[str] = []
    drawn = uniform_by_record(block, rng, block.p)

    def change(values: Floats, position: int) -> Floats:
        if (values == 0.0).all():
            warnings.append("values that are all 0 stay as they are: a factor does not change 0")
        return np.asarray(values * _factors(params, drawn[~block.missing[:, position], position]))

    return mask_columns(block, change, {"warnings": warnings})


def _factors(params: MultiplicativeNoiseParams, uniform: Floats) -> Floats:
    """Factors at these places of their distribution function."""
    from scipy.special import ndtr, ndtri  # not before it is needed

    if params.distribution == "lognormal":
        variance = np.log1p(params.p**2)
        return np.asarray(np.exp(np.sqrt(variance) * ndtri(uniform) - variance / 2.0))
    low, high = ndtr(-1.0 / params.p), ndtr(1.0 / params.p)
    return np.asarray(1.0 + params.p * ndtri(low + (high - low) * uniform))


MULTIPLICATIVE_NOISE = Method(
    name="multiplicative_noise",
    protect=protect_by_multiplicative_noise,
    params=MultiplicativeNoiseParams,
    scope="variable",
    claims=Claims(cut="any", variable_types={"continuous", "integer"}, handles_missing=True),
    reference="Kim and Winkler (2003), Multiplicative noise for masking continuous data, US Bureau of the Census, "
    "Statistics 2003-01",
    summary="Multiplies each value by a random factor around 1; large values change more.",
    example="method: multiplicative_noise\nparams: {p: 0.1, distribution: lognormal}\n",
)
