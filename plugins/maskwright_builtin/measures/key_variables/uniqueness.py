"""Uniqueness on key variables, in the file and, where weights are declared, in the population."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement, MeasurePart
from maskwright_builtin.key_counts.counts import count_keys
from maskwright_builtin.key_counts.negative_binomial_risk import individual_risk, sampling_fraction
from maskwright_builtin.measures.key_variables.class_sizes_over_parts import (
    UNIQUENESS_OVER_PARTS,
    light_records,
    uniqueness_of,
)
from maskwright_builtin.measures.key_variables.key_classes import key_codes
from maskwright_builtin.measures.key_variables.key_sets import (
    KeySetsParams,
    key_set_mistakes,
    key_set_names,
    set_parts,
    worst_of_sets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def uniqueness(
    comparison: Comparison,
    params: KeySetsParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of masked records that are alone with their combination of key variables.

    With f the size of a record's class in the file, the value is ``100 #{f = 1} / n``. Where sampling weights are
    declared, a class stands for about ``F = sum of weights`` people, the sampling fraction is ``pi = f / F``, and with
    the size of the class in the population negative binomial given f, the risk of a record is ``E(1 / F | f) = pi^f / f
    * 2F1(f, f; f + 1; 1 - pi)``; a sample unique is unique in the population with probability pi.

    A missing cell is a value of its own. A record whose weight is missing or below 1 counts with weight 1. Where
    households are declared, f is the number of households in the class, and its weight that of their first
    records.

    There is no interval: the value is a count of the file that is released, in which nothing is estimated. What
    sampling leaves open, whether someone unique in the file is so in the population, is in the parts.

    Parameters
    ----------
    comparison : Comparison
    params : KeySetsParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` with weights: ``population_uniques``, percent of records expected to be alone in the population;
        ``mean_risk``, mean over records of the chance in percent of a correct link to the population. `per_record`:
        that chance; without weights 100 for a unique record, else 0.

    Raises
    ------
    InputError
        No key variables, or variables that a file does not have.
    """
    return worst_of_sets(comparison, params, "uniqueness", lambda keys: _on_keys(comparison, keys), direction="lower")


def _on_keys(comparison: Comparison, keys: tuple[str, ...]) -> Measurement:
    notes = []
    weights = comparison.masked_weights()
    usable = None if weights is None else np.where(weights >= 1.0, weights, 1.0)
    codes = key_codes(comparison, keys, "uniqueness")
    counts = count_keys(codes, "own", usable, comparison.masked_households())
    unique = counts.file == 1
    parts: dict[str, float] = {}
    per_record = np.where(unique, 100.0, 0.0)
    if weights is not None:
        changed = int((~(weights >= 1.0)).sum())
        if changed:
            notes.append(light_records(changed))
        fraction, _ = sampling_fraction(counts.file, counts.population)
        per_record = 100.0 * individual_risk(counts.file, fraction)
        parts = {
            "population_uniques": 100.0 * float(np.where(unique, fraction, 0.0).mean()),
            "mean_risk": float(per_record.mean()),
        }
    return replace(uniqueness_of(int(unique.sum()), len(unique), keys, parts, notes), per_record=per_record)


def _parts(params: KeySetsParams) -> Iterator[MeasurePart]:
    yield MeasurePart("population_uniques", "percent", range=(0.0, 100.0))
    yield MeasurePart("mean_risk", "percent", range=(0.0, 100.0))
    yield from set_parts(params, "percent", "lower", (0.0, 100.0))


UNIQUENESS = Measure(
    name="uniqueness",
    compute=uniqueness,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=KeySetsParams,
    uses=key_set_names,
    check=key_set_mistakes,
    parts=_parts,
    compares_unpaired=True,
    of_one_file=True,
    merging=UNIQUENESS_OVER_PARTS,
    counts_households=True,
    invariant_to={"affine", "records", "columns"},
    reference="Benedetti and Franconi (1998), Statistical and technological solutions for controlled data "
    "dissemination, New Techniques and Technologies for Statistics",
    summary="Percent of masked records alone with their key variables; with weights also in the population.",
)
