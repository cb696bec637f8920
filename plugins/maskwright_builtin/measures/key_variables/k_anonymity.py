"""k-anonymity, k-map and uniqueness: sizes of equivalence classes in the sample and the population."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import partial
from pathlib import Path  # noqa: TC003 - a type of a parameter
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import (
    Classes,
    Comparison,
    InputError,
    Measure,
    MeasureClaims,
    Measurement,
    MeasurePart,
    NamesFile,
    plural,
    read,
)
from maskwright_builtin.key_counts.frequencies import (
    count_keys,
    individual_risk,
    positive,
    sampling_fraction,
    zero_weights,
)
from maskwright_builtin.measures.key_variables.class_measures import About, ClassMeasure, exactly, total
from maskwright_builtin.measures.key_variables.key_classes import (
    KeySetsParams,
    in_words,
    key_set_mistakes,
    key_set_names,
    set_parts,
    size_table,
    worst_of_sets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Dataset
    from maskwright_builtin.measures.partition_statistics import Facts
    from maskwright_builtin.numerics.arrays import Floats, Integers


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
    return K_ANONYMITY_OF_CLASSES.compute(comparison, params)


def _class_sizes(classes: Classes, params: KAnonymityParams, about: About) -> tuple[Facts, Floats]:  # noqa: ARG001
    """How many classes have each size, and records are in them."""
    of_size, records = np.bincount(classes.size), np.bincount(classes.size, classes.records)
    sizes = np.flatnonzero(of_size)
    facts = {
        "sizes": sizes.tolist(),
        "classes": of_size[sizes].tolist(),
        "records": records[sizes].astype(np.int64).tolist(),
    }
    return facts, 100.0 / classes.size


def _k_anonymity_of_sizes(facts: Sequence[Facts], params: KAnonymityParams, about: About) -> Measurement:
    columns = [np.concatenate([each[name] for each in facts]) for name in ("sizes", "classes", "records")]
    sizes, of_size = np.unique(columns[0], return_inverse=True)
    classes, records = (np.bincount(of_size, each).astype(np.int64) for each in columns[1:])
    smallest, below = int(sizes[0]), int(records[sizes < params.k].sum())
    what = about.unit + ("" if smallest == 1 else "s")
    return Measurement(
        float(smallest),
        parts={
            "classes": float(classes.sum()),
            "below_k": 100.0 * below / about.records,
            "mean_risk": 100.0 * float((records / sizes).sum()) / about.records,
        },
        notes=(f"key variables: {', '.join(about.keys)}",),
        sentence=f"The smallest group that shares {in_words(about.keys)} holds {smallest:,} {what}; {below:,} of the "
        f"{about.records:,} records are in groups of fewer than {params.k}.",
        tables=(size_table(sizes, f"{about.unit}s", records),),
    )


K_ANONYMITY_OF_CLASSES = ClassMeasure(
    name="k_anonymity", facts=_class_sizes, figure=_k_anonymity_of_sizes, direction="higher", counts_households=True
)  # fmt: skip


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
    merging=K_ANONYMITY_OF_CLASSES.merging,
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
    if params.population is None:
        return K_MAP_OF_CLASSES.compute(comparison, params)
    population = read(params.population)
    on_keys = partial(_k_map_of_population, comparison, params, population)
    return worst_of_sets(comparison, params, "k_map", on_keys, "higher")


def _k_map_of_population(
    comparison: Comparison, params: KMapParams, population: Dataset, keys: tuple[str, ...]
) -> Measurement:
    people = _found_in(population, comparison, keys)
    facts = [_people(people, np.ones(len(people)), params)]
    found = _k_map(facts, params, About(keys, len(people)), f"the population has {len(population)} records")
    return replace(found, per_record=100.0 / people)


def _people(people: Floats, records: Floats | Integers, params: KMapParams) -> Facts:
    return {
        "fewest": float(people.min()),
        "below": int(records[people < params.k].sum()),
        "risk": exactly(100.0 * records / people),
    }


def _people_of_classes(classes: Classes, params: KMapParams, about: About) -> tuple[Facts, Floats]:  # noqa: ARG001
    return _people(classes.weights, classes.records, params), 100.0 / classes.weights


def _k_map_of_people(facts: Sequence[Facts], params: KMapParams, about: About) -> Measurement:
    how = "the file itself: there are no weights" if about.weight is None else "estimated by the weights"
    return _k_map(facts, params, about, f"the population is {how}", *zero_weights(about.zero))


def _k_map(facts: Sequence[Facts], params: KMapParams, about: About, *notes: str) -> Measurement:
    fewest, below = min(each["fewest"] for each in facts), sum(each["below"] for each in facts)
    return Measurement(
        fewest,
        parts={"below_k": 100.0 * below / about.records, "mean_risk": total(facts, "risk") / about.records},
        notes=(f"key variables: {', '.join(about.keys)}", *notes),
        sentence=f"Whoever knows {in_words(about.keys)} of a person in the file has to choose among {fewest:,.4g} "
        f"{'people' if fewest != 1.0 else 'person'} of the population or more; of {plural(below, 'record')} "
        f"among fewer than {params.k}.",
    )


def _refused_map(params: KMapParams) -> str | None:
    return None if params.population is None else "a population file is compared with all records at once"


K_MAP_OF_CLASSES = ClassMeasure(
    name="k_map", facts=_people_of_classes, figure=_k_map_of_people, direction="higher",
    usable=positive, weighted=True, refused=_refused_map,
)  # fmt: skip


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
    merging=K_MAP_OF_CLASSES.merging,
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
    return UNIQUENESS_OF_CLASSES.compute(comparison, params)


def _alone(classes: Classes, params: KeySetsParams, about: About) -> tuple[Facts, Floats]:  # noqa: ARG001
    """Records that are alone, and with weights the sums of two chances."""
    unique = classes.size == 1
    facts: Facts = {"alone": int(classes.records[unique].sum())}
    if classes.totals is None:
        return facts, np.where(unique, 100.0, 0.0)
    fraction, _ = sampling_fraction(classes.size, classes.weights)
    risk = individual_risk(classes.size, fraction)
    sums = {"population_uniques": (classes.records * fraction)[unique], "risk": classes.records * risk}
    return {**facts, **{name: exactly(each) for name, each in sums.items()}}, 100.0 * risk


def _uniqueness(facts: Sequence[Facts], params: KeySetsParams, about: About) -> Measurement:  # noqa: ARG001
    alone, records, keys = sum(each["alone"] for each in facts), about.records, about.keys
    parts, notes = dict[str, float](), [f"key variables: {', '.join(keys)}"]
    if about.weight is not None:
        parts["population_uniques"] = 100.0 * total(facts, "population_uniques") / records
        parts["mean_risk"] = 100.0 * total(facts, "risk") / records
        if about.light:
            notes.append(f"{plural(about.light, 'record')} with a weight missing or below 1 count with weight 1")
    return Measurement(
        100.0 * alone / records,
        parts=parts,
        notes=tuple(notes),
        sentence=f"{alone:,} of the {records:,} records are the only ones with their {in_words(keys)}.",
    )


def _at_least_one(weights: Floats) -> Floats:
    return np.where(weights >= 1.0, weights, 1.0)


UNIQUENESS_OF_CLASSES = ClassMeasure(
    name="uniqueness", facts=_alone, figure=_uniqueness, usable=_at_least_one, weighted=True, counts_households=True
)  # fmt: skip


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
    merging=UNIQUENESS_OF_CLASSES.merging,
    reference="Benedetti and Franconi (1998), Statistical and technological solutions for controlled data "
    "dissemination, New Techniques and Technologies for Statistics",
    summary="Percent of masked records alone with their key variables; with weights also in the population.",
)
