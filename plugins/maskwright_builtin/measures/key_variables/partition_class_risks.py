"""Individual risk and k-map of a file in partitions, from equivalence classes with one risk each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Further, Measurement, Merging, PartOfFile, plural
from maskwright_builtin.key_counts.frequencies import (
    approximate_risk,
    individual_risk,
    positive_weights,
    sampling_fraction,
    zero_weights,
)
from maskwright_builtin.measures.key_variables.key_classes import (
    RISK_BANDS,
    KeySetsParams,
    in_words,
    risk_table,
    worst_of,
)
from maskwright_builtin.measures.key_variables.partition_class_sizes import (
    classes_by_set,
    classes_wanted,
    keys_of_part,
    weighted_classes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright import MeasureTable
    from maskwright_builtin.measures.key_variables.individual_risk import IndividualRiskParams
    from maskwright_builtin.measures.key_variables.k_anonymity import KMapParams
    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Integers


NO_WEIGHTS = "without weights the file is taken to be the population: the risk of a record is 1 / f"


def individual_risk_of(
    expected: float, largest: float, above: Mapping[float, int], records: int, keys: tuple[str, ...],
    parts: Mapping[str, float], notes: Sequence[str], table: MeasureTable,
) -> Measurement:  # fmt: skip
    """The measure `individual_risk`, however its classes were counted."""
    shares = {f"share_above_{bound_name(bound)}": 100.0 * count / records for bound, count in above.items()}
    people = f"{expected:,.{1 if expected < 1000 else 0}f} ({100.0 * expected / records:.2g} %)"
    text = (
        f"If an intruder who knows {in_words(keys)} tried to recognise each of the {records:,} records, about {people} "
        "would be recognised rightly"
    )
    for bound, count in list(above.items())[:1]:
        text += f"; {count:,} {'has' if count == 1 else 'have'} a chance above {100.0 * bound:g} % of being so"
    return Measurement(
        100.0 * expected / records,
        parts={"expected_reidentifications": expected, "largest": largest, **shares, **parts},
        notes=(f"key variables: {', '.join(keys)}", *notes),
        sentence=f"{text}.",
        tables=(table,),
    )


def k_map_of(
    fewest: float, below: int, risk: float, records: int, k: int, keys: tuple[str, ...], notes: Sequence[str]
) -> Measurement:
    """The measure `k_map`, however people were counted."""
    return Measurement(
        fewest,
        parts={"below_k": 100.0 * below / records, "mean_risk": risk / records},
        notes=tuple(notes),
        sentence=f"Whoever knows {in_words(keys)} of a person in the file has to choose among {fewest:,.4g} "
        f"{'people' if fewest != 1.0 else 'person'} of the population or more; of {plural(below, 'record')} "
        f"among fewer than {k}.",
    )


def bounds_of(value: float | tuple[float, ...]) -> tuple[float, ...]:
    """One bound, or several, each once."""
    return tuple(dict.fromkeys(value)) if isinstance(value, tuple) else (value,)


def bound_name(value: float) -> str:
    """``0_05``."""
    return f"{value:.12f}".rstrip("0").replace(".", "_")


def people_of_part(
    comparison: Comparison,
    params: KeySetsParams,  # noqa: ARG001
    request: Request,
    part: PartOfFile,
) -> tuple[Columns, Integers]:
    """Classes of one part, with their records and the people they stand for, by the task that counts them."""
    assert request is not None
    weights, _ = positive_weights(comparison.masked_weights())
    return weighted_classes(comparison, request, part, np.ones(len(comparison.masked)) if weights is None else weights)


def risks_of_classes(columns: Columns, params: IndividualRiskParams, request: Request) -> Facts:
    """Sums over the classes of one task for `individual_risk`."""
    facts = {}
    for name, records, people in classes_by_set(columns, request):
        fraction, cut = sampling_fraction(records, people)
        risk = (individual_risk if params.formula == "exact" else approximate_risk)(records, fraction)
        facts[name] = {
            "expected": float((records * risk).sum()),
            "largest": float(risk.max(initial=0.0)),
            "above": [int(records[risk > bound].sum()) for bound in bounds_of(params.bound)],
            "cut": int(records[cut].sum()),
            "bands": [cell for row in risk_table(risk, records=records).rows for cell in row[1:]],
        }
    return facts


def individual_risk_of_parts(
    facts: Sequence[Facts], params: IndividualRiskParams, request: Request
) -> Measurement | Further:
    """The measure `individual_risk` of a file in parts; `outlying_records` needs a median, and is left out."""
    if request is None:
        return classes_wanted(facts)
    found = {}
    for name, keys in request["keys"].items():
        own = [each[name] for each in facts]
        notes = list(zero_weights(request["zero"])) if request["weighted"] else [NO_WEIGHTS]
        if cut := sum(each["cut"] for each in own):
            notes.append(f"in {plural(cut, 'record')} the weights are below 1 and F below f: F is taken as f")
        above = np.sum([each["above"] for each in own], axis=0).tolist()
        bands = np.sum([each["bands"] for each in own], axis=0).astype(np.int64)
        found[name] = individual_risk_of(
            math.fsum(each["expected"] for each in own), max(each["largest"] for each in own),
            dict(zip(bounds_of(params.bound), above, strict=True)), request["records"], tuple(keys), {}, notes,
            risk_table(np.array(list(RISK_BANDS.values())), records=bands),
        )  # fmt: skip
    return found[""] if params.key_sets is None else worst_of(found, "lower")


def people_of_classes(columns: Columns, params: KMapParams, request: Request) -> Facts:
    """Sums over the classes of one task for `k_map`."""
    return {
        name: {
            "fewest": float(people.min()) if len(people) else None,
            "below": int(records[people < params.k].sum()),
            "risk": float((100.0 * records / people).sum()),
        }
        for name, records, people in classes_by_set(columns, request)
    }


def k_map_of_parts(facts: Sequence[Facts], params: KMapParams, request: Request) -> Measurement | Further:
    """The measure `k_map` of a file in parts."""
    if request is None:
        return classes_wanted(facts)
    found = {}
    for name, keys in request["keys"].items():
        own = [each[name] for each in facts]
        notes = [f"key variables: {', '.join(keys)}", *population_notes(request["weighted"])]
        notes += zero_weights(request["zero"])
        found[name] = k_map_of(
            min(each["fewest"] for each in own if each["fewest"] is not None), sum(each["below"] for each in own),
            math.fsum(each["risk"] for each in own), request["records"], params.k, tuple(keys), notes,
        )  # fmt: skip
    return found[""] if params.key_sets is None else worst_of(found, "higher")


def population_notes(weighted: bool) -> tuple[str, ...]:
    """Where the people of the population come from, without a file of it."""
    how = "estimated by the weights" if weighted else "the file itself: there are no weights"
    return (f"the population is {how}",)


def _refused_risk(params: IndividualRiskParams) -> str | None:
    if params.count != "own":
        return "over parts a missing key is a value of its own: say `count: own`"
    if params.target_rate:
        return "`target_rate` needs the risks of all records in order: leave it out"
    if params.without_each_key:
        return "`without_each_key` counts anew without each key: name the keys by `key_sets`"
    return None


def _refused_map(params: KMapParams) -> str | None:
    return None if params.population is None else "a population file is compared with all records at once"


INDIVIDUAL_RISK_OVER_PARTS = Merging(
    partial=keys_of_part, merged=individual_risk_of_parts, rows=people_of_part, counted=risks_of_classes,
    refused=_refused_risk,
)  # fmt: skip
K_MAP_OVER_PARTS = Merging(
    partial=keys_of_part, merged=k_map_of_parts, rows=people_of_part, counted=people_of_classes, refused=_refused_map
)
