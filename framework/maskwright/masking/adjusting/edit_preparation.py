"""Edits prepared for adjusting: fixed cells, missing codes excluded, and values of domains."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.missing import code_numbers
from maskwright.data.record_chunk import number_cells
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import all_of, any_of, expression_of
from maskwright.edits.edit import DomainPart, Edit, GoverningPart, LinearPart, Part
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
from maskwright.masking.adjusting.constraints import Membership

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.masking.adjusting.targets import Targets
    from maskwright.masking.context import WholeFile
    from maskwright.planning.model import AdjustmentUnit
    from maskwright.planning.plan import Plan


def held_edits(names: Sequence[str], held: Floats) -> EditSet:
    """Equality for each variable that some row holds; `held`: NaN where a cell may be anything; shape (r, q)."""
    return EditSet(tuple(_edit(name) for name, column in zip(names, held.T, strict=True) if _any_known(column)))


def with_held(targets: Targets, held: Floats) -> Targets:
    """Targets with the values that cells are held at beside them; `held`: shape (r, q)."""
    columns = {
        _fixed_variable(variable.name): number_cells(column, np.isnan(column), variable.decimals)
        for variable, column in zip(targets.variables, held.T, strict=True)
        if _any_known(column)
    }
    return replace(targets, companions={**targets.companions, **columns})


def _any_known(column: Floats) -> bool:
    return bool((~np.isnan(column)).any())


def _fixed_variable(name: str) -> str:
    return f"held {name}"


def _edit(name: str) -> Edit:
    part = LinearPart(((name, Fraction(1)), (_fixed_variable(name), Fraction(-1))), "==", Fraction(0))
    return Edit(_fixed_variable(name), expression_of(part), (part,), part.variables, _fixed_variable(name))


def codes_of(variables: Sequence[Variable]) -> dict[int, Floats]:
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


def domain_values(
    edits: EditSet, unit: AdjustmentUnit, plan: Plan, original: Dataset, whole: WholeFile | None = None
) -> dict[Membership, Floats]:
    """Values that a domain edit allows: those of the original, on continuous variables only if k records share them.

    Returns possible combinations, one a row; shape (m, q).
    """
    found: dict[Membership, Floats] = {}
    records = len(original) if whole is None else whole.records
    steps = {group.step for group in plan.groups if set(group.variables) & set(unit.variables)}
    requests = [plan.steps[number - 1] for number in sorted(steps)]
    for edit in edits:
        for part in _domain_parts(edit.parts):
            if not set(part.variables) <= set(unit.variables):
                continue
            combinations, counts = _occurring(part.variables, original, whole)
            continuous = any(original[name].variable.type == "continuous" for name in part.variables)
            least = max([request.group_records(records) or 2 for request in requests], default=2)
            if continuous and not any(request.planning.allow_original_values for request in requests):
                combinations = combinations[counts >= least]
            if len(combinations) == 0:
                raise EditError(
                    f"edit {edit.name!r} wants values that occur in the original file, but no value of "
                    f"{', '.join(part.variables)} is shared by {least} records, so each would republish a single "
                    "record's true value; drop the edit, or set 'allow_original_values: true' in the step's params"
                )
            found[Membership(part.variables, None)] = combinations
    return found


def _occurring(names: tuple[str, ...], original: Dataset, whole: WholeFile | None) -> tuple[Floats, Integers]:
    """Combinations of values that occur, one a row in ascending order, and how many records have each."""
    if whole is None:
        values = original.matrix(names)
        return np.unique(values[~np.isnan(values).any(axis=1)], axis=0, return_counts=True)
    known = whole.domain.combinations(names)
    order = np.lexsort(known.numbers.T[::-1])
    return known.numbers[order], known.counts[order]


def _domain_parts(parts: Sequence[Part]) -> Iterator[DomainPart]:
    """Domain parts of an edit, also those behind an ``if``."""
    for each in parts:
        if isinstance(each, DomainPart):
            yield each
        elif isinstance(each, GoverningPart):
            yield from _domain_parts((*each.consequent, *each.otherwise, *(each.condition_parts or ())))
