"""Adjustment units: numbers or categories that are brought onto their edits together, and whether that keeps k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.data.record_groups import varying
from maskwright.edits.edit import CheckedPart, Edit, LinearPart, PolynomialPart, ProductPart
from maskwright.edits.normalisation import conjuncts, narrowed, reading
from maskwright.foundation.errors import Problem
from maskwright.planning.model import AdjustmentUnit, Group, Step
from maskwright.planning.variable_groups import Components, demanded_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.step_order import StepVariables


MOST_NAMED = 5
"""Edits that a message names before it counts the others."""


@dataclass(frozen=True)
class Changes:
    """What the steps of a run do to variables.

    `masked`: that any step masks or takes from. `recoded`: that are published as coarser categories. `moving`: of which
    the values become others: the others are published true, in their category, or not at all.
    """

    masked: frozenset[str]
    recoded: frozenset[str]
    moving: frozenset[str]

    @classmethod
    def of(cls, steps: Sequence[Step], chosen: Sequence[StepVariables]) -> Changes:
        """Changes by steps, each with its variables."""
        pairs = list(zip(steps, chosen, strict=True))
        return cls(
            frozenset(name for _, own in pairs for name in own.names),
            frozenset(name for step, own in pairs if "detail" in step.method.claims.removes for name in own.names),
            frozenset(
                name for step, own in pairs
                if "detail" not in step.method.claims.removes and not step.only_removes for name in own.names
            ),
        )  # fmt: skip


def adjustment_units(
    groups: Sequence[Group],
    steps: Sequence[Step],
    known: Mapping[str, Variable],
    edits: EditSet,
    changes: Changes,
    data: Dataset | None = None,
) -> list[AdjustmentUnit]:
    """Cut the masked numeric variables into units; a unit inside one group is adjusted on its representatives."""
    numbers = [name for name in known if name in changes.masked - changes.recoded and known[name].is_numeric]
    moving = [name for name in numbers if name in changes.moving]
    # What steps only take away stays as it is where values that others change can be moved instead.
    left = narrowed(edits, lambda each: changes.moving.isdisjoint(each.variables))
    units: list[AdjustmentUnit] = []
    for names in (*_joined(moving, edits), *_joined([name for name in numbers if name not in changes.moving], left)):
        touching = reading(edits if changes.moving.issuperset(names) else left, names)
        homes = [
            (position, group)
            for position, group in enumerate(groups)
            if not steps[group.step - 1].only_removes and set(group.variables) & set(names)
        ]
        home = _home(names, homes, steps)
        if home is not None and any(
            _reads_outside(each, groups[home], changes, data) for edit in touching for each in conjuncts(edit)
        ):
            home = None
        computed = tuple(dict.fromkeys(name for _, group in homes for name in group.computed if name in names))
        units.append(AdjustmentUnit(names, tuple(edit.name for edit in touching), computed, home))
    return units


def _home(names: Sequence[str], homes: Sequence[tuple[int, Group]], steps: Sequence[Step]) -> int | None:
    """Group whose rows hold the last values of these variables: where several have them, the last one with clusters.

    Steps after it have to leave equal what it made equal.
    """
    needed = set(names)
    for position, group in reversed(homes):
        method = steps[group.step - 1].method
        if method.makes_clusters or len(homes) == 1:
            return position if needed <= set(group.variables) else None
        if "equals" not in method.claims.preserves:
            return None
        needed |= set(group.variables)
    return None


def _joined(names: Sequence[str], edits: EditSet) -> list[tuple[str, ...]]:
    """Variables that conjuncts of edits join, in their order."""
    joined = Components(names)
    for edit in edits:
        for each in conjuncts(edit):
            joined.join(each.variables)
    return joined.sets()


def _reads_outside(edit: Edit, group: Group, changes: Changes, data: Dataset | None) -> bool:
    """Whether an edit compares masked variables of the group with numbers that differ within its clusters.

    Of what is published as categories it is said by category, as a condition: a representative obeys for all of them.
    What is the same in a whole stratum is the same in its clusters.
    """
    own = set(group.variables)
    if set(edit.variables) & (changes.moving - changes.recoded) - own:
        return True
    kinds = LinearPart | ProductPart | PolynomialPart | CheckedPart
    compared = (part for part in demanded_parts(edit.parts) if isinstance(part, kinds))
    read = {name for part in compared if own.intersection(part.variables) for name in part.variables}
    return not all(_is_same_within_strata(name, group, data) for name in read - own - changes.recoded)


def _is_same_within_strata(name: str, group: Group, data: Dataset | None) -> bool:
    """Whether all records of each stratum of a group have the same value of a variable."""
    if data is None or group.strata is None or name not in data or data[name].missing.any():
        return False
    return not varying(data[name].values, group.strata.codes).any()


def _edits(names: Sequence[str]) -> str:
    """Subject and verb: ``edit 'a' reads``, ``edits 'a', 'b' read``."""
    shown = ", ".join(map(repr, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"edit {shown} reads" if len(names) == 1 else f"edits {shown}{more} read"


def broken_by_adjustment(
    units: Sequence[AdjustmentUnit],
    steps: Sequence[Step],
    groups: Sequence[Group],
    edits: EditSet,
    elsewhere: Collection[str] = (),
) -> list[Problem]:
    """Units in which adjustment has to move records apart that a step promised to keep equal."""
    problems: list[Problem] = []
    # Limits of steps move equal values alike.
    known = {edit.name for edit in edits}
    for unit in units:
        stated = [name for name in unit.edits if name in known]
        if unit.group is not None or not stated:
            continue
        homes = [
            group for group in groups
            if not steps[group.step - 1].only_removes and set(group.variables) & set(unit.variables)
        ]  # fmt: skip
        strict = sorted({group.step for group in homes if steps[group.step - 1].k is not None})
        if not strict or any(steps[number - 1].planning.k_guarantee == "report" for number in strict):
            continue
        crossing = [
            name for name in stated
            if not all(
                any(set(each.variables) <= set(group.variables) for group in homes)
                for each in conjuncts(edits[name]) if set(each.variables) & set(unit.variables)
            )
        ]  # fmt: skip
        promising = steps[strict[0] - 1]
        promise = f"step {promising.number} promises k = {promising.k}"
        if crossing:
            moving = {
                name for group in groups if not steps[group.step - 1].only_removes for name in group.variables
            }  # fmt: skip
            reason, way = _why_crossing(crossing, edits, moving, elsewhere)
            message = f"{promise}, but {reason}: keeping it means moving single records, which breaks k"
        else:
            message = f"{promise}, but {_again(homes, strict[0], unit, steps)}, and {_edits(stated)} them: "
            message += "bringing them onto the edits means moving single records, which breaks k"
            way = "mask these variables in one step"
        hint = f"{way}, or set 'k_guarantee: report' in the step's params"
        problems.append(Problem(message, promising.place, hint))
    return problems


def _why_crossing(
    crossing: Sequence[str], edits: EditSet, moving: Collection[str], elsewhere: Collection[str]
) -> tuple[str, str]:
    """Why edits cannot be kept within one variable group, and a way out."""
    read = list(dict.fromkeys(name for each in crossing for name in edits[each].variables))
    far = [name for name in read if name in elsewhere]
    if far:
        message = f"{_edits(crossing)} {', '.join(far)} of other records, which no step masks together with these"
        return message, "mask what it reads of them as well, leave the edit out of this run"
    way = "mask all variables of the edit in one group"
    compared = {
        name for each in crossing for part in demanded_parts(edits[each].parts)
        if isinstance(part, LinearPart | ProductPart) for name in part.variables
    }  # fmt: skip
    still = [name for name in read if name in compared and name not in moving]
    if still:
        way += f", publish {', '.join(still)} in bands (recoding, 'release_edits: {{weaken: [{', '.join(still)}]}}')"
    return f"{_edits(crossing)} variables outside one variable group", way


def _again(homes: Sequence[Group], number: int, unit: AdjustmentUnit, steps: Sequence[Step]) -> str:
    """``step 2 (noise) changes sales besides``: the steps after one that promises k which move equal values apart."""
    own = {name for group in homes if group.step == number for name in group.variables}.intersection(unit.variables)
    others = {
        group.step: [name for name in group.variables if name in own] for group in homes
        if group.step > number and "equals" not in steps[group.step - 1].method.claims.preserves
    }  # fmt: skip
    named = [f"{steps[other - 1]} changes {', '.join(names)} besides"
             for other, names in others.items() if names]  # fmt: skip
    return " and ".join(named) or f"other steps change {', '.join(n for n in unit.variables if n not in own)}"


def category_units(
    steps: Sequence[Step],
    chosen: Sequence[StepVariables],
    known: Mapping[str, Variable],
    edits: EditSet,
    recoded: frozenset[str],
) -> list[AdjustmentUnit]:
    """Units of categories, each with the edits that read no other variable whose values change.

    Edits that read masked numbers too are kept by moving the numbers. Categories that a step publishes by cluster and
    of which it promises k are left alone: single records cannot be moved there.
    """
    shaping = [(step, own.names) for step, own in zip(steps, chosen, strict=True) if not step.only_removes]
    changed = {name for _, names in shaping for name in names} - recoded
    promised = {
        name for step, names in shaping if step.k is not None and step.planning.k_guarantee == "require"
        for name in names
    }  # fmt: skip
    movable = [
        name for name in known
        if name in changed and name not in promised and not known[name].is_numeric
    ]  # fmt: skip
    own = narrowed(edits, lambda each: each.engine is None and is_of_unit(each, movable, changed))
    units: list[AdjustmentUnit] = []
    for names in _joined(movable, own):
        touching = tuple(edit.name for edit in reading(own, names))
        if touching:
            units.append(AdjustmentUnit(names, touching, (), None))
    return units


def is_of_unit(edit: Edit, names: Collection[str], changed: Collection[str]) -> bool:
    """Whether an edit is kept by moving some categories: what it reads and a step changes is among them."""
    read = set(edit.variables)
    return not read.isdisjoint(names) and (read & set(changed)).issubset(names)
