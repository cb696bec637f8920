"""Individual, global and household risk: how many people an intruder would recognise by what he knows of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from maskwright import Classes, Comparison, Measure, MeasureClaims, Measurement, MeasurePart, plural
from maskwright_builtin.key_counts.frequencies import (
    MissingKeys,
    approximate_risk,
    individual_risk,
    matched_records,
    positive,
    sampling_fraction,
    zero_weights,
)
from maskwright_builtin.measures.key_variables.class_measures import (
    About,
    ClassMeasure,
    codes_of_classes,
    exactly,
    is_missing,
    total,
)
from maskwright_builtin.measures.key_variables.key_classes import (
    RISK_BANDS,
    KeySetsParams,
    in_words,
    key_set_mistakes,
    key_set_names,
    risk_table,
    set_parts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright_builtin.measures.partition_statistics import Facts
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

    Over parts of a file ``outlying_records`` is left out where several tasks count the classes. Missing keys that
    count otherwise, `target_rate` and `without_each_key` need all classes in one task.

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
    return INDIVIDUAL_RISK_OF_CLASSES.compute(comparison, params)


NO_WEIGHTS = "without weights the file is taken to be the population: the risk of a record is 1 / f"


def _risks(classes: Classes, params: IndividualRiskParams, about: About) -> tuple[Floats, Booleans]:
    """Risk of the records of each class, and where F was cut to f."""
    file, population = classes.size, classes.weights
    if params.count != "own":
        # In an order of their own, because sums of weights are rounded as they are added.
        ordered = classes.merge()
        codes = tuple(codes_of_classes(ordered, about))
        matched = matched_records(replace(ordered, keys=codes), params.count)
        file, population = matched[0][ordered.codes], matched[1][ordered.codes]
    fraction, cut = sampling_fraction(file, population)
    return (individual_risk if params.formula == "exact" else approximate_risk)(file, fraction), cut


def _facts(classes: Classes, params: IndividualRiskParams, about: About) -> tuple[Facts, Floats]:
    records = classes.records
    risk, cut = _risks(classes, params, about)
    facts: dict[str, Any] = {
        "expected": exactly(records * risk),
        "largest": float(risk.max()),
        "above": [int(records[risk > bound].sum()) for bound in bounds_of(params.bound)],
        "cut": int(records[cut].sum()),
        "bands": [cell for row in risk_table(risk, records=records).rows for cell in row[1:]],
    }
    if int(records.sum()) == about.records:
        facts["rates"] = [risk_for_rate(risk, records, rate) for rate in bounds_of(params.target_rate)]
        facts["outlying"] = int(records[outlying(risk, records)].sum())
    if params.count == "wildcard":
        facts["missing"] = any(is_missing(key).any() for key in classes.keys)
    if params.without_each_key and len(about.keys) > 1:
        places = range(len(about.keys))
        fewer = {key: classes.by([each for each in places if each != at]) for at, key in enumerate(about.keys)}
        facts["without"] = {
            key: exactly(each.records * _risks(each, params, replace(about, keys=_others(about.keys, key)))[0])
            for key, each in fewer.items()
        }
    households = None if about.comparison is None else about.comparison.masked_households()
    if households is not None:
        of_household = household_risk(risk[classes.codes], households)
        facts["households"] = {
            "households_expected": float(of_household[np.unique(households)].sum()),
            "household_members_expected": float(of_household[households].sum()),
            "largest_household_risk": float(of_household.max()),
        }
    return facts, risk


def _others(keys: tuple[str, ...], left_out: str) -> tuple[str, ...]:
    return tuple(key for key in keys if key != left_out)


def _figure(facts: Sequence[Facts], params: IndividualRiskParams, about: About) -> Measurement:
    keys, records, expected = about.keys, about.records, total(facts, "expected")
    notes = [NO_WEIGHTS] if about.weight is None else list(zero_weights(about.zero))
    if cut := sum(each["cut"] for each in facts):
        notes.append(f"in {plural(cut, 'record')} the weights are below 1 and F below f: F is taken as f")
    if any(each.get("missing") for each in facts):
        notes.append("a missing key counts as any value: emptied records lower the risk of all others")
    above = dict(zip(bounds_of(params.bound), np.sum([each["above"] for each in facts], axis=0).tolist(), strict=True))
    parts = {"expected_reidentifications": expected, "largest": max(each["largest"] for each in facts)}
    parts |= {f"share_above_{bound_name(bound)}": 100.0 * count / records for bound, count in above.items()}
    if len(facts) == 1 and "outlying" in facts[0]:
        rates = zip(bounds_of(params.target_rate), facts[0]["rates"], strict=True)
        parts |= {f"risk_for_rate_{bound_name(rate)}": risk for rate, risk in rates}
        parts["outlying_records"] = float(facts[0]["outlying"])
    for key in facts[0].get("without", ()):
        parts[f"rate_without_{key}"] = 100.0 * total([each["without"] for each in facts], key) / records
    parts |= facts[0].get("households", {})
    people = f"{expected:,.{1 if expected < 1000 else 0}f} ({100.0 * expected / records:.2g} %)"
    text = (
        f"If an intruder who knows {in_words(keys)} tried to recognise each of the {records:,} records, about {people} "
        "would be recognised rightly"
    )
    for bound, count in list(above.items())[:1]:
        text += f"; {count:,} {'has' if count == 1 else 'have'} a chance above {100.0 * bound:g} % of being so"
    bands = np.sum([each["bands"] for each in facts], axis=0).astype(np.int64)
    return Measurement(
        100.0 * expected / records,
        parts=parts,
        notes=(f"key variables: {', '.join(keys)}", *notes),
        sentence=f"{text}.",
        tables=(risk_table(np.array(list(RISK_BANDS.values())), records=bands),),
    )


def _needs_all(params: IndividualRiskParams) -> bool:
    return params.count != "own" or bool(params.target_rate) or params.without_each_key


def _pools(params: IndividualRiskParams) -> bool:
    return params.count != "own"


INDIVIDUAL_RISK_OF_CLASSES = ClassMeasure(
    name="individual_risk",
    facts=_facts,
    figure=_figure,
    usable=positive,
    weighted=True,
    at_once=_needs_all,
    pooled=_pools,
)  # fmt: skip


def bounds_of(value: float | tuple[float, ...]) -> tuple[float, ...]:
    """One bound, or several, each once."""
    return tuple(dict.fromkeys(value)) if isinstance(value, tuple) else (value,)


def bound_name(value: float) -> str:
    """``0_05``."""
    return f"{value:.12f}".rstrip("0").replace(".", "_")


def risk_for_rate(risk: Floats, records: Integers, rate: float) -> float:
    """The largest attained risk v for which ``sum min(risk, v) < rate n``; 0 where even the smallest is too large.

    `risk`, `records`: of each class; shape (c,).
    """
    order = np.lexsort((records, risk))
    ordered, many = risk[order], records[order]
    capped = np.cumsum(ordered * many) + ordered * (int(many.sum()) - np.cumsum(many))
    below = np.flatnonzero(capped < rate * int(many.sum()))
    return float(ordered[below[-1]]) if len(below) else 0.0


def outlying(risk: Floats, records: Integers, deviations: float = 2.0) -> Booleans:
    """Classes whose risk is above 0.1 and above the median by so many median absolute deviations.

    `risk`, `records`: of each class; shape (c,).

    Templ, Kowarik and Meindl (2015), Journal of Statistical Software 67(4): the benchmark of sdcMicro.
    """
    median = _median(risk, records)
    spread = NORMAL * _median(np.abs(risk - median), records)
    return np.asarray((risk > median + deviations * spread) & (risk > 0.1), dtype=np.bool_)


def _median(values: Floats, records: Integers) -> float:
    order = np.argsort(values)
    upto = np.cumsum(records[order])
    middle = np.searchsorted(upto, [(upto[-1] - 1) // 2, upto[-1] // 2], side="right")
    return float(values[order[middle]].mean())


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
    merging=INDIVIDUAL_RISK_OF_CLASSES.merging,
    reference="Benedetti and Franconi (1998), Statistical and technological solutions for controlled data "
    "dissemination, New Techniques and Technologies for Statistics; Franconi and Polettini (2004), Privacy in "
    "Statistical Databases, LNCS 3050, 262-272",
    summary="Percent of records that are expected to be recognised by the key variables, with weights and households.",
)
