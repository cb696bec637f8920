"""Edits without the ways out that declared codes for "no value" would be: a value must not become one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.data.missing import code_numbers
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.negation import all_of, any_of
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import (
    And,
    Comparison,
    Expression,
    Function,
    Not,
    Number,
    Or,
    Truth,
    VariableReference,
    rewritten,
    variable_names,
)
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit


def codes_of(variables: Sequence[Variable]) -> dict[int, NDArray[np.float64]]:
    """Codes that are numbers, by place of the variable; those without any are left out."""
    found = {place: code_numbers(each.empty_texts) for place, each in enumerate(variables) if each.empty_texts}
    return {place: codes for place, codes in found.items() if len(codes)}


def without_codes(edits: EditSet, codes: Mapping[str, Collection[float]]) -> EditSet:
    """Edits in which no value equals a code: ``wage == 0 or wage == -9`` is ``wage == 0``."""
    if not codes:
        return edits
    return EditSet(tuple(_without(edit, codes) for edit in edits), edits.notes)


def _without(edit: Edit, codes: Mapping[str, Collection[float]]) -> Edit:
    def change(node: Expression) -> Expression:
        match node:
            case Comparison("==" | "!=" as operator, one, other):
                for side, value in ((one, other), (other, one)):
                    name = _name(side)
                    if name in codes and isinstance(value, Number) and float(value.value) in codes[name]:
                        return Truth(operator == "!=")
                return node
            case Not(Truth(value)):
                return Truth(not value)
            case And(operands):
                return _joined(operands, neutral=True)
            case Or(operands):
                return _joined(operands, neutral=False)
            case _:
                return node

    expression = rewritten(edit.expression, change)
    if expression == edit.expression or isinstance(expression, Truth):
        return edit
    try:
        parts = classify(expression, edit.place)
    except EditError:
        return edit
    return replace(edit, expression=expression, parts=parts, variables=variable_names(expression))


def _name(side: Expression) -> str:
    match side:
        case VariableReference(name) | Function("number", (VariableReference(name),)):
            return name
        case _:
            return ""


def _joined(operands: Sequence[Expression], *, neutral: bool) -> Expression:
    if Truth(not neutral) in operands:
        return Truth(not neutral)
    left = [each for each in operands if each != Truth(neutral)]
    if not left:
        return Truth(neutral)
    return all_of(left) if neutral else any_of(left)
