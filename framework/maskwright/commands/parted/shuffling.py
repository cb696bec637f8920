"""The shuffle: records of each part sorted by the leaf in which they are masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.parted.columns import arrays_of
from maskwright.commands.parted.overlay import with_masked
from maskwright.commands.parted.spilling import spill
from maskwright.data.sketches.record_hash import record_hashes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from maskwright.commands.parted.cuts import GroupCut
    from maskwright.commands.parted.overlay import MaskedGroup
    from maskwright.commands.parted.sheet import Stored


@dataclass(frozen=True, eq=False)
class Shuffle:
    """What a shuffle of one step takes.

    `cuts`: of the groups of the step. `columns`: variables that each of them needs.
    """

    cuts: tuple[GroupCut, ...]
    columns: tuple[tuple[str, ...], ...]
    before: tuple[MaskedGroup, ...]


def shuffle(told: Stored, about: Stored, folder: Path, key: str) -> Mapping[str, object]:
    """Sort the records of one part by leaf, for each variable group; a task.

    `folder`: gets ``gN.records`` of each group.
    """
    sheet, task = told.read(), about.read()
    original, first = sheet.records_of(key)
    if original is None:
        return {"records": 0}
    hashes = record_hashes(first, len(original))
    current, _ = with_masked(original, task.before, int(key))
    for cut, names in zip(task.cuts, task.columns, strict=True):
        columns = {"row": np.arange(len(original), dtype=np.int32), **arrays_of(current, names, sheet.variables)}
        spill(folder / f"g{cut.group}", columns, cut.leaf_of(original, hashes), cut.leaves)
    return {"records": len(original)}
