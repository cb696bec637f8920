"""Distortion by probability distribution, and resampling: values drawn anew and matched by rank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Claims, InputError, Masked, Method, plural
from maskwright_builtin.methods.column_masking import mask_columns, spread
from maskwright_builtin.numerics.ordering import matched_by_rank, stable_order

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats


FamilyName = Literal[
    "beta", "chi_squared", "exponential", "extreme_value", "gamma", "logistic", "lognormal", "normal", "pareto",
    "poisson", "uniform", "weibull",
]  # fmt: skip

FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)


class ProbabilityDistributionParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of distortion by probability distribution."""

    families: tuple[FamilyName, ...] = Field(
        default=("lognormal", "weibull", "uniform", "beta", "gamma", "logistic", "pareto", "extreme_value"),
        min_length=1,
        description="Families that are fitted to each variable; the one with the smallest Kolmogorov-Smirnov statistic "
        f"is drawn from. There are {', '.join(FAMILIES)}. Default: those of the thesis's experiment.",
    )


def protect_by_distribution(block: Block, params: ProbabilityDistributionParams, rng: np.random.Generator) -> Masked:
    """Replace the values of each variable by a sample from the distribution fitted to them.

    Returns
    -------
    Masked
        Every family is fitted (see `families.fit`), the one with the smallest Kolmogorov-Smirnov statistic is kept, and
        as many values as the variable has are drawn from it; the r-th smallest original value becomes the r-th
        smallest drawn one. Notes name the family and its statistic. Missing cells stay missing. A variable whose
        values are all equal stays (`Masked.without_spread`).

    Raises
    ------
    InputError
        When no family applies to a variable, or the fitted one has such heavy tails that a drawn value is not finite.

    References
    ----------
    Liew, C. K., Choi, U. J. and Liew, C. J. (1985): A data distortion by probability distribution. ACM Transactions on
    Database Systems 10(3), 395-411; method Distr of Mateo-Sanz's thesis.
    """
    # SciPy's distributions take a second to import: not before they are needed.
    from maskwright_builtin.methods.distribution.families import best_fit

    notes: dict[str, Any] = {}
    equal: list[str] = []

    def change(values: Floats, position: int) -> Floats:
        name = block.names[position]
        if spread(values) == 0.0:
            equal.append(name)
            return values
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = best_fit(params.families, values)
            if found is None:
                raise InputError(
                    f"none of the families {', '.join(params.families)} applies to {name!r}; normal, uniform, logistic "
                    "and extreme_value apply to any numbers"
                )
            fitted, distance = found
            drawn = fitted.draw(len(values), rng)
        if not np.isfinite(drawn).all():
            raise InputError(
                f"the {fitted.family} distribution fitted to {name!r} has values that are too large for a number; "
                "take other families"
            )
        notes[f"family_{name}"] = fitted.family
        notes[f"kolmogorov_smirnov_{name}"] = distance
        return matched_by_rank(values, drawn)

    masked = mask_columns(block, change)
    return replace(masked, notes={**masked.notes, **notes}, without_spread=tuple(equal))


PROBABILITY_DISTRIBUTION = Method(
    name="probability_distribution",
    protect=protect_by_distribution,
    params=ProbabilityDistributionParams,
    scope="variable",
    claims=Claims(cut="none", within_strata=False, variable_types={"continuous", "integer"}, handles_missing=True),
    reference="Liew, Choi and Liew (1985), ACM Trans. Database Systems 10(3), 395-411",
    summary="Replaces each variable by a sample from the best-fitting distribution, matched by rank.",
    example="method: probability_distribution\nparams: {families: [lognormal, weibull, gamma, normal]}\n",
)


class ResamplingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of resampling."""

    t: int = Field(
        default=1,
        ge=1,
        le=1000,
        strict=True,
        description="Number of samples that are drawn and averaged. 1 changes values most; the more, the closer the "
        "averages are to the original values.",
    )


def protect_by_resampling(block: Block, params: ResamplingParams, rng: np.random.Generator) -> Masked:
    """Replace the values of each variable by averages of sorted samples of them.

    Returns
    -------
    Masked
        For each variable with m values, t samples of size m are drawn from them with replacement, and each is sorted;
        the r-th smallest value becomes the mean of the t r-th smallest ones. Ranks stay (equal values rank in the order
        of the records), and values stay between the smallest and the largest original one. Missing cells stay missing.

    References
    ----------
    Heer, G. R. (1993): A bootstrap procedure to preserve statistical confidentiality in contingency tables.
    Proceedings of the international seminar on statistical confidentiality, Eurostat, 261-271; method Remost of
    Mateo-Sanz's thesis.
    """

    def change(values: Floats, position: int) -> Floats:  # noqa: ARG001
        ascending = np.sort(values)
        # The t-th part of each sample, rather than of the sum, cannot overflow.
        averages = np.zeros(len(values))
        for _ in range(params.t):
            averages += ascending[np.sort(rng.integers(0, len(values), len(values)))] / params.t
        # A mean lies inside what it is a mean of; the sum may be off by rounding.
        return matched_by_rank(values, np.clip(averages, ascending[0], ascending[-1]))

    return mask_columns(block, change)


RESAMPLING = Method(
    name="resampling",
    protect=protect_by_resampling,
    params=ResamplingParams,
    scope="variable",
    claims=Claims(
        cut="none",
        within_strata=False,
        variable_types={"continuous", "integer", "date", "datetime"},
        handles_missing=True,
        preserves={"range"},
    ),
    reference="Heer (1993), Proc. Int. Seminar on Statistical Confidentiality, Eurostat, 261-271",
    summary="Replaces each variable by sorted averages of samples drawn from its own values.",
    example="method: resampling\nparams: {t: 3}\n",
)


class RecordResamplingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of resampling whole records."""

    t: int = Field(
        default=20,
        ge=2,
        le=1000,
        strict=True,
        description="Number of samples that are drawn and averaged. With few, the first and the last place often have "
        "the same record in all of them, which would be published as it is.",
    )


def protect_by_record_resampling(block: Block, params: RecordResamplingParams, rng: np.random.Generator) -> Masked:
    """Replace each record by the average of the records at its place in sorted samples of records.

    Returns
    -------
    Masked
        Records are put in order by the sum of their standardised values, equal ones in their own order. With n records,
        t samples of n are drawn with replacement, each in that order; the i-th record becomes the mean of the t i-th
        ones. Means of whole records: linear equalities, inequalities and ranges among the variables of the group stay
        as they are. Correlations do not, against what the thesis expects: neighbours in the order may be far from each
        other, and what their averages keep is what goes with the order. Notes say how many places have one record in
        all samples, so that it is published as it is; any is a doubt.

    References
    ----------
    Heer (1993), as `resampling`; on whole records with a multivariate order in section 2.7.3 of Mateo-Sanz's thesis,
    which leaves the order open: here it is that of its method MicZ.
    """
    order = stable_order(block.standardised().sum(axis=1))
    ascending = block.values[order]
    averages = np.zeros_like(ascending)
    lowest, highest = np.full(block.n, block.n), np.full(block.n, -1)
    for drawn in range(params.t):
        sample = np.sort(rng.integers(0, block.n, block.n))
        lowest, highest = np.minimum(lowest, sample), np.maximum(highest, sample)
        # The t-th part of each sample, rather than of the sum, cannot overflow.
        averages += ascending[sample] / params.t
        block.progress((drawn + 1) / params.t)
    single = int((lowest == highest).sum())
    values = np.empty_like(averages)
    # A mean lies inside what it is a mean of; the sum may be off by rounding.
    values[order] = np.clip(averages, ascending.min(axis=0), ascending.max(axis=0))
    doubt = f"{plural(single, 'record')} would be published as in the original, drawn in all samples: take a larger t"
    return Masked(
        values=values, missing=block.missing.copy(), notes={"original_records": single},
        doubts=(doubt,) if single else (),
    )  # fmt: skip


RECORD_RESAMPLING = Method(
    name="record_resampling",
    protect=protect_by_record_resampling,
    params=RecordResamplingParams,
    scope="group",
    claims=Claims(cut="none", preserves={"linear", "inequality", "range"}),
    reference="Heer (1993), Proc. Int. Seminar on Statistical Confidentiality, Eurostat, 261-271; Mateo-Sanz, doctoral "
    "thesis (in Catalan), section 2.7.3",
    summary="Replaces the values of a group of variables (`group_size: all` for all) by the average of the records at "
    "the record's place in sorted samples.",
    example="method: record_resampling\nparams: {t: 20}\n",
)
