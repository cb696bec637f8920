"""Records of each value of a variable of any type, by a name of the value that is the same in every part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Column


def places_of_values(column: Column) -> dict[str, NDArray[np.int64]]:
    """Records of each value that is there: its category, or the number as text."""
    there = np.flatnonzero(~column.missing)
    values = column.values[there]
    order = np.argsort(values, kind="stable")
    different, starts = np.unique(values[order], return_index=True)
    names = (
        [repr(float(each) + 0.0) for each in different]
        if column.variable.is_numeric
        else [column.variable.categories[int(each)] for each in different]
    )
    return dict(zip(names, np.split(there[order], starts[1:]), strict=True)) if len(different) else {}


def counts_of_values(column: Column) -> dict[str, int]:
    """How many records have each value; ``missing`` counts under a name that no value has."""
    found = {f"={name}": len(rows) for name, rows in places_of_values(column).items()}
    gone = int(column.missing.sum())
    return found | ({"missing": gone} if gone else {})
