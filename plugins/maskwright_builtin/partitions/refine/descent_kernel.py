"""Descent by moves and swaps between neighbouring groups, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import NONE, compiled_uncounted, inlined_uncounted
from maskwright_builtin.partitions.refine.groups import (
    ERROR,
    FREE,
    HEAD,
    INVERSE,
    LANES,
    RADIUS,
    SEEN,
    SIZE,
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
    from maskwright_builtin.numerics.arrays import Floats, Integers, Integers32


NOTHING, LEAVE, FETCH, SWAP = 0, 1, 2, 3
"""What a visit may do: the record moves to another group, another record comes to its group, or both."""

GAIN = 1e-10
"""Changes below this share of the two groups' sum of squares are not worth making, and may be rounding."""

CAUTION = 1.0 - 1e-9
"""Share of a squared bound that is trusted, for rounding."""


@compiled_uncounted
def fill(points: Floats, labels: Integers, state: Groups) -> None:
    """Put the records into the groups that their labels name, 0..c-1; numbers from c on are unused.

    `points`: shape (n, p). `labels`: shape (n,).
    """
    for record in range(points.shape[0]):
        put_in(record, labels[record], state.of, state.slots, state.members, state.sizes)
    for group in range(state.sizes.shape[0] - 1, -1, -1):
        if state.sizes[group] == 0:
            state.free[state.counts[FREE]] = group
            state.counts[FREE] += 1
        else:
            weigh(points, group, state)


