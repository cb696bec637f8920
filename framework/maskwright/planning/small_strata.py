"""Strata with too few records, joined with the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.classes.classes import Classes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.strata import Cut

_MOST_MERGED_ONE_BY_ONE = 500
"""Small strata up to which each joins the nearest one as it is by then; more join the nearest large one at once."""


def join_strata(
    combinations: Integers,
    cuts: Sequence[Cut],
    counts: Integers,
    sizes: Integers,
    centres: Floats,
    k: int,
    counted: Callable[[Integers], Floats] | None = None,
) -> Integers:
    """Join strata with fewer than k, as `join_small` does.

    Those with the same cells missing come first, of the same value of `within` before others, where k records have
    these cells: whoever is joined with others is known by the cells that are missing. `combinations`: shape (s, cuts).
    """
    stages: list[Integers] = []
    outer = np.zeros(len(combinations), dtype=np.int64)
    if cuts and cuts[0].criterion.apart:
        outer = combinations[:, 0]
    gaps = [at for at, each in enumerate(cuts) if each.gaps]
    if gaps:
        pattern = _renumbered_rows(combinations[:, gaps])
        held = np.bincount(pattern, counts) if counted is None else counted(pattern)
        alone = len(combinations) + np.arange(len(combinations))
        stages = [
            np.where(held[pattern] >= k, codes, alone)
            for codes in (_renumbered_rows(np.column_stack([outer, pattern])), pattern)
        ]
    return join_small(counts, sizes, centres, k, counted, (*stages, outer))


def _renumbered_rows(codes: Integers) -> Integers:
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def join_small(
    counts: Integers,
    sizes: Integers,
    centres: Floats,
    k: int,
    counted: Callable[[Integers], Floats] | None = None,
    stages: Sequence[Integers] = (),
) -> Integers:
    """Join each stratum with fewer than k to the one with the nearest centre, the smallest first.

    `counts`: what k counts: records, or households; shape (s,). `sizes`: records; shape (s,). `centres`: standardised
    means; shape (s, p). `stages`: codes; strata with the same one are joined with one another before those of the next
    stage; shape (s,). Returns stratum that each of them is in then; shape (s,).
    """
    target, centres = np.arange(len(counts)), centres.copy()
    total = counts.astype(np.float64)
    alive = sizes > 0
    for codes in (*stages, np.zeros(len(counts), dtype=np.int64)):
        small = np.unique(codes[alive & (total < k)])
        for code in small[np.bincount(codes[alive], minlength=int(codes.max()) + 1)[small] > 1]:
            _join_nearest(np.flatnonzero(alive & (codes == code)), centres, target, alive, total, k, counted)
    return target


def _join_nearest(
    own: Integers,
    centres: Floats,
    target: Integers,
    alive: Booleans,
    total: Floats,
    k: int,
    counted: Callable[[Integers], Floats] | None,
) -> None:
    """Join the small ones of some strata with the nearest of them."""
    if np.sum(total[own] < k) > _MOST_MERGED_ONE_BY_ONE:
        _merge_many(own, centres, target, alive, total, k)
        if counted is not None:
            total[:] = counted(target)
    while (total[own] < k).any() and len(own) > 1:
        small = int(min(own, key=lambda number: (total[number], number)))
        own = own[own != small]
        distance = np.sum((centres[own] - centres[small]) ** 2, axis=1)
        into = int(own[np.argmin(distance)])
        weight = total[small] + total[into]
        centres[into] = (centres[into] * total[into] + centres[small] * total[small]) / weight
        total[into], alive[small] = weight, False
        target[target == small] = into
        if counted is not None:
            total[into] = counted(target)[into]


def households_in(codes: Integers, households: Integers, count: int) -> Integers:
    """Number of households in each stratum; shape (count,)."""
    return np.bincount(Classes.of([codes, households]).keys[0], minlength=count)


def _merge_many(own: Integers, centres: Floats, target: Integers, alive: Booleans, total: Floats, k: int) -> None:
    """Merge thousands of small strata at once, each into the nearest large one, or all into the largest."""
    from scipy.spatial import cKDTree

    small, large = own[total[own] < k], own[total[own] >= k]
    if not len(large):
        large = own[[int(np.argmax(total[own]))]]
        small = small[small != large[0]]
    _, nearest = cKDTree(centres[large]).query(centres[small])
    into = large[np.asarray(nearest)]
    became = np.arange(len(target))
    became[small] = into
    target[:] = became[target]
    np.add.at(total, into, total[small])
    alive[small] = False


def centres_of(data: Dataset, group: Sequence[str], codes: Integers, count: int) -> Floats:
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
