"""The smallest weighted set of fields to change: set covering, search, and blocks of records."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Dataset
from maskwright.edits.localisation.records import Records
from maskwright.edits.reasoning.answers import Refutation, Value
from maskwright.edits.reasoning.clauses import Clause, Opaque, clause_of
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.foundation.errors import Problem
from maskwright.foundation.processes.child_process import ProcessEndedError, WorkerEnded
from maskwright.foundation.processes.function_pool import FunctionWorkers
from maskwright.foundation.processes.resources import share_of_each
from maskwright.foundation.progress import Progress, part, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.reasoning.simplex import Row


class Covering:
    """Cheapest covers, each computed once.

    Sets of variables are integers whose bit ``i`` stands for variable ``i``.

    `weights`: positive, one for each variable.
    """

    def __init__(self, weights: Sequence[Fraction]) -> None:
        shared = math.lcm(*(weight.denominator for weight in weights)) if weights else 1
        count = len(weights)
        # Of covers that cost the same the one with the earliest variables is taken: the answer is unique.
        self._costs = [
            (int(weight * shared) << count) - (1 << (count - 1 - place)) for place, weight in enumerate(weights)
        ]
        self._known: dict[frozenset[int], int] = {}

    def cheapest(self, sets: frozenset[int]) -> int:
        """Cheapest set of variables that meets all `sets`, none of which is empty.

        Of several the one that has the first variable in which they differ.
        """
        if sets not in self._known:
            found = 0
            for part in _apart(_smallest(sets)):
                found |= _Search(self._costs).cover(part)
            self._known[sets] = found
        return self._known[sets]


def places(mask: int) -> list[int]:
    """Places of the bits of a set, in order."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


def _smallest(sets: Iterable[int]) -> list[int]:
    """Sets that contain no other set."""
    found: list[int] = []
    for one in sorted(set(sets), key=int.bit_count):
        if not any(other & one == other for other in found):
            found.append(one)
    return found


def _apart(sets: list[int]) -> list[list[int]]:
    """Sets in groups that share no variable."""
    groups: list[tuple[int, list[int]]] = []
    for one in sets:
        joined, members = one, [one]
        rest = []
        for mask, group in groups:
            if mask & joined:
                joined |= mask
                members += group
            else:
                rest.append((mask, group))
        groups = [*rest, (joined, members)]
    return [group for _, group in groups]


class _Search:
    """Branch and bound: the lower bound is the cheapest variable of each of some sets that share none."""

    def __init__(self, costs: Sequence[int]) -> None:
        self._costs = costs
        self._best: tuple[int, int] | None = None

    def cover(self, sets: list[int]) -> int:
        self._extend(sets, 0, 0, 0)
        assert self._best is not None
        return self._best[1]

    def _extend(self, sets: list[int], chosen: int, cost: int, banned: int) -> None:
        if not sets:
            if self._best is None or cost < self._best[0]:
                self._best = (cost, chosen)
            return
        bound, seen = cost, 0
        for one in sets:
            allowed = one & ~banned
            if not allowed:
                return
            if not allowed & seen:
                seen |= allowed
                bound += min(self._costs[place] for place in places(allowed))
        if self._best is not None and bound >= self._best[0]:
            return
        narrowest = min((one & ~banned for one in sets), key=int.bit_count)
        for place in sorted(places(narrowest), key=lambda each: self._costs[each]):
            bit = 1 << place
            self._extend([one for one in sets if not one & bit], chosen | bit, cost + self._costs[place], banned)
            banned |= bit


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
                answer, involved = self._decide(present, cover | missing, record)
                if not isinstance(answer, Refutation):
                    fields = tuple(self._names[place] for place in places(cover))
                    return Located(fields, answer, not obstacles, _undecided(obstacles))
                if answer.is_open:
                    break
                failed |= self._learnt(record, answer, missing)
            obstacles.update(dict.fromkeys(self._obstacles(answer, involved)))
            # Nothing is known of this set; go on with sets that hold another variable.
            failed.add(((1 << len(self._names)) - 1) & ~cover & ~missing)
        return Located(None, {}, False, _undecided(obstacles))

    def _decide(
        self, present: Mapping[str, Value], free: int, record: int
    ) -> tuple[dict[str, Value] | Refutation, list[int]]:
        names = [self._names[place] for place in places(free)]
        involved = sorted({number for name in names for number in self._touching[name]})
        fixed = {name: value for name, value in present.items() if not free >> self._place[name] & 1}

        def slack(row: Row) -> Fraction:
            return self._records.slack(record, row)

        def holds(atom: Opaque, values: Mapping[str, Value]) -> bool:
            return self._records.holds(atom, values)

        satisfiability = Satisfiability(
            self._clauses,
            self._records.space,
            fixed,
            present,
            slack if self._records.approximate else None,
            holds,
        )
        return satisfiability.answer(involved), involved

    def _learnt(self, record: int, answer: Refutation, missing: int) -> set[int]:
        """Sets that the record has to be changed in; implied edits are remembered for all records."""
        own = self._mask(answer.variables) & ~missing
        if all(reason.atom is not None for reason in answer.reasons) and answer.reasons:
            atoms = [reason.atom for reason in answer.reasons if reason.atom is not None]
            self._add(clause_of("", tuple((atom,) for atom in atoms)))
        return {own} | {mask & ~missing for mask in self._failed[record]}

    def _obstacles(self, answer: Refutation, involved: Sequence[int]) -> Iterator[str]:
        numbers = [number for number in answer.clauses if number >= 0] or involved
        blind = [
            number
            for number in numbers
            if any(isinstance(atom, Opaque) for atoms in self._clauses[number].alternatives for atom in atoms)
        ]
        for number in blind or numbers:
            yield self._clauses[number].source


