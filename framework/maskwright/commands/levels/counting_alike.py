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
    """The four counts, for the largest k that a step promises; nothing where none does.

    Parameters
    ----------
    planned : PlannedLevels
    masked : MaskedLevels
    """
    top, low = masked.linked.levels
    promised = [step.k for ready in planned.ready.values() for step in ready.plan.steps if step.k is not None]
    if not promised:
        return ()
    plans = {name: ready.plan for name, ready in planned.ready.items()}
    own = plans[top.name].masked if top.name in plans else ()
    derived = tuple(each.variable for each in planned.across.derived)
    below = plans[low.name].masked if low.name in plans else ()
    groups, own_groups = (_counted_together(planned, masked, level.name) for level in (low, top))
    return four_counts(masked.linked, groups, own_groups, own, derived, below, max(promised))


def alike_notices(masked: MaskedLevels, alike: Sequence[Alike]) -> tuple[str, ...]:
    """What to tell of groups that are unlike others although their records are not.

    Parameters
    ----------
    masked : MaskedLevels
    alike : sequence of Alike
        As `alike_of` gives them.
    """
    if not alike or not alike[-1].below:
        return ()
    top = masked.linked.levels[0].name
    whole = alike[-1]
    groups = [GroupClassSizes.model_validate(each) for own in masked.results.values() for each in own.k["groups"]]
    said = f"{k_among_records(groups)}Derived totals, and the key that says who belongs together, tell "
    return (f"{said}{top} records apart: {whole.below:,} of {whole.records:,} are unlike k - 1 others",)


def _counted_together(planned: PlannedLevels, masked: MaskedLevels, level: str) -> tuple[tuple[str, ...], ...]:
    """Variables of a level that steps mask together, and those that a step promises k of; each once."""
    if level not in planned.ready:
        return ()
    groups = [each.variables for each in planned.ready[level].plan.groups]
    promised = [each["variables"] for each in masked.results[level].k["groups"]] if level in masked.results else []
    return tuple(dict.fromkeys(tuple(names) for names in (*groups, *promised)))
