"""Individual, global and household risk: how many people an intruder would recognise by what he knows of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, MeasureClaims, Measurement, MeasurePart, plural
from maskwright_builtin.key_counts.frequencies import (
    MissingKeys,
    approximate_risk,
    count_keys,
    individual_risk,
    positive_weights,
    sampling_fraction,
)
from maskwright_builtin.measures.key_variables.key_classes import (
    KeySetsParams,
    key_codes,
    key_set_mistakes,
    key_set_names,
    risk_table,
    set_parts,
    worst_of_sets,
)
from maskwright_builtin.measures.key_variables.partition_class_risks import (
    INDIVIDUAL_RISK_OVER_PARTS,
    NO_WEIGHTS,
    bound_name,
    bounds_of,
    individual_risk_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers

NORMAL = 1.4826
"""The standard deviation of normal values is so many of their median absolute deviations."""


Share = Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=False)]


class IndividualRiskParams(KeySetsParams, extra="forbid", frozen=True):
    """The key variables, how missing ones count, and what risk is too much."""

    count: MissingKeys = Field(
        "own",
        description="How a missing key counts: 'own', as a value of its own; 'alpha0', complete records count for "
        "those that have it missing; 'subset', all that show as much; 'wildcard', as any value, both ways. With "
        "'wildcard' a record emptied on purpose lowers the risk of all others: rely on 'own'.",
    )
    bound: Share | tuple[Share, ...] = Field(
        0.05,
        description="A risk, 0 to 1, or several: the part share_above_0_05 is the percentage of records above 0.05.",
    )
    target_rate: Share | tuple[Share, ...] = Field(
        (),
        description="A share of records, or several, that may be recognised: the part risk_for_rate_0_01 is the risk "
        "to which all larger ones must come down so that it is less than 0.01.",
    )
    formula: Literal["exact", "approximate"] = Field(
        "exact",
        description="'approximate': pi / (f - 1 + pi) for f > 2, as sdcMicro has it by default; up to 4 % too high.",
    )
    without_each_key: bool = Field(
        False, description="Add the parts rate_without_KEY: the value if that key were not known or not published."
    )


def measure_individual_risk(
    comparison: Comparison,
    params: IndividualRiskParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records that are expected to be recognised, if an intruder who knows the keys tries everybody.

    With f the records that have a record's keys and F the people in the population who do, the risk of a record is the
    mean of 1 / F given f. F is estimated by the sum of the weights of the f records: the sampling fraction is ``pi =
    f / F``, and F - f negative binomial with f and pi, so that

        r(f, pi) = (pi^f / f) 2F1(f, f; f + 1; 1 - pi),    r(1, pi) = pi / (1 - pi) ln(1 / pi).

    Without weights the file is taken to be the population, and r = 1 / f. The value is ``100 sum r / n``.

    Of sample uniques in rare combinations, F is far below f / pi: on simple random samples this risk is about half the
    true one. It orders records and files well; as a number of people, take it with that.

    Households: ``R_h = 1 - prod (1 - r)`` over the members, the risk that one is recognised, and with him all; members
    are taken as independent. A household larger than a published size gives itself away: make its size a key.

    A missing key counts as `count` says. Where weights are below 1, F would be less than f, and is taken as f; a note
    says in how many records. A weight of zero counts as 1, and with missing ones none are used; notes say that too.

    Over parts of a file a missing key is a value of its own, and ``outlying_records`` is left out.

    There is no interval: the estimate's own error is that of the model, and no sample shows it.

    Returns
    -------
    Measurement
        `parts`: ``expected_reidentifications``, sum of the risks; ``largest`` risk; ``share_above_...``, percent of
        records with a larger risk than a bound; ``risk_for_rate_...``, the largest attained risk v with ``sum min(r, v)
        < rate n``; ``outlying_records``, those with r above 0.1 and above the median by 2 median absolute deviations
        (times 1.4826): read it only beside the others, for it is 0 where most records are at risk. With households
        ``households_expected``, sum of R_h over households, ``household_members_expected``, over persons, and
        ``largest_household_risk``. `per_record`: r, 0 to 1. `tables`: records in bands of risk.

    Raises
    ------
    InputError
        No key variables, or variables that a file does not have.
    """
    return worst_of_sets(comparison, params, "individual_risk", partial(_on_keys, comparison, params))


