"""Rules for data with suppressed cells: an edit is about records in which everything it reads is published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.variable import SUPPRESSED
from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import (
    And,
    Comparison,
    Function,
    IfThen,
    IsMissing,
    MissingAs,
    Not,
    Or,
    Text,
    VariableReference,
    nodes,
)
from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.xpath_text import xpath_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.edit import Edit
    from maskwright.edits.expression import Expression


def not_applicable(edits: EditSet, cells: Mapping[str, NDArray[np.bool_]]) -> dict[str, int]:
    """Records in which a cell that an edit reads was suppressed, for the edits that have any."""
    counts: dict[str, int] = {}
    for edit in edits:
        gone = [cells[name] for name in edit.variables if name in cells]
        count = int(np.sum(np.logical_or.reduce(gone))) if gone else 0
        if count:
            counts[edit.name] = count
    return counts


def when_present(edits: EditSet, suppressed: Collection[str]) -> EditSet:
    """Edits to publish: those that read a suppressed variable hold ``when`` these variables are present.

    A rule in YAML gets a condition ``when: V1 is not missing``. A test in XPath is true of a record in which one of
    the variables is absent or empty: without that, ``number('')`` is NaN and the test would fail.

    Returns names and order kept. Tests that only an engine understands are left as they are.
    """
    return EditSet(tuple(_guarded(edit, suppressed) for edit in edits), edits.notes)


def _guarded(edit: Edit, suppressed: Collection[str]) -> Edit:
    names = [name for name in edit.variables if name in suppressed]
    if not names or edit.engine is not None:
        return edit
    if edit.binding == "xpath1":
        return _guarded_test(edit, names)
    present = _joined([_there(name, edit) for name in names])
    rule = edit.expression
    if edit.when is not None and isinstance(rule, IfThen):
        present, rule = _joined([present, edit.when]), rule.consequent
    expression = IfThen(present, rule)
    said = " and ".join(_said(name, edit) for name in names)
    parts, text = classify(expression, edit.place), f"when {said}: {edit.text}"
    return replace(edit, expression=expression, when=present, parts=parts, text=text)


def _there(name: str, edit: Edit) -> Expression:
    """Condition that a cell is not suppressed: it has a value, or a missing code that the edit asks for."""
    variable = VariableReference(name)
    present = Not(IsMissing(variable))
    meanings = _meanings(name, edit)
    return Or((present, *(MissingAs(variable, meaning) for meaning in meanings))) if meanings else present


def _said(name: str, edit: Edit) -> str:
    meanings = _meanings(name, edit)
    either = [f"{name} is not missing", *(f"{name} is {meaning!r}" for meaning in meanings)]
    return f"({' or '.join(either)})" if meanings else either[0]


def _meanings(name: str, edit: Edit) -> tuple[str, ...]:
    found = (node for node in nodes(edit.expression) if isinstance(node, MissingAs) and node.operand.name == name)
    return tuple(dict.fromkeys(node.meaning for node in found if node.meaning != SUPPRESSED))


def _guarded_test(edit: Edit, names: Sequence[str]) -> Edit:
    blank = [Comparison("==", Function("normalize-space", (VariableReference(name),)), Text("")) for name in names]
    expression = Or((*blank, edit.expression))
    try:
        text = xpath_text(expression)
    except Inexpressible:
        text = " or ".join(f"normalize-space({name}) = ''" for name in names) + f" or ({edit.text})"
    assertion = edit.assertion and replace(edit.assertion, test=text, report=False)
    return replace(edit, expression=expression, parts=classify(expression, edit.place), text=text, assertion=assertion)


def _joined(conditions: Sequence[Expression]) -> Expression:
    flat = [each for one in conditions for each in (one.operands if isinstance(one, And) else (one,))]
    return And(tuple(flat)) if len(flat) > 1 else flat[0]
