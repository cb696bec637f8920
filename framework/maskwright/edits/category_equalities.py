"""Equality of two categorical variables, ``home == work``: what algebra takes for a difference of numbers is a choice.

The rule itself stays as it was stated; only the parts that are reasoned about say which categories go together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.negation import all_of
from maskwright.edits.edit import CheckedPart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import (
    And,
    Comparison,
    Expression,
    IfThen,
    InSet,
    Text,
    Truth,
    VariableReference,
    nodes,
    rewritten,
)
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit

MOST_CATEGORIES = 50
"""Of a variable; an equality of more is only checked."""


def with_category_equalities(edits: EditSet, variables: Sequence[Variable]) -> EditSet:
    """Edits in which two categorical variables are equated, or told apart, with parts that say so of each category."""
    texts = {each.name: each.categories for each in variables if not each.is_numeric}
    if len(texts) < 2:
        return edits
    return EditSet(tuple(_of_categories(edit, texts) for edit in edits), edits.notes)


def _of_categories(edit: Edit, texts: Mapping[str, Sequence[str]]) -> Edit:
    if edit.engine is not None or edit.binding != "exact" or edit.shadowed:
        return edit
    found = [node for node in nodes(edit.expression) if _is_equality(node, texts)]
    if not found:
        return edit
    if any(not 0 < len(texts[name]) <= MOST_CATEGORIES for node in found for name in _sides(node)):
        return replace(edit, parts=(CheckedPart(edit.expression),))

    def changed(node: Expression) -> Expression:
        return _choices(node, texts) if isinstance(node, Comparison) and _is_equality(node, texts) else node

    try:
        return replace(edit, parts=classify(rewritten(edit.expression, changed), edit.place))
    except EditError:
        # That none of these categories can obey it is for the check of the data to say.
        return replace(edit, parts=(CheckedPart(edit.expression),))


def _is_equality(node: Expression, texts: Mapping[str, Sequence[str]]) -> bool:
    return (
        isinstance(node, Comparison)
        and node.operator in ("==", "!=")
        and isinstance(node.left, VariableReference)
        and isinstance(node.right, VariableReference)
        and node.left.name in texts
        and node.right.name in texts
    )


def _sides(node: Expression) -> tuple[str, ...]:
    assert isinstance(node, Comparison)
    return tuple(side.name for side in (node.left, node.right) if isinstance(side, VariableReference))


def _choices(node: Comparison, texts: Mapping[str, Sequence[str]]) -> Expression:
    """The equality, or its opposite: what the right may be for each category of the left."""
    left, right = (VariableReference(name) for name in _sides(node))
    wanted = node.operator == "=="
    possible: list[Text] = []
    chosen: list[Expression] = []
    for category in texts[left.name]:
        with_it = tuple(Text(other) for other in texts[right.name] if _is_same(category, other) == wanted)
        if with_it:
            possible.append(Text(category))
            chosen.append(IfThen(Comparison("==", left, Text(category)), InSet(right, with_it), None))
    if not possible:
        return Truth(False)
    return And((*chosen, InSet(left, tuple(possible)))) if len(possible) < len(texts[left.name]) else all_of(chosen)


def _is_same(one: str, other: str) -> bool:
    """As numbers where both are numbers, else as texts, like the evaluation of the rule."""
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other
