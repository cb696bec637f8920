"""What helps where data of levels break edits on arrival: no step masks keys and pointers, so no mask mends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.levels.steps import maskable
from maskwright.edits.levels.linked_columns import StructureColumn
from maskwright.edits.levels.sources import sources_of_edit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits

WHERE_MASKED = " where a step masks what an edit reads"
DROP = "leaves out whole groups that violate an edit"
CORRECT = "correct the file: no step masks keys or pointers"


def ways_where_none_masks(linked: LinkedData, bound: BoundEdits, broken: Sequence[str], *, localized: bool) -> str:
    """What helps where no step masks what the broken edits read, under `mask` or after `localize`.

    `localized`: whether the fewest fields have been adjusted already.
    """
    edits = _named(bound, broken)
    masked = [edit.name for edit in edits if _is_maskable(linked, bound, edit)]
    pointed = [edit.name for edit in edits if edit.name not in masked and _reads_pointer(linked, bound, edit)]
    ways = f"`on_input_violation: drop` {DROP}"
    if not localized and (masked or pointed):
        ways += ", `localize` first adjusts the fewest fields"
        ways += ", and empties a pointer or points it to another record" if pointed else ""
    if masked:
        what = "the edit reads" if len(masked) == len(edits) else f"{_listed(masked)} read{'s' * (len(masked) == 1)}"
        ways += f"; or mask what {what}"
    return ways if len(masked) == len(edits) else f"{ways}{', and' if masked else '; or'} {CORRECT}"


def ways_instead_of_failing(linked: LinkedData, bound: BoundEdits, broken: Sequence[str]) -> str:
    """What a pipeline whose `on_input_violation` is `fail` could say instead."""
    edits = _named(bound, broken)
    mended = [edit.name for edit in edits if _is_maskable(linked, bound, edit) or _varies(bound, edit)]
    pointed = [edit.name for edit in edits if edit.name not in mended and _reads_pointer(linked, bound, edit)]
    ways = ["'drop' leaves out whole groups"]
    if mended:
        them = "them" if len(mended) == len(edits) else _listed(mended)
        where = "" if all(_varies(bound, edit) for edit in edits if edit.name in mended) else WHERE_MASKED
        ways.insert(0, f"'mask' masks and mends {them}{where}")
    if mended or pointed:
        pointers = ", and empties a pointer or points it to another record" if pointed else ""
        ways.append(f"'localize' first adjusts the fewest fields{pointers}")
    said = f"on_input_violation is 'fail'; {', '.join(ways)}"
    return said if len(mended) == len(edits) else f"{said}; or {CORRECT}"


def _named(bound: BoundEdits, names: Iterable[str]) -> list[Edit]:
    every = {edit.name: edit for edits in bound.edits.values() for edit in edits}
    return [every[name] for name in names if name in every]


def _is_maskable(linked: LinkedData, bound: BoundEdits, edit: Edit) -> bool:
    """Whether it reads a variable that a step could mask."""
    own = {(level.name, each.name) for level in linked for each in maskable(level) if each.role != "identifier"}
    return not own.isdisjoint(sources_of_edit(bound, edit))


def _varies(bound: BoundEdits, edit: Edit) -> bool:
    """Whether it says that the rows of a group agree: under `mask` all get the most frequent value."""
    return any(each.broken == "varies" for each in _of_structure(bound, edit))


def _reads_pointer(linked: LinkedData, bound: BoundEdits, edit: Edit) -> bool:
    pointers = {(level.name, name) for level in linked for name in level.pointers}
    dangles = any(each.broken == "dangles" for each in _of_structure(bound, edit))
    return dangles or not pointers.isdisjoint(sources_of_edit(bound, edit))


def _of_structure(bound: BoundEdits, edit: Edit) -> list[StructureColumn]:
    columns = bound.columns[edit.level]
    return [each for each in columns if isinstance(each, StructureColumn) and each.name in edit.variables]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]
