"""Which variables are advised on, and why the others are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset

MASKED_ROLES = ("quasi_identifier", "confidential")
OF_CATEGORIES = (
    "Numbers are clustered; categories are recoded, suppressed or changed. `maskwright advise keys` says which of them "
    "single people out, and `maskwright compare` measures what protects them."
)


@dataclass(frozen=True)
class Chosen:
    """Variables of a file.

    `names`: advised on, in file order. `suspects`: advised on, and perhaps identifiers: whole numbers, a different one
    in every record.
    """

    names: tuple[str, ...]
    left_out: Mapping[str, str]
    suspects: tuple[str, ...] = ()


def choose_variables(data: Dataset, exclude: Sequence[str] = (), only: Sequence[str] | None = None) -> Chosen:
    """Numeric variables with the role quasi_identifier or confidential.

    `exclude`: names to leave out as well. `only`: names of the variables that the steps of a pipeline list.
    """
    strangers = [name for name in exclude if name not in data]
    if strangers:
        raise InputError([Problem(f"--exclude: {unknown_name('variable', name, data.names)}") for name in strangers])
    left_out: dict[str, str] = {}
    for column in data:
        if column.name in exclude:
            left_out[column.name] = "excluded"
        elif column.variable.role not in MASKED_ROLES:
            left_out[column.name] = f"role {column.variable.role}"
        elif not column.variable.is_numeric:
            left_out[column.name] = column.variable.type
        elif only is not None and column.name not in only:
            left_out[column.name] = "no step of the pipeline lists it"
    names = tuple(name for name in data.names if name not in left_out)
    if len(names) < 2:
        gone = f" ({', '.join(f'{name}: {why}' for name, why in left_out.items())})" if left_out else ""
        raise InputError(
            Problem(
                f"there is nothing to partition: {len(names)} numeric variable(s) to mask{gone}",
                hint=OF_CATEGORIES if any(not data[name].variable.is_numeric for name in left_out) else None,
            )
        )
    return Chosen(names, left_out, tuple(name for name in names if _may_identify(data[name])))


def _may_identify(column: Column) -> bool:
    if column.variable.type != "integer" and column.variable.decimals != 0:
        return False
    values = column.values[~column.missing]
    return len(values) > 1 and len(np.unique(values)) == len(values)
