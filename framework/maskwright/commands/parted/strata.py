"""Strata of a whole file, and the cut of each variable group into blocks."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from maskwright.commands.parted.feasibility import AllRecordsNeededError
from maskwright.data.classes.classes import Classes
from maskwright.data.sketches.exact_sums import exact_cell_sums
from maskwright.data.sketches.kd_tree import KdTree
from maskwright.data.sketches.record_hashes import record_hashes
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError
from maskwright.foundation.randomness import mixed
from maskwright.planning.model import with_steps
from maskwright.planning.small_strata import Moved, standardised, standardised_means
from maskwright.planning.strata import MISSING_CELLS, Strata, cut, joined_values, merged_strata

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.commands.parted.task_settings import Stored, WholeVariable
    from maskwright.data.dataset import Dataset
    from maskwright.planning.plan import Plan
    from maskwright.planning.small_strata import Candidates, ZeroPatterns
    from maskwright.planning.strata import Criterion, Cut


CandidateSearch: TypeAlias = "Callable[[Mapping[tuple[int, ...], int], ZeroPatterns], Candidates]"
"""Finds, among all records, those that patterns of zeros may move, by the number of each combination of conditions."""

LARGEST = 2**62
"""Combinations of values that are numbered."""


@dataclass(frozen=True)
class ValueCodes:
    """Codes of combinations of values, the same in every part and in the order of the values; missing cells come last.

    `columns`: of each variable its name, and of a number the lowest and its decimals. `sizes`: codes of each.
    """

    columns: tuple[tuple[str, Fraction | None, int], ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, names: Sequence[str], variables: Mapping[str, WholeVariable]) -> ValueCodes:
        """Codes of the values of a whole file."""
        columns: list[tuple[str, Fraction | None, int]] = []
        sizes: list[int] = []
        for name in names:
            known = variables[name]
            places, moments = known.variable.decimals, known.moments
            if not known.variable.is_numeric:
                columns.append((name, None, 0))
                sizes.append(len(known.variable.categories) + 1)
            elif places is None:
                raise AllRecordsNeededError([f"within: {name} has numbers of any precision"])
            else:
                low, high = (Fraction(moments.low), Fraction(moments.high)) if moments.n else (Fraction(0), Fraction(0))
                columns.append((name, low, places))
                sizes.append(int((high - low) * 10**places) + 3)
        if math.prod(sizes) > LARGEST:
            raise AllRecordsNeededError([f"within: {', '.join(names)} have too many combinations of values"])
        return cls(tuple(columns), tuple(sizes))

    def codes(self, data: Dataset) -> NDArray[np.int64]:
        """Code of each record; shape (n,)."""
        found = np.zeros(len(data), dtype=np.int64)
        for (name, low, places), size in zip(self.columns, self.sizes, strict=True):
            column = data[name]
            values = column.values if low is None else np.rint((column.values - float(low)) * 10.0**places)
            found = found * size + np.where(column.missing, size - 1, np.nan_to_num(values)).astype(np.int64)
        return found


@dataclass(frozen=True, eq=False)
class Conditions:
    """What keeps the records of a variable group apart; `within`: codes of the values that do."""

    variables: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    edits: EditSet
    within: ValueCodes | None = None

    def cuts(self, data: Dataset) -> list[Cut]:
        """Each criterion applied to records."""
        return [
            replace(each, codes=self.within.codes(data)) if each.criterion.apart and self.within is not None else each
            for each in cut(data, self.criteria, self.edits)
        ]

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


def conditions_of(plan: Plan, edits: EditSet, variables: Mapping[str, WholeVariable]) -> list[Conditions]:
    """Conditions of each variable group over a whole file."""
    found = []
    for group, step in with_steps(plan.groups, plan.steps):
        with step.placed(step.number, step.method.name):
            within = ValueCodes.of(step.within, variables) if step.within else None
        found.append(Conditions(group.variables, group.cut_by, EditSet(tuple(edits)), within))
    return found


def distinct_rows(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that occur, in lexicographic order, and which of them each row is; shape (d, c) and (n,).

    `codes`: not negative; few different ones in each column; shape (n, c).
    """
    if not codes.shape[1]:
        return codes[:1], np.zeros(len(codes), dtype=np.int64)
    classes = Classes.of(list(codes.T))
    ordered = classes.merge()
    return np.stack(ordered.keys, axis=1), ordered.codes[classes.codes]


def survey(settings: Stored, conditions: tuple[Conditions, ...], folder: Path, key: str) -> Mapping[str, object]:  # noqa: ARG001
    """Count the combinations of conditions of one part; a task.

    Returns ``groups``: for each of them its combinations: codes, records, and for each variable its sum, in hexadecimal
    units of 2^-1074, and its cells with a value.
    """
    sheet = settings.read()
    data, _ = sheet.records_of(key)
    if data is None:
        return {"groups": [[] for _ in conditions]}
    return {"groups": [_counted(each, data) for each in conditions]}


