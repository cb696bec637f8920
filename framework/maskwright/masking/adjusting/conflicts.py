"""Why a row cannot be brought onto its edits: a smallest set of them that its unmasked values exclude, by name."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.analysis.statements import smallest
from maskwright.edits.reasoning.answers import Refutation, Space, Value
from maskwright.edits.reasoning.clauses import TextSet, clauses_of
from maskwright.edits.reasoning.satisfiability import Satisfiability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.reasoning.clauses import Clause
    from maskwright.masking.adjusting.targets import Targets

MOST_EXPLAINED = 5
_MOST_RECORDS = 10
_MOST_CHOICES = 200


def conflicts(
    targets: Targets, edits: EditSet, values: NDArray[np.float64], index: NDArray[np.int64]
) -> tuple[tuple[str, ...], ...]:
    """Smallest sets of edits that cannot hold together in rows for which nothing feasible was found.

    `values`: NaN where a row has no value: edits on such cells do not apply; shape (r, q). `index`: the infeasible
    rows; the first five are looked at; shape (m,). Returns names in file order, each set once. A row of which nothing
    is proven, in exact arithmetic, adds none: the search may have failed where a feasible point exists.
    """
    clauses = {edit.name: clauses_of(edit) for edit in edits}
    worded = {
        atom.variable
        for each in clauses.values()
        for clause in each
        for atoms in clause.alternatives
        for atom in atoms
        if isinstance(atom, TextSet)
    }
    steps = {each.name: Fraction(1, 10**each.decimals) for each in targets.variables if each.decimals is not None}
    found: dict[tuple[str, ...], None] = {}
    for row in index[:MOST_EXPLAINED]:
        absent = {name for name, gone in zip(targets.names, np.isnan(values[row]), strict=True) if gone}
        for record in targets.records_of_row(int(row))[:_MOST_RECORDS]:
            fixed = _companions(targets, int(record), worded)
            unknown = absent | (targets.companions.keys() - fixed.keys())
            names = [edit.name for edit in edits if not unknown & set(edit.variables)]
            conflict = _smallest(names, clauses, Space(steps), fixed)
            if conflict:
                found[conflict] = None
                break
    return tuple(found)


def _companions(targets: Targets, record: int, worded: set[str]) -> dict[str, Value]:
    """Known values of the variables that do not move."""
    found: dict[str, Value] = {}
    for name, cells in targets.companions.items():
        if cells.missing[record]:
            continue
        number = float(cells.numbers[record])
        if name in worded or not np.isfinite(number):
            found[name] = str(cells.text()[record].as_py())
        elif cells.decimals is None:
            found[name] = Fraction(number)
        else:
            found[name] = Fraction(round(Fraction(number) * 10**cells.decimals), 10**cells.decimals)
    return found


def _smallest(
    names: Sequence[str], clauses: Mapping[str, Sequence[Clause]], space: Space, fixed: Mapping[str, Value]
) -> tuple[str, ...]:
    def contradict(some: Sequence[str]) -> bool:
        asked = [clause for name in some for clause in clauses[name]]
        answer = Satisfiability(asked, space, fixed, most_choices=_MOST_CHOICES).answer()
        return isinstance(answer, Refutation) and not answer.is_open

    return smallest(names, contradict) if contradict(names) else ()