@inlined_uncounted
def best_exchange(
    points: Floats,
    near: Integers32,
    record: Index,
    visit: int,
    scratch: Floats,
    k: int,
    of: Integers32,
    heads: Floats,
    offsets: Floats,
) -> tuple[int, Index, Index]:
    """Find what a record can do that lowers the sum of squares most; return what, with which group and which member.

    With v the mean of the record's group less the record, u the other mean less the record, y a member's offset from
    its mean and h = 1 / size + 1 / other size, a swap changes the sum of squares by
    (2 - h) u.u - 2 u.v - 2 (v + (h - 1) u).y - h y.y.
    Over all offsets not longer than r that is lowest for y of length r along v + (h - 1) u: members are looked at where
    that is below the best change so far.

    A member that comes is at least as far from the record's mean as the two means are apart, less its offset. The
    longer that is, the lower the change can be: again members are looked at where the longest may do.

    `points`: shape (n, p). `near`: near records of each record; shape (n, q). `scratch`: shape (2p,).
    """
    p, room = points.shape[1], 2 * k - 1
    here = of[record]
    own = heads[here]
    size, error = own[p + SIZE], own[p + ERROR]
    squares = 0.0
    for j in range(p):
        difference = own[j] - points[record, j]
        scratch[j] = difference
        squares += difference * difference
    leaving = squares * size / (size - 1.0)
    kind = NOTHING
    partner_group: Index = NONE
    partner: Index = NONE
    best = 0.0
    for neighbour in range(near.shape[1]):
        there: Index = np.int64(of[near[record, neighbour]])
        head = heads[there]
        if there == here or head[p + SEEN] == visit:
            continue
        head[p + SEEN] = visit
        other_size = head[p + SIZE]
        best = min(best, -GAIN * (error + head[p + ERROR]))
        share = own[p + INVERSE] + head[p + INVERSE]
        product = distance = 0.0
        for j in range(p):
            towards = head[j] - points[record, j]
            product += scratch[j] * towards
            distance += towards * towards
        if size > k and other_size < room:
            change = distance * other_size / (other_size + 1.0) - leaving
            if change < best:
                best = change
                kind, partner_group, partner = LEAVE, there, -1
        constant = (2.0 - share) * distance - 2.0 * product
        steepness = max(squares + (share - 1.0) * (2.0 * product + (share - 1.0) * distance), 0.0)
        members = int(other_size)
        radius = head[p + RADIUS]
        above = constant - share * radius - best
        # Squared: a root would take as long as the distance.
        if above < 0.0 or above * above * CAUTION < 4.0 * radius * steepness:
            # Once for all members: their offsets are multiplied by it.
            for j in range(p):
                scratch[p + j] = -2.0 * (scratch[j] + (share - 1.0) * (head[j] - points[record, j]))
            for block in range((members + LANES - 1) // LANES):
                piece = offsets[there, block]
                c0 = c1 = c2 = c3 = 0.0
                for j in range(p):
                    slope = scratch[p + j]
                    c0 += piece[j, 0] * slope
                    c1 += piece[j, 1] * slope
                    c2 += piece[j, 2] * slope
                    c3 += piece[j, 3] * slope
                c0 -= share * piece[p, 0]
                c1 -= share * piece[p, 1]
                c2 -= share * piece[p, 2]
                c3 -= share * piece[p, 3]
                lane = 0
                if c1 < c0:
                    c0, lane = c1, 1
                if c2 < c0:
                    c0, lane = c2, 2
                if c3 < c0:
                    c0, lane = c3, 3
                if constant + c0 < best:
                    best = constant + c0
                    kind, partner_group, partner = SWAP, there, block * LANES + lane
        if other_size > k and size < room:
            # For few members it takes as long to ask as to look at them.
            if k > LANES:
                gained, lost = size / (size + 1.0), other_size / (other_size - 1.0)
                apart = max(distance - 2.0 * product + squares, 0.0)
                above = gained * (apart + radius) - lost * radius - best
                if above >= 0.0 and above * above * CAUTION >= 4.0 * gained * gained * apart * radius:
                    continue
            for slot in range(members):
                arriving = leaving_there = 0.0
                for j in range(p):
                    offset = offsets[there, slot // LANES, j, slot % LANES]
                    difference = offset + (head[j] - own[j])
                    arriving += difference * difference
                    leaving_there += offset * offset
                change = arriving * size / (size + 1.0) - leaving_there * other_size / (other_size - 1.0)
                if change < best:
                    best = change
                    kind, partner_group, partner = FETCH, there, slot
    return kind, partner_group, partner


@inlined_uncounted
def carry_out(points: Floats, kind: int, record: Index, there: Index, partner: Index, state: Groups) -> None:
    """Do what was found, unless the sum of squares, computed anew, does not fall: every descent ends.

    `points`: shape (n, p).
    """
    of, slots, members, sizes = state.of, state.slots, state.members, state.sizes
    here: Index = np.int64(of[record])
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
    # One call in a loop is compiled in once.
    for turn in range(2):
        weigh(points, here if turn == 0 else there, state)
    if state.errors[here] + state.errors[there] < before:
        for turn in range(2):
            enqueue_members(here if turn == 0 else there, state)
        return
    if kind == SWAP:
        exchange(record, partner, of, slots, members)
    else:
        sizes[target] -= 1
        put_back(mover, source, slot, of, slots, members, sizes)
    for turn in range(2):
        weigh(points, here if turn == 0 else there, state)


@compiled_uncounted
def descend(
    points: Floats, near: Integers32, scratch: Floats, state: Groups, k: int, kick: int, visit: int, budget: int
) -> int:
    """Let the queued records move or swap until none gains.

    `points`: shape (n, p). `near`: neighbours, whose groups are those that a record may deal with; shape (n, q).
    `scratch`: shape (2p,). `kick`: number of the kick that saves what it changes, or -1: nothing is saved.
    """
    n = points.shape[0]
    # Taken out of the record once: see `find_nearest` of MDAV.
    of, heads, offsets, counts = state.of, state.heads, state.offsets, state.counts
    last = visit + budget
    while counts[WAITING] > 0 and visit < last:
        head = counts[HEAD]
        record = state.queue[head]
        counts[HEAD] = head + 1 if head + 1 < n else 0
        counts[WAITING] -= 1
        state.queued[record] = False
        visit += 1
        kind, there, slot = best_exchange(points, near, record, visit, scratch, k, of, heads, offsets)
        if kind == NOTHING:
            continue
        if kick >= 0 and not (save(np.int64(of[record]), kick, state) and save(there, kick, state)):
            continue
        partner = state.members[there, slot] if slot >= 0 else record
        carry_out(points, kind, record, there, partner, state)
    return visit
