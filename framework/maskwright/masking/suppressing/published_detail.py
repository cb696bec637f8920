"""Suppressed cells in published detail: the category that would stand there, where a method recodes as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.errors import PluginError

if TYPE_CHECKING:
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.masking.protecting.assembling import GroupResult


def in_published_detail(shown: Dataset, result: GroupResult) -> Dataset:
    """Dataset whose columns have the categories that a method publishes, also in the cells that it empties.

    What gives an emptied cell away gives away the category that would stand there, and not the original value.
    """
    changed = {
        variable.name: _coarser(shown[variable.name], result, position)
        for position, variable in enumerate(result.variables)
        if variable != shown[variable.name].variable
    }
    return shown.with_columns(changed) if changed else shown


def _coarser(column: Column, result: GroupResult, position: int) -> Column:
    variable = result.variables[position]
    codes = np.full(len(column), -1, dtype=np.int32)
    kept = ~result.missing[:, position]
    codes[kept] = result.values[kept, position].astype(np.int32)
    emptied = ~kept & ~column.missing
    distinct, places = np.unique(column.values[emptied], return_inverse=True)
    found = []
    for value in distinct.tolist():
        stated = value if column.variable.is_numeric else _original(column.variable, int(value))
        holding = [code for code, band in enumerate(variable.bands) if band.holds(stated)]
        if len(holding) != 1:
            raise PluginError(f"the bands of {variable.name} do not say which category its emptied cells would have")
        found.append(holding[0])
    codes[emptied] = np.array(found, dtype=np.int32)[places]
    return column.changed(codes, column.missing.copy(), variable)


def _original(variable: Variable, code: int) -> str | float:
    """An original value that a category stands for, which may be coarser already; bands are of original values."""
    if len(variable.bands) != len(variable.categories):
        return variable.categories[code]
    band = variable.bands[code]
    return band.lower if band.members is None else band.members[0]
