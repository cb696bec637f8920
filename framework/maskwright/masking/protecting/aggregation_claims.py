"""What becomes of an aggregation that a step asks for: whether the method uses it, and whether its claims hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import DomainPart
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, Problem
from maskwright.masking.adjusting.constraint_system import system_of, violated
from maskwright.masking.adjusting.targets import Targets
from maskwright.masking.aggregation import aggregate
from maskwright.planning.aggregations import keeps
from maskwright.planning.model import Keeper
from maskwright.plugins.aggregation import ChosenAggregation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from maskwright.masking.protecting.assembling import GroupResult
    from maskwright.planning.model import Group, Step
    from maskwright.plugins.block import Block
    from maskwright.plugins.method import Masked, Method

RELATIVE = 1e-9


def refuse_other_representatives(method: Method, params: BaseModel, block: Block, masked: Masked) -> None:
    """Stop where a method does not make its representatives with the aggregation that the step asks for."""
    chosen = [position for position, each in enumerate(block.operators) if isinstance(each, ChosenAggregation)]
    if not chosen or masked.labels is None or masked.representatives is None:
        return
    weights = block.weights if method.uses_weights(params) else None
    wanted = aggregate(
        block.values[:, chosen], block.missing[:, chosen], masked.labels, [block.operators[each] for each in chosen],
        weights, len(masked.representatives),
    )  # fmt: skip
    size = np.maximum(np.abs(wanted), block.scale[chosen] if len(block.scale) else 1.0)
    if (np.abs(masked.representatives[:, chosen] - wanted) > RELATIVE * size).any():
        message = f"{method.name} makes its representatives in its own way: it has no use for 'aggregation'"
        raise InputError(Problem(message, hint="Leave 'aggregation' out, or take a method such as microaggregation."))


def broken_aggregation_claims(step: Step, group: Group, result: GroupResult, edits: EditSet) -> Iterator[Keeper]:
    """Edits that the aggregation of a step claims to keep and that its representatives break.

    `result`: what was made of the group. Returns who keeps the edit then.
    """
    chosen = step.aggregation
    if chosen is None or result.representatives is None:
        return
    own = {name for name, operator in zip(group.variables, group.operators, strict=True) if operator == str(chosen)}
    claimed = EditSet(tuple(
        edit for edit in edits
        if edit.name in group.edits and set(edit.variables) <= own and edit.kind != "checked" and keeps(chosen, edit)
        and not any(isinstance(part, DomainPart) for part in edit.parts)
    ))  # fmt: skip
    if not len(claimed):
        return
    system = system_of(Targets(result.variables, {}), claimed, np.ones(len(result.variables)), {})
    for name, rows in violated(system, result.representatives).items():
        if rows.any():
            how = (
                f"the aggregation {str(chosen)!r} claims to keep it, and {int(rows.sum())} of {len(rows)} "
                "representatives break it: they are moved onto it"
            )
            yield Keeper(name, "adjustment", how)
