"""Keys of levels above by which steps of a level suppress cells, to keep k on the keys of all these levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.disclosure.cells import CellMasks, LevelCellMasks, joined_cells

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


def cells_of_keys_above(shown: LinkedData, results: Mapping[str, MaskingResult]) -> dict[Source, Booleans]:
    """Cells of groups that steps of their members suppressed: empty of one member, it is empty of all."""
    cells: dict[Source, Booleans] = {}
    for level, result in results.items():
        for name, above in keys_above(shown, result, level).items():
            gone = shown.above(result.masked[name].missing, level, above) & ~shown[above].data[name].missing
            gone &= ~results[above].masked[name].missing if above in results else np.True_
            if gone.any():
                cells = joined_cells(cells, {(above, name): gone})
    return cells


def hidden_keys_above(
    shown: LinkedData, result: MaskingResult, cells: LevelCellMasks, level: str
) -> dict[str, Booleans]:
    """Suppressed cells of keys of levels above, said of the records of a level."""
    return {
        name: cells[above, name][shown.groups_in(level, above)]
        for name, above in keys_above(shown, result, level).items() if (above, name) in cells
    }  # fmt: skip


def on_own_levels(
    linked: LinkedData, results: Mapping[str, MaskingResult], codes: Mapping[str, CellMasks]
) -> dict[str, CellMasks]:
    """Cells whose missing codes are taken away, those of keys of levels above on these levels."""
    found: dict[str, CellMasks] = {}
    for name, cells in codes.items():
        above = keys_above(linked, results[name], name) if name in results else {}
        for variable, gone in cells.items():
            level = above.get(variable, name)
            lifted = {variable: linked.above(np.asarray(gone), name, level)}
            found[level] = joined_cells(found.get(level, {}), lifted)
    return {**{name: {} for name in results}, **found}
