"""Columns of a dataset as plain arrays for the scratch folder, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.missing import HAD_VALUE, MissingCells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.parted.whole_variables import WholeVariable


def arrays_of(
    data: Dataset, names: Sequence[str], known: Mapping[str, WholeVariable]
) -> dict[str, NDArray[np.generic]]:
    """Values, and codes of missing cells where the whole file says how any are written, of these variables.

    `data`: in the terms of the whole file.
    """
    found: dict[str, NDArray[np.generic]] = {}
    for name in names:
        column = data[name]
        numeric = column.variable.is_numeric
        found[f"v:{name}"] = np.where(column.missing, np.nan, column.values) if numeric else column.values
        if known[name].blanks:
            codes = np.full(len(data), HAD_VALUE) if column.blank is None else column.blank.codes
            found[f"b:{name}"] = codes.astype(np.int32)
    return found


def dataset_of(
    arrays: Mapping[str, NDArray[np.generic]], names: Sequence[str], known: Mapping[str, WholeVariable]
) -> Dataset:
    """Dataset of the variables that `arrays_of` gave.

    `arrays`: shape (n,).
    """
    columns = []
    for name in names:
        variable, values = known[name].variable, arrays[f"v:{name}"]
        missing = np.isnan(np.asarray(values, dtype=np.float64)) if variable.is_numeric else values == -1
        blank = MissingCells(known[name].blanks, np.asarray(arrays[f"b:{name}"])) if f"b:{name}" in arrays else None
        columns.append(Column(variable, values, np.asarray(missing), blank, known[name].digits))
    return Dataset(tuple(columns))