def _counted(conditions: Conditions, data: Dataset) -> list[list[object]]:
    found, places = distinct_rows(conditions.combinations(data))
    sums, present = exact_cell_sums(data.matrix(conditions.variables), places, len(found))
    records = np.bincount(places, minlength=len(found)).tolist()
    return [
        [codes, count, [hex(each) for each in own], there]
        for codes, count, own, there in zip(found.tolist(), records, sums, present, strict=True)
    ]


class StratumOf:
    """Stratum of each record of a whole file.

    `combinations`: of each combination of conditions. `moved`: records that are in another one.
    """

    def __init__(self, combinations: Mapping[tuple[int, ...], int], moved: Moved | None = None) -> None:
        moved = Moved.none() if moved is None else moved
        hashes = mixed(moved.numbers.astype(np.uint64))
        order = np.argsort(hashes)
        self._combinations, self._hashes, self._strata = combinations, hashes[order], moved.strata[order]

    def of(self, conditions: Conditions, data: Dataset, hashes: NDArray[np.uint64] | int) -> NDArray[np.int64]:
        """Stratum of each record; shape (n,).

        `hashes`: of the records, shape (n,); or the number of the first one, of records in their order.
        """
        alike = len(set(self._combinations.values())) == 1
        found = np.zeros(len(data), dtype=np.int64) if alike else self._of_combinations(conditions, data)
        if len(self._hashes):
            hashes = record_hashes(hashes, len(data)) if isinstance(hashes, int) else hashes
            places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
            found = np.where(self._hashes[places] == hashes, self._strata[places], found)
        return found

    def _of_combinations(self, conditions: Conditions, data: Dataset) -> NDArray[np.int64]:
        found, places = distinct_rows(conditions.combinations(data))
        return np.array([self._combinations[tuple(codes)] for codes in found.tolist()], dtype=np.int64)[places]

    def __repr__(self) -> str:
        return repr((sorted(self._combinations.items()), self._hashes.tolist(), self._strata.tolist()))


@dataclass(frozen=True, eq=False)
class WholeStrata:
    """Strata of a group over a whole file: the stratum of each record, and the records of each stratum."""

    strata: Strata
    stratum_of: StratumOf
    records: Sequence[int]


class Combinations:
    """Combinations of conditions of one group, added up over parts in any order."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, ...], tuple[int, list[int], list[int]]] = {}

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add what `survey` found of a part."""
        for codes, records, sums, present in rows:
            self._add(tuple(int(code) for code in codes), (records, [int(each, 16) for each in sums], present))

    def _add(self, key: tuple[int, ...], counted: tuple[int, Sequence[int], Sequence[int]]) -> None:
        records, sums, present = counted
        before = self._found.get(key, (0, [0] * len(sums), [0] * len(sums)))
        self._found[key] = (
            before[0] + records,
            [one + other for one, other in zip(before[1], sums, strict=True)],
            [one + int(other) for one, other in zip(before[2], present, strict=True)],
        )

    def strata(
        self, cuts: Sequence[Cut], center: Sequence[float], scale: Sequence[float], least: int,
        candidates: CandidateSearch, *, keep: bool = False,
    ) -> WholeStrata:  # fmt: skip
        """Strata with at least so many records.

        `candidates`: finds the records that patterns of zeros may move. `keep`: those of `within` stay, however small.
        """
        records = sum(each for each, _, _ in self._found.values())
        if records < least:
            raise InputError(
                f"k = {least} is larger than the number of records, {records}: no group of {least} records exists"
            )
        if not cuts or not cuts[0].criterion.apart:
            found = self._merged(cuts, center, scale, least, candidates)
            return _whole(*found, self._sizes())
        outer = Combinations()
        for codes, counted in self._found.items():
            outer._add(codes[:1], counted)
        sizes = np.array([*outer._sizes().values()], dtype=np.int64)
        whole, became, _ = outer._merged(cuts[:1], center, scale, 1 if keep else least, candidates)
        inside = {codes: (became[codes[:1]], *codes[1:]) for codes in self._found}
        inner = Combinations()
        for codes, counted in self._found.items():
            inner._add(inside[codes], counted)
        joined = [replace(cuts[0], meanings=joined_values(cuts[0].criterion, whole.codes)), *cuts[1:]]

        def among(numbers: Mapping[tuple[int, ...], int], patterns: ZeroPatterns) -> Candidates:
            return candidates({codes: numbers[own] for codes, own in inside.items()}, patterns)

        strata, stratum_of, moved = inner._merged(joined, center, scale, 1 if keep else least, among)
        small = sizes < least
        strata = replace(
            strata, least=least, small=(int(small.sum()), int(sizes[small].sum())), within=len(sizes),
            left=whole.count,
        )  # fmt: skip
        return _whole(strata, {codes: stratum_of[own] for codes, own in inside.items()}, moved, self._sizes())

    def _sizes(self) -> dict[tuple[int, ...], int]:
        """Records of each combination, in order."""
        return {codes: self._found[codes][0] for codes in sorted(self._found)}

    def _merged(
        self, cuts: Sequence[Cut], center: Sequence[float], scale: Sequence[float], least: int,
        candidates: CandidateSearch,
    ) -> tuple[Strata, dict[tuple[int, ...], int], Moved]:  # fmt: skip
        found = self._sizes()
        ordered, sizes = [*found], np.array([*found.values()], dtype=np.int64)

        def centres() -> NDArray[np.float64]:
            known = [self._found[codes] for codes in ordered]
            return standardised_means([each for _, each, _ in known], [each for *_, each in known], center, scale)

        combinations = np.array(ordered, dtype=np.int64).reshape(len(ordered), len(cuts))
        among = partial(candidates, {codes: at for at, codes in enumerate(ordered)})
        strata, moved = merged_strata(combinations, cuts, sizes, sizes, centres, least, candidates=among)
        return strata, dict(zip(ordered, strata.codes.tolist(), strict=True)), moved


