"""What became of rows: moved by which edits, replaced by donors, or infeasible, with the edits in conflict."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.reasoning.answers import Refutation, Space, Value
from maskwright.edits.reasoning.clauses import Clause, TextSet, clauses_of
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.edits.reasoning.simplex import smallest
from maskwright.foundation.randomness import row_hashes
from maskwright.masking.adjusting.derivation import equalities_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.adjusting.targets import Targets


def with_rounding(
    broken: Mapping[str, Booleans], targets: Targets, edits: EditSet, rounded: Floats, index: Integers
) -> dict[str, Booleans]:
    """Rows that violate each edit, with those among `index` that plain rounding takes off it.

    `broken`: shape (r,). `rounded`: shape (r, q).
    """
    found = dict(broken)
    for edit in edits:
        off = index[~targets.satisfied(edit, rounded[index], index)]
        if len(off):
            found[edit.name] = found.get(edit.name, np.zeros(len(rounded), dtype=np.bool_)).copy()
            found[edit.name][off] = True
    return found


def with_taken_up(
    touched: Mapping[str, Booleans], targets: Targets, edits: EditSet, index: Integers, plain: Floats, values: Floats
) -> dict[str, Booleans]:
    """Rows touched by each edit, with those among `index` in which an equality takes up what a search moved.

    `touched`: shape (r,). `plain`, `values`: as plain rounding left them, and as they were found; shape (r, q).
    """
    result = dict(touched)
    moved = (plain[index] != values[index]) & ~np.isnan(values[index])
    for name in dict.fromkeys(equality.name for equality in equalities_of(edits)):
        columns = [targets.names.index(each) for each in edits[name].variables if each in targets.names]
        rows = index[np.any(moved[:, columns], axis=1)]
        if len(rows):
            result[name] = result.get(name, np.zeros(len(values), dtype=np.bool_)).copy()
            result[name][rows] = True
    return result


def by_stated_edit(touched: Mapping[str, Booleans], stated: Mapping[str, str]) -> dict[str, Booleans]:
    """Rows touched by each edit as it was stated: those that any of its conjuncts touched.

    `touched`: by conjunct; shape (r,).
    """
    found: dict[str, Booleans] = {}
    for name, rows in touched.items():
        edit = stated[name]
        found[edit] = found[edit] | rows if edit in found else rows
    return found


MOST = 10_000
"""A search among millions of rows in many dimensions would look at nearly all of them."""


@dataclass(frozen=True, eq=False)
class Donors:
    """Different rows, ordered by their hashes; `rows`: complete, on the grid and on every edit; shape (d, q)."""

    rows: Floats

    @classmethod
    def among(cls, rows: Floats) -> Donors:
        """Those of some rows that have the smallest hashes.

        `rows`: Feasible; one that lacks a value is no donor; shape (r, q).
        """
        complete = rows[~np.isnan(rows).any(axis=1)]
        _, first = np.unique(row_hashes(complete), return_index=True)
        return cls(complete[first[:MOST]])

    @classmethod
    def merged(cls, parts: Sequence[Donors]) -> Donors:
        """Donors of a whole from those of its parts, however it was cut."""
        return cls.among(np.concatenate([part.rows for part in parts]))

    @classmethod
    def none(cls, q: int) -> Donors:
        """No donors of q variables: rows that need one stay infeasible."""
        return cls(np.zeros((0, q)))


MOST_EXPLAINED = 5
_MOST_RECORDS = 10
_MOST_CHOICES = 200


def conflicts(targets: Targets, edits: EditSet, values: Floats, index: Integers) -> tuple[tuple[str, ...], ...]:
    """Smallest sets of edits that cannot hold together in rows for which nothing feasible was found.

    `values`: NaN where a row has no value: edits on such cells do not apply; shape (r, q). `index`: the infeasible
    rows; the first five are examined; shape (m,).
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
            fixed = _fixed_values(targets, int(record), worded)
            unknown = absent | (targets.companions.keys() - fixed.keys())
            names = [edit.name for edit in edits if not unknown & set(edit.variables)]
            conflict = _smallest(names, clauses, Space(steps), fixed)
            if conflict:
                found[conflict] = None
                break
    return tuple(found)


def _fixed_values(targets: Targets, record: int, worded: set[str]) -> dict[str, Value]:
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
        stated = [clause for name in some for clause in clauses[name]]
        answer = Satisfiability(stated, space, fixed, most_choices=_MOST_CHOICES).answer()
        return isinstance(answer, Refutation) and not answer.is_open

    return smallest(names, contradict) if contradict(names) else ()
