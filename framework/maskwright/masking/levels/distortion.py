"""What keeping edits moved in each level, where groups are masked with their members and where edits cross levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.disclosure.cells import of_level
from maskwright.edits.edit_set import EditSet
from maskwright.edits.levels.column_values import with_columns_of_rules, with_linked_columns
from maskwright.edits.levels.joint_rules import cells_of
from maskwright.masking.adjusting.distortion import Distortion
from maskwright.masking.context import Standardisation
from maskwright.masking.distortion_doubts import DistortionDoubts, EditEffects, distortion_beyond_errors
from maskwright.masking.masking_result import Removal
from maskwright.masking.removal_doubts import removal_doubts
from maskwright.planning.applicable_edits import without_violations
from maskwright.planning.warnings.wrong_edits import distorting_edit_doubts, violated_by_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.joint_rules import JoinedGroups, JointRules
    from maskwright.foundation.arrays import Integers
    from maskwright.foundation.doubts import Doubt
    from maskwright.masking.adjusting.adjustment_loss import Moves
    from maskwright.masking.levels.suppression_state import SuppressionState


def distortion_of_composition(
    linked: LinkedData, rules: JointRules, found: JoinedGroups, ready: ReadyRun, measured: Distortion
) -> Iterator[tuple[str, Distortion]]:
    """What adjusting did in one composition to the variables of each level, all members together."""
    joined = Standardisation.of(ready.original, measured.adjusted.names)
    for level, own in variables_of_cells(linked, rules, found, measured.adjusted.names):
        scale = Standardisation.of(linked[level].data, tuple(dict.fromkeys(own.values())))
        yield level, measured.of_variables(own, joined, scale)


def variables_of_cells(
    linked: LinkedData, rules: JointRules, found: JoinedGroups, cells: Collection[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Variables of each level of which these are cells in the joined records of one composition."""
    for level in (rules.top, rules.low):
        members = None if level == rules.top else len(found.composition)
        own = {
            cell.name: name for name in linked[level].data.names if name in rules.masked[level]
            for cell in cells_of(name, members) if cell.name in cells
        }  # fmt: skip
        if own:
            yield level, own


def doubts_across_levels(
    loaded: LoadedLevels,
    planned: PlannedLevels,
    returned: LinkedData,
    kept: LinkedData,
    moves: Moves,
    shaped: Callable[[str], list[str]],
) -> DistortionDoubts:
    """Doubts about variables that keeping edits across levels moved farther than the steps did.

    `returned`, `kept`: levels as the steps made them, and with the edits. `moves`: by which edits across levels moved
    each variable; totals that are derived move by the edit that they are computed by. `shaped`: variables of a level
    that steps mask.
    """
    every = DistortionDoubts()
    edits = EditSet(tuple(edit for own in loaded.bound.edits.values() for edit in own))
    left = _obeying_records(loaded)
    moves = {**{each.variable: {each.edit: 1.0} for each in planned.across.derived}, **moves}
    for level in loaded.linked:
        ready = planned.every[level.name]
        names = shaped(level.name)
        names += [each for each in planned.across.derived_of(level.name) if each not in names]
        standardisation = Standardisation.of(level.data, names)
        states = (level.data, returned[level.name].data, kept[level.name].data)
        found = Distortion.of(*states, names, standardisation)
        variables = {each.name: each for each in level.data.variables}
        effects = [EditEffects(tuple(names), moves)]

        def obeying(
            states: tuple[Dataset, Dataset, Dataset] = states, names: list[str] = names, name: str = level.name,
            scale: Standardisation = standardisation,
        ) -> Distortion | None:  # fmt: skip
            rows = left.get(name)
            if rows is None:
                return None
            first, before, after = (each.taken(rows) for each in states)
            return Distortion.of(first, before, after, names, scale)

        every += distortion_beyond_errors(found, obeying, effects, variables, ready.plan, edits)
    return every


def suppression_doubts(loaded: LoadedLevels, planned: PlannedLevels, state: SuppressionState) -> Iterator[Doubt]:
    """Doubts about variables that the cells moved which go so that none can be inferred from another level."""
    for name, result in state.results.items():
        if not of_level(state.cells, name):
            continue
        # Keys of levels above are examined with their own records.
        above = [key for step in planned.ready[name].plan.steps for key in step.keys_above]
        before, after, original = (
            each.with_columns_above(each[name].data, name, above) for each in (state.shown, state.linked, loaded.linked)
        )
        known = {*above, *(doubt.subject for doubt in result.doubts if doubt.kind == "adjustment-distorts")}
        removal = Removal(after, (), np.arange(len(after)), result.edits, before)
        numbers = () if result.distortion is None else result.distortion.adjusted.names
        scale = Standardisation.of(original, list(numbers))
        found = removal_doubts(result.distortion, before, removal, scale, planned.ready[name].plan)
        yield from (doubt.on(name) for doubt in found.doubts if doubt.subject not in known)


def wrong_edits_across_levels(
    loaded: LoadedLevels, doing_most: Mapping[str, float], known: Iterable[Doubt]
) -> Iterator[Doubt]:
    """Doubts about edits that do most of what is moved across levels, if some of the original violates them too."""
    for level in loaded.linked if doing_most else ():
        own = loaded.bound.edits[level.name]
        data = with_columns_of_rules(loaded.linked, loaded.bound, level.name)
        yield from distorting_edit_doubts(doing_most, loaded.arrival[level.name].edits, own, data, known)


def _obeying_records(loaded: LoadedLevels) -> dict[str, Integers]:
    """Records of each level in whose group nothing violates an edit that few records violate; none: all are."""
    linked, violated = loaded.linked, {}
    top = linked.levels[0]
    broken = np.zeros(len(top), dtype=np.bool_)
    for level in linked:
        few = set(violated_by_errors(loaded.standing[level.name].edits))
        own = EditSet(tuple(edit for edit in loaded.bound.edits[level.name] if edit.name in few))
        if not own:
            continue
        violated[level.name] = own
        data = with_linked_columns(linked, loaded.bound, level.name)
        wrong = np.ones(len(level), dtype=np.bool_)
        wrong[without_violations(data, own)[1]] = False
        broken |= linked.above(wrong, level.name, top.name)
    if not violated:
        return {}
    return {name: np.flatnonzero(~broken[linked.groups_in(name, top.name)]) for name in linked.names}
