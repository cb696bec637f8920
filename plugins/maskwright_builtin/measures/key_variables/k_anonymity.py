"""k-anonymity, k-map and uniqueness: sizes of equivalence classes in the sample and the population."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import partial
from pathlib import Path  # noqa: TC003 - a type of a parameter
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import Comparison, InputError, Measure, MeasureClaims, Measurement, MeasurePart, NamesFile, plural, read
from maskwright_builtin.key_counts.frequencies import count_keys, individual_risk, positive_weights, sampling_fraction
from maskwright_builtin.measures.key_variables.key_classes import (
    KeySetsParams,
    classes_on,
    key_codes,
    key_set_mistakes,
    key_set_names,
    set_parts,
    size_table,
    worst_of_sets,
)
from maskwright_builtin.measures.key_variables.partition_class_risks import (
    K_MAP_OVER_PARTS,
    k_map_of,
    population_notes,
)
from maskwright_builtin.measures.key_variables.partition_class_sizes import (
    K_ANONYMITY_OVER_PARTS,
    UNIQUENESS_OVER_PARTS,
    k_anonymity_of,
    light_records,
    uniqueness_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright import Dataset
    from maskwright_builtin.numerics.arrays import Floats


class KAnonymityParams(KeySetsParams, extra="forbid", frozen=True):
    """The key variables, and a k to count by."""

    k: int = Field(3, ge=2, description="`parts` count the records in classes smaller than this.")


def k_anonymity(comparison: Comparison, params: KAnonymityParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Size of the smallest class of masked records with equal values of all key variables.

    ``min over records i of #{u : keys(u) = keys(i)}``; the file is k-anonymous for every k up to it. Only equality
    counts, so continuous keys that are not clustered give 1. A missing cell is a value of its own. Weights are not
    used. Where households are declared, the size of a class is the number of households in it.

    There is no interval: it is a count of the file that is released, and nothing in it is estimated.

    Returns
    -------
    Measurement
        `parts`: ``classes``, their number; ``below_k``, percent of records in classes smaller than k; ``mean_risk``,
        mean of 100 / class size over records, the chance in percent that someone known to be in the file is picked out
        by the keys. `per_record`: 100 / class size. `tables`: records in bands of class size.

    Raises
    ------
    InputError
        No key variables, or variables that a file does not have.
    """
    return worst_of_sets(comparison, params, "k_anonymity", partial(_k_anonymity_on_keys, comparison, params), "higher")


def _k_anonymity_on_keys(comparison: Comparison, params: KAnonymityParams, keys: tuple[str, ...]) -> Measurement:
    classes = classes_on(comparison, keys, "k_anonymity")
    sizes = classes.size[classes.of_record]
    risk = 100.0 / sizes
    group = comparison.original.group_name
    what = "record" if classes.households is None else group if group == "household" else f"{group} record"
    found = k_anonymity_of(
        int(classes.size.min()), int((sizes < params.k).sum()), len(sizes), params.k, keys, what,
        {"classes": float(len(classes.size)), "mean_risk": float(risk.mean())}, size_table(sizes, f"{what}s"),
    )  # fmt: skip
    return replace(found, per_record=risk)


def _k_anonymity_parts(params: KAnonymityParams) -> Iterator[MeasurePart]:
    yield MeasurePart("classes", "count", "lower")
    yield MeasurePart("below_k", "percent", range=(0.0, 100.0))
    yield MeasurePart("mean_risk", "percent", range=(0.0, 100.0))
    yield from set_parts(params, "count", "higher", (1.0, None))


