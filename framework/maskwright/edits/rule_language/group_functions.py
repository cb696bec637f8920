"""Functions of the members of a group, while a rule is parsed: ``sum(person.income where age < 16)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.expression import GroupFunction, VariableReference
from maskwright.edits.rule_language.operands import Kind, Mistake, Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lark import Token

OF_RECORDS: dict[str, Kind] = {"count": "number", "any": "truth", "all": "truth", "one": "truth", "no": "truth"}
"""They count members that satisfy a condition."""
OF_VARIABLES: dict[str, Kind] = {"first": "value", "unique": "truth"}
"""They read a variable of the members."""
OF_BOTH: dict[str, Kind] = {"sum": "number", "min": "number", "max": "number"}
"""They do so with one argument that names a level; with others they are about variables of one record."""
GROUP_FUNCTIONS: dict[str, Kind] = {**OF_RECORDS, **OF_VARIABLES, **OF_BOTH}
HINT = "Write 'count(person where age < 16)' or 'sum(person.income where age < 16)': `maskwright explain edits`."


def group_function(name: Token, arguments: Sequence[Typed]) -> Typed | None:
    """Call that is about the members of a group; None where it is about variables of one record."""
    function, start = str(name), int(name.start_pos or 0)
    if function not in GROUP_FUNCTIONS or (function in OF_BOTH and not _is_of_group(arguments)):
        return None
    if len(arguments) != 1:
        raise Mistake(start, f"{function}() takes one argument, not {len(arguments)}", HINT)
    (argument,) = arguments
    node = argument.expression
    measured, condition = (node.operand, node.condition) if isinstance(node, GroupFunction) else (node, None)
    if not isinstance(measured, VariableReference):
        raise Mistake(argument.start, f"{function}() needs the name of a level; found {argument.described}", HINT)
    level, _, variable = measured.name.partition(".")
    if function in OF_RECORDS:
        if variable:
            raise Mistake(argument.start, f"{function}() is about records, and {measured.name} is a variable", HINT)
        if condition is None and function != "count":
            raise Mistake(argument.start, f"{function}() needs a condition of the members", HINT)
        found = GroupFunction(function, level, None, condition)
    else:
        if not variable:
            raise Mistake(argument.start, f"{function}() needs a variable of a level, as person.income", HINT)
        found = GroupFunction(function, level, VariableReference(variable), condition)
    return Typed(found, GROUP_FUNCTIONS[function], argument.depth + 1, start)


def _is_of_group(arguments: Sequence[Typed]) -> bool:
    if len(arguments) != 1:
        return False
    node = arguments[0].expression
    return isinstance(node, GroupFunction) or (isinstance(node, VariableReference) and "." in node.name)
