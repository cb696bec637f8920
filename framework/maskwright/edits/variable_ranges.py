"""Ranges of variables, ``sum(V3..V7)``: written out as soon as the names of the data, in file order, are known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import (
    Arithmetic,
    Expression,
    Function,
    KindCondition,
    VariableRange,
    VariableReference,
    children,
    rewritten,
    variable_names,
)
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from maskwright.edits.edit import Edit

LONGEST_LEFT_SUM = 16


def written_out(edits: EditSet, names: Sequence[str], hidden: Collection[str] = ()) -> EditSet:
    """Edits in which every range of variables is the list of its variables.

    `names`: variables of the data, in file order. `hidden`: variables of the file that are missing from `names`, such
    as identifiers that were not read. Returns the same object where no edit has a range.
    """
    if not any(edit.ranged for edit in edits):
        return edits
    positions = {name: position for position, name in enumerate(names)}
    problems: list[Problem] = []
    found: list[Edit] = []
    for edit in edits:
        if not edit.ranged:
            found.append(edit)
            continue
        wrong = list(_problems(edit, positions, hidden))
        problems.extend(wrong)
        if not wrong:
            found.append(_written_out(edit, names, positions))
    if problems:
        raise EditError(problems)
    return EditSet(tuple(found), edits.notes)


def refuse_ranges(edits: Iterable[Edit]) -> None:
    """Stop where ranges cannot be written out because no data were read."""
    problems = [
        Problem(
            f"edit {edit.name}: a range of variables follows the order of the data's variables, and no data are read",
            edit.place,
            "Give the data, or list the variables.",
        )
        for edit in edits
        if edit.ranged
    ]
    if problems:
        raise EditError(problems)


def _balanced_sum(terms: Sequence[Expression]) -> Expression:
    """Sum from the left while short, balanced when long, so that its depth stays small."""
    if len(terms) > LONGEST_LEFT_SUM:
        middle = len(terms) // 2
        return Arithmetic("+", _balanced_sum(terms[:middle]), _balanced_sum(terms[middle:]))
    result = terms[0]
    for term in terms[1:]:
        result = Arithmetic("+", result, term)
    return result


def _ranges(expression: Expression) -> list[VariableRange]:
    found: list[VariableRange] = []
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, VariableRange):
            found.append(node)
        stack.extend(reversed(children(node)))
    return found


def _problems(edit: Edit, positions: Mapping[str, int], hidden: Collection[str]) -> Iterable[Problem]:
    for part in _ranges(edit.expression):
        unknown = [name for name in (part.first, part.last) if name not in positions]
        for name in unknown:
            yield Problem(f"edit {edit.name}: {unknown_name('variable', name, positions)}", edit.place)
        if unknown:
            continue
        if positions[part.first] > positions[part.last]:
            yield Problem(
                f"edit {edit.name}: in {part.first}..{part.last} the first variable comes after the last in the data",
                edit.place,
                f"Ranges follow the order of the file: write {part.last}..{part.first}.",
            )
        elif hidden:
            yield Problem(
                f"edit {edit.name}: {part.first}..{part.last} may include {', '.join(sorted(hidden))}, which "
                "is declared an identifier and was not read",
                edit.place,
                "List the variables: sum(a, b, c).",
            )


def _written_out(edit: Edit, names: Sequence[str], positions: Mapping[str, int]) -> Edit:
    def change(node: Expression) -> Expression:
        if not isinstance(node, Function | KindCondition):
            return node
        written = node.arguments if isinstance(node, Function) else node.columns
        if not any(isinstance(one, VariableRange) for one in written):
            return node
        arguments: list[Expression] = []
        for argument in written:
            if isinstance(argument, VariableRange):
                first, last = positions[argument.first], positions[argument.last]
                arguments.extend(VariableReference(name) for name in names[first : last + 1])
            else:
                arguments.append(argument)
        if isinstance(node, KindCondition):
            return replace(node, columns=tuple(arguments))
        if node.name == "sum":
            return _balanced_sum(arguments)
        return arguments[0] if len(arguments) == 1 else Function(node.name, tuple(arguments))

    expression = rewritten(edit.expression, change)
    return replace(
        edit,
        expression=expression,
        parts=classify(expression, edit.place),
        variables=variable_names(expression),
        when=None if edit.when is None else rewritten(edit.when, change),
        ranged=False,
    )