K_ANONYMITY = Measure(
    name="k_anonymity",
    compute=k_anonymity,
    kind="risk",
    unit="count",
    direction="higher",
    range=(1.0, None),
    params=KAnonymityParams,
    claims=MeasureClaims(
        uses=key_set_names,
        check=key_set_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_k_anonymity_parts,
    merging=K_ANONYMITY_OVER_PARTS,
    reference="Samarati (2001), IEEE Transactions on Knowledge and Data Engineering 13(6), 1010-1027",
    summary="Size of the smallest class of masked records with equal key variables.",
)


class KMapParams(KeySetsParams, extra="forbid", frozen=True):
    """The key variables, the population, and a k to count by."""

    k: int = Field(3, ge=2, description="`parts` count the records that fewer people than this are like.")
    population: Annotated[Path | None, NamesFile()] = Field(
        None,
        description="File of the population, or of a register of it, with the keys as the masked file has them; its "
        "ending tells the format. Left out, the population is estimated by the weights.",
    )


def k_map(comparison: Comparison, params: KMapParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Smallest number of people in the population who have the keys of some masked record.

    ``min over records i of #{people u : keys(u) = keys(i)}``. Where an intruder does not know who is in the file, it is
    the population that somebody has to hide in, and not the file: k-map is weaker than k-anonymity, never stronger.

    With a population file people are counted in it: those who have what the record shows, whatever stands in its
    missing keys, and show all of it themselves. A record that nobody of the population is like is an error: the file
    is not that of its population, or its keys are coded otherwise. Without one, F is the sum of the weights of the
    records with these keys, an estimate, and poor where f is small; without weights the file is taken to be the
    population. Then a missing key is a value of its own. People are counted, and not households.

    There is no interval: with a population file nothing is estimated.

    Returns
    -------
    Measurement
        `parts`: ``below_k``, percent of records that fewer than k people are like; ``mean_risk``, mean of 100 / F in
        percent. `per_record`: 100 / F.

    Raises
    ------
    InputError
        No key variables, variables that a file does not have, records without a match in the population.
    """
    population = None if params.population is None else read(params.population)
    on_keys = partial(_k_map_on_keys, comparison, params, population)
    return worst_of_sets(comparison, params, "k_map", on_keys, "higher")


def _k_map_on_keys(
    comparison: Comparison, params: KMapParams, population: Dataset | None, keys: tuple[str, ...]
) -> Measurement:
    notes = [f"key variables: {', '.join(keys)}"]
    if population is None:
        weights, about_weights = positive_weights(comparison.masked_weights())
        notes += [*population_notes(weights is not None), *about_weights]
        people = count_keys(key_codes(comparison, keys, "k_map"), "own", weights).population
    else:
        people = _found_in(population, comparison, keys)
        notes.append(f"the population has {len(population)} records")
    risk = 100.0 / people
    below = int((people < params.k).sum())
    found = k_map_of(float(people.min()), below, float(risk.sum()), len(people), params.k, keys, notes)
    return replace(found, per_record=risk)


def _found_in(population: Dataset, comparison: Comparison, keys: tuple[str, ...]) -> Floats:
    """People of the population file who have what each masked record shows."""
    if not len(comparison.masked):
        raise InputError("k_map: there is nothing to measure: the masked file has no records")
    for name in keys:
        if name not in population:
            near = difflib.get_close_matches(name, population.names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(population.names[:8])}"
            raise InputError(f"k_map: the population file has no variable {name!r}{hint}")
    together = Comparison(population, comparison.masked, ())
    codes = [together.keys(name) for name in keys]
    # What the sample's records count among themselves is taken off again: left are the people of the population.
    both = count_keys([np.concatenate(pair) for pair in codes], "subset").file[len(population) :]
    people = both - count_keys([sample for _, sample in codes], "subset").file
    without = int((people == 0).sum())
    if without:
        raise InputError(
            f"k_map: {plural(without, 'record has', 'records have')} keys that no record of the "
            "population file has: the file is not that of the population, or its keys are coded otherwise than those "
            "of the masked file"
        )
    return people.astype(np.float64)


def _k_map_parts(params: KMapParams) -> Iterator[MeasurePart]:
    yield MeasurePart("below_k", "percent", range=(0.0, 100.0))
    yield MeasurePart("mean_risk", "percent", range=(0.0, 100.0))
    yield from set_parts(params, "count", "higher", (0.0, None))


K_MAP = Measure(
    name="k_map",
    compute=k_map,
    kind="risk",
    unit="count",
    direction="higher",
    range=(0.0, None),
    params=KMapParams,
    claims=MeasureClaims(
        uses=key_set_names,
        check=key_set_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_k_map_parts,
    merging=K_MAP_OVER_PARTS,
    reference="Sweeney (2002), k-anonymity: a model for protecting privacy, International Journal on Uncertainty, "
    "Fuzziness and Knowledge-Based Systems 10(5), 557-570; El Emam and Dankar (2008), Journal of the American Medical "
    "Informatics Association 15(5), 627-637",
    summary="Smallest number of people in the population, counted or estimated, with the keys of a masked record.",
)


def uniqueness(comparison: Comparison, params: KeySetsParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
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
    return worst_of_sets(comparison, params, "uniqueness", partial(_uniqueness_on_keys, comparison))


def _uniqueness_on_keys(comparison: Comparison, keys: tuple[str, ...]) -> Measurement:
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


def _uniqueness_parts(params: KeySetsParams) -> Iterator[MeasurePart]:
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
    claims=MeasureClaims(
        uses=key_set_names,
        check=key_set_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_uniqueness_parts,
    merging=UNIQUENESS_OVER_PARTS,
    reference="Benedetti and Franconi (1998), Statistical and technological solutions for controlled data "
    "dissemination, New Techniques and Technologies for Statistics",
    summary="Percent of masked records alone with their key variables; with weights also in the population.",
)
