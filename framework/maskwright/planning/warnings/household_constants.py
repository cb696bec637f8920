"""What the members of a household have in common, and steps that would make differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes, determines
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.planning.model import Group, Step


def household_doubts(groups: Sequence[Group], steps: Sequence[Step], data: Dataset | None) -> Iterator[Doubt]:
    """Doubts about variables that are the same within households and are masked member by member.

    Whether or not the household's name is published: what the members have in common tells who is of one household,
    and their masked values together tell more than one of them. Rounding and coding give equal values the same, but
    for what edits ask: of such steps the run tells.

    `data`: the original; None: nothing is said.
    """
    if data is None or data.households is None:
        return
    codes = ValueCodes(data)
    said: set[str] = set()
    for group in groups:
        step = steps[group.step - 1]
        for name in group.variables if _member_by_member(step) else ():
            if name in said or not determines(data.households, codes.of(name)):
                continue
            said.add(name)
            several, alike, _ = agreeing_households(data.households, codes.of(name))
            message = (
                f"it is the same for all members of {alike} of the {several} households of two or more, and step "
                f"{group.step} ({step.method.name}) masks members one by one"
            )
            yield Doubt("constant-within-households", name, message, alike, several, step.place)


def agreeing_households(homes: NDArray[np.int64], values: NDArray[np.int64]) -> tuple[int, int, NDArray[np.bool_]]:
    """Households with two or more members that have a value, and those in which they all have the same.

    `homes`: household of each record, 0..c-1; shape (n,). `values`: codes, -1 where missing; shape (n,). Returns
    households of two or more; those of them that agree; which these are.
    """
    count = int(homes.max(initial=-1)) + 1
    known = values >= 0
    several = np.bincount(homes[known], minlength=count) > 1
    first = np.zeros(count, dtype=np.int64)
    first[homes[known]] = values[known]
    differing = np.bincount(homes[known & (first[homes] != values)], minlength=count) > 0
    alike = several & ~differing
    return int(several.sum()), int(alike.sum()), alike


def _member_by_member(step: Step) -> bool:
    """Whether its masked values differ where the original ones are equal: it makes clusters, or draws numbers."""
    method = step.method
    if "households" in method.preserves:
        return False
    return not method.removes and (step.makes_groups or not (method.deterministic or method.scope == "group"))
