"""The groups that refinement works on: members, means, sums of squares, and how changes are taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import inlined_uncounted

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32


SAVED = 512
"""Groups that one kick may touch; more are left as they are. Seldom more than 40 are."""

Index = Any
"""A whole number, often an element of an array of them."""

FREE, WAITING, HEAD, TOUCHED = 0, 1, 2, 3
"""Places in `Groups.counts`: unused group numbers, length and head of the queue, saved groups."""


SIZE, INVERSE, ERROR, RADIUS, SEEN, HEADER = 0, 1, 2, 3, 4, 5
"""Places in a row of `Groups.heads` after the mean: size, 1 / size, sum of squares, largest squared length of an
offset, last visit that looked at the group; and the number of places."""


LANES = 4
"""Members whose offsets lie side by side, to be looked at together."""


class Groups(NamedTuple):
    """A partition of n records into at most g groups, for each of which there is room for 2k - 1 records.

    `of`, `slots`: group of each record, and its place among the members; shape (n,). `members`: shape (g, 2k - 1).
    `sizes`: 0 where a number is not in use; shape (g,). `errors`: sum of squares about the mean; shape (g,). `heads`:
    what a visit reads of a group in any case: the mean and more; shape (g, p + HEADER). `offsets`: for LANES members at
    a time, their offsets from the mean, then the sums of squares of these, which are minus infinity where there is no
    member; shape (g, q, p + 1, LANES). `free`: unused numbers, a stack; shape (g,). `queue`: records to look at, a
    ring; shape (n,). `queued`: shape (n,). `counts`: shape (4,). `stamps`: last kick that saved a group; shape (g,).
    `touched`: numbers of the saved groups; then, for each, what they were:; shape (s,).
    """

    of: Integers32
    slots: Integers32
    members: Integers32
    sizes: Integers
    errors: Floats
    heads: Floats
    offsets: Floats
    free: Integers
    queue: Integers32
    queued: Booleans
    counts: Integers
    stamps: Integers
    touched: Integers
    old_members: Integers32
    old_sizes: Integers
    old_errors: Floats


def empty_groups(n: int, p: int, k: int) -> Groups:
    """Groups without members, all records in the queue."""
    g = n // k
    saved = min(g, SAVED)
    room = 2 * k - 1
    return Groups(
        of=np.zeros(n, dtype=np.int32),
        slots=np.zeros(n, dtype=np.int32),
        members=np.zeros((g, room), dtype=np.int32),
        sizes=np.zeros(g, dtype=np.int64),
        errors=np.zeros(g),
        heads=np.zeros((g, p + HEADER)),
        offsets=np.zeros((g, -(-room // LANES), p + 1, LANES)),
        free=np.zeros(g, dtype=np.int64),
        queue=np.arange(n, dtype=np.int32),
        queued=np.ones(n, dtype=np.bool_),
        counts=np.array([0, n, 0, 0], dtype=np.int64),
        stamps=np.full(g, -1, dtype=np.int64),
        touched=np.zeros(saved, dtype=np.int64),
        old_members=np.zeros((saved, room), dtype=np.int32),
        old_sizes=np.zeros(saved, dtype=np.int64),
        old_errors=np.zeros(saved),
    )


@inlined_uncounted
def weigh(points: Floats, group: Index, state: Groups) -> None:
    """Compute the mean and the sum of squares of a group, from its members each time: nothing drifts.

    `points`: shape (n, p).
    """
    p = points.shape[1]
    members, head, offsets = state.members[group], state.heads[group], state.offsets[group]
    size = state.sizes[group]
    first = members[0]
    for j in range(p):
        origin = points[first, j]
        total = 0.0
        # Offsets from a member: the mean of equal records is that record, exactly.
        for slot in range(1, size):
            total += points[members[slot], j] - origin
        head[j] = origin + total / size
    error = radius = 0.0
    for slot in range(size):
        block, lane = slot // LANES, slot % LANES
        row = members[slot]
        squares = 0.0
        for j in range(p):
            offset = points[row, j] - head[j]
            offsets[block, j, lane] = offset
            squares += offset * offset
        offsets[block, p, lane] = squares
        error += squares
        radius = max(radius, squares)
    for slot in range(size, -(-size // LANES) * LANES):
        offsets[slot // LANES, p, slot % LANES] = -np.inf
    state.errors[group] = error
    head[p + SIZE] = size
    head[p + INVERSE] = 1.0 / size
    head[p + ERROR] = error
    head[p + RADIUS] = radius


@inlined_uncounted
def take_out(record: Index, of: Integers32, slots: Integers32, members: Integers32, sizes: Integers) -> None:
    """Take a record out of its group; the last member gets its place."""
    group, slot = of[record], slots[record]
    sizes[group] -= 1
    last = members[group, sizes[group]]
    members[group, slot] = last
    slots[last] = slot


@inlined_uncounted
def put_in(
    record: Index, group: Index, of: Integers32, slots: Integers32, members: Integers32, sizes: Integers
) -> None:
    """Make a record the last member of a group."""
    slot = sizes[group]
    members[group, slot] = record
    of[record] = group
    slots[record] = slot
    sizes[group] += 1


@inlined_uncounted
def put_back(
    record: Index, group: Index, slot: Index, of: Integers32, slots: Integers32, members: Integers32, sizes: Integers
) -> None:
    """Undo `take_out`: the record's place, and that of the last member, are as they were."""
    last = members[group, slot]
    end = sizes[group]
    members[group, end] = last
    slots[last] = end
    members[group, slot] = record
    of[record] = group
    slots[record] = slot
    sizes[group] += 1


