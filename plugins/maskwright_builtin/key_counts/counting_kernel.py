"""Compiled: rows of packed keys are matched where keys are missing, and given their mean of 1 / F."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


SPREAD = np.int64(-7046029254386353131)
"""The odd number nearest to 2**64 divided by the golden ratio: multiplying spreads keys over the high bits."""


@inlined
def first_slot(words: Integers, row: int, common: Integers, last: int) -> int:
    """Where to look first for a row, by the bits in `common`; `last` is a power of two less one."""
    mixed = np.int64(0)
    for word in range(words.shape[1]):
        mixed = (mixed ^ (words[row, word] & common[word])) * SPREAD
        mixed ^= (mixed >> np.int64(32)) & np.int64(0xFFFFFFFF)
    return int(mixed & last)


@inlined
def are_equal(words: Integers, row: int, other: int, common: Integers) -> bool:
    """Whether two rows are equal by the bits in `common`."""
    same = True
    for word in range(words.shape[1]):
        same &= (words[row, word] ^ words[other, word]) & common[word] == 0
    return same


SUBSET, COMPLETE, ANY, MOST = 0, 1, 2, 3
"""Whom a row counts besides its equals: rows that show all that it shows; rows without missing keys; all; rows that
show more than half of what it shows."""


@inlined
def _counts(rule: int, mine: Integers, other: Integers, masks: Integers) -> bool:
    """Whether rows that show the keys in `mine` count rows that show those in `other`."""
    asked, shown, lacking = 0, 0, 0
    for key in range(masks.shape[0]):
        here, there = False, False
        for word in range(masks.shape[1]):
            here |= mine[word] & masks[key, word] != 0
            there |= other[word] & masks[key, word] != 0
        asked += here
        shown += here and there
        lacking += not there
    if rule == SUBSET:
        return shown == asked
    if rule == COMPLETE:
        return lacking == 0
    return rule == ANY or shown == asked or 2 * shown > asked


@compiled
def add_matches(
    words: Integers,
    observed: Integers,
    starts: Integers,
    masks: Integers,
    rule: int,
    size: Integers,
    weight: Floats,
    records: Integers,
    population: Floats,
) -> None:
    """Add to each row the records of rows with other keys missing that match it.

    Of each two patterns of missing keys, the smaller is put into a hash table by the keys that both show, and the
    larger is passed through it once, counting in both directions.

    `words`: different rows, those with the same keys missing next to each other; shape (r, w). `observed`: the bits of
    the keys that the rows of each pattern show; shape (m, w). `starts`: first row of each pattern; shape (m + 1,).
    `masks`: the bits of each key; shape (q, w). `size`, `weight`: records of each row, and the sum of their weights;
    shape (r,). `records`, `population`: added to; shape (r,).
    """
    patterns, width = observed.shape
    largest = 0
    for pattern in range(patterns):
        largest = max(largest, starts[pattern + 1] - starts[pattern])
    slots = 2
    while slots < 2 * largest:
        slots *= 2
    table = np.empty(slots, np.int32)
    head, group_of = np.empty(largest, np.int64), np.empty(largest, np.int64)
    there, there_weight = np.empty(largest, np.int64), np.empty(largest, np.float64)
    back, back_weight = np.empty(largest, np.int64), np.empty(largest, np.float64)
    common = np.empty(width, np.int64)
    for a in range(patterns):
        for b in range(a + 1, patterns):
            a_counts = _counts(rule, observed[a], observed[b], masks)
            b_counts = _counts(rule, observed[b], observed[a], masks)
            if not a_counts and not b_counts:
                continue
            small, large, small_counts, large_counts = a, b, a_counts, b_counts
            if starts[a + 1] - starts[a] > starts[b + 1] - starts[b]:
                small, large, small_counts, large_counts = b, a, b_counts, a_counts
            for word in range(width):
                common[word] = observed[a, word] & observed[b, word]
            begin, end = starts[small], starts[small + 1]
            last = 1
            while last < 2 * (end - begin):
                last *= 2
            table[:last] = 0
            last -= 1
            groups = 0
            for row in range(begin, end):
                slot = first_slot(words, row, common, last)
                while table[slot] != 0 and not are_equal(words, row, int(head[table[slot] - 1]), common):
                    slot = (slot + 1) & last
                if table[slot] == 0:
                    head[groups] = row
                    there[groups], there_weight[groups] = 0, 0.0
                    back[groups], back_weight[groups] = 0, 0.0
                    groups += 1
                    table[slot] = groups
                group = table[slot] - 1
                group_of[row - begin] = group
                there[group] += size[row]
                there_weight[group] += weight[row]
            for row in range(starts[large], starts[large + 1]):
                slot = first_slot(words, row, common, last)
                while table[slot] != 0 and not are_equal(words, row, int(head[table[slot] - 1]), common):
                    slot = (slot + 1) & last
                if table[slot] != 0:
                    group = table[slot] - 1
                    back[group] += size[row]
                    back_weight[group] += weight[row]
                    if large_counts:
                        records[row] += there[group]
                        population[row] += there_weight[group]
            if small_counts:
                for row in range(begin, end):
                    records[row] += back[group_of[row - begin]]
                    population[row] += back_weight[group_of[row - begin]]


@compiled
def count_matching_households(
    words: Integers,
    observed: Integers,
    starts: Integers,
    masks: Integers,
    rule: int,
    pair_starts: Integers,
    pair_household: Integers,
    weight: Floats,
    records: Integers,
    population: Floats,
) -> None:
    """Count the different households with a member that matches each row.

    The rows of one pattern after another look up all patterns, by the keys that both show.

    `pair_starts`: shape (r + 1,). `weight`: of each household; shape (h,). `records`, `population`: written; shape
    (r,).
    """
    patterns, width = observed.shape
    rows = words.shape[0]
    begins = np.zeros(patterns + 1, np.int64)
    for pattern in range(patterns):
        slots = 2
        while slots < 2 * (starts[pattern + 1] - starts[pattern]):
            slots *= 2
        begins[pattern + 1] = begins[pattern] + slots
    table = np.empty(begins[patterns], np.int64)
    following = np.empty(rows, np.int64)
    seen = np.full(weight.shape[0], np.int64(-1))
    common = np.empty((patterns, width), np.int64)
    counted = np.empty(patterns, np.bool_)
    for a in range(patterns):
        table[:] = 0
        for b in range(patterns):
            counted[b] = a == b or _counts(rule, observed[a], observed[b], masks)
            if not counted[b]:
                continue
            for word in range(width):
                common[b, word] = observed[a, word] & observed[b, word]
            last = begins[b + 1] - begins[b] - 1
            for row in range(starts[b], starts[b + 1]):
                slot = begins[b] + first_slot(words, row, common[b], last)
                while table[slot] != 0 and not are_equal(words, row, int(table[slot] - 1), common[b]):
                    slot = begins[b] + ((slot - begins[b] + 1) & last)
                following[row] = table[slot] - 1
                table[slot] = row + 1
        for row in range(starts[a], starts[a + 1]):
            records[row], population[row] = 0, 0.0
            for b in range(patterns):
                if not counted[b]:
                    continue
                last = begins[b + 1] - begins[b] - 1
                slot = begins[b] + first_slot(words, row, common[b], last)
                while table[slot] != 0 and not are_equal(words, row, int(table[slot] - 1), common[b]):
                    slot = begins[b] + ((slot - begins[b] + 1) & last)
                other = table[slot] - 1
                while other >= 0:
                    for pair in range(pair_starts[other], pair_starts[other + 1]):
                        household = pair_household[pair]
                        if seen[household] != row:
                            seen[household] = row
                            records[row] += 1
                            population[row] += weight[household]
                    other = following[other]


SERIES_FROM = 20
"""From here on few terms of the series are left at any pi, and the recursion would take as many steps."""


@compiled
def fill_risks(file: Integers, fraction: Floats, risk: Floats) -> None:
    """Risk of each record.

    `file`: f, at least 1; shape (n,). `fraction`: pi, above 0 and at most 1; shape (n,). `risk`: written; shape (n,).
    """
    for i in range(file.shape[0]):
        f, pi = file[i], fraction[i]
        if pi >= 0.5 or f >= SERIES_FROM:
            term, total = 1.0, 1.0
            step = 0
            while term > 1e-17 * total:
                step += 1
                term *= step * (1.0 - pi) / (f + step)
                total += term
            risk[i] = pi / f * total
        else:
            q = pi / (1.0 - pi)
            value = -q * np.log(pi)
            for below in range(1, f):
                value = q * (1.0 / below - value)
            risk[i] = value
