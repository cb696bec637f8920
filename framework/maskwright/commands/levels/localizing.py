"""Fields to change so that groups and their members obey the edits: each group with its members is one long record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.levels.arriving import edits_of_levels
from maskwright.commands.levels.located_groups import ViolatingGroups, costs_of, joined_localisation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.localisation.localize import Localisation


def localize_levels(
    linked: LinkedData, edits: EditSet, weights: Mapping[str, float] | None = None, workers: int | None = None
) -> Localisation:
    """Find for each group that violates edits, with its members, the smallest weighted set of fields to change.

    A pointer may be what is wrong: what rules ask of whomever it names is asked of each member that it could name.
    Records stand before each other as they are; that somebody is missing is not found.

    `weights`: how much each variable is trusted; 1 unless given. Positive. `workers`: processes at work at the same
    time; by default one for each processor given to this one. Returns records are groups, in their order; ``income[2]``
    is the income of the second member of one, as they stand.
    """
    bound = edits_of_levels(edits, linked)
    groups = ViolatingGroups(linked, bound)
    return joined_localisation(groups, tuple(groups.located(costs_of(linked, weights or {}), workers)))