def _undecided(edits: Mapping[str, None]) -> str:
    return f"not decided because of {', '.join(map(repr, edits))}" if edits else ""


RECORDS_AT_ONCE = 500
"""Violating records of a block: what the search learns of one record, it remembers for the others of the block."""

WORTH_PROCESSES = 2000
"""Violating records from which starting processes takes less time than it saves."""


@dataclass(frozen=True, eq=False)
class Localising:
    """What the search for fields knows of every block.

    `texts`: categories of each variable that is no number, in the order in which they are tried.
    """

    edits: Mapping[str, Edit]
    clauses: Sequence[Clause]
    texts: Mapping[str, tuple[str, ...]]
    costs: Mapping[str, Fraction]
    domain: Domain


def located(known: Localising, data: Dataset, workers: int, progress: Progress) -> Iterator[Located]:
    """Fields to change of each record, in order."""
    starts = range(0, len(data), RECORDS_AT_ONCE)
    blocks = [_rows(data, start, min(start + RECORDS_AT_ONCE, len(data))) for start in starts]
    at_once = min(workers, len(blocks))
    if at_once <= 1 or len(data) < WORTH_PROCESSES:
        for number, block in enumerate(blocks):
            yield from _located(part(progress, number / len(blocks), (number + 1) / len(blocks)), known, block)
        return
    # The processes are ended first where something fails: no thread waits for them then.
    with (
        ThreadPoolExecutor(at_once) as threads,
        FunctionWorkers(share_of_each(at_once), prepare=_import_search) as processes,
    ):
        try:
            for number, found in enumerate(threads.map(lambda block: processes.call(_located, known, block), blocks)):
                yield from found
                progress((number + 1) / len(blocks))
        except ProcessEndedError as ended:
            message = f"a process that located errors {ended}"
            raise WorkerEnded(Problem(message, hint="Was there enough memory? Take fewer workers.")) from None


def _import_search() -> None:
    """Nothing is left to be done: this module was imported for the call."""


def _rows(data: Dataset, start: int, stop: int) -> Dataset:
    rows = np.arange(start, stop, dtype=np.int64)
    return Dataset(tuple(column.taken(rows) for column in data))


def _located(progress: Progress, known: Localising, block: Dataset) -> list[Located]:
    records = Records(block, known.edits, known.clauses, known.texts, known.domain)
    return list(Search(records, known.clauses, known.costs).located(progress))
