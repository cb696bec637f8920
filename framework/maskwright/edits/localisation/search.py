"""The smallest weighted set of fields to change so that all edits can hold.

I. P. Fellegi and D. Holt, "A systematic approach to automatic edit and imputation", Journal of the American Statistical
Association 71, 1976. They cover the failed edits and all edits implied by them. Here implied edits are made only when
needed: take the cheapest cover of the edits a record is known to fail, and ask exactly whether the record can be mended
there. If not, the proof is an implied edit that this record fails and the cover misses; it is kept for all records. The
first cover that can be mended is the cheapest of all (implicit hitting sets: E. Moreno-Centeno and R. Karp, Operations
Research 61, 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.localisation.cover import Covering, places
from maskwright.edits.reasoning.answers import Refutation, Value
from maskwright.edits.reasoning.clauses import Clause, Opaque, clause_of
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from maskwright.edits.localisation.records import Records
    from maskwright.edits.reasoning.simplex import Row

MOST_OPEN = 12

NOTHING_DOES = "no values satisfy all edits, however many fields are changed"
ONLY_BINARY = "all edits hold in decimal arithmetic; only in binary arithmetic one does not"


@dataclass(frozen=True)
class Located:
    """Fields of one record.

    `fields`: to change, in file order; None when no set was found. `values`: values with which all edits hold, of these
    fields and of missing cells. Confidential. `reason`: why no set was found, or why the set is not proven to be the
    cheapest.
    """

    fields: tuple[str, ...] | None
    values: Mapping[str, Value]
    proven: bool = True
    reason: str = ""


class Search:
    """Fields to change, record by record.

    `weights`: cost of changing a variable.
    """

    def __init__(self, records: Records, clauses: Sequence[Clause], weights: Mapping[str, Fraction]) -> None:
        self._records = records
        self._clauses = records.bound(clauses)
        self._names = records.names
        self._place = {name: place for place, name in enumerate(self._names)}
        self._covering = Covering([weights[name] for name in self._names])
        self._touching: dict[str, list[int]] = {name: [] for name in self._names}
        for number, clause in enumerate(self._clauses):
            for name in clause.variables:
                self._touching[name].append(number)
        self._failed: list[set[int]] = [set() for _ in range(len(records))]
        for clause in self._clauses:
            self._add(clause)

    def located(self, progress: Progress = silent) -> Iterator[Located]:
        """Fields of each record, in order."""
        for record in range(len(self._records)):
            if record % 256 == 0:
                progress(record / len(self._records))
            yield self._locate(record)

    def _mask(self, names: Sequence[str] | frozenset[str]) -> int:
        return sum(1 << self._place[name] for name in names)

    def _add(self, clause: Clause) -> None:
        mask = self._mask(clause.variables)
        for record in np.flatnonzero(self._records.breaking(clause)):
            self._failed[record].add(mask)

    def _locate(self, record: int) -> Located:
        present = self._records.values(record)
        missing = self._mask([name for name in self._names if name not in present])
        failed = {mask & ~missing for mask in self._failed[record]}
        if not failed and not missing:
            return Located(None, {}, False, ONLY_BINARY)
        obstacles: dict[str, None] = {}
        for _ in range(MOST_OPEN):
            while True:
                if 0 in failed:
                    return Located(None, {}, False, _undecided(obstacles) or NOTHING_DOES)
                cover = self._covering.cheapest(frozenset(failed))
                answer, asked = self._ask(present, cover | missing, record)
                if not isinstance(answer, Refutation):
                    fields = tuple(self._names[place] for place in places(cover))
                    return Located(fields, answer, not obstacles, _undecided(obstacles))
                if answer.is_open:
                    break
                failed |= self._learnt(record, answer, missing)
            obstacles.update(dict.fromkeys(self._obstacles(answer, asked)))
            # Nothing is known of this set; go on with sets that hold another variable.
            failed.add(((1 << len(self._names)) - 1) & ~cover & ~missing)
        return Located(None, {}, False, _undecided(obstacles))

    def _ask(
        self, present: Mapping[str, Value], free: int, record: int
    ) -> tuple[dict[str, Value] | Refutation, list[int]]:
        names = [self._names[place] for place in places(free)]
        asked = sorted({number for name in names for number in self._touching[name]})
        fixed = {name: value for name, value in present.items() if not free >> self._place[name] & 1}

        def slack(row: Row) -> Fraction:
            return self._records.slack(record, row)

        def judge(atom: Opaque, values: Mapping[str, Value]) -> bool:
            return self._records.judge(atom, values)

        satisfiability = Satisfiability(
            self._clauses,
            self._records.space,
            fixed,
            present,
            slack if self._records.approximate else None,
            judge,
        )
        return satisfiability.answer(asked), asked

    def _learnt(self, record: int, answer: Refutation, missing: int) -> set[int]:
        """Sets that the record has to be changed in; implied edits are remembered for all records."""
        own = self._mask(answer.variables) & ~missing
        if all(reason.atom is not None for reason in answer.reasons) and answer.reasons:
            atoms = [reason.atom for reason in answer.reasons if reason.atom is not None]
            self._add(clause_of("", tuple((atom,) for atom in atoms)))
        return {own} | {mask & ~missing for mask in self._failed[record]}

    def _obstacles(self, answer: Refutation, asked: Sequence[int]) -> Iterator[str]:
        numbers = [number for number in answer.clauses if number >= 0] or asked
        blind = [
            number
            for number in numbers
            if any(isinstance(atom, Opaque) for atoms in self._clauses[number].alternatives for atom in atoms)
        ]
        for number in blind or numbers:
            yield self._clauses[number].source


def _undecided(edits: Mapping[str, None]) -> str:
    return f"not decided because of {', '.join(map(repr, edits))}" if edits else ""