def _on_keys(comparison: Comparison, params: IndividualRiskParams, keys: tuple[str, ...]) -> Measurement:
    codes = key_codes(comparison, keys, "individual_risk", pooled=params.count != "own")
    weights, about_weights = positive_weights(comparison.masked_weights())
    notes = [*about_weights, *([NO_WEIGHTS] if weights is None else [])]
    risk, cut = _risks(codes, params, weights)
    if cut:
        notes.append(f"in {plural(cut, 'record')} the weights are below 1 and F below f: F is taken as f")
    if params.count == "wildcard" and any((code < 0).any() for code in codes):
        notes.append("a missing key counts as any value: emptied records lower the risk of all others")
    parts = {f"risk_for_rate_{bound_name(rate)}": risk_for_rate(risk, rate) for rate in bounds_of(params.target_rate)}
    parts["outlying_records"] = float(outlying(risk).sum())
    households = comparison.masked_households()
    if households is not None:
        of_household = household_risk(risk, households)
        parts["households_expected"] = float(of_household[np.unique(households)].sum())
        parts["household_members_expected"] = float(of_household[households].sum())
        parts["largest_household_risk"] = float(of_household.max())
    if params.without_each_key and len(keys) > 1:
        for j, key in enumerate(keys):
            fewer, _ = _risks([*codes[:j], *codes[j + 1 :]], params, weights)
            parts[f"rate_without_{key}"] = 100.0 * float(fewer.mean())
    above = {bound: int((risk > bound).sum()) for bound in bounds_of(params.bound)}
    found = individual_risk_of(
        float(risk.sum()), float(risk.max()), above, len(risk), keys, parts, notes, risk_table(risk)
    )
    return replace(found, per_record=risk)


def _risks(codes: list[Integers], params: IndividualRiskParams, weights: Floats | None) -> tuple[Floats, int]:
    """Risk of each record, and in how many F was cut to f."""
    counts = count_keys(codes, params.count, weights)
    fraction, cut = sampling_fraction(counts.file, counts.population)
    formula = individual_risk if params.formula == "exact" else approximate_risk
    return formula(counts.file, fraction), int(cut.sum())


def risk_for_rate(risk: Floats, rate: float) -> float:
    """The largest attained risk v for which ``sum min(risk, v) < rate n``; 0 where even the smallest is too large."""
    ordered = np.sort(risk)
    capped = np.cumsum(ordered) + ordered * np.arange(len(ordered) - 1, -1, -1)
    below = np.flatnonzero(capped < rate * len(ordered))
    return float(ordered[below[-1]]) if len(below) else 0.0


def outlying(risk: Floats, deviations: float = 2.0) -> Booleans:
    """Records whose risk is above 0.1 and above the median by so many median absolute deviations.

    Templ, Kowarik and Meindl (2015), Journal of Statistical Software 67(4): the benchmark of sdcMicro.
    """
    median = float(np.median(risk))
    spread = NORMAL * float(np.median(np.abs(risk - median)))
    return np.asarray((risk > median + deviations * spread) & (risk > 0.1), dtype=np.bool_)


def household_risk(risk: Floats, households: Integers) -> Floats:
    """Risk that at least one member is recognised, by household 0..c-1; 0 for one without records.

    `risk`: shape (n,). `households`: shape (n,).
    """
    with np.errstate(divide="ignore"):
        spared = np.log1p(-risk)
    return np.asarray(-np.expm1(np.bincount(households, spared)) + 0.0, dtype=np.float64)


def _parts(params: IndividualRiskParams) -> Iterator[MeasurePart]:
    percent, chance = (0.0, 100.0), (0.0, 1.0)
    yield MeasurePart("expected_reidentifications", "count")
    yield MeasurePart("largest", "probability", range=chance)
    for bound in bounds_of(params.bound):
        yield MeasurePart(f"share_above_{bound_name(bound)}", "percent", range=percent)
    for rate in bounds_of(params.target_rate):
        yield MeasurePart(f"risk_for_rate_{bound_name(rate)}", "probability", "higher", chance)
    yield MeasurePart("outlying_records", "count")
    yield MeasurePart("households_expected", "count")
    yield MeasurePart("household_members_expected", "count")
    yield MeasurePart("largest_household_risk", "probability", range=chance)
    for key in (params.keys or ()) if params.without_each_key else ():
        yield MeasurePart(f"rate_without_{key}", "percent", range=percent)
    yield from set_parts(params, "percent", "lower", percent)


INDIVIDUAL_RISK = Measure(
    name="individual_risk",
    compute=measure_individual_risk,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=IndividualRiskParams,
    claims=MeasureClaims(
        uses=key_set_names,
        check=key_set_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_parts,
    merging=INDIVIDUAL_RISK_OVER_PARTS,
    reference="Benedetti and Franconi (1998), Statistical and technological solutions for controlled data "
    "dissemination, New Techniques and Technologies for Statistics; Franconi and Polettini (2004), Privacy in "
    "Statistical Databases, LNCS 3050, 262-272",
    summary="Percent of records that are expected to be recognised by the key variables, with weights and households.",
)
