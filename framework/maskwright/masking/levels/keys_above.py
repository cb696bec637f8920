"""Keys of levels above by which steps of a level suppress cells, to keep k on the keys of all these levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.disclosure.cells import CellMasks, LevelCellMasks, joined_cells, of_level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.foundation.arrays import Booleans
    from maskwright.masking.masking_result import MaskingResult


def keys_above(shown: LinkedData, result: MaskingResult, level: str) -> dict[str, str]:
    """Keys of levels above, with their levels, by which steps of a level suppressed cells."""
    own = shown[level].data
    return {
        name: above for name, above in shown.variables_above(level).items() if name in result.masked and name not in own
    }  # fmt: skip


def of_members(shown: LinkedData, result: MaskingResult, level: str, cells: LevelCellMasks) -> dict[str, Booleans]:
    """Cells of a level and of keys above, said of the records of the level."""
    keys = {
        name: cells[above, name][shown.groups_in(level, above)]
        for name, above in keys_above(shown, result, level).items() if (above, name) in cells
    }  # fmt: skip
    return {**of_level(cells, level), **keys}


def of_groups(shown: LinkedData, result: MaskingResult, level: str, cells: CellMasks) -> dict[Source, Booleans]:
    """Cells of the records of a level, those of keys above said of their groups: empty of one member, empty of all."""
    above = keys_above(shown, result, level)
    return {
        (above.get(name, level), name): shown.above(np.asarray(gone), level, above.get(name, level))
        for name, gone in cells.items()
    }


def cells_of_keys_above(shown: LinkedData, results: Mapping[str, MaskingResult]) -> dict[Source, Booleans]:
    """Cells of groups that steps of their members suppressed."""
    cells: dict[Source, Booleans] = {}
    for level, result in results.items():
        gone_below = {name: result.masked[name].missing for name in keys_above(shown, result, level)}
        for (above, name), gone in of_groups(shown, result, level, gone_below).items():
            there = ~shown[above].data[name].missing
            there &= ~results[above].masked[name].missing if above in results else np.True_
            if (gone & there).any():
                cells = joined_cells(cells, {(above, name): gone & there})
    return cells
