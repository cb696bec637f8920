"""Cells of variables, of one level or of several: as masks, joined, and emptied in data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from maskwright.foundation.arrays import Booleans

if TYPE_CHECKING:
    from maskwright.data.dataset import Dataset
    from maskwright.edits.levels.structure_edits import Source

CellMasks = Mapping[str, Booleans]
"""Cells of each variable, such as its suppressed ones; shape (n,)."""

LevelCellMasks = Mapping["Source", Booleans]
"""The same of the variables of several levels."""

Key = TypeVar("Key")
Value = TypeVar("Value")


def joined_cells(cells: Mapping[Key, Booleans], more: Mapping[Key, Booleans]) -> dict[Key, Booleans]:
    """Cells of each variable that are in either."""
    return {**cells, **{name: np.asarray(cells.get(name, np.False_) | gone) for name, gone in more.items()}}


def with_any(cells: Mapping[Key, Booleans]) -> dict[Key, Booleans]:
    """Variables of which there are any cells, and these."""
    return {name: gone for name, gone in cells.items() if gone.any()}


def of_level(found: Mapping[Source, Value], level: str) -> dict[str, Value]:
    """What is said of the variables of one level, by variable."""
    return {name: each for (where, name), each in found.items() if where == level}


def without_cells(data: Dataset, cells: CellMasks) -> Dataset:
    """Copy in which the given cells are missing."""
    return data.with_columns({name: data[name].suppressed(gone) for name, gone in cells.items()})
