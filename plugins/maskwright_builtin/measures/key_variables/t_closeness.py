"""t-closeness: how far the sensitive values of a class of equal keys are from those of the whole file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maskwright import Comparison, Measure, Measurement, MeasurePart
from maskwright_builtin.measures.key_variables.key_classes import key_classes
from maskwright_builtin.measures.key_variables.sensitive_classes import moved, moved_along, t_closeness_of, undefined
from maskwright_builtin.measures.key_variables.sensitive_over_parts import T_CLOSENESS_OVER_PARTS
from maskwright_builtin.measures.key_variables.sensitive_variables import (
    SensitiveParams,
    names_used,
    sensitive_mistakes,
    sensitive_names,
    values_by_class,
)


def t_closeness(
    comparison: Comparison,
    params: SensitiveParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Largest distance between the sensitive values of a class of masked records with equal keys and of the whole file.

    The earth mover's distance between the shares p_s of the class and q_s of the file. With v different values in
    order, ``sum_i |sum_{s <= i} (p_s - q_s)| / (v - 1)`` for numeric and ordinal variables; ``sum_s |p_s - q_s| / 2``
    for nominal ones. 0: a class tells nothing; the value is the maximum over classes and sensitive variables.

    A missing key is a value of its own; a missing sensitive cell is left out, and a class with no value counts for
    nothing. Weights are not used. Where households are declared, a household counts once for each
    value it has in a class.

    There is no interval: it is a distance within the file that is released, and nothing in it is estimated.

    Parameters
    ----------
    comparison : Comparison
    params : SensitiveParams
    rng : numpy.random.Generator
        Not used.

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
    classes = key_classes(comparison, params, "t_closeness")
    names = sensitive_names(comparison, params, classes, "t_closeness")
    farthest = np.full(len(classes.size), -np.inf)
    by_variable: dict[str, float] = {}
    notes = [f"key variables: {', '.join(classes.keys)}; sensitive: {', '.join(names)}"]
    for name, of_class, value, ordered, missing in values_by_class(comparison, names, classes):
        if missing:
            notes.append(f"{missing} record(s) without a value of {name} are left out")
        if not len(value):
            continue
        counts = np.bincount(value)
        distance = (moved_along if ordered else moved)(of_class, value, counts / counts.sum())
        by_variable[name] = float(distance.max())
        present = np.unique(of_class)
        farthest[present] = np.maximum(farthest[present], distance)
    if not by_variable:
        return undefined(notes)
    of_record = farthest[classes.of_record]
    known = np.isfinite(of_record)
    mean = float(of_record[known].mean())
    found = t_closeness_of(by_variable, mean, classes.keys, comparison.variables, notes)
    return replace(found, per_record=np.where(known, of_record, np.nan))


def _parts(params: SensitiveParams) -> tuple[MeasurePart, ...]:  # noqa: ARG001 - the contract
    return (MeasurePart("mean", "share", range=(0.0, 1.0)),)


T_CLOSENESS = Measure(
    name="t_closeness",
    compute=t_closeness,
    kind="risk",
    unit="share",
    direction="lower",
    range=(0.0, 1.0),
    params=SensitiveParams,
    uses=names_used,
    check=sensitive_mistakes,
    parts=_parts,
    compares_unpaired=True,
    of_one_file=True,
    merging=T_CLOSENESS_OVER_PARTS,
    counts_households=True,
    invariant_to={"affine", "records", "columns"},
    reference="Li, Li and Venkatasubramanian (2007), t-closeness: privacy beyond k-anonymity and l-diversity, IEEE "
    "23rd International Conference on Data Engineering, 106-115",
    summary="Largest distance between the sensitive values of a class with equal keys and of the whole file.",
)
