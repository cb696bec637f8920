"""Doubts about categories that an edit names and no record has, a slip of the pen from one that many have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.expression import Comparison, InSet, Text, VariableReference, nodes
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.expression import Expression

SHORTEST = 4
"""Letters of a category from which one letter more or less is a slip: codes differ in one by intent."""

FEWEST = 3
"""Records that the category has which was meant."""


def misspelt_category_doubts(edits: EditSet, data: Dataset) -> Iterator[Doubt]:
    """A doubt for each edit that names a category as nobody has it, and a very similar one occurs."""
    for edit in edits:
        if edit.severity != "error":
            continue
        found = [
            (name, text, meant) for name, text in dict.fromkeys(_named(edit.expression)) if name in data
            for meant in [_meant(text, data[name], edit)] if meant is not None
        ]  # fmt: skip
        if found:
            said = ", ".join(f"{name} is {text!r} in no record, and {meant!r} in some" for name, text, meant in found)
            yield Doubt("edit-may-be-wrong", edit.name, f"{said}: did you mean that?", place=edit.place, hint=_HINT)


_HINT = "Correct the category; or declare it among the `categories` of the variable, if no record happens to have it."


def _named(expression: Expression) -> Iterator[tuple[str, str]]:
    """Variables with the texts that they are compared with."""
    for node in nodes(expression):
        if isinstance(node, Comparison):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, VariableReference) and isinstance(other, Text):
                    yield one.name, other.value
        elif isinstance(node, InSet) and isinstance(node.operand, VariableReference):
            yield from ((node.operand.name, each.value) for each in node.members if isinstance(each, Text))


def _meant(text: str, column: Column, edit: Edit) -> str | None:
    """The category that was probably meant; None where the text is one, or like none."""
    variable = column.variable
    if variable.is_numeric or not variable.categories or text in variable.categories or text in variable.missing_codes:
        return None
    counts = np.bincount(column.values[~column.missing].astype(np.int64), minlength=len(variable.categories))
    stated = {other for name, other in _named(edit.expression) if name == variable.name}
    near = [
        (count, each) for each, count in zip(variable.categories, counts.tolist(), strict=True)
        if count >= FEWEST and each not in stated and is_slip(text, each)
    ]  # fmt: skip
    return max(near)[1] if near else None


def is_slip(text: str, meant: str) -> bool:
    """Whether two texts differ by case or spaces, or by one letter inside of a word; not by a digit or a last letter.

    >>> is_slip("Nort", "North"), is_slip("noth", "north"), is_slip("nroth", "north"), is_slip("A1", "A2")
    (True, True, True, False)
    >>> is_slip("grade A", "grade B"), is_slip("class 10", "class 11"), is_slip("NORTH ", "North")
    (False, False, True)
    """
    one, other = (" ".join(each.casefold().split()) for each in (text, meant))
    if one == other:
        return True
    if re.sub(r"\D", "", one) != re.sub(r"\D", "", other) or min(len(one), len(other)) < SHORTEST:
        return False
    if len(one) == len(other):
        apart = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        swapped = len(apart) == 2 and apart[1] == apart[0] + 1 and one[apart[0]] == other[apart[1]]
        inside = len(apart) == 1 and other[apart[0] + 1 : apart[0] + 2].isalpha() and other[apart[0]].isalpha()
        return inside or (swapped and one[apart[1]] == other[apart[0]])
    short, long = sorted((one, other), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
