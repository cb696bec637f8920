"""t-closeness: how far the sensitive values of a class of equal keys are from those of the whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement, MeasurePart
from maskwright_builtin.measures.key_variables.key_classes import key_classes
from maskwright_builtin.measures.key_variables.key_sets import listed
from maskwright_builtin.measures.key_variables.sensitive_variables import (
    SensitiveParams,
    names_used,
    sensitive_mistakes,
    sensitive_names,
    values_by_class,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        distance = (_moved_along if ordered else _moved)(of_class, value)
        by_variable[name] = float(distance.max())
        present = np.unique(of_class)
        farthest[present] = np.maximum(farthest[present], distance)
    if not by_variable:
        notes.append("not defined: no sensitive variable has a value")
        return Measurement(float("nan"), notes=tuple(notes))
    of_record = farthest[classes.of_record]
    known = np.isfinite(of_record)
    return Measurement(
        max(by_variable.values()),
        parts={"mean": float(of_record[known].mean())},
        per_variable={name: value for name, value in by_variable.items() if name in comparison.variables},
        per_record=np.where(known, of_record, np.nan),
        notes=tuple(notes),
        sentence=f"Among people with the same {listed(classes.keys)}, the values of {listed(tuple(by_variable))} "
        f"differ from those of the whole file by {max(by_variable.values()):.3g} at most, on a scale from 0 (not at "
        "all) to 1 (wholly).",
    )


def _moved(of_class: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.float64]:
    """Half the sum of the differences of shares, for each class that occurs, in order."""
    share = np.bincount(value) / len(value)
    present, of_class, size = np.unique(of_class, return_inverse=True, return_counts=True)
    begins = np.ones(len(value), dtype=np.bool_)
    begins[1:] = (of_class[1:] != of_class[:-1]) | (value[1:] != value[:-1])
    starts = np.flatnonzero(begins)
    owner, copies = of_class[starts], np.diff(np.append(starts, len(value)))
    more = np.maximum(copies / size[owner] - share[value[starts]], 0.0)
    return np.asarray(np.bincount(owner, weights=more, minlength=len(present)), dtype=np.float64)


def _moved_along(of_class: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.float64]:
    """Area between the cumulative shares, for each class that occurs, in order.

    From one value of the class to its next, the class's cumulative share stands still while the file's rises; sums of
    the file's are looked up, so that time does not grow with the number of different values times that of classes.
    """
    cumulative = np.cumsum(np.bincount(value)) / len(value)
    count = len(cumulative)
    if count == 1:
        return np.zeros(len(np.unique(of_class)))
    sums = np.append(0.0, np.cumsum(cumulative))
    _, starts, of_class, size = np.unique(of_class, return_index=True, return_inverse=True, return_counts=True)
    place = np.arange(len(value)) - starts[of_class]
    share = (place + 1.0) / size[of_class]
    last = place + 1 == size[of_class]
    begin, end = value, np.where(last, count, np.append(value[1:], count))
    crossing = np.clip(np.searchsorted(cumulative, share), begin, end)
    below = share * (crossing - begin) - (sums[crossing] - sums[begin])
    above = sums[end] - sums[crossing] - share * (end - crossing)
    area = np.bincount(of_class, weights=below + above) + sums[value[starts]]
    return np.asarray(np.maximum(area, 0.0) / (count - 1.0))


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
    counts_households=True,
    invariant_to={"affine", "records", "columns"},
    reference="Li, Li and Venkatasubramanian (2007), t-closeness: privacy beyond k-anonymity and l-diversity, IEEE "
    "23rd International Conference on Data Engineering, 106-115",
    summary="Largest distance between the sensitive values of a class with equal keys and of the whole file.",
)
