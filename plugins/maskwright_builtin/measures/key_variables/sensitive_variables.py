"""Sensitive values inside the classes of equal keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import Comparison, InputError, NamesVariables
from maskwright_builtin.measures.key_variables.key_classes import KeyClasses, KeysParams, key_mistakes, key_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright import Measurable


class SensitiveParams(KeysParams, extra="forbid", frozen=True):
    """The key variables, and the variables to be kept from whoever knows those."""

    sensitive: Annotated[Annotated[list[str], Field(min_length=1)] | None, NamesVariables()] = Field(
        None,
        description="Variables whose values nobody should learn, of any type. Default: those with role confidential "
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
    """Names of the sensitive variables.

    `classes`: their keys cannot be sensitive too.
    """
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
) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64], bool, int]]:
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
