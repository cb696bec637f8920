"""Steps that can undo what an earlier one promises or keeps, and promises that count what was drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.planning.model import Group, Step


def undone_promises(groups: Sequence[Group], steps: Sequence[Step]) -> Iterator[Doubt]:
    """Doubts about groups of which k is promised and a later step changes values.

    A later step keeps k when records that are equal stay equal, or when it promises as much of a group that holds the
    variables of the earlier one.
    """
    for number, step in enumerate(steps, 1):
        if step.k is None or step.planning.k_guarantee == "report":
            continue
        own = [set(group.variables) for group in groups if group.step == number]
        for later in groups:
            other = steps[later.step - 1]
            if later.step <= number or other.only_removes:
                continue
            shared = [names for names in own if names & set(later.variables)]
            if shared and not all(_keeps(other, set(later.variables), names, step.k) for names in shared):
                touched = [name for name in later.variables if any(name in names for names in shared)]
                yield Doubt(
                    "promise-undone-by-a-later-step", str(number),
                    f"{step.method.name} promises k = {step.k}, and step {later.step} ({other.method.name}) changes "
                    f"{', '.join(touched)} after it, record by record",
                    place=other.place,
                    hint=f"put step {later.step} before it, or set 'k_guarantee: report' in the params of step "
                    f"{number}: the smallest class is then reported",
                )  # fmt: skip


def random_change_notices(groups: Sequence[Group], steps: Sequence[Step]) -> Iterator[str]:
    """Sentences about key variables that were drawn at random before, and about moved values that change again."""
    for later in groups:
        after = steps[later.step - 1]
        for number, before in enumerate(steps[: later.step - 1], 1):
            own = {name for group in groups if group.step == number for name in group.variables}
            shared = ", ".join(name for name in later.variables if name in own)
            if not shared or before.method.removes:
                continue
            drawn = not before.method.deterministic and not before.makes_groups
            if after.method.has_keys and after.promised is not None and drawn:
                yield (
                    f"step {later.step} ({after.method.name}) counts values of {shared} that step {number} "
                    f"({before.method.name}) has changed at random: k equal records among these are no protection "
                    "against who knows the true values"
                )
            elif "combinations" in before.method.preserves and not after.method.removes:
                yield (
                    f"step {later.step} ({after.method.name}) changes {shared} after step {number} "
                    f"({before.method.name}): the combinations and counts that step {number} keeps are those before it"
                )


def _keeps(later: Step, changed: set[str], promised: set[str], k: int) -> bool:
    """Whether a step leaves at least k records equal in the `promised` variables when it masks `changed` together."""
    method = later.method
    if "equals" in method.preserves:
        return changed <= promised
    return later.k is not None and later.k >= k and promised <= changed
