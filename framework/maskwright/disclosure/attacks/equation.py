"""Which suppressed cells are derivable from published cells and edits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.record_chunk import RecordChunk
from maskwright.disclosure.published_cells import MOST_EFFORT, CellStates, Occurring, reads_suppressed
from maskwright.edits.edit import DomainPart, Edit
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.expression import Comparison, Number, VariableReference, nodes
from maskwright.edits.localisation.records import Records, categories_by_frequency
from maskwright.edits.reasoning.answers import Effort, Refutation, Value
from maskwright.edits.reasoning.clauses import Clause, Opaque, TextSet, atom_variables, clause_of, clauses_of
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from maskwright.edits.evaluation.domain import Domain
    from maskwright.foundation.arrays import Integers


Name = TypeVar("Name", bound="Hashable")
Statement = TypeVar("Statement")

_APPROXIMATE = Fraction(1, 10**6)
"""Relative: a number without a grid follows when it is known so closely."""

MOST_CHOICES = 2_000
"""Alternatives tried for one cell before records are tried instead."""

MOST_OTHERS = 40
"""Categories tried as other values that a cell may have."""

MOST_TRIED = 1_024
"""Records tried for one cell."""


@dataclass(frozen=True)
class Given:
    """Why a cell follows.

    `by`: published variables; unless one of them is suppressed too, the cell follows. Empty: it follows from the edits
    alone. `is_open`: it was not proven that it follows, nor that it does not.
    """

    by: frozenset[str]
    is_open: bool


class Derivation:
    """Answers for the records of one dataset.

    Households of 40 members can need more than is ever computed: `effort` is what may be spent until it is renewed, and
    what goes beyond it is left open.

    `shown`: the records as they would be published without suppression. `rows`: those that have suppressed cells; shape
    (m,). `edits`: that every published record obeys. `domain`: of the original file, for domain edits. `records`: what
    is asked about: those rows, with the variables that edits read, and whether and how their cells are missing where
    edits ask for that. `tick`: called now and then in long work.
    """

    def __init__(self, shown: Dataset, rows: Integers, edits: Sequence[Edit], domain: Domain | None) -> None:
        states = CellStates(shown, [edit for edit in edits if edit.engine is None])
        usable = states.edits
        used = {name for edit in usable for name in edit.variables}
        self._edits = {edit.name: edit for edit in usable}
        self._shown, self._domain, self._states = shown, domain, states
        self._occurring: dict[Clause, Occurring] = {}
        clauses: list[Clause] = []
        for edit in usable:
            for part, clause in zip(edit.parts, clauses_of(edit), strict=True):
                if isinstance(part, DomainPart) and domain is not None:
                    self._occurring[clause] = Occurring(edit.name, part, domain, shown)
                else:
                    clauses.append(clause)
        relevant = Dataset((*(column for column in shown if column.name in used), *states.columns))
        self.records = relevant.taken(rows)
        self._records = Records(self.records, self._edits, clauses, categories_by_frequency(relevant), domain)
        self._clauses = [*self._records.bound(clauses), *self._occurring] if used else []
        self._known: dict[object, Given | None] = {}
        self._last: tuple[int, dict[str, Value]] | None = None
        self._reached: dict[tuple[str, frozenset[str]], list[Clause]] = {}
        self._names = frozenset(self.records.names)
        self._alike = {name: reads_suppressed(self.records[name]) for name in states.of}
        self.effort = Effort(MOST_EFFORT)
        self.tick: Callable[[], None] = _silent

    def renew(self, records: int = 1) -> None:
        """Allow the effort of so many records from now on."""
        self.effort = Effort(MOST_EFFORT * records)

    def given(self, record: int, name: str, hidden: frozenset[str]) -> Given | None:
        """Say why a cell follows, or None when it does not."""
        return self._given(record, self._values(record), name, hidden)

    def given_if(self, record: int, cells: dict[str, Value], name: str, hidden: frozenset[str]) -> Given | None:
        """Say why a cell would follow if the cells of the record were these, or None when it would not."""
        return self._given(record, cells, name, hidden, as_is=False)

    def _given(
        self, record: int, values: dict[str, Value], name: str, hidden: frozenset[str], *, as_is: bool = True
    ) -> Given | None:
        # Of a suppressed cell its value is examined, or that it had none.
        target = name if name in values else self._states.of.get(name)
        if target is None or target not in values:
            return None
        hidden = self._with_states(hidden, target)
        free = frozenset({*hidden, *(self._names - values.keys())})
        clauses = self._reached.get((target, free))
        if clauses is None:
            clauses = self._reached[target, free] = self._linked(target, free)
        if not clauses:
            return None
        involved = dict.fromkeys(other for clause in clauses for other in clause.variables)
        fixed = {other: values[other] for other in involved if other in values and other not in hidden}
        key = (target, values[target], tuple(fixed.items()), hidden.intersection(involved), as_is)
        if key not in self._known and self.effort.is_spent:
            # Not remembered: with more effort there may be an answer.
            return Given(frozenset(map(self._states.base, fixed)) - {name}, is_open=True)
        if key not in self._known:
            found = self._derived(record, target, values[target], clauses, fixed, values, as_is=as_is)
            by = frozenset() if found is None else frozenset(map(self._states.base, found.by)) - {name}
            found = found and replace(found, by=by)
            if self.effort.is_spent:
                return found
            self._known[key] = found
        return self._known[key]

    def value(self, record: int, name: str) -> Value | None:
        """Exact value of a cell; where it has none, how it is missing, if edits ask for that."""
        values = self._values(record)
        return values.get(name, values.get(self._states.of.get(name, name)))

    def worlds(
        self, record: int, hidden: frozenset[str], donors: Sequence[int], target: str | None = None
    ) -> Iterator[dict[str, Value]]:
        """Cells that a record may have for all that is published of it, with its published cells among them.

        Hidden cells come from other records first, then, for `target`, from the edits: any that they allow, then such
        as they name. Beside `if foreign == 1 then ...` any number is possible, but 1 is what a record has.
        """
        own = self._values(record)
        gone = self._with_states(hidden, "")
        published = {name: value for name, value in own.items() if name not in gone}
        clauses = [clause for clause in self._clauses if gone & set(clause.variables)]
        for donor in donors:
            cells = self._values(donor)
            world = published | {name: cells[name] for name in gone if name in cells}
            stated = [self._stated(clause, published, "", "")[0] for clause in clauses]
            if not isinstance(self._question(record, stated, world, {}).answer(), Refutation):
                yield world
        if target is None or target not in own:
            return
        stated = [self._stated(clause, published, target, own[target])[0] for clause in clauses]
        hints = {name: value for name, value in own.items() if name in gone and name != target}
        others = list(self._others(target, own))
        for cell in ({}, *_named_numbers(clauses, gone - {target})):
            fixed: dict[str, Value] = published | cell
            for another in others:
                found = self._question(record, [*stated, another], fixed, hints).answer()
                if not isinstance(found, Refutation):
                    yield own | found | fixed

    def _others(self, name: str, values: dict[str, Value]) -> Iterator[Clause]:
        """Clauses that each say one other value of a text, or on which side of it another number lies."""
        if isinstance(values[name], str):
            for text in self._records.space.texts.get(name, ())[:MOST_OTHERS]:
                if text != values[name]:
                    yield clause_of("", ((TextSet(name, (text,)),),))
            return
        for atoms in self._another(name, values[name], values).alternatives:
            yield clause_of("", (atoms,))

    def _with_states(self, hidden: frozenset[str], target: str) -> frozenset[str]:
        return hidden.union(state for each, state in self._states.of.items() if each in hidden and each != target)

    def _values(self, record: int) -> dict[str, Value]:
        # Records are examined one after the other, each many times.
        if self._last is None or self._last[0] != record:
            self._last = (record, self._records.values(record))
        return self._last[1]

    def fixed(self, record: int) -> frozenset[str]:
        """Variables of which the cell is empty, and would look the same if it were suppressed."""
        return frozenset(name for name, alike in self._alike.items() if alike[record])

    def _linked(self, name: str, free: frozenset[str]) -> list[Clause]:
        """Clauses that reach `name` over free variables."""
        linking, over = [each for each in self._clauses if not free.isdisjoint(each.variables)], free | {name}
        return reached([name], linking, lambda clause: over.intersection(clause.variables))

    def _derived(
        self,
        record: int,
        name: str,
        value: Value,
        clauses: list[Clause],
        fixed: dict[str, Value],
        values: dict[str, Value],
        *,
        as_is: bool,
    ) -> Given | None:
        hints = {other: each for other, each in values.items() if other not in fixed and other != name}
        stated = [self._stated(clause, fixed, name, value) for clause in clauses]
        target = [*(clause for clause, _ in stated), self._another(name, value, values)]
        found = self._question(record, target, fixed, hints).answer()
        if not isinstance(found, Refutation):
            return None
        by = (
            found.variables.union(*(clause.variables for clause in clauses if clause in self._occurring)) & fixed.keys()
        )
        is_open = found.is_open or not all(whole for _, whole in stated)
        if self.effort.is_spent and is_open:
            return Given(frozenset(fixed), is_open=True)
        if not is_open or not as_is:
            return Given(by, is_open)
        answer = self._tried(record, name, clauses, fixed)
        if answer is False:
            return None
        opaque = [clause for clause in clauses if any(isinstance(atom, Opaque) for atom in _atoms(clause))]
        return Given(by.union(*(clause.variables for clause in opaque or clauses)) & fixed.keys(), answer is None)

    def _stated(self, clause: Clause, fixed: dict[str, Value], name: str, value: Value) -> tuple[Clause, bool]:
        """Clause as it is examined, and whether it states all that is known."""
        occurring = self._occurring.get(clause)
        return (clause, True) if occurring is None else occurring(fixed, name, value)

    def _question(
        self, record: int, clauses: list[Clause], fixed: dict[str, Value], hints: dict[str, Value]
    ) -> Satisfiability:
        self.tick()
        return Satisfiability(
            clauses, self._records.space, fixed, hints, lambda row: self._records.slack(record, row),
            lambda atom, others: self._records.holds(atom, others, record), MOST_CHOICES, self.effort,
        )  # fmt: skip

    def _tried(self, record: int, name: str, clauses: Sequence[Clause], fixed: dict[str, Value]) -> bool | None:
        """Whether a cell follows, by trying records: all that are possible, if they are few, or such as there are.

        None: no record with another value was found, and not all were tried.
        """
        edits = [self._edits[source] for source in dict.fromkeys(clause.source for clause in clauses)]
        columns = {each: self._records.data[each] for edit in edits for each in edit.variables}
        free = [each for each, column in columns.items() if each not in fixed and not column.missing[record]]
        tried, whole = self._candidates(free)
        m = len(next(iter(tried.values())).values)
        rows = np.full(m, record)
        single = {each: column.taken(rows) for each, column in columns.items()}
        chunk = RecordChunk.from_dataset(Dataset(tuple({**single, **tried}.values())))
        other = ~tried[name].missing & (tried[name].values != columns[name].values[record])
        for edit in edits:
            other &= evaluate(edit, chunk, self._domain).holds
        return False if other.any() else True if whole else None

    def _candidates(self, free: Sequence[str]) -> tuple[dict[str, Column], bool]:
        """Values of free variables to try together, and whether there are no others."""
        columns = {name: self._shown[name] for name in free}
        sizes = [None if each.variable.is_numeric else len(each.variable.categories) for each in columns.values()]
        counts = [size for size in sizes if size is not None]
        if len(counts) == len(sizes) and math.prod(counts) <= MOST_TRIED:
            codes = np.indices(counts, dtype=np.int32).reshape(len(counts), -1)
            present = np.zeros(codes.shape[1], dtype=np.bool_)
            return {
                name: Column(column.variable, row, present)
                for (name, column), row in zip(columns.items(), codes, strict=True)
            }, True
        rows = np.linspace(0, len(self._shown) - 1, min(len(self._shown), MOST_TRIED)).astype(np.int64)
        return {name: each.taken(rows) for name, each in columns.items()}, False

    def _another(self, name: str, value: Value, values: dict[str, Value]) -> Clause:
        """Clause that the variable has another value."""
        if isinstance(value, str):
            return clause_of("", ((TextSet(name, (value,), inside=False),),))
        apart = Fraction(0)
        if name not in self._records.space.steps:
            apart = _APPROXIMATE * (1 + max(abs(each) for each in values.values() if isinstance(each, Fraction)))
        below = Row("", {name: Fraction(1)}, "<", value - apart)
        above = Row("", {name: Fraction(-1)}, "<", -value - apart)
        return clause_of("", ((below,), (above,)))


def reached(
    names: Iterable[Name], statements: Iterable[Statement], reads: Callable[[Statement], Iterable[Name]]
) -> list[Statement]:
    """Statements that read one of these variables, or one that such a statement reads, and so on."""
    seen, found = set(names), list[Statement]()
    left = [(each, frozenset(reads(each))) for each in statements]
    while touching := [pair for pair in left if not seen.isdisjoint(pair[1])]:
        left = [pair for pair in left if seen.isdisjoint(pair[1])]
        found += [each for each, _ in touching]
        seen.update(*(own for _, own in touching))
    return found


def _silent() -> None:
    """No progress is reported."""


def _named_numbers(clauses: Sequence[Clause], names: frozenset[str]) -> Iterator[dict[str, Value]]:
    """Numbers that conditions on one of these variables alone compare it with, one after the other."""
    seen: dict[tuple[str, Fraction], None] = {}
    for clause in clauses:
        for atom in _atoms(clause):
            if isinstance(atom, Row) and len(atom.coefficients) == 1:
                ((name, coefficient),) = atom.coefficients.items()
                seen[name, atom.constant / coefficient] = None
            elif isinstance(atom, Opaque):
                for node in nodes(atom.expression):
                    match node:
                        case Comparison(_, VariableReference(name), Number(number)):
                            seen[name, number] = None
                        case Comparison(_, Number(number), VariableReference(name)):
                            seen[name, number] = None
                        case _:
                            pass
    for name, number in seen:
        if name in names:
            yield {name: number}


def _atoms(clause: Clause) -> list[object]:
    return [atom for atoms in clause.alternatives for atom in atoms if atom_variables(atom)]
