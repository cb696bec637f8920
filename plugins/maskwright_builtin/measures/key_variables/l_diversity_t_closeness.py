"""l-diversity and t-closeness of equivalence classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Classes, Comparison, Measure, MeasureClaims, Measurement, MeasurePart, plural
from maskwright_builtin.measures.key_variables.class_measures import About, ClassMeasure, exactly, total
from maskwright_builtin.measures.key_variables.key_classes import in_words
from maskwright_builtin.measures.key_variables.sensitive_classes import (
    SensitiveParams,
    diversity_of_classes,
    moved,
    moved_along,
    names_used,
    sensitive_mistakes,
    sensitive_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright_builtin.measures.partition_statistics import Facts
    from maskwright_builtin.numerics.arrays import Floats


def _notes(about: About) -> Iterator[str]:
    yield f"key variables: {', '.join(about.keys)}; sensitive: {', '.join(about.sensitive)}"
    for name, each in about.sensitive.items():
        if each.missing:
            yield f"left out: {plural(each.missing, 'record')} without a value of {name}"


def _undefined(about: About) -> Measurement:
    return Measurement(float("nan"), notes=(*_notes(about), "not defined: no sensitive variable has a value"))


class LDiversityParams(SensitiveParams, extra="forbid", frozen=True):
    """Keys, sensitive variables, and how diversity is counted."""

    count: Literal["distinct", "entropy"] = Field(
        "distinct",
        description="'distinct': different values. 'entropy': exp of their entropy, the number of equally frequent "
        "values that would be as diverse.",
    )


def l_diversity(comparison: Comparison, params: LDiversityParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Smallest diversity of a sensitive variable in a class of masked records with equal key variables.

    With p_s the share of value s in a class: `distinct` counts the s with p_s > 0, `entropy` is ``exp(-sum_s p_s log
    p_s)``; the value is the minimum over classes and sensitive variables. At 1, someone in such a class needs no link
    to be known: everybody there has the same value.

    A missing key is a value of its own; a missing sensitive cell is left out, and a class with no value counts for
    nothing. Weights are not used. Where households are declared, a household counts once for each
    value it has.

    There is no interval: it is a count of the file that is released, and nothing in it is estimated.

    Returns
    -------
    Measurement
        `parts`: ``homogeneous``, percent of records in a class in which some sensitive variable has a single value.
        `per_variable`: the smallest diversity of each sensitive variable among those compared. `per_record`: that of
        the record's class.

    Raises
    ------
    InputError
        No key or sensitive variables, or variables that a file does not have.
    """
    return L_DIVERSITY_OF_CLASSES.compute(comparison, params)


def _diversities(classes: Classes, params: LDiversityParams, about: About) -> tuple[Facts, Floats]:  # noqa: ARG001
    """Smallest diversity of each sensitive variable, and records of a single value."""
    least, by_variable = np.full(len(classes), np.inf), {}
    for name, histogram in classes.sensitive.items():
        found = diversity_of_classes(histogram, len(classes), params.count)
        if np.isfinite(found).any():
            by_variable[name] = float(found.min())
        least = np.minimum(least, found)
    homogeneous = int(classes.records[least <= 1.0].sum())
    return {"least": by_variable, "homogeneous": homogeneous}, np.where(np.isfinite(least), least, np.nan)


def _l_diversity(facts: Sequence[Facts], params: LDiversityParams, about: About) -> Measurement:  # noqa: ARG001
    by_variable = {
        name: min(each["least"][name] for each in facts if name in each["least"])
        for name in about.sensitive
        if any(name in each["least"] for each in facts)
    }
    if not by_variable:
        return _undefined(about)
    least, homogeneous = min(by_variable.values()), sum(each["homogeneous"] for each in facts)
    return Measurement(
        least,
        parts={"homogeneous": 100.0 * homogeneous / about.records},
        per_variable={name: value for name, value in by_variable.items() if name in about.compared},
        notes=tuple(_notes(about)),
        sentence=f"Whoever finds a person by {in_words(about.keys)} is left with at least {least:.3g} possible "
        f"{'value' if least == 1.0 else 'values'} of {in_words(tuple(by_variable))}; for {homogeneous:,} of the "
        f"{about.records:,} records with only one.",
    )


L_DIVERSITY_OF_CLASSES = ClassMeasure(
    name="l_diversity", facts=_diversities, figure=_l_diversity, counts_households=True,
    sensitive=partial(sensitive_names, "l_diversity"),
)  # fmt: skip


def _l_diversity_parts(params: LDiversityParams) -> tuple[MeasurePart, ...]:  # noqa: ARG001 - the contract
    return (MeasurePart("homogeneous", "percent", range=(0.0, 100.0)),)


