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


def standardised(data: Dataset, group: Sequence[str]) -> Floats:
    """Values in units of each variable's standard deviation; 0 where cells are missing; shape (n, p)."""
    values = data.matrix(group)
    known = ~np.isnan(values)
    spread = np.array(
        [np.std(column[here]) if here.any() else 1.0 for column, here in zip(values.T, known.T, strict=True)]
    )
    spread[spread == 0] = 1.0
    result: Floats = np.nan_to_num(values / spread)
    return result


def centres_of(data: Dataset, group: Sequence[str], codes: Integers, count: int) -> Floats:
    """Standardised mean of each stratum; missing cells left out."""
    points = standardised(data, group)
    centres = np.zeros((count, len(group)))
    for position, name in enumerate(group):
        here = ~data[name].missing
        sums = np.bincount(codes[here], weights=points[here, position], minlength=count)
        centres[:, position] = sums / np.maximum(np.bincount(codes[here], minlength=count), 1)
    return centres


def apart_again(codes: Integers, pattern: Integers, points: Floats, k: int) -> Integers:
    """Strata in which records of rare patterns were joined with others, cut by pattern as far as k records allow.

    Each frequent pattern is a stratum of its own again. A rare one that has more than half of k records is filled up
    with the nearest records of others that can spare them: fewer change their pattern than if all of its records were
    joined with another one. The records of the others go where the nearest pattern is.

    `codes`: stratum of each record; shape (n,). `pattern`: of each record; shape (n,). `points`: standardised; shape
    (n, p).
    """
    result, count = codes.copy(), int(codes.max(initial=-1)) + 1
    order = np.argsort(codes, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        if len(own) >= 2 * k and (pattern[own] != pattern[own[0]]).any():
            parts = _filled(pattern[own], points[own], k)
            result[own[parts > 0]] = count - 1 + parts[parts > 0]
            count += int(parts.max())
    return result


def _filled(pattern: Integers, points: Floats, k: int) -> Integers:
    """Part of each record, 0..: of its pattern, unless that is too rare; shape (m,)."""
    _, home, sizes = np.unique(pattern, return_inverse=True, return_counts=True)
    part = home.reshape(-1).copy()
    cores = np.flatnonzero(2 * sizes > k)
    cores = cores[np.argsort(-sizes[cores], kind="stable")]
    if not len(cores):
        return np.zeros(len(part), dtype=np.int64)
    part[~np.isin(part, cores)] = -1
    centres = {int(core): points[home == core].mean(axis=0) for core in cores}
    for core in [int(each) for each in cores if sizes[each] < k]:
        distance = np.sum((points - centres[core]) ** 2, axis=1)
        # Who has no part of its own changes its pattern in any case.
        near = np.lexsort((distance, part >= 0))
        taken: list[int] = []
        held = np.bincount(part[part >= 0], minlength=len(sizes))
        for record in near[part[near] != core].tolist():
            if held[core] == k:
                break
            if part[record] < 0 or held[part[record]] > k:
                held[part[record]] -= part[record] >= 0
                held[core] += 1
                taken.append(record)
        if held[core] == k:
            part[taken] = core
        else:
            part[part == core] = -1
            del centres[core]
    if not centres:
        return np.zeros(len(part), dtype=np.int64)
    left, numbers = np.flatnonzero(part < 0), np.array(list(centres))
    if len(left):
        apart = [np.sum((points[left] - centre) ** 2, axis=1) for centre in centres.values()]
        part[left] = numbers[np.argmin(apart, axis=0)]
    return np.unique(part, return_inverse=True)[1].reshape(-1).astype(np.int64)
