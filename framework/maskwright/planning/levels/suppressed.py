"""Cells that must not be suppressed on levels: those that other records of the group would give back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.levels.changed_columns import sources_of
from maskwright.edits.levels.linked_columns import StructureColumn
from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits


def refuse_given_back(suppressed: Mapping[str, Collection[str]], bound: BoundEdits, linked: LinkedData) -> None:
    """Refuse to suppress what an edit across records, or counting the rows, gives back.

    Parameters
    ----------
    suppressed : mapping of level name to collection of str
        Variables whose cells steps suppress.
    bound : BoundEdits
    linked : LinkedData

    Raises
    ------
    InputError
    """
    problems = []
    for level, edits in bound.edits.items():
        others = {each.name for each in bound.columns[level] if not isinstance(each, StructureColumn)}
        for edit in edits:
            if not others.intersection(edit.variables):
                continue
            read = {source for name in edit.variables for source in sources_of(bound.columns, level, name)}
            hidden = sorted(name for where, name in read if name in suppressed.get(where, ()))
            if hidden:
                message = f"edit {edit.name!r} reads other records of the group, and would give suppressed cells of "
                problems.append(Problem(message + f"{', '.join(hidden)} back", edit.place, _WAYS))
    top, low = linked.levels
    assert low.groups is not None
    counts = np.bincount(low.groups, minlength=len(top))
    for name in suppressed.get(top.name, ()):
        column = top.data[name]
        known = ~column.missing
        if column.variable.is_numeric and known.any() and np.mean(column.values == counts, where=known) >= NEARLY_ALL:
            message = f"{name} is the number of {low.name} records of each {top.name}: counting rows gives it back"
            problems.append(Problem(message, None, _WAYS))
    if problems:
        raise InputError(problems)


NEARLY_ALL = 0.95
"""Share of the groups whose rows count up to a variable from which it is taken for their number."""
_WAYS = "Mask these variables otherwise, or drop the edit and do not publish what it reads."
