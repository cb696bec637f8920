"""Ruin and recreate: a few neighbouring groups are made anew, the descent goes on, and what is worse is taken back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import NONE, ZERO, compiled_uncounted, inlined_uncounted
from maskwright_builtin.numerics.spatial import squared_distance
from maskwright_builtin.partitions.refine.descent_kernel import descend
from maskwright_builtin.partitions.refine.groups import (
    FREE,
    TOUCHED,
    Groups,
    Index,
    empty_queue,
    enqueue_members,
    put_in,
    save,
    take_back,
    weigh,
)

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32


SMALLEST_POOL, LARGEST_POOL = 3, 5
"""Groups that one kick dissolves: two are nearly always made the same again. Fewer where there are fewer around."""

MOST, ONE_FEWER = 0.4, 0.55
"""Random numbers below which as many groups are made as possible, and, from there, one fewer, which seldom pays."""

HOPELESS = 0.7
"""Groups made anew that are worse by more than this share of the old are taken back at once: hardly any recover."""

SAME = 1e-12
"""Groups made anew whose sum of squares differs by no more than this share are the old ones."""

NUMBERS = 64
"""Random numbers of one kick: 2 + 36 for the groups to dissolve, 2 for how many to make, 18 for their seeds, 1."""

ENDLESS = ZERO + (1 << 62)


class Pool(NamedTuple):
    """Scratch memory of the kicks.

    `groups`: numbers of the groups dissolved, then of those made; shape (2 * LARGEST_POOL,). `records`: their members,
    those with a new group first; shape (LARGEST_POOL * (2k - 1). `sums`: shape (p,). `scratch`: of the descent; a mean
    stands in its first half meanwhile; shape (2p,). `dirty`: records whose group has changed since the best partition
    was noted; shape (n,). `is_dirty`: shape (n,). `best`: group of each record in the best partition; shape (n,).
    """

    groups: Integers
    records: Integers
    sums: Floats
    scratch: Floats
    dirty: Integers
    is_dirty: Booleans
    best: Integers32


def empty_pool(state: Groups, p: int) -> Pool:
    """Scratch memory for kicks from this partition, the best so far."""
    n = len(state.of)
    return Pool(
        groups=np.zeros(2 * LARGEST_POOL, dtype=np.int64),
        records=np.zeros(LARGEST_POOL * state.members.shape[1], dtype=np.int64),
        sums=np.zeros(p),
        scratch=np.zeros(2 * p),
        dirty=np.zeros(n, dtype=np.int64),
        is_dirty=np.zeros(n, dtype=np.bool_),
        best=state.of.copy(),
    )


@inlined_uncounted
def gather_groups(near: Integers32, record: Index, numbers: Floats, pool: Pool, state: Groups) -> int:
    """List the group of a record and two to four groups around it; return how many there are.

    `near`: near records of each record; shape (n, q).
    """
    groups = pool.groups
    groups[0] = state.of[record]
    count = 1
    at = 2
    for _ in range(SMALLEST_POOL - 1 + int(numbers[1] * (LARGEST_POOL - SMALLEST_POOL + 1))):
        for _ in range(3):
            group = groups[int(numbers[at] * count)]
            member = state.members[group, int(numbers[at + 1] * state.sizes[group])]
            other = state.of[near[member, int(numbers[at + 2] * near.shape[1])]]
            at += 3
            known = False
            for i in range(count):
                known = known or groups[i] == other
            if not known:
                groups[count] = other
                count += 1
                break
    return count


@inlined_uncounted
def new_count(m: int, count: int, k: int, numbers: Floats) -> int:
    """How many groups to make of m records that were in `count` groups: often as many as possible."""
    most, least = m // k, -(-m // (2 * k - 1))
    wanted = most if numbers[38] < MOST else count - 1 if numbers[38] < ONE_FEWER else count
    return min(max(wanted, least), most)


@inlined_uncounted
def recreate(points: Floats, m: int, made: int, k: int, numbers: Floats, pool: Pool, state: Groups) -> None:
    """Make groups of k around outlying or random seeds; the records left over go to groups with near members.

    `points`: shape (n, p).
    """
    p = points.shape[1]
    records, sums, center = pool.records, pool.sums, pool.scratch
    done = 0
    for turn in range(made):
        group = pool.groups[turn]
        chosen = done + int(numbers[40 + 2 * turn] * (m - done))
        if numbers[39 + 2 * turn] < 0.7:
            sums[:] = 0.0
            for i in range(done, m):
                for j in range(p):
                    sums[j] += points[records[i], j]
            for j in range(p):
                center[j] = sums[j] / (m - done)
            farthest = -1.0
            for i in range(done, m):
                distance = squared_distance(points, records[i], center)
                if distance > farthest:
                    farthest, chosen = distance, i
        sums[:] = 0.0
        for size in range(k):
            if size > 0:
                for j in range(p):
                    center[j] = sums[j] / size
                nearest = np.inf
                for i in range(done, m):
                    distance = squared_distance(points, records[i], center)
                    if distance < nearest:
                        nearest, chosen = distance, i
            row = records[chosen]
            records[chosen], records[done] = records[done], row
            done += 1
            put_in(row, group, state.of, state.slots, state.members, state.sizes)
            for j in range(p):
                sums[j] += points[row, j]
    room = 2 * k - 1
    for i in range(done, m):
        row = records[i]
        nearest = np.inf
        home: Index = NONE
        for other in range(i):
            group = np.int64(state.of[records[other]])
            if state.sizes[group] < room:
                distance = squared_distance(points, row, points[records[other]])
                if distance < nearest or home < 0:
                    nearest, home = distance, group
        put_in(row, home, state.of, state.slots, state.members, state.sizes)
    for turn in range(made):
        group = pool.groups[turn]
        weigh(points, group, state)
        enqueue_members(group, state)


@inlined_uncounted
def ruin(count: int, kick: int, k: int, numbers: Floats, pool: Pool, state: Groups) -> tuple[int, int]:
    """Dissolve the listed groups, and list the numbers of those to be made; return members and new groups."""
    m = ZERO
    for i in range(count):
        group = pool.groups[i]
        save(group, kick, state)
        for slot in range(state.sizes[group]):
            pool.records[m] = state.members[group, slot]
            m += 1
        state.sizes[group] = 0
    made = new_count(m, count, k, numbers)
    for i in range(made, count):
        state.free[state.counts[FREE]] = pool.groups[i]
        state.counts[FREE] += 1
    for i in range(count, made):
        state.counts[FREE] -= 1
        pool.groups[i] = state.free[state.counts[FREE]]
        save(pool.groups[i], kick, state)
    return m, made


@inlined_uncounted
def changed(state: Groups) -> tuple[float, float]:
    """Sum of squares of the saved groups as they were, and how much larger that of what they have become is."""
    before = after = 0.0
    for at in range(state.counts[TOUCHED]):
        group = state.touched[at]
        if state.sizes[group] > 0:
            after += float(state.errors[group])
        if state.old_sizes[at] > 0:
            before += float(state.old_errors[at])
    return before, after - before


@inlined_uncounted
def note_changes(pool: Pool, state: Groups, dirty: int) -> int:
    """Add the members of the groups that a kick has changed to those whose group is not the noted one."""
    for at in range(state.counts[TOUCHED]):
        for slot in range(state.old_sizes[at]):
            record = state.old_members[at, slot]
            if not pool.is_dirty[record]:
                pool.is_dirty[record] = True
                pool.dirty[dirty] = record
                dirty += 1
    return dirty


@inlined_uncounted
def note_best(pool: Pool, state: Groups, dirty: int) -> None:
    """Make this partition the best one."""
    for i in range(dirty):
        record = pool.dirty[i]
        pool.is_dirty[record] = False
        pool.best[record] = state.of[record]


@compiled_uncounted
def kick_groups(
    points: Floats,
    near: Integers32,
    k: int,
    numbers: Floats,
    temperatures: Floats,
    starts: Integers,
    first: int,
    visit: int,
    pool: Pool,
    state: Groups,
    progress: Floats,
) -> int:
    """Kick the groups of some records, one after the other.

    `numbers`: uniform on [0, 1); shape (m, NUMBERS). `temperatures`: times the root of the mean sum of squares of the
    groups dissolved; 0: only what is not worse is kept; shape (m,). `starts`: the records; shape (m,). `progress`:
    change of the sum of squares so far, the lowest so far, and the number of records in `pool.dirty`; written; shape
    (3,).
    """
    for i in range(starts.shape[0]):
        kick = first + i
        count = gather_groups(near, starts[i], numbers[i], pool, state)
        if count == 1:
            continue
        state.counts[TOUCHED] = 0
        m, made = ruin(count, kick, k, numbers[i], pool, state)
        recreate(points, m, made, k, numbers[i], pool, state)
        before, change = changed(state)
        if abs(change) <= SAME * before or change > HOPELESS * before:
            empty_queue(state)
            take_back(points, state)
            state.counts[FREE] += made - count
            continue
        # As hot as the groups are wide: those of outliers would else be frozen while the others still boil.
        temperature = temperatures[i] * math.sqrt(before / count)
        visit = descend(points, near, pool.scratch, state, k, kick, visit, ENDLESS)
        _, change = changed(state)
        accepted = change <= 0.0 or (temperature > 0.0 and numbers[i, NUMBERS - 1] < math.exp(-change / temperature))
        if not accepted:
            take_back(points, state)
            state.counts[FREE] += made - count
            continue
        progress[0] += change
        dirty = note_changes(pool, state, int(progress[2]))
        if progress[0] <= progress[1]:
            progress[1] = progress[0]
            note_best(pool, state, dirty)
            dirty = 0
        progress[2] = dirty
    return visit
