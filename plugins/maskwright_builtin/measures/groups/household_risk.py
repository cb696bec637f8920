"""Risk and uniqueness of households, by their own keys and those of their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from maskwright import (
    Comparison,
    Measure,
    MeasureClaims,
    Measurement,
    MeasurePart,
    MeasureTable,
    group_classes,
    plural,
)
from maskwright_builtin.key_counts.frequencies import (
    MissingKeys,
    approximate_risk,
    count_keys,
    individual_risk,
    positive_weights,
    sampling_fraction,
)
from maskwright_builtin.measures.groups.group_keys import (
    GroupKeysParams,
    by_size,
    chosen_keys,
    group_key_mistakes,
    group_key_names,
    groups_of,
    kinds_of,
    known_in_words,
)
from maskwright_builtin.measures.key_variables.individual_risk import household_risk as risk_of_any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from maskwright import ComparedLevels
    from maskwright_builtin.numerics.arrays import Floats, Integers


ROUNDED = 1.0 + 1e-12
"""A risk that is a bound is not above it, whatever rounding made of it."""
UNDERSTATES = (
    "members are taken to be sought separately, each by the keys of one {} and of the {}: this understates the risk "
    "where an intruder knows several members; household_uniqueness counts whole groups"
)


class HouseholdRiskParams(GroupKeysParams, extra="forbid", frozen=True):
    """The key variables of both levels, how missing ones count, and what risk is too much."""

    count: MissingKeys = Field(
        "own",
        description="How a missing key counts: 'own', each code that is published as a value of its own; 'alpha0', "
        "complete records count for those that have it missing; 'subset', all that show as much; 'wildcard', as any "
        "value, both ways.",
    )
    bound: Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=False)] = Field(
        0.05,
        description="A risk of a household, 0 to 1: the part share_above_bound is the percentage of households above "
        "it. A person of a household of m may then have bound / m; the part members_above_bound is the percentage "
        "of persons above that.",
    )
    formula: Literal["exact", "approximate"] = Field(
        "exact", description="Of a person's risk; 'approximate': pi / (f - 1 + pi) for f > 2, up to 4 % too high."
    )


def household_risk(comparison: Comparison, params: HouseholdRiskParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Percent of households of which at least one member is expected to be recognised.

    With f the persons that have a person's keys, those of his household's row among them, and F the people in the
    population who do, the risk r of a person is that of `individual_risk`: the mean of 1 / F given f, F - f negative
    binomial, and 1 / f without weights. The risk of a household is

        R = 1 - prod_i (1 - r_i)

    over its members, the value ``100 sum R / households``. Who recognises one member has all the others.

    Members are taken to be sought separately, each by his own keys. Who looks for a set of persons who live together
    finds far more: this risk **understates**, by 10 to 70 times in the survey of the demo. `household_uniqueness`
    counts the sets.

    A limit t of a household's risk is one for persons: if each of its m members has at most t / m, R is at most t; the
    rule of mu-Argus.

    A missing key counts as `count` says. Weights are those of the persons; where they have none, of their households.
    A weight of zero counts as 1. Where weights are below 1, F is taken as f. There is no interval: the estimate's own
    error is that of the model, and no sample shows it.

    Returns
    -------
    Measurement
        `parts`: ``expected_households``, sum of R; ``expected_members``, of the persons in them; ``largest`` R;
        ``share_above_bound``, percent of households with a larger R; ``members_above_bound``, percent of persons with a
        larger r than bound / m; ``members_bound``, the smallest bound / m of the file. `per_record`: R, 0 to 1, of each
        household. `tables`: mean R by size.

    Raises
    ------
    InputError
        Data of one level; no key variables, or variables that no level has.

    References
    ----------
    mu-Argus 5.1, User's manual, Statistics Netherlands (2014), section 2.2.
    """
    levels = comparison.require_levels("household_risk")
    row, members = chosen_keys(levels, params, "household_risk")
    groups = groups_of(levels)
    households = len(levels.masked[levels.top])
    codes_of = levels.published_keys if params.count == "own" else _pooled_codes(levels)
    codes = [*(codes_of(name)[groups] for name in row), *(codes_of(name) for name in members)]
    weights, about_weights = positive_weights(_member_weights(levels))
    notes = [
        f"key variables: {', '.join((*row, *members))}",
        UNDERSTATES.format(levels.lowest, levels.top),
        *about_weights,
    ]
    if weights is None:
        notes.append("without weights the file is taken to be the population: the risk of a person is 1 / f")
    counts = count_keys(codes, params.count, weights)
    fraction, cut = sampling_fraction(counts.file, counts.population)
    if cut.any():
        notes.append(f"in {plural(int(cut.sum()), 'record')} the weights are below 1 and F below f: F is taken as f")
    own = (individual_risk if params.formula == "exact" else approximate_risk)(counts.file, fraction)
    sizes = np.bincount(groups, minlength=households)
    risk = np.zeros(households)
    risk[: int(groups.max(initial=-1)) + 1] = risk_of_any(own, groups)
    limit = params.bound / sizes[groups]
    above = int((risk > params.bound * ROUNDED).sum())
    expected = float(risk.sum())
    return Measurement(
        100.0 * expected / households,
        parts={
            "expected_households": expected,
            "expected_members": float((risk * sizes).sum()),
            "largest": float(risk.max()),
            "share_above_bound": 100.0 * above / households,
            "members_above_bound": 100.0 * float((own > limit * ROUNDED).mean()),
            "members_bound": float(limit.min()),
        },
        per_record=risk,
        notes=tuple(notes),
        sentence=f"If an intruder who knows {known_in_words(levels, row, members)} tried to recognise each of the "
        f"{len(groups):,} records one by one, about {expected:,.{1 if expected < 1000 else 0}f} of the {households:,} "
        f"would be found with all their members; {above:,} {'has' if above == 1 else 'have'} a chance above "
        f"{100.0 * params.bound:g} % of being so.",
        tables=(
            MeasureTable(
                "by_size", "Mean risk by number of members", ("members", "risk, %"), by_size(100.0 * risk, sizes)
            ),
        ),
    )


