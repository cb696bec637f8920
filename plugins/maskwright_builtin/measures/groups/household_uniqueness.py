"""Household uniqueness: households alone with their own keys and the set of their members' keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement, MeasurePart, MeasureTable
from maskwright_builtin.key_counts.counts import count_keys
from maskwright_builtin.key_counts.negative_binomial_risk import individual_risk, positive_weights, sampling_fraction
from maskwright_builtin.measures.groups.group_keys import (
    GroupKeysParams,
    by_size,
    chosen_keys,
    group_classes,
    group_key_mistakes,
    group_key_names,
    groups_of,
    known_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class HouseholdUniquenessParams(GroupKeysParams, extra="forbid", frozen=True):
    """The key variables of both levels, and a k to count by."""

    k: int = Field(3, ge=2, description="The part below_k counts the households in classes smaller than this.")


def household_uniqueness(
    comparison: Comparison,
    params: HouseholdUniquenessParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of households that nobody else is like: in their own keys, and in the set of their members' keys.

    Two households are alike if they have the same keys in `row`, as many members, and the same multiset of members'
    keys: a man of 40 with a woman of 38 and a boy of 9. With f the households alike, the value is ``100 #{f = 1} /
    households``.

    With weights, a class stands for about ``F = sum of weights`` households of the population, the sampling fraction is
    ``pi = f / F``, and with F - f negative binomial a household's risk is ``E(1 / F | f)``; a sample unique is unique
    in the population with probability pi.

    A missing key is a value of its own, and so is each missing code that is published. Weights are those of the
    households; where they have none, the mean of their members'. One below 1 counts as 1. There is no interval: it is a
    count of the file that is released.

    Parameters
    ----------
    comparison : Comparison
        With levels.
    params : HouseholdUniquenessParams
    rng : numpy.random.Generator
        Not used.

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
    classes = group_classes(of_row, of_members, groups, households)
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
        f"for somebody who knows {known_in_words(levels, row, members)}.",
        tables=(
            MeasureTable(
                "by_size", f"Unique {levels.top} records by number of members", ("members", "unique, %"),
                by_size(100.0 * unique, sizes),
            ),
        ),
    )  # fmt: skip


def _parts(params: HouseholdUniquenessParams) -> Iterator[MeasurePart]:  # noqa: ARG001 - the contract's
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
    uses=group_key_names,
    check=group_key_mistakes,
    parts=_parts,
    compares_unpaired=True,
    of_one_file=True,
    of_levels=True,
    counts_households=True,
    invariant_to={"affine", "records", "columns"},
    reference="Benedetti and Franconi (1998), Statistical and technological solutions for controlled data "
    "dissemination, New Techniques and Technologies for Statistics",
    summary="Percent of households alone with their keys and the set of their members' keys; with weights also in the "
    "population.",
)
