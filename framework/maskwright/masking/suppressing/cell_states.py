"""What a published cell says besides its value: that it has one, or with which missing code it has none.

``if income is "-1" then age == "child"`` is about that state, which is published. Here it is a variable of its own,
with few categories, so that conditions on it are reasoned about as conditions on any variable are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.dataset import Column
from maskwright.data.missing import is_code_text
from maskwright.data.number_text import read_numbers
from maskwright.data.variable import Variable
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.negation import all_of
from maskwright.edits.algebra.parts import expression_of
from maskwright.edits.edit import CheckedPart
from maskwright.edits.expression import (
    And,
    Expression,
    InSet,
    IsMissing,
    IsNumber,
    MissingAs,
    Not,
    Text,
    Truth,
    VariableReference,
    nodes,
    rewritten,
)
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit

_PRESENT = "value"
_ABSENT = "no value "
_ABOUT_STATES = (IsMissing, MissingAs, IsNumber)


class CellStates:
    """States of the variables of which edits ask for them.

    `shown`: the records as they would be published without suppression. `edits`: the same, their parts about the states
    where that can be said. `columns`: the states, variables of their own; shape (n,) each. `of`: name of the state of a
    variable.
    """

    def __init__(self, shown: Dataset, edits: Sequence[Edit]) -> None:
        asked = dict.fromkeys(
            node.operand.name for edit in edits for node in _conditions(edit) if isinstance(node, _ABOUT_STATES)
        )
        self.of: Mapping[str, str] = {name: _free_name(name, shown.names) for name in asked if name in shown.names}
        self._base = {state: name for name, state in self.of.items()}
        self._shown = shown
        self._texts = {name: _texts(shown[name]) for name in self.of}
        self.columns = tuple(_state_column(shown[name], state, self._texts[name]) for name, state in self.of.items())
        self.edits = tuple(self._about_states(edit) for edit in edits)

    def base(self, name: str) -> str:
        """Return the variable whose state this is; the name itself of any other variable."""
        return self._base.get(name, name)

    def _about_states(self, edit: Edit) -> Edit:
        if not any(isinstance(node, _ABOUT_STATES) for node in _conditions(edit)):
            return edit
        try:
            parts = classify(rewritten(_stated(edit), self._said), edit.place)
        except EditError:
            return edit
        unknown = [part for part in parts if isinstance(part, CheckedPart)]
        # What algebra cannot use is evaluated, on cells with their missing codes.
        return edit if any(set(part.variables) & set(self._base) for part in unknown) else replace(edit, parts=parts)

    def _said(self, node: Expression) -> Expression:
        match node:
            case IsMissing(VariableReference(name)) if name in self.of:
                return self._one_of(name, self._texts[name])
            case MissingAs(VariableReference(name), meaning) if name in self.of:
                return self._called(name, meaning)
            case IsNumber(VariableReference(name)) if name in self.of and not self._shown[name].variable.is_date:
                return self._number(name)
            case Not(InSet(VariableReference(name), members)) if name in self._base:
                every = [_PRESENT, *(_ABSENT + text for text in self._texts[self._base[name]])]
                left = tuple(Text(each) for each in every if Text(each) not in members)
                return InSet(VariableReference(name), left) if left else Truth(False)
            case Not(Truth(value)):
                return Truth(not value)
        return node

    def _called(self, name: str, meaning: str) -> Expression:
        codes = [code for code, meant in self._shown[name].variable.empty_meanings if meaning in (code, meant)]
        texts = self._texts[name]
        called = is_code_text(pa.array(texts, pa.string()), codes)
        return self._one_of(name, [text for text, own in zip(texts, called, strict=True) if own])

    def _number(self, name: str) -> Expression:
        variable = self._shown[name].variable
        present = InSet(VariableReference(self.of[name]), (Text(_PRESENT),))
        if variable.is_numeric:
            return present
        said = read_numbers(variable.category_texts).is_number
        numbers = tuple(Text(text) for text, own in zip(variable.categories, said, strict=True) if own)
        return And((present, InSet(VariableReference(name), numbers))) if numbers else Truth(False)

    def _one_of(self, name: str, texts: Sequence[str]) -> Expression:
        members = tuple(Text(_ABSENT + text) for text in texts)
        return InSet(VariableReference(self.of[name]), members) if members else Truth(False)


def _conditions(edit: Edit) -> list[Expression]:
    return list(nodes(_stated(edit)))


def _stated(edit: Edit) -> Expression:
    """What an edit says; of a test in XPath, what algebra understood of it."""
    return edit.expression if edit.binding == "exact" else all_of([expression_of(part) for part in edit.parts])


def _free_name(name: str, names: Sequence[str]) -> str:
    found = f"{name} (state)"
    while found in names:
        found += " "
    return found


def _texts(column: Column) -> list[str]:
    """How the cells without a value are written; "" where nothing is."""
    if not column.missing.any():
        return []
    return sorted({text or "" for text in column.nothing(slice(None)).filter(pa.array(column.missing)).to_pylist()})


def _state_column(column: Column, state: str, texts: Sequence[str]) -> Column:
    codes = np.zeros(len(column), dtype=np.int32)
    if texts:
        written = column.nothing(slice(None)).fill_null("")
        places = {text: place for place, text in enumerate(texts, 1)}
        encoded = written.dictionary_encode()
        of_text = np.array([places.get(text, 0) for text in encoded.dictionary.to_pylist()], dtype=np.int32)
        codes = np.where(column.missing, of_text[np.asarray(encoded.indices)], 0).astype(np.int32)
    variable = Variable(state, "nominal", categories=(_PRESENT, *(_ABSENT + text for text in texts)))
    return Column(variable, codes, np.zeros(len(column), dtype=np.bool_))


def reads_suppressed(column: Column) -> NDArray[np.bool_]:
    """Cells without a value that are written as suppressed ones are: suppressing them hides nothing; shape (n,)."""
    if column.blank is None:
        return column.missing.copy()
    nothing = column.blank.suppressed_text(column.variable.suppressed_as) or ""
    texts = np.array([(text or "") == nothing for text in (*column.blank.texts, None, nothing)])
    # The last two stand for codes that are no positions: no cell at all, and suppressed already.
    places = np.where(column.blank.codes < 0, len(column.blank.texts) - 1 - column.blank.codes, column.blank.codes)
    return np.asarray(column.missing & texts[places], dtype=np.bool_)
