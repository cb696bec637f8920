"""What a person should be told before a plan is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.edit import EditSet, LinearPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.planning.model import Group


def dangers(
    edits: EditSet,
    masked: frozenset[str],
    dropped: Sequence[str],
    groups: Sequence[Group],
) -> tuple[str, ...]:
    """Sentences about what this plan would give away or had to do; names and counts only."""
    said: list[str] = []
    for edit in edits:
        gone = set(edit.variables) & set(dropped)
        if gone:
            said.append(f"edit {edit.name!r} reads {', '.join(sorted(gone))}, which is dropped as an identifier")
        for part in edit.parts:
            if isinstance(part, LinearPart) and part.relation == "==":
                hidden = [name for name, _ in part.coefficients if name in masked]
                if len(hidden) == 1 and len(part.coefficients) > 1:
                    said.append(
                        f"edit {edit.name!r} determines {hidden[0]}: its other variables are published unmasked, so "
                        "anyone can compute the original value"
                    )
    small = [one for group in groups if group.strata is not None for one in group.strata.strata if one.merged]
    said.extend(
        f"stratum '{one.label}' has {one.records} record(s), fewer than k: merged with the nearest stratum"
        for one in small
    )
    return tuple(said)
