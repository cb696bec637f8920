"""Groups with their members moved onto edits, two levels at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.levels.pairs import on_two_levels, tied_to_groups
from maskwright.edits.levels.structure import sources_of
from maskwright.foundation.randomness import generator
from maskwright.masking.levels.adjustment import derived_instead, moved_together
from maskwright.planning.levels.bound_edits import outcomes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.foundation.findings import Notice
    from maskwright.masking.levels.adjustment import MovedTogether
    from maskwright.planning.levels.cross_level_edits import AcrossLevels


@dataclass(frozen=True, eq=False)
class Moved:
    """Levels of which groups were moved."""

    linked: LinkedData
    together: tuple[MovedTogether, ...]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, eq=False)
class Moving:
    """Groups moved onto their edits; `moving`, `shaped`: variables of each level, with those derived and without."""

    bound: BoundEdits
    planned: PlannedLevels
    moving: Mapping[str, Sequence[str]]
    shaped: Mapping[str, Sequence[str]]
    scale: Mapping[str, float]
    seed: int

    def over(self, pairs: Sequence[tuple[str, str]], linked: LinkedData) -> Moved:
        """Move the records of each two levels, in this order."""
        steps = (step for found in self.planned.steps.values() for step in found.steps)
        weights = {name: weight for step in steps for name, weight in step.planning.adjustment_weights.items()}
        dear = {name: value / math.sqrt(weights.get(name, 1.0)) for name, value in self.scale.items()}
        together: list[MovedTogether] = []
        notices: list[Notice] = []
        settled: set[Source] = set()
        for number, pair in enumerate(pairs):
            levels = dict.fromkeys(level for each in pairs[number:] for level in each)
            changing = {(level, name) for level in levels for name in self.moving[level]} - settled
            own, rules = on_two_levels(linked, self.bound, pair, changing)
            # A total stands for those below it: onto one further above it moves itself.
            free = {
                level: [
                    name for name in self.moving[level] if (level, name) in changing
                    and not (level == pair[0] and name in self.planned.across.standing)
                ]
                for level in pair
            }  # fmt: skip
            largest = linked[pair[0]].declared.largest_group
            found = moved_together(own, rules, free, dear, largest, self.seed)
            linked = linked.with_data(
                {level: put_on(linked, level, found.linked[level].data)[level].data for level in pair}
            )
            left = np.flatnonzero(found.left)
            ways = self.planned.otherwise
            instead = None if ways is None else _derived_of_pair(ways, self.bound, pair, settled)
            derives = len(left) > 0 and instead is not None
            if instead is not None and derives:
                rng = generator(self.seed, "levels", "derived instead")
                movable = self.shaped[pair[0]]
                linked = derived_instead(linked, self.bound, pair[0], instead, left, self.scale, movable, rng)
            together.append(found)
            notices += found.notices(derives=derives)
            settled |= tied_to_groups(rules, pair[0]) & changing
        return Moved(linked, tuple(together), tuple(notices))


def violations(linked: LinkedData, bound: BoundEdits) -> int:
    """Records that violate an edit of severity error, of all levels and edits."""
    found = (each for outcome in outcomes(linked, bound).values() for each in outcome.edits)
    return sum(each.violations for each in found if each.severity == "error")


def _derived_of_pair(
    across: AcrossLevels, bound: BoundEdits, pair: tuple[str, str], settled: Collection[Source]
) -> AcrossLevels | None:
    """What the records of a level derive from those of one below; None: nothing, or records further above need it."""
    own = across.of_level(pair[0])
    derived = tuple(
        each for each in own.derived
        if all(level in pair for term, _ in each.terms for level, _ in sources_of(bound.columns, pair[0], term))
    )  # fmt: skip
    if not derived or any((each.level, each.variable) in settled for each in derived):
        return None
    return replace(own, derived=derived)


def put_on(linked: LinkedData, level: str, others: Dataset) -> LinkedData:
    """Copy in which a level has its columns from data that hold more."""
    kept = linked[level].data
    return linked.with_data({level: replace(kept, columns=tuple(others[column.name] for column in kept))})
