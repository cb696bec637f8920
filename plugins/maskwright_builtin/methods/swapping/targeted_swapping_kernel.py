"""Partners of households that are swapped, compiled: the riskiest similar one outside the own area."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

ABSENT = -1.0
"""Key of a bucket in which no one is left; keys of households are not negative."""


@compiled
def _left(bucket: int, front: Integers, stops: Integers, order: Integers, partners: Integers) -> int:
    """Household of a bucket with the largest key that has no partner yet, -1 if there is none."""
    while front[bucket] < stops[bucket]:
        household = order[front[bucket]]
        if partners[household] < 0:
            return int(household)
        front[bucket] += 1
    return -1


@compiled
def _largest(tree: Floats, size: int, start: int, stop: int) -> int:
    """Leaf of the largest number in a range of leaves; -1 where all are `ABSENT`."""
    low, high = start + size, stop + size
    node, found = -1, ABSENT
    while low < high:
        if low & 1:
            if tree[low] > found:
                node, found = low, tree[low]
            low += 1
        if high & 1:
            high -= 1
            if tree[high] > found:
                node, found = high, tree[high]
        low //= 2
        high //= 2
    if node < 0:
        return -1
    while node < size:
        node = 2 * node if tree[2 * node] == found else 2 * node + 1
    return node - size


@compiled
def _update(tree: Floats, size: int, leaf: int, key: float) -> None:
    node = leaf + size
    tree[node] = key
    node //= 2
    while node > 0:
        tree[node] = max(tree[2 * node], tree[2 * node + 1])
        node //= 2


@compiled
def swap_households(
    waiting: Integers,
    group: Integers,
    wanted: Integers,
    keys: Floats,
    buckets: Integers,
    order: Integers,
    starts: Integers,
    profile_starts: Integers,
    profile_stops: Integers,
    partners: Integers,
) -> None:
    """Give households in `waiting` partners, in their order, until each group has as many swaps as it wants.

    A household is swapped with the one of the largest key that has none yet, on the first profile that offers one.

    `waiting`: households that look for a partner; those that have one meanwhile are passed over; shape (w,). `group`:
    group of each of them, 0..g-1; shape (w,). `wanted`: swaps that each group may still begin; written; shape (g,).
    `keys`: Positive; larger ones are taken first; shape (H,). `buckets`: of each profile, the bucket of a household:
    those of its area and with its profile, numbered so that buckets with the same profile follow each other; shape (q,
    H). `order`: households by bucket, then by falling key; shape (q, H). `starts`: where each bucket begins in `order`;
    shape (q, B + 1). `profile_starts`, `profile_stops`: range of the buckets with the same profile as a bucket; shape
    (q, B). `partners`: of each household, -1 where it has none; written; shape (H,).
    """
    several, most = profile_starts.shape
    size = 1
    while size < most:
        size *= 2
    trees = np.full((several, 2 * size), ABSENT)
    front = starts[:, :-1].copy()
    for profile in range(several):
        for bucket in range(most):
            first = _left(bucket, front[profile], starts[profile, 1:], order[profile], partners)
            if first >= 0:
                trees[profile, size + bucket] = keys[first]
        for node in range(size - 1, 0, -1):
            trees[profile, node] = max(trees[profile, 2 * node], trees[profile, 2 * node + 1])
    for place in range(waiting.shape[0]):
        household = waiting[place]
        if partners[household] >= 0 or wanted[group[place]] <= 0:
            continue
        for profile in range(several):
            own = buckets[profile, household]
            begin, end = profile_starts[profile, own], profile_stops[profile, own]
            before = _largest(trees[profile], size, begin, own)
            after = _largest(trees[profile], size, own + 1, end)
            bucket = before
            if before < 0 or (after >= 0 and trees[profile, size + after] > trees[profile, size + before]):
                bucket = after
            if bucket < 0:
                continue
            other = _left(bucket, front[profile], starts[profile, 1:], order[profile], partners)
            partners[household], partners[other] = other, household
            wanted[group[place]] -= 1
            for each in range(several):
                for moved in (household, other):
                    changed = buckets[each, moved]
                    first = _left(changed, front[each], starts[each, 1:], order[each], partners)
                    _update(trees[each], size, changed, keys[first] if first >= 0 else ABSENT)
            break
