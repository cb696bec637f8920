"""Households: records that belong together, of whom one is counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.declaration import VariableDeclaration
from maskwright.data.shared_codes import shared_codes
from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from maskwright.data.dataset import Dataset


def with_households(data: Dataset, name: str) -> Dataset:
    """Copy whose records with the same value of a variable are one household."""
    column = data[name]
    if column.missing.any():
        raise InputError(
            f"cluster {name!r} is missing in {int(column.missing.sum())} record(s): every record needs a household"
        )
    (codes,) = shared_codes([column])
    codes.setflags(write=False)
    return replace(data, households=codes, cluster=name)


def household_columns(data: Dataset, names: Collection[str]) -> tuple[str, ...]:
    """Variables that tell which records are of one household, the declared one and any that says the same.

    None where households are not declared, or none of their variables is published.

    `names`: variables that are published as they are.
    """
    homes = data.households
    if homes is None:
        return ()
    found = []
    for column in data:
        if column.name in names and not column.missing.any():
            (codes,) = shared_codes([column])
            # The same partition: as many values as households, and as many pairs of both.
            if codes.max(initial=-1) == homes.max(initial=-1):
                first = np.zeros(int(homes.max(initial=-1)) + 1, dtype=np.int64)
                first[homes] = codes
                if np.array_equal(first[homes], codes):
                    found.append(column.name)
    return tuple(found)


def with_household_role(declared: Mapping[str, VariableDeclaration], name: str) -> dict[str, VariableDeclaration]:
    """Declarations in which the variable that names the household is `other` unless a role is declared.

    Numbers are confidential by default, and a number that names a household must not be masked like an amount.
    """
    stated = declared.get(name, VariableDeclaration())
    return {**declared, name: stated.model_copy(update={"role": stated.role or "other"})}
