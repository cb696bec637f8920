"""Names that edits mention and the data do not have: variables, missing codes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.expression import Comparison, GroupFunction, MissingAs, VariableReference, children, nodes
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.edit import Edit
    from maskwright.edits.expression import Expression

MEMBERS_HINT = (
    "A pipeline says which records are members of which, `data: levels:`, and --pipeline FILE names it to `maskwright "
    "validate`; in Python, mw.linked_data does (maskwright explain levels)."
)


def unknown_variables(edits: Sequence[Edit], names: Sequence[str]) -> list[Problem]:
    """Problems of edits that read variables which are not there.

    One for each edit and name; what the variables are, where no name is near, is stated only once.
    """
    problems: list[Problem] = []
    is_listed = has_hint = False
    for edit in edits:
        if any(isinstance(node, GroupFunction) for node in nodes(edit.expression)):
            hint = None if has_hint else MEMBERS_HINT
            has_hint = True
            problems.append(Problem("it is about the members of a group", edit.place, hint, edit=edit.name))
        for name in edit.variables:
            if name in names:
                continue
            wrong = f"no variable called {name!r}"
            has_near = nearest_name(name, names) is not None
            if has_near or not is_listed:
                wrong = unknown_name("variable", name, names)
            is_listed = is_listed or not has_near
            hint = None if has_near else unquoted_text(edit.expression, name)
            problems.append(Problem(f"{wrong}", _place_of_name(edit.place, name), hint, edit=edit.name))
    return problems


def refuse_unknown_codes(edits: Sequence[Edit], columns: RecordChunk) -> None:
    """Refuse edits that name a missing code which is not declared: they would never be about any record."""
    problems: list[Problem] = []
    for edit in edits:
        for node in nodes(edit.expression):
            if isinstance(node, MissingAs):
                codes = columns[node.operand.name].codes
                known = list(dict.fromkeys(text for pair in codes for text in pair if text))
                if node.meaning not in known:
                    wrong = unknown_name(f"missing code of {node.operand.name}", node.meaning, known)
                    near = nearest_name(node.meaning, known) is not None
                    hint = None if near else f"Declare it: `{node.operand.name}: {{missing: {{-1: {node.meaning}}}}}`."
                    problems.append(Problem(f"{wrong}", edit.place, hint, edit=edit.name))
    if problems:
        raise EditError(problems)


def _place_of_name(place: Place | None, name: str) -> Place | None:
    """Place of a variable in the line of its rule, where the line shows it."""
    if place is None or place.text is None:
        return place
    start = (place.column or 1) - 1
    found = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)").search(place.text, start)
    return place if found is None else replace(place, column=found.start() + 1)


def unquoted_text(expression: Expression, name: str) -> str | None:
    """Hint that a name which no variable has may be a text, where it is compared with a variable; else None."""
    stack: list[Expression] = [expression]
    while stack:
        node = stack.pop()
        match node:
            case Comparison("==" | "!=" as operator, VariableReference(one), VariableReference(other)) if (
                name in (one, other) and one != other
            ):
                variable = one if other == name else other
                return f"If {name} is a text, put it in quotes: {variable} {operator} '{name}'."
            case GroupFunction(condition=condition) if condition is not None:
                stack.append(condition)
            case _:
                stack.extend(children(node))
    return None
