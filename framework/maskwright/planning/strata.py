"""Strata: records that must not be averaged with one another.

Records on different sides of a governing edit's condition, with different signs in a product, or (when asked) with
different cells missing or different structural zeros are clustered apart. A stratum with fewer than k records is merged
into the nearest one; the representatives of its clusters are then adjusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.errors import InputError
from maskwright.planning.criteria import cut, label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.criteria import Criterion, Cut


_MOST_MERGED_ONE_BY_ONE = 500

_MOST_COUNTED = 8
"""Codes for each record up to which they are counted; beyond, they are sorted."""


@dataclass(frozen=True)
class Stratum:
    """One stratum as it was before merging."""

    label: str
    records: int
    merged: bool


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata of a variable group.

    `codes`: stratum of each record after merging, 0..s-1; shape (n,). `mixed`: edits whose condition differs inside a
    merged stratum. `least`: fewest records that a stratum was to have.
    """

    codes: NDArray[np.int64]
    strata: tuple[Stratum, ...]
    mixed: frozenset[str]
    least: int = 1

    @property
    def count(self) -> int:
        """Number of strata after merging."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0


def stratify(data: Dataset, group: Sequence[str], found: Sequence[Criterion], edits: EditSet, k: int) -> Strata:
    """Cut the records into strata for one variable group."""
    n = len(data)
    if n < k:
        raise InputError(f"k = {k} is larger than the number of records, {n}: no group of {k} records exists")
    cuts = cut(data, found, edits)
    return _merge(_cross(cuts, n), data, group, k, cuts)


def _cross(cuts: Sequence[Cut], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Combine criteria: codes of shape (n,) and the combination of each code, shape (s, criteria)."""
    if not cuts:
        return np.zeros(n, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    codes = np.zeros(n, dtype=np.int64)
    for each in cuts:
        codes = _renumbered(codes * (int(each.codes.max(initial=0)) + 1) + each.codes)
    first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(n - 1, -1, -1)  # of equal places the last one written stays: the first record
    return codes, np.stack([each.codes[first] for each in cuts], axis=1)


def _renumbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes 0, 1, ... in the order of the codes that occur; shape (n,)."""
    span = int(codes.max(initial=-1)) + 1
    if span > _MOST_COUNTED * max(len(codes), 1):
        return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    # Counting takes a tenth of what sorting does.
    there = np.bincount(codes, minlength=span) > 0
    return (np.cumsum(there) - 1)[codes]


def _merge(
    crossed: tuple[NDArray[np.int64], NDArray[np.int64]],
    data: Dataset,
    group: Sequence[str],
    k: int,
    cuts: Sequence[Cut],
) -> Strata:
    codes, combinations = crossed
    sizes = np.bincount(codes, minlength=len(combinations))
    counts = sizes if data.households is None else _households_in(codes, data.households, len(combinations))
    target = np.arange(len(combinations))
    if (counts < k).any() and len(combinations) > 1:
        households = data.households

        def counted(target: NDArray[np.int64]) -> NDArray[np.float64]:
            assert households is not None
            # A household with records in both strata counts once.
            return _households_in(target[codes], households, len(combinations)).astype(np.float64)

        centres = _centres(data, group, codes, len(combinations))
        target = join_small(counts, sizes, centres, k, None if households is None else counted)
    kept, renumbered = np.unique(target, return_inverse=True)
    merged = np.array([int(np.sum(target == target[number])) > 1 for number in range(len(combinations))])
    labels = [label(cuts, row) for row in combinations.tolist()]
    mixed = {
        name
        for position, each in enumerate(cuts)
        for name in each.criterion.edits
        for into in kept
        if len(np.unique(combinations[target == into, position])) > 1
    }
    return Strata(
        renumbered[codes],
        tuple(
            Stratum(label, int(size), bool(was) and int(count) < k)
            for label, size, count, was in zip(labels, sizes, counts, merged, strict=True)
        ),
        frozenset(mixed),
        k,
    )


def join_small(
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    centres: NDArray[np.float64],
    k: int,
    counted: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None,
) -> NDArray[np.int64]:
    """Join each stratum with fewer than k to the one with the nearest centre, the smallest first.

    `counts`: what k counts: records, or households; shape (s,). `sizes`: records; shape (s,). `centres`: standardised
    means; shape (s, p). Returns stratum that each of them is in then; shape (s,).
    """
    target, centres = np.arange(len(counts)), centres.copy()
    total = counts.astype(np.float64)
    alive = sizes > 0
    if np.sum(counts < k) > _MOST_MERGED_ONE_BY_ONE:
        _merge_many(counts, centres, target, alive, total, k)
        if counted is not None:
            total = counted(target)
    while (total[alive] < k).any() and alive.sum() > 1:
        small = int(min(np.flatnonzero(alive), key=lambda number: (total[number], number)))
        others = np.array([number for number in np.flatnonzero(alive) if number != small])
        distance = np.sum((centres[others] - centres[small]) ** 2, axis=1)
        into = int(others[np.argmin(distance)])
        weight = total[small] + total[into]
        centres[into] = (centres[into] * total[into] + centres[small] * total[small]) / weight
        total[into], alive[small] = weight, False
        target[target == small] = into
        if counted is not None:
            total[into] = counted(target)[into]
    return target


def _households_in(codes: NDArray[np.int64], households: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Number of households in each stratum; shape (count,)."""
    return np.bincount(np.unique(np.stack([codes, households], axis=1), axis=0)[:, 0], minlength=count)


def _merge_many(
    sizes: NDArray[np.int64],
    centres: NDArray[np.float64],
    target: NDArray[np.int64],
    alive: NDArray[np.bool_],
    total: NDArray[np.float64],
    k: int,
) -> None:
    """Merge thousands of small strata at once, each into the nearest large one, or all into the largest."""
    from scipy.spatial import cKDTree

    small = np.flatnonzero(sizes < k)
    large = np.flatnonzero(sizes >= k)
    if not len(large):
        large = np.array([int(np.argmax(sizes))])
        small = small[small != large[0]]
    _, nearest = cKDTree(centres[large]).query(centres[small])
    into = large[np.asarray(nearest)]
    target[small] = into
    np.add.at(total, into, sizes[small])
    alive[small] = False


def _centres(data: Dataset, group: Sequence[str], codes: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Standardised mean of each stratum; missing cells left out."""
    values = data.matrix(group)
    known = ~np.isnan(values)
    spread = np.array(
        [np.std(column[here]) if here.any() else 1.0 for column, here in zip(values.T, known.T, strict=True)]
    )
    spread[spread == 0] = 1.0
    centres = np.zeros((count, len(group)))
    for position in range(len(group)):
        here = known[:, position]
        sums = np.bincount(codes[here], weights=values[here, position] / spread[position], minlength=count)
        counts = np.bincount(codes[here], minlength=count)
        centres[:, position] = sums / np.maximum(counts, 1)
    return centres
