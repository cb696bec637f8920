"""Constraints of plugins onto which rows are moved: those whose variables no other edit binds together.

Several constraints on one point have to be met at once, which a projection onto one of them cannot do. A kind of
constraint knows its own alone, so it is asked for points only where every other edit on its variables is an interval,
which it is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.conjuncts import reading
from maskwright.edits.constraint_kinds import known_kinds
from maskwright.edits.edit import CheckedPart, RangePart
from maskwright.edits.expression import KindCondition, VariableReference, nodes
from maskwright.planning.model import Keeper

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from maskwright.edits.edit import Edit


def projected_condition(edit: Edit, edits: Iterable[Edit], movable: Collection[str]) -> KindCondition | None:
    """Condition of an edit that its kind may be asked to move rows onto; None where that cannot be.

    `edits`: all edits of the run, or all that touch its variables. `movable`: numeric variables that are masked.
    """
    if len(edit.parts) != 1 or not isinstance(part := edit.parts[0], CheckedPart):
        return None
    condition = part.expression
    if not isinstance(condition, KindCondition) or known_kinds()[condition.name].project is None:
        return None
    names = [each.name for each in condition.columns if isinstance(each, VariableReference)]
    own = set(names)
    if len(own) < len(condition.columns) or not own & set(movable):
        return None
    others = reading((each for each in edits if each.name != edit.name), own & set(movable))
    return condition if all(map(_is_interval, others)) else None


def kind_keeper(edit: Edit, edits: Iterable[Edit], movable: Collection[str]) -> Keeper | None:
    """Keeper of an edit that calls a kind of constraint; None where it calls none, or reads nothing that moves.

    `edits`: all edits of the run. `movable`: numeric variables that are masked.
    """
    called = [node.name for node in nodes(edit.expression) if isinstance(node, KindCondition)]
    if not called or edit.kind != "checked" or not set(movable) & set(edit.variables):
        return None
    condition = projected_condition(edit, edits, movable)
    if condition is not None:
        return Keeper(edit.name, "adjustment", f"what breaks it is moved to the nearest point that {called[0]} gives")
    if known_kinds()[called[0]].project is None:
        why = f"{called[0]} tells no nearest points"
    elif isinstance(edit.expression, KindCondition):
        why = "other edits bind its variables, or they are computed"
    else:
        why = f"{called[0]} is a part of it"
    return Keeper(edit.name, "checked", f"{why}: adjusted where neighbours allow")


def _is_interval(edit: Edit) -> bool:
    return all(isinstance(part, RangePart) and part.numbers is None and part.texts is None for part in edit.parts)
