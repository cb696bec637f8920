"""What published cells say: present or missing with which code, in combinations that occur."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.dataset import Column, Dataset
from maskwright.data.dependencies import dense
from maskwright.data.missing import is_code_text
from maskwright.data.number_text import read_numbers
from maskwright.data.variable import Variable
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import all_of, expression_of
from maskwright.edits.edit import CheckedPart, DomainPart, Edit
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
from maskwright.edits.reasoning.clauses import Clause, TextSet, clause_of
from maskwright.edits.reasoning.simplex import Row
from maskwright.foundation.arrays import Booleans, Integers
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.reasoning.answers import Value


MOST_EFFORT = 100_000
"""Conditions examined for one record before the search ends; what is left is open then."""


_PRESENT = "value"
_ABSENT = "no value "
_ABOUT_STATES = (IsMissing, MissingAs, IsNumber)


class CellStates:
    """States of the variables whose states edits read.

    `shown`: the records as they would be published without suppression. `edits`: the same, their parts about the states
    where that can be said. `columns`: the states, variables of their own; shape (n,) each. `of`: name of the state of a
    variable.
    """

    def __init__(self, shown: Dataset, edits: Sequence[Edit]) -> None:
        needed = dict.fromkeys(
            node.operand.name for edit in edits for node in _conditions(edit) if isinstance(node, _ABOUT_STATES)
        )
        self.of: Mapping[str, str] = {name: _free_name(name, shown.names) for name in needed if name in shown.names}
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
            parts = classify(rewritten(_stated(edit), self._restated), edit.place)
        except EditError:
            return edit
        unknown = [part for part in parts if isinstance(part, CheckedPart)]
        # What algebra cannot use is evaluated, on cells with their missing codes.
        return edit if any(set(part.variables) & set(self._base) for part in unknown) else replace(edit, parts=parts)

    def _restated(self, node: Expression) -> Expression:
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
        stated = read_numbers(variable.category_texts).is_number
        numbers = tuple(Text(text) for text, own in zip(variable.categories, stated, strict=True) if own)
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


def reads_suppressed(column: Column) -> Booleans:
    """Cells without a value that are written as suppressed ones are: suppressing them hides nothing; shape (n,)."""
    if column.blank is None:
        return column.missing.copy()
    nothing = column.blank.suppressed_text(column.variable.suppressed_as) or ""
    texts = np.array([(text or "") == nothing for text in (*column.blank.texts, None, nothing)])
    # The last two stand for codes that are no positions: no cell at all, and suppressed already.
    places = np.where(column.blank.codes < 0, len(column.blank.texts) - 1 - column.blank.codes, column.blank.codes)
    return np.asarray(column.missing & texts[places], dtype=np.bool_)


MOST_COMBINATIONS = 2_000
"""Alternatives of one clause."""

Comparable = float | str
Group = dict[tuple[int, ...], Integers]


class Occurring:
    """Combinations of the variables of one domain edit."""

    def __init__(self, source: str, part: DomainPart, domain: Domain, shown: Dataset) -> None:
        self.source, self.variables = source, part.variables
        self._numeric = {name: shown[name].variable.is_numeric for name in part.variables}
        self._decimals = {name: shown[name].variable.decimals for name in part.variables}
        self._texts = {
            name: _texts_by_value(shown[name].variable.categories)
            for name in part.variables
            if not self._numeric[name]
        }  # fmt: skip
        found = domain.combinations(part.variables)
        columns: list[Integers] = []
        self._values: list[list[Comparable]] = []
        for place, name in enumerate(part.variables):
            words = np.array(found.texts[place].to_pylist(), dtype=object)
            numbers = found.numbers[:, place]
            both = [text if text is not None else number for text, number in zip(words, numbers.tolist(), strict=True)]
            numbered: dict[Comparable, int] = {}
            columns.append(np.array([numbered.setdefault(self._restated(name, each), len(numbered)) for each in both]))
            self._values.append(list(numbered))
        self._codes = np.stack(columns, axis=1).astype(np.int64)
        self._numbered = [{value: code for code, value in enumerate(values)} for values in self._values]
        self._groups: dict[tuple[str, ...], Group] = {}
        self._answers: dict[tuple[tuple[str, ...], tuple[int, ...]], tuple[Integers, bool]] = {}

    def __call__(self, fixed: Mapping[str, Value], name: str, value: Value) -> tuple[Clause, bool]:
        """Clause on the free variables: one alternative for each combination in which `name` has another value."""
        known = tuple(each for each in self.variables if each in fixed)
        free = [place for place, each in enumerate(self.variables) if each not in fixed]
        left, whole = self._projected(known, tuple(self._code(each, fixed[each]) for each in known), free)
        if name in self.variables and name not in fixed:
            left = left[left[:, free.index(self.variables.index(name))] != self._code(name, value)]
        alternatives = tuple(
            tuple(self._atom(self.variables[place], code) for place, code in zip(free, row, strict=True))
            for row in left.tolist()
        )
        return clause_of(self.source, alternatives), whole

    def _projected(self, known: tuple[str, ...], codes: tuple[int, ...], free: Sequence[int]) -> tuple[Integers, bool]:
        """Different combinations of the free variables among those with these codes of the known ones."""
        key = (known, codes)
        if key not in self._answers:
            rows = self._grouped(known).get(codes, np.zeros(0, dtype=np.int64))
            found = np.unique(self._codes[rows][:, list(free)], axis=0)
            self._answers[key] = (found[:: len(found) // MOST_COMBINATIONS + 1], len(found) <= MOST_COMBINATIONS)
        return self._answers[key]

    def _restated(self, name: str, value: Comparable) -> Comparable:
        places = self._decimals[name]
        return value if isinstance(value, str) or places is None else float(f"{value:.{places}f}") + 0.0

    def _code(self, name: str, value: Value) -> int:
        place = self.variables.index(name)
        return self._numbered[place].get(_comparable(value) if isinstance(value, str) else float(value), -1)

    def _grouped(self, known: tuple[str, ...]) -> Group:
        """Combinations by their codes of the known variables."""
        if known not in self._groups:
            places = [self.variables.index(name) for name in known]
            of_row = np.zeros(len(self._codes), dtype=np.int64)
            for place in places:
                of_row = dense((of_row * len(self._values[place]) + self._codes[:, place]).astype(np.float64))
            order = np.argsort(of_row, kind="stable")
            groups = np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1)
            self._groups[known] = {tuple(self._codes[rows[0], places].tolist()): rows for rows in groups}
        return self._groups[known]

    def _atom(self, name: str, code: int) -> Row | TextSet:
        value = self._values[self.variables.index(name)][code]
        if self._numeric[name]:
            places = self._decimals[name]
            number = Fraction(float(value)) if places is None else Fraction(f"{float(value):.{places}f}")
            return Row(self.source, {name: Fraction(1)}, "==", number)
        return TextSet(name, self._texts[name].get(value, ()))


@lru_cache(maxsize=10_000)
def _comparable(text: str) -> Comparable:
    """Text as domain edits compare it: by the number it says, if it says one."""
    return next(iter(_texts_by_value((text,))))


def _texts_by_value(categories: tuple[str, ...]) -> dict[Comparable, tuple[str, ...]]:
    """Categories that are the same to a domain edit."""
    spoken = read_numbers(pa.array(categories, pa.string()))
    found: dict[Comparable, list[str]] = {}
    for text, number, is_numeric in zip(categories, spoken.values.tolist(), spoken.is_number.tolist(), strict=True):
        found.setdefault(number + 0.0 if is_numeric else text, []).append(text)
    return {value: tuple(texts) for value, texts in found.items()}
