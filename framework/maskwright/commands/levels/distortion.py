"""What keeping edits moved in each level, where groups are masked with their members and where edits cross levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.levels.joint_rules import cells_of
from maskwright.masking.adjusting.adjustment_loss import Cost
from maskwright.masking.adjusting.distortion import Distortion
from maskwright.masking.context import Standardisation
from maskwright.masking.distortion_doubts import EditEffects, distortion_doubts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.joint_rules import JoinedGroups, JointRules
    from maskwright.foundation.doubts import Doubt
    from maskwright.masking.masking_result import MaskingResult


def distortion_of_composition(
    linked: LinkedData, rules: JointRules, found: JoinedGroups, ready: ReadyRun, result: MaskingResult
) -> Iterator[tuple[str, Distortion]]:
    """What adjusting did in one composition to the variables of each level, all members together."""
    assert result.distortion is not None
    cells = result.distortion.adjusted.names
    joined = Standardisation.of(ready.original, cells)
    for level in (rules.top, rules.low):
        members = None if level == rules.top else len(found.composition)
        own = {
            cell.name: name for name in linked[level].data.names if name in rules.masked[level]
            for cell in cells_of(name, members) if cell.name in cells
        }  # fmt: skip
        if own:
            yield (
                level,
                result.distortion.of_variables(
                    own, joined, Standardisation.of(linked[level].data, tuple(dict.fromkeys(own.values())))
                ),
            )


def doubts_across_levels(
    loaded: LoadedLevels,
    planned: PlannedLevels,
    returned: LinkedData,
    kept: LinkedData,
    adjusted: Mapping[str, int],
    shaped: Callable[[str], list[str]],
) -> tuple[Doubt, ...]:
    """Doubts about variables that keeping edits across levels moved farther than the steps did.

    `returned`, `kept`: levels as the steps made them, and with the edits. `shaped`: variables of a level that steps
    mask.
    """
    doubts: list[Doubt] = []
    top = loaded.linked.names[0]
    for level in loaded.linked:
        ready = planned.every[level.name]
        names = shaped(level.name)
        names += [each.variable for each in planned.across.derived if level.name == top and each.variable not in names]
        standardisation = Standardisation.of(level.data, names)
        found = Distortion.of(level.data, returned[level.name].data, kept[level.name].data, names, standardisation)
        variables = {each.name: each for each in level.data.variables}
        effects = [EditEffects(tuple(names), Cost(), adjusted)]
        edits = loaded.bound.edits[level.name]
        doubts += distortion_doubts(found, effects, variables, ready.plan, edits).doubts
    return tuple(doubts)
