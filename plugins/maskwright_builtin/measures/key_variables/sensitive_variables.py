"""Sensitive values inside the classes of equal keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import Comparison, InputError
from maskwright_builtin.measures.key_variables.key_classes import KeyClasses, KeysParams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class SensitiveParams(KeysParams, extra="forbid", frozen=True):
    """The key variables, and the variables to be kept from whoever knows those."""

    sensitive: Annotated[list[str], Field(min_length=1)] | None = Field(
        None,
        description="Variables whose values nobody should learn, of any type. Default: those with role confidential "
        "that are no keys.",
    )


def sensitive_names(comparison: Comparison, params: SensitiveParams, classes: KeyClasses, measure: str) -> list[str]:
    """Names of the sensitive variables.

    Parameters
    ----------
    comparison : Comparison
    params : SensitiveParams
    classes : KeyClasses
        Their keys cannot be sensitive too.
    measure : str
        Its name, for messages.

    Raises
    ------
    InputError
        None declared, or a key among them.
    """
    confidential = [variable.name for variable in comparison.masked.variables if variable.role == "confidential"]
    names = list(params.sensitive or [name for name in confidential if name not in classes.keys])
    if not names:
        raise InputError(f"{measure}: no sensitive variables; name them as `sensitive`, or declare a role confidential")
    both = [name for name in names if name in classes.keys]
    if both:
        raise InputError(f"{measure}: {both[0]} is a key variable and sensitive at the same time")
    return names


def values_by_class(
    comparison: Comparison, names: list[str], classes: KeyClasses
) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64], bool, int]]:
    """For each sensitive variable its values with the classes they are in, ordered by class, then by value.

    Parameters
    ----------
    comparison : Comparison
    names : list of str
        The sensitive variables.
    classes : KeyClasses

    Yields
    ------
    name : str
    of_class, value : ndarray of shape (r,), int64
        Class, and rank of the value among the variable's different values (category codes keep their order). A
        household counts once for each value it has in a class.
    ordered : bool
        Whether the ranks mean anything: not for nominal variables.
    missing : int
        Records without a value, left out.
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
