"""Records as exact values, and clauses evaluated on all of them at once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.dataset import Column, Dataset
from maskwright.data.number_text import WHITE_SPACE, read_numbers
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.evaluation.exact_numbers import RELATIVE_ALLOWANCE
from maskwright.edits.reasoning.answers import Space, Value, clause_expression
from maskwright.edits.reasoning.clauses import Clause, Member, Opaque, TextSet, atom_variables, clause_of
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.reasoning.clauses import Atom

ALLOWANCE = Fraction(str(RELATIVE_ALLOWANCE))


def categories_by_frequency(data: Dataset) -> dict[str, tuple[str, ...]]:
    """Categories of each variable that is no number, the most frequent first."""
    return {column.name: _by_frequency(column) for column in data if not column.variable.is_numeric}


class Records:
    """Records that violate edits.

    `data`: only the violating records, with the variables that edits use. `clauses`: of these edits; categories that
    they name are possible although no record has them. `texts`: categories of each variable that is no number, as
    `categories_by_frequency` gives them of all records: they are tried in that order.
    """

    def __init__(
        self,
        data: Dataset,
        edits: Mapping[str, Edit],
        clauses: Sequence[Clause],
        texts: Mapping[str, tuple[str, ...]],
        domain: Domain | None = None,
    ) -> None:
        self.data, self._edits, self._domain = data, edits, domain
        self._columns = RecordChunk.from_dataset(data)
        named: dict[str, list[str]] = {}
        for atom in (atom for clause in clauses for atoms in clause.alternatives for atom in atoms):
            if isinstance(atom, TextSet):
                named.setdefault(atom.variable, []).extend(atom.texts)
        self.names = data.names
        self.approximate = frozenset(
            column.name for column in data if column.variable.is_numeric and column.variable.decimals is None
        )
        self.space = Space(
            steps={
                column.name: Fraction(1, 10**column.variable.decimals)
                for column in data
                if column.variable.is_numeric and column.variable.decimals is not None
            },
            texts={
                column.name: tuple(dict.fromkeys((*texts[column.name], *named.get(column.name, ()))))
                for column in data
                if not column.variable.is_numeric
            },
        )

    def __len__(self) -> int:
        return len(self.data)

    def values(self, record: int) -> dict[str, Value]:
        """Exact values of the cells that are not missing."""
        return {column.name: _value(column, record) for column in self.data if not column.missing[record]}

    def slack(self, record: int, row: Row) -> Fraction:
        """By how much a row may be broken, because numbers without declared decimals are approximate."""
        if not any(name in self.approximate for name in row.coefficients):
            return Fraction(0)
        size = abs(row.constant)
        for name, coefficient in row.coefficients.items():
            column = self.data[name]
            if not column.missing[record]:
                size += abs(coefficient * Fraction(float(column.values[record])))
        return size * ALLOWANCE

    def breaking(self, clause: Clause) -> NDArray[np.bool_]:
        """Records that break a clause; not those where a missing cell leaves it open; shape (m,)."""
        opaque = [atom for atoms in clause.alternatives for atom in atoms if isinstance(atom, Opaque)]
        if opaque:
            verdict = evaluate(self._edits[clause.source], self._columns, self._domain)
            missing = np.logical_or.reduce([self.data[name].missing for name in clause.variables])
            return np.asarray(~verdict.holds & ~missing)
        holds = evaluate_exact(clause_expression(clause), self._columns).holds
        return np.asarray(~holds)

    def holds(self, atom: Opaque, values: Mapping[str, Value], record: int | None = None) -> bool:
        """Whether an edit that can only be evaluated holds for these values; a variable left out is missing."""
        edit = self._edits[atom.source]
        columns = {name: _with_value(self.data[name], values.get(name)) for name in edit.variables}
        if record is not None:
            for name in edit.variables:
                if name not in values and self.data[name].missing[record]:
                    columns[name] = self.data[name].taken(np.array([record]))
        single = Dataset(tuple(columns.values()))
        return bool(evaluate(edit, RecordChunk.from_dataset(single), self._domain).holds[0])

    def bound(self, clauses: Sequence[Clause]) -> list[Clause]:
        """Clauses as these variables understand them: numbers of categories as texts, texts of numbers as opaque."""
        return [self._bound(clause) for clause in clauses]

    def _bound(self, clause: Clause) -> Clause:
        found: list[tuple[Atom, ...]] = []
        for atoms in clause.alternatives:
            own: list[Atom] = []
            for atom in atoms:
                translated = self._translated(atom)
                if translated is None:
                    whole = Opaque(clause.source, self._edits[clause.source].expression)
                    return replace(clause, alternatives=((whole,),))
                own.append(translated)
            found.append(tuple(own))
        return clause_of(clause.source, tuple(found)) if found else clause

    def _translated(self, atom: Atom) -> Atom | None:
        texts = self.space.texts
        match atom:
            case TextSet(variable):
                return atom if variable in texts else None
            case Member(variable, numbers) if variable in texts:
                return TextSet(variable, tuple(text for text in texts[variable] if _number(text) in numbers))
            case Row(_, coefficients) if len(coefficients) == 1 and next(iter(coefficients)) in texts:
                (variable,) = coefficients
                return TextSet(variable, tuple(text for text in texts[variable] if _obeys(atom, _number(text))))
            case Opaque():
                return atom
        return None if any(name in texts for name in atom_variables(atom)) else atom


def _by_frequency(column: Column) -> tuple[str, ...]:
    counts = np.bincount(column.values[~column.missing], minlength=len(column.variable.categories))
    order = np.argsort(-counts, kind="stable")
    return tuple(column.variable.categories[place] for place in order)


def _value(column: Column, record: int) -> Value:
    cell = column.values[record]
    if not column.variable.is_numeric:
        return column.variable.categories[int(cell)]
    places = column.variable.decimals
    if places is None:
        return Fraction(float(cell))
    # The decimal that is meant, not the binary64 number next to it.
    return Fraction(f"{float(cell):.{places}f}")


def _obeys(row: Row, value: Fraction | None) -> bool:
    """Whether a category obeys a row on its variable; one that is no number leaves it unknown."""
    (coefficient,) = row.coefficients.values()
    return value is None or row.holds_at(coefficient * value)


def _number(text: str) -> Fraction | None:
    spoken = read_numbers(pa.array([text], pa.string()))
    return Fraction(text.strip(WHITE_SPACE).removesuffix(".")) if spoken.is_number[0] else None


def _with_value(column: Column, value: Value | None) -> Column:
    """Column of one cell."""
    missing = np.array([value is None])
    if column.variable.is_numeric:
        return Column(column.variable, np.array([float(value) if value is not None else np.nan]), missing)
    if not isinstance(value, str):
        return Column(column.variable, np.array([-1], dtype=np.int32), missing)
    return Column(replace(column.variable, categories=(value,)), np.array([0], dtype=np.int32), missing)
