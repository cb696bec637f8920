"""Distribution of sensitive variables within equivalence classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import Comparison, InputError, NamesVariables
from maskwright_builtin.measures.key_variables.key_classes import (
    KeysParams,
    key_mistakes,
    key_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Histogram, Measurable
    from maskwright_builtin.numerics.arrays import Floats, Integers


def diversity_of_classes(found: Histogram, count: int, how: str) -> Floats:
    """Diversity of each of `count` classes, infinite for a class without values; shape (count,)."""
    different = np.bincount(found.of_class, minlength=count).astype(np.float64)
    if how == "distinct":
        return np.where(different > 0, different, np.inf)
    total = np.bincount(found.of_class, found.records, count)
    share = found.records / total[found.of_class]
    entropy = np.bincount(found.of_class, weights=-share * np.log(share), minlength=count)
    # One value has no entropy at all; rounding must not make it more than one.
    return np.where(different > 1, np.exp(entropy), np.where(different > 0, 1.0, np.inf))


def moved(found: Histogram, share: Floats) -> tuple[Integers, Floats]:
    """Half the sum of the differences of shares, for each class that has values; and these classes, in order.

    `share`: of each value in the whole file; shape (v,).
    """
    present, owner = np.unique(found.of_class, return_inverse=True)
    size = np.bincount(owner, found.records)
    more = np.maximum(found.records / size[owner] - share[found.values], 0.0)
    return present, np.asarray(np.bincount(owner, weights=more, minlength=len(present)), dtype=np.float64)


def moved_along(found: Histogram, share_of_value: Floats) -> tuple[Integers, Floats]:
    """Area between the cumulative shares, for each class that has values; and these classes, in order.

    From one value of the class to its next, the class's cumulative share stands still while the file's rises; sums of
    the file's are looked up, so that time does not grow with the number of different values times that of classes.

    `share_of_value`: of each value in the whole file; shape (v,).
    """
    cumulative = np.cumsum(share_of_value)
    count, value = len(cumulative), found.values
    present, starts, owner = np.unique(found.of_class, return_index=True, return_inverse=True)
    if count == 1:
        return present, np.zeros(len(present))
    sums = np.append(0.0, np.cumsum(cumulative))
    upto = np.cumsum(found.records)
    before = np.append(0, upto)[starts]
    share = (upto - before[owner]) / np.bincount(owner, found.records)[owner]
    ends = np.append(starts[1:], len(value)) - 1
    end = np.append(value[1:], count)
    end[ends] = count
    crossing = np.clip(np.searchsorted(cumulative, share), value, end)
    below = share * (crossing - value) - (sums[crossing] - sums[value])
    above = sums[end] - sums[crossing] - share * (end - crossing)
    area = np.bincount(owner, weights=below + above) + sums[value[starts]]
    return present, np.asarray(np.maximum(area, 0.0) / (count - 1.0))


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


def sensitive_names(measure: str, comparison: Comparison, params: SensitiveParams, keys: Sequence[str]) -> list[str]:
    """Names of the sensitive variables."""
    confidential = [variable.name for variable in comparison.masked.variables if variable.role == "confidential"]
    names = list(params.sensitive or [name for name in confidential if name not in keys])
    if not names:
        raise InputError(f"{measure}: {NONE_SENSITIVE}")
    both = [name for name in names if name in keys]
    if both:
        raise InputError(f"{measure}: {_both(both[0])}")
    return names
