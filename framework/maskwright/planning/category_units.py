"""Category units: masked categories that edits join, which are brought onto the edits together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.planning.grouping import Components
from maskwright.planning.model import AdjustmentUnit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.variable import Variable
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

    Parameters
    ----------
    steps : sequence of Step
    chosen : sequence of StepVariables
        Of the steps.
    known : mapping of name to Variable
    edits : EditSet
        With the limits of the steps.
    recoded : frozenset of str
        Variables that are published as coarser categories: they stay as they are.
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
    own = [
        edit for edit in edits
        if edit.engine is None and set(edit.variables) & changed and set(edit.variables) & changed <= set(movable)
    ]  # fmt: skip
    joined = Components(movable)
    for edit in own:
        joined.join(edit.variables)
    units: list[AdjustmentUnit] = []
    for names in joined.sets():
        touching = tuple(edit.name for edit in own if set(edit.variables) & set(names))
        if touching:
            units.append(AdjustmentUnit(names, touching, (), None))
    return units
