"""Rules for data with suppressed cells, and the rule set that is published with the data."""

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
    Expression,
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
from maskwright.edits.languages.conversion.converted import Converted, Inexpressible
from maskwright.edits.languages.conversion.xpath_text import xpath_text
from maskwright.foundation.errors import EditError
from maskwright.foundation.findings import Notice
from maskwright.plugins.guarding.call import broke_contract
from maskwright.plugins.guarding.origin import origin_of
from maskwright.plugins.registry import find_rule_writer
from maskwright.plugins.rules import RulesFor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Layout
    from maskwright.data.variable import Variable
    from maskwright.disclosure.cells import CellMasks
    from maskwright.edits.edit import Edit


def not_applicable(edits: EditSet, cells: CellMasks) -> dict[str, int]:
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
    presence = " and ".join(_presence_test(name, edit) for name in names)
    parts, text = classify(expression, edit.place), f"when {presence}: {edit.text}"
    return replace(edit, expression=expression, when=present, parts=parts, text=text)


def _there(name: str, edit: Edit) -> Expression:
    """Condition that a cell is not suppressed: it has a value, or a missing code that the edit asks for."""
    variable = VariableReference(name)
    present = Not(IsMissing(variable))
    meanings = _meanings(name, edit)
    return Or((present, *(MissingAs(variable, meaning) for meaning in meanings))) if meanings else present


def _presence_test(name: str, edit: Edit) -> str:
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


FROM_DATA = "its bound was found in the data, and may be the value of a record"


def rule_file(
    path: Path, edits: EditSet, variables: Iterable[Variable], layout: Layout | None, *, planned: bool = False
) -> tuple[str, tuple[Notice, ...]]:
    """Text of the rule set in the language that the file's ending names, and notices.

    Tests that only an engine understands cannot be written in another language, and bounds that were found in the data
    may be the value of a record: they are left out, and counted. Before anything is masked (`planned`) a file without a
    single rule is refused.
    """
    writer = find_rule_writer(path)
    write = writer.write
    assert write is not None
    about = RulesFor.of(variables, layout)
    if not about.elements:
        # Every rule is about every record of a file without elements.
        edits = EditSet(tuple(replace(edit, context=None, stated=None) for edit in edits), edits.notes)

    nothing = _of_no_edits(write, about)
    expressible, inexpressible = [], []
    for edit in edits:
        if edit.from_data:
            inexpressible.append((edit, EditError(FROM_DATA)))
            continue
        try:
            alone = write(EditSet((edit,)), about)
        except EditError as error:
            inexpressible.append((edit, error))
            continue
        if alone.text == nothing and not alone.notes:
            origin = origin_of(write, "rule_language", writer.name)
            raise broke_contract(origin, f"left out the edit {edit.name!r}, and does not say so")
        expressible.append(edit)
    refused = [problem for edit, error in inexpressible if not edit.from_data for problem in error.problems]
    if planned and refused and not expressible:
        hint = f"No rule can be written to {path.name}: name a file of another language, output: {{edits: rules.yaml}}."
        raise EditError([*refused[:-1], replace(refused[-1], hint=refused[-1].hint or hint)])
    return write(EditSet(tuple(expressible)), about).text, tuple(
        Notice(
            "edit-not-written",
            edit.name,
            f"{path.name} has no edit {edit.name!r}, which holds as well: {error.problems[0].sentence}",
            place=edit.place,
        )
        for edit, error in inexpressible
    )


def _of_no_edits(write: Callable[[EditSet, RulesFor], Converted], about: RulesFor) -> str | None:
    """Text of a file without edits; None: the language has none."""
    try:
        return write(EditSet(), about).text
    except EditError:
        return None
