"""Category units: masked categories that edits join, which are brought onto the edits together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.conjuncts import conjuncts, narrowed, reading
from maskwright.planning.grouping import Components
from maskwright.planning.model import AdjustmentUnit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.model import Step
    from maskwright.planning.step_variables import StepVariables


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

    `edits`: with the limits of the steps. `recoded`: variables that are published as coarser categories: they stay as
    they are.
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
    joined = Components(movable)
    for edit in own:
        for each in conjuncts(edit):
            joined.join(each.variables)
    units: list[AdjustmentUnit] = []
    for names in joined.sets():
        touching = tuple(edit.name for edit in reading(own, names))
        if touching:
            units.append(AdjustmentUnit(names, touching, (), None))
    return units


def is_of_unit(edit: Edit, names: Collection[str], changed: Collection[str]) -> bool:
    """Whether an edit is kept by moving some categories: what it reads and a step changes is among them.

    `changed`: all variables whose values steps change.
    """
    read = set(edit.variables)
    return not read.isdisjoint(names) and (read & set(changed)).issubset(names)
