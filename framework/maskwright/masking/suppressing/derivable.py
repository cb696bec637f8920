"""Which suppressed cells follow from published cells and edits.

A cell follows when, the published cells of its record fixed and the suppressed ones free, no record that obeys all
edits has another value there. Exact: rational arithmetic, values on the published grid, the categories of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.data.dataset import Dataset
from maskwright.edits.localisation.records import Records
from maskwright.edits.reasoning.answers import Refutation
from maskwright.edits.reasoning.clauses import Clause, Opaque, TextSet, atom_variables, clause_of, clauses_of
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.reasoning.answers import Value

_APPROXIMATE = Fraction(1, 10**6)
"""Relative: a number without a grid follows when it is known so closely."""


@dataclass(frozen=True)
class Given:
    """Why a cell follows.

    Attributes
    ----------
    by : frozenset of str
        Published variables; unless one of them is suppressed too, the cell follows. Empty: it follows from the edits
        alone.
    is_open : bool
        It was not proven that it follows, nor that it does not.
    """

    by: frozenset[str]
    is_open: bool


class Derivation:
    """Answers for the records of one dataset.

    Parameters
    ----------
    shown : Dataset
        The records as they would be published without suppression.
    rows : ndarray of shape (m,), int64
        Those that have suppressed cells.
    edits : sequence of Edit
        That every published record obeys.
    domain : Domain, optional
        Of the original file, for domain edits.
    """

    def __init__(self, shown: Dataset, rows: NDArray[np.int64], edits: Sequence[Edit], domain: Domain | None) -> None:
        usable = [edit for edit in edits if edit.engine is None]
        used = {name for edit in usable for name in edit.variables}
        names = [name for name in shown.names if name in used]
        clauses = [clause for edit in usable for clause in clauses_of(edit)]
        part = Dataset(tuple(column for column in shown.taken(rows) if column.name in used))
        self._records = Records(part, {edit.name: edit for edit in usable}, clauses, shown, domain)
        self._clauses = self._records.bound(clauses) if names else []
        self._known: dict[object, Given | None] = {}
        self.names = frozenset(names)

    def values_of(self, record: int) -> tuple[tuple[str, Value], ...]:
        """Values of a record that edits read; two records with the same are answered the same."""
        return tuple(self._records.values(record).items())

    def given(self, record: int, name: str, hidden: frozenset[str]) -> Given | None:
        """Say why a cell follows, or None when it does not.

        Parameters
        ----------
        record : int
            Position among the rows.
        name : str
        hidden : frozenset of str
            Suppressed variables of the record, `name` among them.
        """
        values = self._records.values(record)
        if name not in values:
            return None
        clauses = self._linked(name, {*hidden, *(self.names - values.keys())})
        if not clauses:
            return None
        involved = dict.fromkeys(other for clause in clauses for other in clause.variables)
        fixed = {other: values[other] for other in involved if other in values and other not in hidden}
        key = (name, values[name], tuple(fixed.items()), hidden.intersection(involved))
        if key not in self._known:
            self._known[key] = self._asked(record, name, values[name], clauses, fixed, values)
        return self._known[key]

    def _linked(self, name: str, free: set[str]) -> list[Clause]:
        """Clauses that reach `name` over free variables."""
        reached: set[str] = {name}
        found: list[Clause] = []
        left = [clause for clause in self._clauses if free & set(clause.variables)]
        while True:
            touching = [clause for clause in left if reached & set(clause.variables)]
            if not touching:
                return found
            found += touching
            left = [clause for clause in left if clause not in touching]
            reached |= {other for clause in touching for other in clause.variables if other in free}

    def _asked(
        self,
        record: int,
        name: str,
        value: Value,
        clauses: list[Clause],
        fixed: dict[str, Value],
        values: dict[str, Value],
    ) -> Given | None:
        hints = {other: each for other, each in values.items() if other not in fixed and other != name}
        question = Satisfiability(
            [*clauses, self._another(name, value, values)], self._records.space, fixed, hints,
            lambda row: self._records.slack(record, row), self._records.judge,
        )  # fmt: skip
        found = question.answer()
        if not isinstance(found, Refutation):
            return None
        by = found.variables & fixed.keys()
        if found.is_open and not by:
            opaque = [clause for clause in clauses if any(isinstance(atom, Opaque) for atom in _atoms(clause))]
            by = frozenset(other for clause in opaque or clauses for other in clause.variables) & fixed.keys()
        return Given(frozenset(by), found.is_open)

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


def _atoms(clause: Clause) -> list[object]:
    return [atom for atoms in clause.alternatives for atom in atoms if atom_variables(atom)]
