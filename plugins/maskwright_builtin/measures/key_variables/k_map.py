"""k-map: how many people of the population have the keys of a record."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path  # noqa: TC003 - a type of a parameter
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import Comparison, InputError, Measure, Measurement, MeasurePart, NamesFile, read
from maskwright_builtin.key_counts.counts import count_keys
from maskwright_builtin.key_counts.negative_binomial_risk import positive_weights
from maskwright_builtin.measures.key_variables.class_risks_over_parts import (
    K_MAP_OVER_PARTS,
    k_map_of,
    population_notes,
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

    from numpy.typing import NDArray

    from maskwright import Dataset


class KMapParams(KeySetsParams, extra="forbid", frozen=True):
    """The key variables, the population, and a k to count by."""

    k: int = Field(3, ge=2, description="`parts` count the records that fewer people than this are like.")
    population: Annotated[Path | None, NamesFile()] = Field(
        None,
        description="File of the population, or of a register of it, with the keys as the masked file has them; its "
        "ending tells the format. Left out, the population is estimated by the weights.",
    )


def k_map(
    comparison: Comparison,
    params: KMapParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Smallest number of people in the population who have the keys of some masked record.

    ``min over records i of #{people u : keys(u) = keys(i)}``. Where an intruder does not know who is in the file, it is
    the population that somebody has to hide in, and not the file: k-map is weaker than k-anonymity, never stronger.

    With a population file people are counted in it: those who have what the record shows, whatever stands in its
    missing keys, and show all of it themselves. A record that nobody of the population is like is an error: the file
    is not that of its population, or its keys are coded otherwise. Without one, F is the sum of the weights of the
    records with these keys, an estimate, and poor where f is small; without weights the file is taken to be the
    population. Then a missing key is a value of its own. People are counted, and not households.

    There is no interval: with a population file nothing is estimated.

    Parameters
    ----------
    comparison : Comparison
    params : KMapParams
    rng : numpy.random.Generator
        Not used.

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
    return worst_of_sets(
        comparison, params, "k_map", lambda keys: _on_keys(comparison, params, population, keys), direction="higher"
    )


def _on_keys(
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


def _found_in(population: Dataset, comparison: Comparison, keys: tuple[str, ...]) -> NDArray[np.float64]:
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
            f"k_map: {without} record(s) have keys that nobody in the population file has: the file is not that of the "
            "population, or its keys are coded otherwise than those of the masked file"
        )
    return people.astype(np.float64)


def _parts(params: KMapParams) -> Iterator[MeasurePart]:
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
    uses=key_set_names,
    check=key_set_mistakes,
    parts=_parts,
    compares_unpaired=True,
    of_one_file=True,
    merging=K_MAP_OVER_PARTS,
    invariant_to={"affine", "records", "columns"},
    reference="Sweeney (2002), k-anonymity: a model for protecting privacy, International Journal on Uncertainty, "
    "Fuzziness and Knowledge-Based Systems 10(5), 557-570; El Emam and Dankar (2008), Journal of the American Medical "
    "Informatics Association 15(5), 627-637",
    summary="Smallest number of people in the population, counted or estimated, with the keys of a masked record.",
)
