"""How many records are alike, in the four ways in which groups and their members can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.release.levels.alike import Alike, four_counts
from maskwright.release.record.run_record import GroupClassSizes
from maskwright.release.wording import k_among_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.commands.levels.masking import MaskedLevels
    from maskwright.commands.levels.planning import PlannedLevels


def alike_of(planned: PlannedLevels, masked: MaskedLevels) -> tuple[Alike, ...]:
    """The four counts, each group of variables for its own k, the others for the largest; none where none is asked."""
    top, low = masked.linked.levels
    promised = [step.k for ready in planned.ready.values() for step in ready.plan.steps if step.k is not None]
    if not promised:
        return ()
    plans = {name: ready.plan for name, ready in planned.ready.items()}
    own, below = (
        tuple(name for name in plans[level.name].changed if name in level.data) if level.name in plans else ()
        for level in (top, low)
    )
    derived = tuple(each.variable for each in planned.across.derived)
    largest = max((*promised, *(each["expected"] for own in masked.results.values() for each in own.k["groups"])))
    groups, own_groups = (_counted_together(planned, masked, level.name, largest) for level in (low, top))
    return four_counts(masked.linked, groups, own_groups, own, derived, below, largest)


def alike_notices(masked: MaskedLevels, alike: Sequence[Alike]) -> tuple[str, ...]:
    """What to tell of groups that are unlike others although their records are not."""
    if not alike or not alike[-1].below:
        return ()
    top = masked.linked.levels[0].name
    whole = alike[-1]
    groups = [GroupClassSizes.model_validate(each) for own in masked.results.values() for each in own.k["groups"]]
    said = f"{k_among_records(groups)}Derived totals, and the key that says who belongs together, tell "
    return (f"{said}{top} records apart: {whole.below:,} of {whole.records:,} are unlike k - 1 others",)


def _counted_together(
    planned: PlannedLevels, masked: MaskedLevels, level: str, largest: int
) -> dict[tuple[str, ...], int]:
    """Variables of a level that steps mask together, and those that a step promises k of, each once; and their k."""
    if level not in planned.ready:
        return {}
    plan = planned.ready[level].plan
    found = {
        frozenset(each.variables): (each.variables, 0)
        for each in plan.groups
        if plan.steps[each.step - 1].changes_cells
    }
    for each in masked.results[level].k["groups"] if level in masked.results else ():
        names = tuple(each["variables"])
        first, k = found.get(frozenset(names), (names, 0))
        found[frozenset(names)] = first, max(k, each["expected"])
    # A step whose variables are all derived has a column of its own, which is not published.
    there = set(masked.linked[level].data.names)
    return {names: k or largest for names, k in found.values() if there.issuperset(names)}
