"""Descent by moves and swaps between neighbouring groups, compiled.

After a change in `refine_groups` or `mdav_leaves` touch this file too: machine code is kept by its date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_builtin.partitions.mdav_leaves import compiled, inlined
from maskwright_builtin.partitions.refine_groups import (
    FREE,
    HEAD,
    WAITING,
    Groups,
    Index,
    enqueue_members,
    exchange,
    put_back,
    put_in,
    save,
    take_out,
    weigh,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOTHING, LEAVE, FETCH, SWAP = 0, 1, 2, 3
"""What a visit may do: the record moves to another group, another record comes to its group, or both."""

GAIN = 1e-10
"""Changes below this share of the two groups' sum of squares are not worth making, and may be rounding."""


@compiled
def fill(points: NDArray[np.float64], labels: NDArray[np.int64], state: Groups) -> None:
    """Put the records into the groups that their labels name, 0..c-1; numbers from c on are unused."""
    for record in range(points.shape[0]):
        put_in(record, labels[record], state.of, state.slots, state.members, state.sizes)
    for group in range(state.sizes.shape[0] - 1, -1, -1):
        if state.sizes[group] == 0:
            state.free[state.counts[FREE]] = group
            state.counts[FREE] += 1
        else:
            state.errors[group] = weigh(points, state.members[group], state.sizes[group], state.means[group])


@inlined
def best_exchange(
    points: NDArray[np.float64],
    norms: NDArray[np.float64],
    near: NDArray[np.int32],
    record: Index,
    visit: int,
    direction: NDArray[np.float64],
    k: int,
    of: NDArray[np.int32],
    members: NDArray[np.int32],
    sizes: NDArray[np.int64],
    means: NDArray[np.float64],
    errors: NDArray[np.float64],
    seen: NDArray[np.int64],
) -> tuple[int, Index, Index]:
    """Find what a record can do that lowers the sum of squares most; return what, with which group and record."""
    p, room = points.shape[1], 2 * k - 1
    here = of[record]
    size = sizes[here]
    own = 0.0
    for j in range(p):
        difference = points[record, j] - means[here, j]
        own += difference * difference
    leaving = own * size / (size - 1)
    kind, partner_group, partner = NOTHING, -1, -1
    best = 0.0
    for neighbour in range(near.shape[1]):
        there = of[near[record, neighbour]]
        if there == here or seen[there] == visit:
            continue
        seen[there] = visit
        other_size = sizes[there]
        threshold = -GAIN * (errors[here] + errors[there])
        best_here = threshold if threshold < best else best
        share = 1.0 / size + 1.0 / other_size
        distance = constant = 0.0
        for j in range(p):
            value, mean = points[record, j], means[there, j]
            difference = value - mean
            distance += difference * difference
            # A swap with x changes the sum of squares by x.direction - share * abs(x)**2 + constant.
            along = 2.0 * (share * value - (means[here, j] - mean))
            direction[j] = along
            constant -= along * value
        constant += share * norms[record]
        if size > k and other_size < room:
            change = distance * other_size / (other_size + 1) - leaving
            if change < best_here:
                best = best_here = change
                kind, partner_group, partner = LEAVE, there, -1
        for slot in range(other_size):
            row = members[there, slot]
            change = constant - share * norms[row]
            for j in range(p):
                change += points[row, j] * direction[j]
            if change < best_here:
                best = best_here = change
                kind, partner_group, partner = SWAP, there, row
        if other_size > k and size < room:
            for slot in range(other_size):
                row = members[there, slot]
                to_here = from_there = 0.0
                for j in range(p):
                    value = points[row, j]
                    difference = value - means[here, j]
                    to_here += difference * difference
                    difference = value - means[there, j]
                    from_there += difference * difference
                change = to_here * size / (size + 1) - from_there * other_size / (other_size - 1)
                if change < best_here:
                    best = best_here = change
                    kind, partner_group, partner = FETCH, there, row
    return kind, partner_group, partner


@inlined
def carry_out(
    points: NDArray[np.float64], kind: int, record: Index, there: Index, partner: Index, state: Groups
) -> None:
    """Do what was found, unless the sum of squares, computed anew, does not fall: every descent ends."""
    of, slots, members, sizes = state.of, state.slots, state.members, state.sizes
    here = of[record]
    before = state.errors[here] + state.errors[there]
    mover = partner if kind == FETCH else record
    source = there if kind == FETCH else here
    target = here if kind == FETCH else there
    slot = slots[mover]
    if kind == SWAP:
        exchange(record, partner, of, slots, members)
    else:
        take_out(mover, of, slots, members, sizes)
        put_in(mover, target, of, slots, members, sizes)
    state.errors[here] = weigh(points, members[here], sizes[here], state.means[here])
    state.errors[there] = weigh(points, members[there], sizes[there], state.means[there])
    if state.errors[here] + state.errors[there] < before:
        enqueue_members(here, state)
        enqueue_members(there, state)
        return
    if kind == SWAP:
        exchange(record, partner, of, slots, members)
    else:
        sizes[target] -= 1
        put_back(mover, source, slot, of, slots, members, sizes)
    state.errors[here] = weigh(points, members[here], sizes[here], state.means[here])
    state.errors[there] = weigh(points, members[there], sizes[there], state.means[there])


@compiled
def descend(
    points: NDArray[np.float64],
    norms: NDArray[np.float64],
    near: NDArray[np.int32],
    direction: NDArray[np.float64],
    state: Groups,
    k: int,
    kick: int,
    visit: int,
    budget: int,
) -> int:
    """Let the queued records move or swap until none gains.

    Parameters
    ----------
    points : ndarray of shape (n, p), float64
    norms : ndarray of shape (n,), float64
        Squared length of each point.
    near : ndarray of shape (n, q), int32
        Neighbours, whose groups are those that a record may deal with.
    direction : ndarray of shape (p,), float64
        Scratch.
    state : Groups
    k : int
        At least 2.
    kick : int
        Number of the kick that saves what it changes, or -1: nothing is saved.
    visit : int
        Number of visits so far, in all calls.
    budget : int
        Visits in this call; the rest stays in the queue.

    Returns
    -------
    int
        Number of visits so far.
    """
    n = points.shape[0]
    # Taken out of the record once: see `mdav_search.find_nearest`.
    of, members, sizes = state.of, state.members, state.sizes
    means, errors, seen, counts = state.means, state.errors, state.seen, state.counts
    last = visit + budget
    while counts[WAITING] > 0 and visit < last:
        head = counts[HEAD]
        record = state.queue[head]
        counts[HEAD] = head + 1 if head + 1 < n else 0
        counts[WAITING] -= 1
        state.queued[record] = False
        visit += 1
        kind, there, partner = best_exchange(
            points, norms, near, record, visit, direction, k, of, members, sizes, means, errors, seen
        )
        if kind == NOTHING:
            continue
        if kick >= 0 and not (save(of[record], kick, state) and save(there, kick, state)):
            continue
        carry_out(points, kind, record, there, partner, state)
    return visit
