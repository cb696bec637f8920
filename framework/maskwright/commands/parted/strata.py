"""Strata of a whole file, counted part by part: which combination of conditions is in which stratum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.sketches.exact_sum import UNIT, exact_sum
from maskwright.foundation.errors import InputError
from maskwright.planning.criteria import MISSING_CELLS, cut, label
from maskwright.planning.strata import Strata, Stratum, join_small

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.commands.parted.sheet import Stored
    from maskwright.commands.parted.whole_variables import WholeVariable
    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.criteria import Criterion, Cut
    from maskwright.planning.model import Group


@dataclass(frozen=True, eq=False)
class Conditions:
    """What keeps the records of a variable group apart."""

    variables: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    edits: EditSet

    def cuts(self, data: Dataset) -> list[Cut]:
        """Each criterion applied to records."""
        return cut(data, self.criteria, self.edits)

    def combinations(self, data: Dataset) -> NDArray[np.int64]:
        """Codes of all criteria; shape (n, criteria)."""
        cuts = self.cuts(data)
        return np.stack([each.codes for each in cuts], axis=1) if cuts else np.zeros((len(data), 0), dtype=np.int64)

    def only_combination(self, variables: Mapping[str, WholeVariable]) -> tuple[int, ...] | None:
        """Codes of every record where the whole file can have no others; None where records have to be looked at."""
        codes: list[int] = []
        for each in self.criteria:
            if each.title != MISSING_CELLS or any(variables[name].gone.cells for name in each.variables):
                return None
            codes += [0] * len(each.variables)
        return tuple(codes)


def distinct_rows(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that occur, in lexicographic order, and which of them each row is; shape (d, c) and (n,).

    `codes`: not negative; few different ones in each column; shape (n, c).
    """
    places = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        if len(column) and int(column.min()) < int(column.max()):
            _, places = np.unique(places * (int(column.max()) + 1) + column, return_inverse=True)
    _, first = np.unique(places, return_index=True)
    return codes[first], places


def survey(told: Stored, conditions: tuple[Conditions, ...], folder: Path, key: str) -> Mapping[str, object]:  # noqa: ARG001
    """Count the combinations of conditions of one part; a task.

    `told`: a `Sheet` with the variables of the whole file. `conditions`: of the groups that are cut. Returns
    ``groups``: for each of them its combinations: codes, records, and for each variable its sum, in hexadecimal units
    of 2^-1074, and its cells with a value.
    """
    sheet = told.read()
    data, _ = sheet.records_of(key)
    if data is None:
        return {"groups": [[] for _ in conditions]}
    return {"groups": [_counted(each, data) for each in conditions]}


def _counted(conditions: Conditions, data: Dataset) -> list[list[object]]:
    found, places = distinct_rows(conditions.combinations(data))
    values = data.matrix(conditions.variables)
    rows: list[list[object]] = []
    for number, codes in enumerate(found.tolist()):
        own = values[places == number]
        there = ~np.isnan(own)
        sums = [hex(exact_sum(own[there[:, j], j])) for j in range(own.shape[1])]
        rows.append([codes, len(own), sums, there.sum(axis=0).tolist()])
    return rows


class Combinations:
    """Combinations of conditions of one group, added up over parts in any order."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, ...], tuple[int, list[int], list[int]]] = {}

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add what `survey` found of a part."""
        for codes, records, sums, present in rows:
            key = tuple(int(code) for code in codes)
            before = self._found.get(key, (0, [0] * len(sums), [0] * len(sums)))
            self._found[key] = (
                before[0] + records,
                [one + int(other, 16) for one, other in zip(before[1], sums, strict=True)],
                [one + int(other) for one, other in zip(before[2], present, strict=True)],
            )

    def strata(
        self, group: Group, cuts: Sequence[Cut], scale: Sequence[float], least: int
    ) -> tuple[Strata, dict[tuple[int, ...], int], list[int]]:
        """Strata with at least so many records, the stratum of each combination, and the records of each stratum.

        `cuts`: of some records: they say what codes mean. `scale`: standard deviations of the group's variables.
        """
        ordered = sorted(self._found)
        sizes = np.array([self._found[codes][0] for codes in ordered], dtype=np.int64)
        if int(sizes.sum()) < least:
            raise InputError(
                f"k = {least} is larger than the number of records, {int(sizes.sum())}: no group of {least} records "
                "exists"
            )
        target = np.arange(len(ordered))
        if (sizes < least).any() and len(ordered) > 1:
            target = join_small(sizes, sizes, self._centres(ordered, scale), least)
        kept, number_of = np.unique(target, return_inverse=True)
        joined = [int(np.sum(target == each)) > 1 for each in target]
        mixed = {
            name
            for position, each in enumerate(group.cut_by)
            for name in each.edits
            for into in kept
            if len({ordered[at][position] for at in np.flatnonzero(target == into).tolist()}) > 1
        }
        named = tuple(
            Stratum(_label(cuts, codes), int(size), was and int(size) < least)
            for codes, size, was in zip(ordered, sizes, joined, strict=True)
        )
        strata = Strata(np.arange(len(kept)), named, frozenset(mixed), least)
        totals = np.bincount(number_of, weights=sizes, minlength=len(kept)).astype(np.int64)
        return strata, {codes: int(number_of[at]) for at, codes in enumerate(ordered)}, totals.tolist()

    def _centres(self, ordered: Sequence[tuple[int, ...]], scale: Sequence[float]) -> NDArray[np.float64]:
        return np.array(
            [
                [
                    total / (present << UNIT) / spread if present else 0.0
                    for total, present, spread in zip(*self._found[codes][1:], scale, strict=True)
                ]
                for codes in ordered
            ]
        )


def _label(cuts: Sequence[Cut], codes: Sequence[int]) -> str:
    known = all(code < len(each.said) for each, code in zip(cuts, codes, strict=True))
    return label(cuts, codes) if known else "combination of conditions"
