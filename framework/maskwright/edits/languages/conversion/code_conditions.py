"""Conditions that cells hold no codes for "no value", for those who read a file in which nothing declares them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.data.date_texts import iso_day
from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import any_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright.edits.languages.conversion.binary_comparison import Grids

_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)


def conditions_without_codes(conditions: Iterable[x.Expression], grids: Grids) -> list[x.Expression]:
    """One for each code of each variable that the conditions read, ``energy != -9``.

    Of members, ``no(person where income == -9)``. Who reads a rule that asks for a code of a variable, ``income is
    "-9"``, has to declare it: of this variable nothing is said.
    """
    read = [node for condition in conditions for node in x.nodes(condition)]
    declared = {node.operand for node in read if isinstance(node, x.MissingAs)}
    found: dict[x.Expression, None] = {}
    for node in read:
        match node:
            case x.VariableReference() if node not in declared:
                found |= dict.fromkeys(x.Comparison("!=", node, code) for code in _codes(node, grids))
            case x.GroupFunction():
                held: list[x.Expression] = [
                    x.Comparison("==", name, code)
                    for name in dict.fromkeys(_of_members(node)) for code in _codes(name, grids)
                ]  # fmt: skip
                if held:
                    found[x.GroupFunction("no", node.level, None, any_of(held))] = None
            case _:
                pass
    return list(found)


def _of_members(node: x.GroupFunction) -> Iterator[x.VariableReference]:
    """Variables that a function of members reads."""
    if node.operand is not None:
        yield node.operand
    if node.condition is not None:
        read = tuple(x.nodes(node.condition))
        declared = {each.operand for each in read if isinstance(each, x.MissingAs)}
        yield from (each for each in read if isinstance(each, x.VariableReference) and each not in declared)


def _codes(variable: x.VariableReference, grids: Grids) -> Sequence[x.Expression]:
    """Codes of a variable as literals: numbers of a variable with numbers, dates of one with dates."""
    name = variable.name if variable.name in grids.empty else variable.name.rpartition(".")[2]
    texts = [text.strip() for text in grids.empty.get(name, ()) if text.strip()]
    if name in grids.dates:
        # A text makes the column one of texts, with which no date is compared.
        return [x.Date(day) for day in map(iso_day, texts) if day is not None]
    is_numeric = name in grids.known
    return [x.Number(Fraction(each)) if is_numeric and _NUMBER.fullmatch(each) else x.Text(each) for each in texts]
