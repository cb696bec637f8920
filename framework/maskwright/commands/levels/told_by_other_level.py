"""Masked variables of one level that the other shows: what is masked, and what edits keep together all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.edit import LinearPart, RangePart
from maskwright.edits.levels.linked_columns import MembersColumn
from maskwright.edits.levels.sources import sources_of_edit
from maskwright.masking.levels.told_across import told_across
from maskwright.planning.levels.read_off_members import read_off_members

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.doubts import Doubt
    from maskwright.planning.plan import Plan


def told_by_other_level(linked: LinkedData, bound: BoundEdits, plans: Mapping[str, Plan]) -> Iterator[Doubt]:
    """Doubts about variables of one level that the other shows.

    `plans`: of the levels that steps mask.
    """
    masked = {name: {each for each in plan.changed if not plan.variables[each].as_is} for name, plan in plans.items()}
    changed = {name: masked[name] & plan.replaced for name, plan in plans.items()}
    edits = [edit for own in bound.edits.values() for edit in own]
    counts = {
        each.name for each in bound.columns[linked.names[0]]
        if isinstance(each, MembersColumn) and each.function == "count"
    }  # fmt: skip
    sizes = {name for edit in edits if not counts.isdisjoint(edit.variables) for name in edit.variables}
    tied = [frozenset(sources_of_edit(bound, edit)) for edit in edits if _can_equate(edit)]
    yield from read_off_members(linked, masked, tied, sizes)
    yield from told_across(linked, masked, changed, tied)


def _can_equate(edit: Edit) -> bool:
    """Whether an edit says more than which of two values is larger: of such alone nothing is computed."""
    return any(
        not isinstance(part, RangePart) and (not isinstance(part, LinearPart) or part.relation == "==")
        for part in edit.parts
    )
