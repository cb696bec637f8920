"""Which combinations of masked categories occur in a part, masked or original: adjusting takes these first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.commands.parted.overlay import with_masked
from maskwright.commands.parted.sheet import Stored
from maskwright.masking.category_adjustment import category_codes, occurring_categories

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from maskwright.commands.parted.overlay import MaskedGroup

OCCURRING = "occurring"
"""The stage, and the file of a task: codes of each unit, each combination once."""


@dataclass(frozen=True, eq=False)
class Occurring:
    """What looking takes.

    `groups`: in the order of the plan. `units`: variables of each unit of categories.
    """

    groups: tuple[MaskedGroup, ...]
    units: tuple[tuple[str, ...], ...]


def occurring_in_part(told: Stored, about: Stored, folder: Path, key: str) -> Mapping[str, object]:
    """Look at one part; a task."""
    sheet, task = told.read(), about.read()
    original, _ = sheet.records_of(key)
    if original is None:
        return {"records": 0}
    masked, _ = with_masked(original, task.groups, int(key))
    found = [occurring_categories([category_codes(data, names) for data in (masked, original)]) for names in task.units]
    Stored.of(found, folder / OCCURRING)
    return {"records": len(original)}
