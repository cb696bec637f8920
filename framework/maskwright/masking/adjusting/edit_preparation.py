"""Edits prepared for adjusting: fixed cells, missing codes excluded, and values of domains."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.missing import code_numbers
from maskwright.data.record_chunk import number_cells
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import all_of, any_of, expression_of, negate
from maskwright.edits.edit import DomainPart, Edit, GoverningPart, LinearPart, Part
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import (
    And,
    Comparison,
    Expression,
    Function,
    IfThen,
    Not,
    Number,
    Or,
    Truth,
    VariableReference,
    rewritten,
    variable_names,
)
from maskwright.foundation.errors import EditError
from maskwright.masking.adjusting.constraints import Membership, Requirement
from maskwright.planning.variable_groups import conditional_products

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.masking.adjusting.targets import Targets
    from maskwright.masking.context import WholeFile
    from maskwright.planning.model import AdjustmentUnit
    from maskwright.planning.plan import Plan


def branches_of(edits: EditSet, targets: Targets, values: Floats) -> list[tuple[Integers, EditSet]]:
    """Rows that are on the same side of conditions on products, and the edits that bind them there.

    Where all records of a row are on one side, the row obeys what is demanded there and stays on it. What is demanded
    there may be computed then, and is not escaped by moving what the condition reads. `values`: shape (r, q).
    """
    conditional = [edit for edit in edits if _demands_product(edit, targets.names)]
    every = np.arange(len(values))
    if not conditional or not len(values):
        return [(every, edits)]
    published = _rounded(values, targets)
    sides = np.stack([_sides(edit, targets, published, every) for edit in conditional], axis=1)
    found: list[tuple[Integers, EditSet]] = []
    for pattern in np.unique(sides, axis=0):
        own = {edit.name: _branch(edit, side, targets) for edit, side in zip(conditional, pattern, strict=True)}
        demanded = EditSet(tuple(each for edit in edits for each in own.get(edit.name, (edit,))))
        found.append((np.flatnonzero((sides == pattern).all(axis=1)), demanded))
    return found


def _demands_product(edit: Edit, names: Collection[str]) -> bool:
    """Whether an edit with a condition demands an equality of products of variables that may move."""
    if not isinstance(edit.expression, IfThen) or len(edit.parts) != 1 or not isinstance(edit.parts[0], GoverningPart):
        return False
    return any(set(part.variables) <= set(names) for part in conditional_products(edit.parts))


def _rounded(values: Floats, targets: Targets) -> Floats:
    """Values on the grid of their variables, where what is published is on one side of a condition."""
    rounded = values.copy()
    for place, variable in enumerate(targets.variables):
        if variable.decimals is not None:
            rounded[:, place] = np.rint(values[:, place] * 10.0**variable.decimals) / 10.0**variable.decimals
    return rounded


def _sides(edit: Edit, targets: Targets, values: Floats, index: Integers) -> Integers:
    """1 where the condition holds for a row, 0 where it does not, -1 where its records differ or lack a value."""
    assert isinstance(edit.expression, IfThen)
    holds, fails = (
        targets.known(Requirement(edit.expression.condition, wanted, edit.binding), values, index)
        for wanted in (True, False)
    )
    return np.where(holds == fails, -1, holds.astype(np.int64))


def _branch(edit: Edit, side: int, targets: Targets) -> tuple[Edit, ...]:
    """What a conditional edit demands on one side of its condition, and that side; the edit where it demands none."""
    assert isinstance(edit.expression, IfThen)
    condition = edit.expression.condition
    demanded = edit.expression.consequent if side == 1 else edit.expression.otherwise if side == 0 else None
    if demanded is None:
        return (edit,)
    branch = _replaced(edit, demanded)
    if set(variable_names(condition)).isdisjoint(targets.names):
        return (branch,)
    opposite = negate(condition) if edit.binding == "exact" else Not(condition)
    kept = _replaced(edit, condition if side == 1 else opposite)
    return branch, replace(kept, name=condition_of(edit.name))


def condition_of(name: str) -> str:
    """Name of the edit that keeps a row on its side of the condition of another; none that anybody wrote."""
    return f"{name}\0condition"


def _replaced(edit: Edit, expression: Expression) -> Edit:
    return replace(
        edit, expression=expression, parts=classify(expression, edit.place), variables=variable_names(expression),
        when=None,
    )  # fmt: skip


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
    return targets.beside(columns)


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
