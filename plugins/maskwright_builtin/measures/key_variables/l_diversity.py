"""l-diversity: how many different sensitive values a class of equal keys holds at least."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement, MeasurePart
from maskwright_builtin.measures.key_variables.key_classes import key_classes
from maskwright_builtin.measures.key_variables.sensitive_classes import (
    diversity_of_classes,
    l_diversity_of,
    undefined,
)
from maskwright_builtin.measures.key_variables.sensitive_over_parts import L_DIVERSITY_OVER_PARTS
from maskwright_builtin.measures.key_variables.sensitive_variables import (
    SensitiveParams,
    names_used,
    sensitive_mistakes,
    sensitive_names,
    values_by_class,
)


class LDiversityParams(SensitiveParams, extra="forbid", frozen=True):
    """Keys, sensitive variables, and how diversity is counted."""

    count: Literal["distinct", "entropy"] = Field(
        "distinct",
        description="'distinct': different values. 'entropy': exp of their entropy, the number of equally frequent "
        "values that would be as diverse.",
    )


def l_diversity(
    comparison: Comparison,
    params: LDiversityParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Smallest diversity of a sensitive variable in a class of masked records with equal key variables.

    With p_s the share of value s in a class: `distinct` counts the s with p_s > 0, `entropy` is ``exp(-sum_s p_s log
    p_s)``; the value is the minimum over classes and sensitive variables. At 1, someone in such a class needs no link
    to be known: everybody there has the same value.

    A missing key is a value of its own; a missing sensitive cell is left out, and a class with no value counts for
    nothing. Weights are not used. Where households are declared, a household counts once for each
    value it has.

    There is no interval: it is a count of the file that is released, and nothing in it is estimated.

    Parameters
    ----------
    comparison : Comparison
    params : LDiversityParams
    rng : numpy.random.Generator
        Not used.

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
    classes = key_classes(comparison, params, "l_diversity")
    names = sensitive_names(comparison, params, classes, "l_diversity")
    least = np.full(len(classes.size), np.inf)
    by_variable: dict[str, float] = {}
    notes = [f"key variables: {', '.join(classes.keys)}; sensitive: {', '.join(names)}"]
    for name, of_class, value, _, missing in values_by_class(comparison, names, classes):
        diversity = diversity_of_classes(of_class, value, len(classes.size), params.count)
        if np.isfinite(diversity).any():
            by_variable[name] = float(diversity.min())
        least = np.minimum(least, diversity)
        if missing:
            notes.append(f"{missing} record(s) without a value of {name} are left out")
    if not by_variable:
        return undefined(notes)
    of_record = least[classes.of_record]
    found = l_diversity_of(
        by_variable, int((of_record <= 1.0).sum()), len(of_record), classes.keys, comparison.variables, notes
    )
    return replace(found, per_record=np.where(np.isfinite(of_record), of_record, np.nan))


def _parts(params: LDiversityParams) -> tuple[MeasurePart, ...]:  # noqa: ARG001 - the contract
    return (MeasurePart("homogeneous", "percent", range=(0.0, 100.0)),)


L_DIVERSITY = Measure(
    name="l_diversity",
    compute=l_diversity,
    kind="risk",
    unit="count",
    direction="higher",
    range=(1.0, None),
    params=LDiversityParams,
    uses=names_used,
    check=sensitive_mistakes,
    parts=_parts,
    compares_unpaired=True,
    of_one_file=True,
    merging=L_DIVERSITY_OVER_PARTS,
    counts_households=True,
    invariant_to={"affine", "records", "columns"},
    reference="Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007), ACM Transactions on Knowledge Discovery "
    "from Data 1(1), article 3",
    summary="Smallest number of different sensitive values in a class of masked records with equal keys.",
)