@inlined_uncounted
def exchange(one: Index, other: Index, of: Integers32, slots: Integers32, members: Integers32) -> None:
    """Exchange the places of two records; undone by doing it again."""
    group, slot = of[one], slots[one]
    of[one], slots[one] = of[other], slots[other]
    of[other], slots[other] = group, slot
    members[of[one], slots[one]] = one
    members[of[other], slots[other]] = other


@inlined_uncounted
def save(group: Index, kick: int, state: Groups) -> bool:
    """Remember a group as it is before this kick changes it; False when there is no room for more."""
    if state.stamps[group] == kick:
        return True
    at = state.counts[TOUCHED]
    if at == state.touched.shape[0]:
        return False
    size = state.sizes[group]
    state.stamps[group] = kick
    state.touched[at] = group
    state.old_sizes[at] = size
    state.old_errors[at] = state.errors[group]
    for slot in range(size):
        state.old_members[at, slot] = state.members[group, slot]
    state.counts[TOUCHED] = at + 1
    return True


@inlined_uncounted
def take_back(points: Floats, state: Groups) -> None:
    """Make every saved group what it was."""
    for at in range(state.counts[TOUCHED]):
        group = state.touched[at]
        size = state.old_sizes[at]
        state.sizes[group] = size
        for slot in range(size):
            record = state.old_members[at, slot]
            state.members[group, slot] = record
            state.of[record] = group
            state.slots[record] = slot
        if size > 0:
            weigh(points, group, state)


@inlined_uncounted
def enqueue_members(group: Index, state: Groups) -> None:
    """Queue the members of a group that do not wait already."""
    n = state.queue.shape[0]
    for slot in range(state.sizes[group]):
        record = state.members[group, slot]
        if not state.queued[record]:
            state.queued[record] = True
            end = state.counts[HEAD] + state.counts[WAITING]
            state.queue[end if end < n else end - n] = record
            state.counts[WAITING] += 1


@inlined_uncounted
def empty_queue(state: Groups) -> None:
    """Let no record wait."""
    n = state.queue.shape[0]
    for _ in range(state.counts[WAITING]):
        head = state.counts[HEAD]
        state.queued[state.queue[head]] = False
        state.counts[HEAD] = head + 1 if head + 1 < n else 0
    state.counts[WAITING] = 0