def _whole(
    strata: Strata, stratum_of: Mapping[tuple[int, ...], int], moved: Moved, sizes: Mapping[tuple[int, ...], int]
) -> WholeStrata:
    records = np.zeros(strata.count, dtype=np.int64)
    np.add.at(records, [stratum_of[codes] for codes in sizes], [*sizes.values()])
    np.add.at(records, moved.strata, 1)
    np.subtract.at(records, strata.codes[moved.combinations], 1)
    return WholeStrata(strata, StratumOf(stratum_of, moved), records.tolist())


@dataclass(frozen=True, eq=False)
class GroupCut:
    """The cut of one variable group.

    `group`: its position in the plan. `center`, `scale`: of the group's variables over the whole file; shape (g,).
    """

    group: int
    conditions: Conditions
    stratum_of: StratumOf
    trees: tuple[KdTree, ...]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]

    @cached_property
    def first_leaf(self) -> tuple[int, ...]:
        """Number of the first leaf of each stratum, and behind them the number of leaves."""
        return (0, *np.cumsum([tree.leaves for tree in self.trees]).tolist())

    @property
    def leaves(self) -> int:
        """Of all strata."""
        return self.first_leaf[-1]

    @property
    def stratum_of_leaf(self) -> NDArray[np.int64]:
        """Shape (leaves,)."""
        return np.repeat(np.arange(len(self.trees)), [tree.leaves for tree in self.trees])

    def points(self, data: Dataset) -> NDArray[np.float64]:
        """Records in standard deviations, a missing cell at the mean; shape (n, g)."""
        return standardised(data.matrix(self.conditions.variables), self.center, self.scale)

    def leaf_of(self, data: Dataset, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Leaf of each record of a part; shape (n,).

        `hashes`: shape (n,).
        """
        strata, points = self.stratum_of.of(self.conditions, data, hashes), self.points(data)
        found = np.zeros(len(data), dtype=np.int64)
        for number, tree in enumerate(self.trees):
            own = np.flatnonzero(strata == number)
            found[own] = self.first_leaf[number] + tree.leaf_of(points[own], hashes[own])
        return found

    def fingerprint(self) -> str:
        """SHA-256 of its strata and cuts."""
        message = repr(self.stratum_of) + "".join(tree.fingerprint() for tree in self.trees)
        return hashlib.sha256(message.encode()).hexdigest()


def cut_of_group(
    group: int,
    conditions: Conditions,
    whole_strata: WholeStrata,
    sample: Dataset,
    hashes: NDArray[np.uint64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    block_size: int,
) -> GroupCut:
    """Cut each stratum into as many leaves as it needs blocks.

    `hashes`: of the sampled records; shape (m,). `center`, `scale`: shape (g,).
    """
    whole = GroupCut(group, conditions, whole_strata.stratum_of, (), center, scale)
    strata, points = whole.stratum_of.of(conditions, sample, hashes), whole.points(sample)
    trees = []
    for number, n in enumerate(whole_strata.records):
        own = np.flatnonzero(strata == number)
        trees.append(KdTree.of(points[own], hashes[own], -(-n // block_size)))
    return replace(whole, trees=tuple(trees))


def blocks_of(sizes: NDArray[np.int64], strata: NDArray[np.int64], least: int) -> list[tuple[int, int]]:
    """Join neighbouring leaves of a stratum until each block has `least` records: first leaf, and that behind the last.

    Leaves are quantiles of a sample, and a small one may hold fewer records than a cluster needs.

    `sizes`, `strata`: records and stratum of each leaf; shape (leaves,).
    """
    blocks: list[tuple[int, int]] = []
    for stratum in range(int(strata.max(initial=-1)) + 1):
        own = np.flatnonzero(strata == stratum).tolist()
        open_from, held = own[0], 0
        done: list[tuple[int, int]] = []
        for leaf in own:
            held += int(sizes[leaf])
            if held >= least:
                done.append((open_from, leaf + 1))
                open_from, held = leaf + 1, 0
        if open_from <= own[-1]:
            # What is left over goes to its neighbour.
            start = done.pop()[0] if done else open_from
            done.append((start, own[-1] + 1))
        blocks += [block for block in done if int(sizes[block[0] : block[1]].sum())]
    return blocks