def _pooled_codes(levels: ComparedLevels) -> Callable[[str], Integers]:
    """Codes of the masked records for ways to count in which all missing cells are alike."""
    return lambda name: levels.keys(name)[1]


def _member_weights(levels: ComparedLevels) -> Floats | None:
    """Weights of the masked members; those of their groups where they have none of their own."""
    own = levels.masked_weights(levels.lowest)
    if own is not None:
        return own
    above = levels.masked_weights(levels.top)
    return None if above is None else above[groups_of(levels)]


def _risk_parts(params: HouseholdRiskParams) -> Iterator[MeasurePart]:  # noqa: ARG001 - the contract's
    percent, chance = (0.0, 100.0), (0.0, 1.0)
    yield MeasurePart("expected_households", "count")
    yield MeasurePart("expected_members", "count")
    yield MeasurePart("largest", "probability", range=chance)
    yield MeasurePart("share_above_bound", "percent", range=percent)
    yield MeasurePart("members_above_bound", "percent", range=percent)
    yield MeasurePart("members_bound", "probability", "higher", chance)


HOUSEHOLD_RISK = Measure(
    name="household_risk",
    compute=household_risk,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=HouseholdRiskParams,
    claims=MeasureClaims(
        uses=group_key_names,
        check=group_key_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        of_levels=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_risk_parts,
    reference="Franconi and Polettini (2004), Individual risk estimation in mu-Argus: a review, Privacy in Statistical "
    "Databases, LNCS 3050, 262-272",
    summary="Percent of households of which a member is expected to be recognised by the keys of both levels.",
)


class HouseholdUniquenessParams(GroupKeysParams, extra="forbid", frozen=True):
    """The key variables of both levels, and a k to count by."""

    k: int = Field(3, ge=2, description="The part below_k counts the households in classes smaller than this.")


def household_uniqueness(
    comparison: Comparison,
    params: HouseholdUniquenessParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of households that no one else is like: in their own keys, and in the set of their members' keys.

    Two households are alike if they have the same keys in `row`, as many members, and the same multiset of members'
    keys: a man of 40 with a woman of 38 and a boy of 9. With f the households alike, the value is ``100 #{f = 1} /
    households``.

    With weights, a class stands for about ``F = sum of weights`` households of the population, the sampling fraction is
    ``pi = f / F``, and with F - f negative binomial a household's risk is ``E(1 / F | f)``; a sample unique is unique
    in the population with probability pi.

    A missing key is a value of its own, and so is each missing code that is published. Weights are those of the
    households; where they have none, the mean of their members'. One below 1 counts as 1. There is no interval: it is a
    count of the file that is released.

    Returns
    -------
    Measurement
        `parts`: ``below_k``, percent of households in classes smaller than k; with weights ``population_uniques``,
        percent of households expected to be alone in the population, and ``mean_risk``, in percent. `per_record`: the
        risk of each household in percent; without weights 100 for a unique one, else 0. `tables`: unique households by
        size.

    Raises
    ------
    InputError
        Data of one level; no key variables, or variables that no level has.
    """
    levels = comparison.require_levels("household_uniqueness")
    row, members = chosen_keys(levels, params, "household_uniqueness")
    groups, households = groups_of(levels), len(levels.masked[levels.top])
    of_row, of_members = ([levels.published_keys(name) for name in names] for names in (row, members))
    classes = group_classes(of_row, kinds_of(of_members, len(groups)), groups, households)
    sizes = np.bincount(groups, minlength=households)
    weights, about_weights = positive_weights(levels.masked_weights(levels.top))
    if weights is None and (own := levels.masked_weights(levels.lowest)) is not None:
        weights = np.bincount(groups, own, households) / np.maximum(sizes, 1)
    counts = count_keys([classes], "own", None if weights is None else np.maximum(weights, 1.0))
    unique = counts.file == 1
    notes = [f"keys of a {levels.top}: {', '.join(row) or 'none'}; of its members: {', '.join(members) or 'none'}"]
    parts = {"below_k": 100.0 * float((counts.file < params.k).mean())}
    per_record = np.where(unique, 100.0, 0.0)
    if weights is not None:
        notes += about_weights
        fraction, _ = sampling_fraction(counts.file, counts.population)
        per_record = 100.0 * individual_risk(counts.file, fraction)
        parts["population_uniques"] = 100.0 * float(np.where(unique, fraction, 0.0).mean())
        parts["mean_risk"] = float(per_record.mean())
    alone = int(unique.sum())
    return Measurement(
        100.0 * float(unique.mean()),
        parts=parts,
        per_record=per_record,
        notes=tuple(notes),
        sentence=f"Of the {households:,} records of the level {levels.top}, {alone:,} are the only ones of their kind "
        f"for an intruder who knows {known_in_words(levels, row, members)}.",
        tables=(
            MeasureTable(
                "by_size", f"Unique {levels.top} records by number of members", ("members", "unique, %"),
                by_size(100.0 * unique, sizes),
            ),
        ),
    )  # fmt: skip


def _uniqueness_parts(params: HouseholdUniquenessParams) -> Iterator[MeasurePart]:  # noqa: ARG001 - the contract's
    for name in ("below_k", "population_uniques", "mean_risk"):
        yield MeasurePart(name, "percent", range=(0.0, 100.0))


HOUSEHOLD_UNIQUENESS = Measure(
    name="household_uniqueness",
    compute=household_uniqueness,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=HouseholdUniquenessParams,
    claims=MeasureClaims(
        uses=group_key_names,
        check=group_key_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        of_levels=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_uniqueness_parts,
    reference="Benedetti and Franconi (1998), Statistical and technological solutions for controlled data "
    "dissemination, New Techniques and Technologies for Statistics",
    summary="Percent of households alone with their keys and the set of their members' keys; with weights also in the "
    "population.",
)
