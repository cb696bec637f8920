"""Compiled: whom emptied keys let match, and which of them can be published again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.key_counts.counting_kernel import COMPLETE, SUBSET, are_equal, first_slot
from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Integers, Integers32


@compiled
def empty_keys(
    words: Integers,
    sizes: Integers,
    counts: Integers,
    rows: Integers,
    keep: Integers,
    k: int,
    rule: int,
    lends: bool,
    complete: Integers,
    ratio: float,
) -> int:
    """Empty keys in rows at risk, where the rows that are saved are at least `ratio` times those that are emptied.

    Rows at risk that are equal on what stays are a group. The ones emptied match all that are equal on what stays;
    where an emptied row counts for others (`lends`), the rest of the group matches it too: some of them are enough.

    `words`: written; shape (n, w). `sizes`, `counts`: records of each row, and those that it counts; the latter
    written, as far as they are known; shape (n,). `rows`: at risk, with the same keys missing, those that count fewest
    first; shape (r,). `keep`: bits of the keys that stay, of those that these rows show; shape (w,). `complete`: bits
    that are not 0 in a row that shows all keys: those of all keys; shape (w,).
    """
    slots = 2
    while slots < 2 * rows.shape[0]:
        slots *= 2
    table = np.zeros(slots, np.int32)
    last = slots - 1
    total = rows.shape[0]
    head, following = np.empty(total, np.int64), np.full(total, np.int64(-1))
    tail, matching = np.empty(total, np.int64), np.zeros(total, np.int64)
    first = np.empty(total, np.int64)
    groups = 0
    for place in range(total):
        row = rows[place]
        slot = first_slot(words, row, keep, last)
        while table[slot] != 0 and not are_equal(words, row, int(head[table[slot] - 1]), keep):
            slot = (slot + 1) & last
        if table[slot] == 0:
            head[groups], first[groups], tail[groups] = row, place, place
            groups += 1
            table[slot] = groups
        else:
            following[tail[table[slot] - 1]] = place
            tail[table[slot] - 1] = place
        if not lends:
            matching[table[slot] - 1] += sizes[row]
    for row in range(words.shape[0]):
        if not lends and counts[row] < k:
            continue
        if rule == COMPLETE and complete[row] == 0:
            continue
        slot = first_slot(words, row, keep, last)
        while table[slot] != 0 and not are_equal(words, row, int(head[table[slot] - 1]), keep):
            slot = (slot + 1) & last
        if table[slot] != 0:
            matching[table[slot] - 1] += sizes[row]
    emptied = 0
    for group in range(groups):
        if matching[group] < k:
            continue
        chosen = 0
        if lends:
            best, spent, place = 0.0, 0, first[group]
            number = 0
            while place >= 0 and number < 4 * k:
                spent += sizes[rows[place]]
                saved = spent
                other = following[place]
                while other >= 0:
                    if counts[rows[other]] + spent >= k:
                        saved += sizes[rows[other]]
                    other = following[other]
                number += 1
                if saved / spent > best + 1e-9:
                    best, chosen = saved / spent, number
                place = following[place]
            if best < ratio:
                continue
        elif ratio > 1.0:
            continue
        place, number, spent = first[group], 0, 0
        while place >= 0:
            row = rows[place]
            if not lends or number < chosen:
                for word in range(words.shape[1]):
                    words[row, word] &= keep[word]
                counts[row] = matching[group]
                spent += sizes[row]
                emptied += 1
            else:
                counts[row] += spent
            number += 1
            place = following[place]
    return emptied


@inlined
def _match(codes: Integers32, row: int, other: int, rule: int) -> bool:
    """Whether a row counts another."""
    asked, shown, lacking, same = 0, 0, 0, True
    equal = True
    for key in range(codes.shape[1]):
        mine, its = codes[row, key], codes[other, key]
        equal &= mine == its
        both = mine != 0 and its != 0
        same &= mine == its or not both
        asked += mine != 0
        shown += both
        lacking += its == 0
    if equal:
        return True
    if not same:
        return False
    if rule == SUBSET:
        return shown == asked
    if rule == COMPLETE:
        return lacking == 0
    return shown == asked or 2 * shown > asked


@compiled
def publish_cells(
    codes: Integers32,
    whole: Integers32,
    sizes: Integers,
    counts: Integers,
    rows: Integers,
    keys: Integers,
    k: int,
    rule: int,
) -> int:
    """Publish emptied cells again, one by one, where all rows still count k.

    `codes`: 0 where empty; written; shape (n, q). `whole`: before any key was emptied; shape (n, q). `sizes`, `counts`:
    records of each row, and those it counts; the latter written; shape (n,). `rows`: rows with emptied cells; shape
    (r,). `keys`: the one worth most first; shape (q,).
    """
    n = codes.shape[0]
    its = np.empty(n, np.bool_)
    published = 0
    for row in rows:
        for key in keys:
            if codes[row, key] != 0 or whole[row, key] == 0:
                continue
            for other in range(n):
                its[other] = _match(codes, other, row, rule)
            codes[row, key] = whole[row, key]
            found, fits = 0, True
            for other in range(n):
                found += sizes[other] * _match(codes, row, other, rule)
                if its[other] and counts[other] - sizes[row] < k and other != row:
                    fits &= _match(codes, other, row, rule)
            if not fits or found < k:
                codes[row, key] = 0
                continue
            for other in range(n):
                if other != row:
                    counts[other] += sizes[row] * (int(_match(codes, other, row, rule)) - int(its[other]))
            counts[row] = found
            published += 1
    return published
