"""Distribution of sensitive variables within equivalence classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import Comparison, InputError, Measurement, NamesVariables
from maskwright_builtin.measures.key_variables.key_classes import (
    KeyClasses,
    KeysParams,
    in_words,
    key_mistakes,
    key_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright import Measurable
    from maskwright_builtin.numerics.arrays import Floats, Integers


def undefined(notes: Sequence[str]) -> Measurement:
    """The measurement where no sensitive variable has a value."""
    return Measurement(float("nan"), notes=(*notes, "not defined: no sensitive variable has a value"))


def l_diversity_of(
    by_variable: Mapping[str, float], homogeneous: int, records: int, keys: tuple[str, ...], compared: Sequence[str],
    notes: Sequence[str],
) -> Measurement:  # fmt: skip
    """The measure `l_diversity`."""
    least = min(by_variable.values())
    return Measurement(
        least,
        parts={"homogeneous": 100.0 * homogeneous / records},
        per_variable={name: value for name, value in by_variable.items() if name in compared},
        notes=tuple(notes),
        sentence=f"Whoever finds a person by {in_words(keys)} is left with {least:.3g} or more possible values of "
        f"{in_words(tuple(by_variable))}; for {homogeneous:,} of the {records:,} records with only one.",
    )


def t_closeness_of(
    by_variable: Mapping[str, float], mean: float, keys: tuple[str, ...], compared: Sequence[str], notes: Sequence[str]
) -> Measurement:
    """The measure `t_closeness`."""
    largest = max(by_variable.values())
    return Measurement(
        largest,
        parts={"mean": mean},
        per_variable={name: value for name, value in by_variable.items() if name in compared},
        notes=tuple(notes),
        sentence=f"Among people with the same {in_words(keys)}, the values of {in_words(tuple(by_variable))} differ "
        f"from those of the whole file by {largest:.3g} at most, on a scale from 0 (not at all) to 1 (wholly).",
    )


def diversity_of_classes(of_class: Integers, value: Integers, count: int, how: str) -> Floats:
    """Diversity of each class, infinite for a class without values; both arrays are ordered by class, then value."""
    begins = np.ones(len(of_class), dtype=np.bool_)
    begins[1:] = (of_class[1:] != of_class[:-1]) | (value[1:] != value[:-1])
    starts = np.flatnonzero(begins)
    copies = np.diff(np.append(starts, len(of_class)))
    owner = of_class[starts]
    different = np.bincount(owner, minlength=count).astype(np.float64)
    if how == "distinct":
        return np.where(different > 0, different, np.inf)
    total = np.bincount(of_class, minlength=count)
    share = copies / total[owner]
    entropy = np.bincount(owner, weights=-share * np.log(share), minlength=count)
    # One value has no entropy at all; rounding must not make it more than one.
    return np.where(different > 1, np.exp(entropy), np.where(different > 0, 1.0, np.inf))


def moved(of_class: Integers, value: Integers, share: Floats) -> Floats:
    """Half the sum of the differences of shares, for each class that occurs, in order.

    `of_class`, `value`: ordered by class, then by value; shape (r,). `share`: of each value in the whole file; shape
    (v,).
    """
    present, of_class, size = np.unique(of_class, return_inverse=True, return_counts=True)
    begins = np.ones(len(value), dtype=np.bool_)
    begins[1:] = (of_class[1:] != of_class[:-1]) | (value[1:] != value[:-1])
    starts = np.flatnonzero(begins)
    owner, copies = of_class[starts], np.diff(np.append(starts, len(value)))
    more = np.maximum(copies / size[owner] - share[value[starts]], 0.0)
    return np.asarray(np.bincount(owner, weights=more, minlength=len(present)), dtype=np.float64)


def moved_along(of_class: Integers, value: Integers, share_of_value: Floats) -> Floats:
    """Area between the cumulative shares, for each class that occurs, in order.

    From one value of the class to its next, the class's cumulative share stands still while the file's rises; sums of
    the file's are looked up, so that time does not grow with the number of different values times that of classes.

    `of_class`, `value`: ordered by class, then by value; shape (r,). `share_of_value`: of each value in the whole file;
    shape (v,).
    """
    cumulative = np.cumsum(share_of_value)
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


class SensitiveParams(KeysParams, extra="forbid", frozen=True):
    """The key variables, and the variables to be kept from whoever knows those."""

    sensitive: Annotated[Annotated[list[str], Field(min_length=1)] | None, NamesVariables()] = Field(
        None,
        description="Variables whose values must not be learned, of any type. Default: those with role confidential "
        "that are no keys.",
    )


NONE_SENSITIVE = "no sensitive variables; name them as `sensitive`, or declare a role confidential"


def names_used(params: SensitiveParams, given: Measurable) -> tuple[str, ...]:
    """Keys and sensitive variables; a quasi-identifier that is sensitive is not taken to be known."""
    known = given.with_role("quasi_identifier")
    return (*key_names(params, given), *(name for name in _sensitive(params, given) if name not in known))


def sensitive_mistakes(params: SensitiveParams, given: Measurable) -> Iterator[tuple[str, str]]:
    """What is wrong with keys and sensitive variables, given the variables: the parameter, and what it is."""
    yield from key_mistakes(params, given)
    keys, sensitive = key_names(params, given), _sensitive(params, given)
    if not sensitive:
        yield "sensitive", NONE_SENSITIVE
    yield from (("sensitive", _both(name)) for name in sensitive if name in keys)


def _sensitive(params: SensitiveParams, given: Measurable) -> tuple[str, ...]:
    keys = key_names(params, given)
    return tuple(params.sensitive or (name for name in given.with_role("confidential") if name not in keys))


def _both(name: str) -> str:
    return f"{name} is a key variable and sensitive at the same time"


def sensitive_names(comparison: Comparison, params: SensitiveParams, classes: KeyClasses, measure: str) -> list[str]:
    """Names of the sensitive variables."""
    confidential = [variable.name for variable in comparison.masked.variables if variable.role == "confidential"]
    names = list(params.sensitive or [name for name in confidential if name not in classes.keys])
    if not names:
        raise InputError(f"{measure}: {NONE_SENSITIVE}")
    both = [name for name in names if name in classes.keys]
    if both:
        raise InputError(f"{measure}: {_both(both[0])}")
    return names


def values_by_class(
    comparison: Comparison, names: list[str], classes: KeyClasses
) -> Iterator[tuple[str, Integers, Integers, bool, int]]:
    """For each sensitive variable its values with the classes they are in, ordered by class, then by value.

    Returns class, and rank of the value among the variable's different values (category codes keep their order). A
    household counts once for each value it has in a class; whether the ranks mean anything: not for nominal variables;
    records without a value, left out; shape (r,).
    """
    for name in names:
        column = comparison.masked[name]
        present = ~column.missing
        _, value = np.unique(column.values[present], return_inverse=True)
        rows = [classes.of_record[present], value.astype(np.int64)]
        if classes.households is not None:
            rows.append(classes.households[present])
            table = np.unique(np.stack(rows, axis=1), axis=0)
            rows = [table[:, 0], table[:, 1]]
        order = np.lexsort((rows[1], rows[0]))
        ordered = column.variable.type != "nominal"
        yield name, rows[0][order], rows[1][order], ordered, int(column.missing.sum())
