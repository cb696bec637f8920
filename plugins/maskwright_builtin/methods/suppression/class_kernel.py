"""Compiled: records that come into classes of k when keys are emptied, and the class that is cheapest to join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.key_counts.counting_kernel import first_slot
from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32


@inlined
def _is(words: Integers, row: int, keep: Integers, others: Integers, other: int, kept: Integers) -> bool:
    same = True
    for word in range(words.shape[1]):
        same &= (words[row, word] & keep[word]) == (others[other, word] & kept[word])
    return same


@compiled
def number_classes(words: Integers, table: Integers32, of_row: Integers, first: Integers) -> int:
    """Number the different rows as they first occur, and leave them in a hash table.

    `words`: shape (n, w). `of_row`, `first`: Written: the class of each row, and the first row of each class; shape
    (n,).
    """
    everything = np.full(words.shape[1], np.int64(-1))
    last = table.shape[0] - 1
    count = 0
    for row in range(words.shape[0]):
        slot = first_slot(words, row, everything, last)
        while table[slot] != 0 and not _is(words, row, everything, words, int(first[table[slot] - 1]), everything):
            slot = (slot + 1) & last
        if table[slot] == 0:
            first[count] = row
            count += 1
            table[slot] = count
        of_row[row] = table[slot] - 1
    return count


@compiled
def saved_records(
    words: Integers,
    rows: Integers,
    owners: Integers,
    keep: Integers,
    k: int,
    standing: Integers32,
    heads: Integers,
    saved: Booleans,
) -> int:
    """Which records at risk would be in a class of k, if keys were emptied in all of them.

    `words`: shape (n, w). `rows`: at risk, those of an owner next to each other; shape (r,). `owners`: who is counted:
    households, or records; shape (n,). `keep`: bits of the keys that stay; shape (w,). `heads`: what their records
    show; shape (c, w). `saved`: written; shape (r,).
    """
    slots = 2
    while slots < 2 * rows.shape[0]:
        slots *= 2
    table = np.zeros(slots, np.int32)
    first = np.empty(rows.shape[0], np.int64)
    size, owner = np.zeros(rows.shape[0], np.int64), np.empty(rows.shape[0], np.int64)
    of_row = np.empty(rows.shape[0], np.int64)
    everything = np.full(words.shape[1], np.int64(-1))
    last, end = slots - 1, standing.shape[0] - 1
    groups = 0
    for place in range(rows.shape[0]):
        row = rows[place]
        slot = first_slot(words, row, keep, last)
        while table[slot] != 0 and not _is(words, row, keep, words, int(first[table[slot] - 1]), keep):
            slot = (slot + 1) & last
        if table[slot] == 0:
            first[groups], owner[groups] = row, -1
            groups += 1
            table[slot] = groups
        group = table[slot] - 1
        if owner[group] != owners[row]:
            owner[group] = owners[row]
            size[group] += 1
        of_row[place] = group
    for group in range(groups):
        if size[group] < k:
            row = first[group]
            slot = first_slot(words, row, keep, end)
            while standing[slot] != 0 and not _is(words, row, keep, heads, standing[slot] - 1, everything):
                slot = (slot + 1) & end
            if standing[slot] != 0:
                size[group] = k
    count = 0
    for place in range(rows.shape[0]):
        saved[place] = size[of_row[place]] >= k
        count += saved[place]
    return count


@compiled
def add_classes(words: Integers, rows: Integers, standing: Integers32, heads: Integers, count: int) -> int:
    """Put what records show into the hash table of classes of k, where it is not there yet; how many there are then."""
    everything = np.full(words.shape[1], np.int64(-1))
    end = standing.shape[0] - 1
    for row in rows:
        slot = first_slot(words, row, everything, end)
        while standing[slot] != 0 and not _is(words, row, everything, heads, standing[slot] - 1, everything):
            slot = (slot + 1) & end
        if standing[slot] == 0:
            for word in range(words.shape[1]):
                heads[count, word] = words[row, word]
            count += 1
            standing[slot] = count
    return count


@compiled
def lend_records(
    words: Integers,
    risky: Integers,
    standing: Integers,
    classes: Integers,
    sizes: Integers,
    keep: Integers,
    masks: Integers,
    key_worth: Floats,
    k: int,
    most: float,
) -> int:
    """Empty keys in records at risk and in as many of a larger class as they need to be k together, or in all of it.

    `words`: written; shape (n, w). `classes`: shape (n,). `sizes`: records of each class; written; shape (c,). `keep`:
    shape (w,). `masks`: bits of each key; shape (q, w). `key_worth`: shape (q,). `most`: the most that others may lose
    for each record at risk.
    """
    slots = 2
    while slots < 2 * risky.shape[0]:
        slots *= 2
    table = np.zeros(slots, np.int32)
    last = slots - 1
    first = np.empty(risky.shape[0], np.int64)
    size = np.zeros(risky.shape[0], np.int64)
    of_row = np.empty(risky.shape[0], np.int64)
    groups = 0
    for place in range(risky.shape[0]):
        row = risky[place]
        slot = first_slot(words, row, keep, last)
        while table[slot] != 0 and not _is(words, row, keep, words, int(first[table[slot] - 1]), keep):
            slot = (slot + 1) & last
        if table[slot] == 0:
            first[groups] = row
            groups += 1
            table[slot] = groups
        of_row[place] = table[slot] - 1
        size[table[slot] - 1] += 1
    # Whoever lends stays in a group until it is complete: the largest class, which can spare all that are missing, or
    # the smallest one altogether.
    lender, cheapest = np.full(groups, np.int64(-1)), np.full(groups, np.int64(-1))
    price = np.zeros(sizes.shape[0], np.float64)
    group_of = np.full(words.shape[0], np.int32(-1))
    for place in range(standing.shape[0]):
        row = standing[place]
        slot = first_slot(words, row, keep, last)
        while table[slot] != 0 and not _is(words, row, keep, words, int(first[table[slot] - 1]), keep):
            slot = (slot + 1) & last
        if table[slot] == 0:
            continue
        group = table[slot] - 1
        group_of[row] = group
        if lender[group] < 0 or sizes[classes[row]] > sizes[lender[group]]:
            lender[group] = classes[row]
        own = classes[row]
        if price[own] == 0.0:
            for key in range(masks.shape[0]):
                lost = False
                for word in range(words.shape[1]):
                    lost |= words[row, word] & masks[key, word] & ~keep[word] != 0
                if lost:
                    price[own] += key_worth[key]
        if cheapest[group] < 0 or sizes[own] * price[own] < sizes[cheapest[group]] * price[cheapest[group]]:
            cheapest[group] = own
    need = np.zeros(groups, np.int64)
    made = 0
    for group in range(groups):
        missing, whole, budget = k - size[group], cheapest[group], most * size[group]
        if lender[group] < 0 or missing <= 0:
            lender[group] = -1
            continue
        if sizes[lender[group]] - missing < k or missing * price[lender[group]] > budget:
            missing = sizes[whole]
            lender[group] = whole if missing >= k and missing * price[whole] <= budget else -1
        if lender[group] >= 0:
            need[group] = missing
            sizes[lender[group]] -= missing
            made += 1
    for place in range(standing.shape[0]):
        row = standing[place]
        group = group_of[row]
        if group >= 0 and need[group] > 0 and classes[row] == lender[group]:
            need[group] -= 1
            for word in range(words.shape[1]):
                words[row, word] &= keep[word]
    for place in range(risky.shape[0]):
        if lender[of_row[place]] >= 0:
            for word in range(words.shape[1]):
                words[risky[place], word] &= keep[word]
    return made


@compiled
def move_records(
    words: Integers,
    whole: Integers,
    costs: Floats,
    order: Integers,
    starts: Integers,
    sizes: Integers,
    heads: Integers,
    table: Integers32,
    keeps: Integers,
    worth: Floats,
    masks: Integers,
    key_worth: Floats,
    k: int,
    slack: float,
) -> float:
    """Move records to classes that show more, where no class falls below k: one by one, or a class altogether.

    `words`: what records show; written; shape (n, w). `whole`: what they showed before any key was emptied; shape (n,
    w). `costs`: of their emptied keys; written; shape (n,). `sizes`: records of each class; written; shape (c,).
    `heads`: a record of each class; shape (c,). `keeps`: bits of the keys that stay, of the patterns to try, the
    cheapest first; shape (p, w). `worth`: of the keys emptied in each; shape (p,). `masks`: bits of each key; shape (q,
    w). `key_worth`: shape (q,).
    """
    width = words.shape[1]
    shown = np.empty((sizes.shape[0], width), np.int64)
    for each in range(sizes.shape[0]):
        for word in range(width):
            shown[each, word] = words[heads[each], word]
    everything = np.full(width, np.int64(-1))
    last = table.shape[0] - 1
    largest = 0
    for each in range(sizes.shape[0]):
        largest = max(largest, starts[each + 1] - starts[each])
    target = np.empty(largest, np.int64)
    price = np.empty(largest, np.float64)
    gained = 0.0
    for each in range(sizes.shape[0]):
        begin, end = starts[each], starts[each + 1]
        if costs[order[begin]] == 0.0 and costs[order[end - 1]] == 0.0:
            continue
        untouched = sizes[each] == end - begin
        alone = untouched and sizes[each] < 2 * k
        total, everybody = 0.0, alone
        for place in range(begin, end):
            row = order[place]
            target[place - begin] = -1
            for pattern in range(keeps.shape[0]):
                if worth[pattern] >= costs[row] + (slack if alone else 0.0):
                    break
                slot = first_slot(whole, row, keeps[pattern], last)
                while table[slot] != 0 and not _is(whole, row, keeps[pattern], shown, table[slot] - 1, everything):
                    slot = (slot + 1) & last
                found = table[slot] - 1
                if found < 0 or found == each or sizes[found] < k:
                    continue
                spent = 0.0
                for key in range(masks.shape[0]):
                    differs = False
                    for word in range(width):
                        differs |= (whole[row, word] ^ shown[found, word]) & masks[key, word] != 0
                    if differs:
                        spent += key_worth[key]
                target[place - begin], price[place - begin] = found, spent
                break
            if target[place - begin] < 0:
                everybody = False
            else:
                total += costs[row] - price[place - begin]
        if everybody and total > 1e-9:
            for place in range(begin, end):
                row = order[place]
                found = target[place - begin]
                for word in range(width):
                    words[row, word] = shown[found, word]
                gained += costs[row] - price[place - begin]
                costs[row] = price[place - begin]
                sizes[found] += 1
            sizes[each] = 0
            continue
        for place in range(begin, end):
            row = order[place]
            found = target[place - begin]
            if found >= 0 and sizes[each] > k and costs[row] - price[place - begin] > 1e-9:
                for word in range(width):
                    words[row, word] = shown[found, word]
                gained += costs[row] - price[place - begin]
                costs[row] = price[place - begin]
                sizes[found] += 1
                sizes[each] -= 1
    return float(gained)


@compiled
def nearest_classes(
    codes: Integers, sizes: Integers, worth: Floats, asked: Integers, nearest: Integers, costs: Floats
) -> None:
    """Find for each class requested the other one with which it is joined at the least worth of emptied cells.

    The keys in which they differ are emptied in both. Of classes that cost the same the first is taken.

    `codes`: -1 where empty; shape (c, q). `sizes`: records of each; shape (c,). `worth`: shape (q,). `asked`: shape
    (a,). `nearest`: written; shape (a,). `costs`: written; shape (a,).
    """
    for place in range(asked.shape[0]):
        one = asked[place]
        best, chosen = np.inf, np.int64(-1)
        for other in range(codes.shape[0]):
            if other == one:
                continue
            cost = 0.0
            for key in range(codes.shape[1]):
                if codes[one, key] != codes[other, key]:
                    records = 0
                    if codes[one, key] >= 0:
                        records += sizes[one]
                    if codes[other, key] >= 0:
                        records += sizes[other]
                    cost += worth[key] * records
                    if cost >= best:
                        break
            if cost < best:
                best, chosen = cost, np.int64(other)
        nearest[place], costs[place] = chosen, best