L_DIVERSITY = Measure(
    name="l_diversity",
    compute=l_diversity,
    kind="risk",
    unit="count",
    direction="higher",
    range=(1.0, None),
    params=LDiversityParams,
    claims=MeasureClaims(
        uses=names_used,
        check=sensitive_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_l_diversity_parts,
    merging=L_DIVERSITY_OF_CLASSES.merging,
    reference="Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007), ACM Transactions on Knowledge Discovery "
    "from Data 1(1), article 3",
    summary="Smallest number of different sensitive values in a class of masked records with equal keys.",
)


def t_closeness(comparison: Comparison, params: SensitiveParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Largest distance between the sensitive values of a class of masked records with equal keys and of the whole file.

    The earth mover's distance between the shares p_s of the class and q_s of the file. With v different values in
    order, ``sum_i |sum_{s <= i} (p_s - q_s)| / (v - 1)`` for numeric and ordinal variables; ``sum_s |p_s - q_s| / 2``
    for nominal ones. 0: a class tells nothing; the value is the maximum over classes and sensitive variables.

    A missing key is a value of its own; a missing sensitive cell is left out, and a class with no value counts for
    nothing. Weights are not used. Where households are declared, a household counts once for each
    value it has in a class.

    There is no interval: it is a distance within the file that is released, and nothing in it is estimated.

    Returns
    -------
    Measurement
        `parts`: ``mean``, over records. `per_variable`: the largest distance of each sensitive variable among those
        compared. `per_record`: that of the record's class.

    Raises
    ------
    InputError
        No key or sensitive variables, or variables that a file does not have.
    """
    return T_CLOSENESS_OF_CLASSES.compute(comparison, params)


def _distances(classes: Classes, params: SensitiveParams, about: About) -> tuple[Facts, Floats]:  # noqa: ARG001
    """Largest distance of each sensitive variable, and the sum of the largest ones over records."""
    farthest, by_variable = np.full(len(classes), -np.inf), {}
    for name, histogram in classes.sensitive.items():
        if not len(histogram.values):
            continue
        known = about.sensitive[name]
        present, distance = (moved_along if known.ordered else moved)(histogram, known.shares)
        by_variable[name] = float(distance.max())
        farthest[present] = np.maximum(farthest[present], distance)
    known_of = np.isfinite(farthest)
    records = classes.records[known_of]
    facts = {
        "farthest": by_variable,
        "known": int(records.sum()),
        "total": exactly(np.multiply(farthest[known_of], records, dtype=np.float64)),
    }
    return facts, np.where(known_of, farthest, np.nan)


def _t_closeness(facts: Sequence[Facts], params: SensitiveParams, about: About) -> Measurement:  # noqa: ARG001
    by_variable = {
        name: max(each["farthest"][name] for each in facts if name in each["farthest"])
        for name in about.sensitive
        if any(name in each["farthest"] for each in facts)
    }
    if not by_variable:
        return _undefined(about)
    largest = max(by_variable.values())
    return Measurement(
        largest,
        parts={"mean": total(facts, "total") / sum(each["known"] for each in facts)},
        per_variable={name: value for name, value in by_variable.items() if name in about.compared},
        notes=tuple(_notes(about)),
        sentence=f"Among people with the same {in_words(about.keys)}, the values of {in_words(tuple(by_variable))} "
        f"differ from those of the whole file by {largest:.3g} at most, on a scale from 0 (not at all) to 1 (wholly).",
    )


T_CLOSENESS_OF_CLASSES = ClassMeasure(
    name="t_closeness", facts=_distances, figure=_t_closeness, counts_households=True,
    sensitive=partial(sensitive_names, "t_closeness"),
)  # fmt: skip


def _t_closeness_parts(params: SensitiveParams) -> tuple[MeasurePart, ...]:  # noqa: ARG001 - the contract
    return (MeasurePart("mean", "share", range=(0.0, 1.0)),)


T_CLOSENESS = Measure(
    name="t_closeness",
    compute=t_closeness,
    kind="risk",
    unit="share",
    direction="lower",
    range=(0.0, 1.0),
    params=SensitiveParams,
    claims=MeasureClaims(
        uses=names_used,
        check=sensitive_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_t_closeness_parts,
    merging=T_CLOSENESS_OF_CLASSES.merging,
    reference="Li, Li and Venkatasubramanian (2007), t-closeness: privacy beyond k-anonymity and l-diversity, IEEE "
    "23rd International Conference on Data Engineering, 106-115",
    summary="Largest distance between the sensitive values of a class with equal keys and of the whole file.",
)
