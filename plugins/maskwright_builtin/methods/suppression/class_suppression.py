"""Suppression until each equivalence class has k records and is diverse; missing keys are values of their own."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Classes
from maskwright_builtin.key_counts.frequencies import pack_keys
from maskwright_builtin.methods.class_criteria import GONE, bounds_of, class_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright import Block, Progress
    from maskwright_builtin.key_counts.frequencies import PackedKeys
    from maskwright_builtin.methods.class_criteria import Closeness, Diversity
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


MOST_PATTERNS = 400
"""Sets of keys that are tried in each record: all of up to 8 keys, of more keys those of few."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Sets of keys, ordered by worth.

    `keeps`: bits of the keys that stay; shape (p, w). `worth`: sum of the worth of the keys that are emptied; shape
    (p,).
    """

    keys: tuple[tuple[int, ...], ...]
    keeps: Integers
    worth: Floats

    def levels(self) -> Iterator[Integers]:
        """Positions of the sets that are worth about the same, in whole multiples of the cheapest key."""
        level = np.ceil(self.worth / self.worth.min() - 1e-9)
        for each in np.unique(level):
            yield np.flatnonzero(level == each)


def patterns_of(packed: PackedKeys, worth: Floats) -> Patterns:
    """Make the sets of one key, of two, and so on, while they are not too many.

    `worth`: of each key; shape (q,).
    """
    q = len(worth)
    sets: list[tuple[int, ...]] = []
    for size in range(1, q + 1):
        more = list(combinations(range(q), size))
        if sets and len(sets) + len(more) > MOST_PATTERNS:
            break
        sets += more
    costs = np.array([sum(worth[j] for j in each) for each in sets])
    order = np.argsort(costs, kind="stable")
    keeps = np.empty((len(sets), packed.words.shape[1]), dtype=np.int64)
    for place, each in enumerate(order):
        keeps[place] = ~np.bitwise_or.reduce(packed.masks[list(sets[each])], axis=0)
    return Patterns(tuple(sets[each] for each in order), keeps, costs[order])


FEW = 50
"""Records at risk that join other classes before one key more is emptied in all of them; more find each other then."""
DEARER = 1.1
"""How much dearer joining other classes may become from one trial to the next."""
MOST_PASSES = 10
"""Of the search for cells that can be published again."""
SLACK = 1.0
"""How much dearer, in cells of the cheapest key, a record may become where its class is given up altogether."""


def k_anonymous(codes: Integers, k: int, households: Integers | None, worth: Floats, progress: Progress) -> Integers:
    """Codes with cells set to `GONE` so that every class has k records, or households.

    `codes`: left as they are. There are at least k records (households); shape (n, q). `households`: shape (n,).
    `worth`: positive; shape (q,). Returns shape (n, q).
    """
    packed = pack_keys(list(codes.T))
    words = packed.words.copy()
    patterns = patterns_of(packed, worth)
    search = _Search(words, packed, patterns, k, households, worth)
    base, emptied_worth = np.full(words.shape[1], np.int64(-1)), 0.0
    risky = search.risky()
    start = max(len(risky), 1)
    while len(risky):
        progress(min(max(1.0 - len(risky) / start, 0.0), 0.9))
        risky = search.save(risky)
        if 0 < len(risky) <= FEW and households is None:
            risky = search.join(risky, emptied_worth)
        if len(risky):
            # More keys than can be tried in all sets: one is emptied in all that are left; sets are tried again.
            key = _key_to_empty(search, risky, base)
            if key is None:
                risky = _filled_up(words, risky, k, households)
                continue
            base = base & ~packed.masks[key]
            emptied_worth += float(worth[key])
            words[risky] &= base
            risky = search.risky()
    if households is None:
        search.publish_again(packed.words)
    progress(1.0)
    emptied = codes.copy()
    for j, mask in enumerate(packed.masks):
        emptied[~(words & mask).any(axis=1), j] = GONE
    return emptied


@dataclass(eq=False)
class _Search:
    words: Integers
    packed: PackedKeys
    patterns: Patterns
    k: int
    households: Integers | None
    worth: Floats

    def risky(self) -> Integers:
        """Records in classes below k, those of a household next to each other."""
        found = np.flatnonzero(self._sizes() < self.k)
        return found if self.households is None else found[np.argsort(self.households[found], kind="stable")]

    def _sizes(self) -> Integers:
        return sizes_of(self.words, self.households)

    def save(self, risky: Integers) -> Integers:
        """Empty the cheapest sets of keys that bring records at risk into classes of k; those for whom none does."""
        from maskwright_builtin.methods.suppression.class_kernel import add_classes, saved_records

        n, width = self.words.shape
        owners = np.arange(n) if self.households is None else self.households
        standing = np.zeros(1 << max(2 * n - 1, 1).bit_length(), dtype=np.int32)
        heads = np.empty((n, width), dtype=np.int64)
        others = np.ones(n, dtype=np.bool_)
        others[risky] = False
        count = add_classes(self.words, np.flatnonzero(others), standing, heads, 0)

        def evaluated(pattern: int) -> Booleans:
            saved = np.empty(len(risky), dtype=np.bool_)
            saved_records(self.words, risky, owners, self.patterns.keeps[pattern], self.k, standing, heads, saved)
            return saved

        for level in self.patterns.levels():
            while len(risky):
                before = len(risky)
                waiting = [(-np.inf, int(pattern)) for pattern in level]
                while waiting and len(risky):
                    _, pattern = heapq.heappop(waiting)
                    saved = evaluated(pattern)
                    score = -int(saved.sum()) / float(self.patterns.worth[pattern])
                    if waiting and score > waiting[0][0]:
                        # Sets save fewer and fewer: what one saved at first is the most it can.
                        heapq.heappush(waiting, (score, pattern))
                        continue
                    if score == 0.0:
                        continue
                    gone = risky[saved]
                    self.words[gone] &= self.patterns.keeps[pattern]
                    count = add_classes(self.words, gone, standing, heads, count)
                    risky = risky[~saved]
                if self.households is not None or not len(risky):
                    break
                most = float(self.patterns.worth[level].max() + self.worth.min())
                if not self._lent(most, level if len(risky) > FEW else None):
                    break
                risky = self.risky()
                others[:] = True
                others[risky] = False
                count = add_classes(self.words, np.flatnonzero(others), standing, heads, count)
                if len(risky) >= before:
                    break
        return risky

    def join(self, risky: Integers, emptied: float) -> Integers:
        """Join those whom no set of keys saves with other classes, while that is the cheapest; those who are left.

        `emptied`: worth of the keys that were emptied in all of them before.
        """
        most = float(self.patterns.worth.max())
        # The next way is one key more in all of them; where fewer than k are left, all keys of others have to go, too.
        end = most + emptied + float(self.worth.min())
        if len(risky) < self.k:
            end = 2 * self.k * float(self.worth.sum())
        while len(risky) and most < end:
            most = min(DEARER * most + float(self.worth.min()), end)
            if self._lent(most):
                risky = self.risky()
        return risky

    def _lent(self, most: float, tried: Integers | None = None) -> bool:
        """Records of other classes join those at risk where each of these costs no more than `most`; whether any did.

        `tried`: positions of sets of keys; None: all.
        """
        from maskwright_builtin.methods.suppression.class_kernel import lend_records

        tried = np.arange(len(self.patterns.worth)) if tried is None else tried
        budgets = most - self.patterns.worth[tried]
        least = float(self.worth.min())
        left = standing = classes = sizes = np.empty(0, dtype=np.int64)
        made, several = 1, 0
        for keep, budget in zip(self.patterns.keeps[tried], budgets.tolist(), strict=True):
            if budget * (self.k - 1) < least - 1e-9:
                continue
            if made:
                classes, sizes = classes_and_sizes(self.words)
                at_risk = sizes[classes] < self.k
                left, standing = np.flatnonzero(at_risk), np.flatnonzero(~at_risk)
            if not len(left):
                break
            made = lend_records(
                self.words, left, standing, classes, sizes, keep, self.packed.masks, self.worth, self.k, budget + 1e-9
            )
            several += made
        return several > 0

    def publish_again(self, whole: Integers) -> None:
        """Move records to classes that show more, while there are any."""
        from maskwright_builtin.methods.suppression.class_kernel import move_records, number_classes

        n, width = self.words.shape
        keeps = np.vstack([np.full((1, width), np.int64(-1)), self.patterns.keeps])
        worth = np.append(0.0, self.patterns.worth)
        for _ in range(MOST_PASSES):
            table = np.zeros(1 << max(2 * n - 1, 1).bit_length(), dtype=np.int32)
            classes, heads = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
            count = number_classes(self.words, table, classes, heads)
            sizes = np.bincount(classes, minlength=count)
            costs = np.zeros(n)
            for j, mask in enumerate(self.packed.masks):
                costs += self.worth[j] * ((whole & mask).any(axis=1) & ~(self.words & mask).any(axis=1))
            order = np.argsort(classes, kind="stable")
            gained = move_records(
                self.words, whole, costs, order, np.append(0, np.cumsum(sizes)), sizes.copy(),
                heads[:count], table, keeps, worth, self.packed.masks, self.worth, self.k,
                SLACK * float(self.worth.min()),
            )  # fmt: skip
            if gained <= 0.0:
                return


def classes_and_sizes(words: Integers) -> tuple[Integers, Integers]:
    """Class of each row, and records of each class."""
    from maskwright_builtin.methods.suppression.class_kernel import number_classes

    n = len(words)
    table = np.zeros(1 << max(2 * n - 1, 1).bit_length(), dtype=np.int32)
    classes, heads = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    count = number_classes(words, table, classes, heads)
    return classes, np.bincount(classes, minlength=count)


def sizes_of(words: Integers, households: Integers | None) -> Integers:
    """Size of the class of each row, in records or households."""
    classes, sizes = classes_and_sizes(words)
    if households is not None:
        return class_size(classes[:, None], households)
    return np.asarray(sizes[classes], dtype=np.int64)


def _key_to_empty(search: _Search, risky: Integers, base: Integers) -> int | None:
    """The key that, emptied, brings the records at risk into the largest classes for its worth; None: none is left."""
    best: tuple[float, int] | None = None
    for j, mask in enumerate(search.packed.masks):
        if not (search.words[risky] & base & mask).any():
            continue
        trial = search.words.copy()
        trial[risky] &= base & ~mask
        score = float(sizes_of(trial, search.households)[risky].sum()) / float(search.worth[j])
        if best is None or score > best[0]:
            best = score, j
    return None if best is None else best[1]


def _filled_up(words: Integers, risky: Integers, k: int, households: Integers | None) -> Integers:
    """Empty all keys of the records left, and of as many of the largest class as they need, or all of the smallest."""
    words[risky] = 0
    classes = classes_and_sizes(words)[0]
    sizes = sizes_of(words, households)
    empty = ~words.any(axis=1)
    if sizes[empty][0] < k:
        needed = k - int(sizes[empty][0])
        others = np.where(empty, 0, sizes)
        largest = int(np.argmax(others))
        if households is None and others[largest] - needed >= k:
            words[np.flatnonzero(classes == classes[largest])[:needed]] = 0
        else:
            words[classes == classes[int(np.argmin(np.where(empty, np.iinfo(np.int64).max, sizes)))]] = 0
    return np.flatnonzero(sizes_of(words, households) < k)


def with_diverse_classes(
    codes: Integers,
    block: Block,
    diversity: Mapping[str, int | Diversity],
    closeness: Mapping[str, float | Closeness],
    worth: Floats,
) -> Integers:
    """Codes with cells set to `GONE` so that every class fulfils the bounds.

    While a class fails, it is joined with the one that costs least: the keys in which they differ are emptied in both.
    That ends, because all records together fulfil them. Classes only grow, so k stays.

    `codes`: left as they are; shape (n, q). `worth`: shape (q,).
    """
    from maskwright_builtin.methods.suppression.class_kernel import nearest_classes

    classes = Classes.of(list(codes.T))
    of_record = classes.codes
    bounds = tuple(bounds_of(block, diversity, closeness, of_record.astype(np.int32)))
    for each in bounds:
        each.refuse_impossible()
    shown = codes[classes.first]
    records = classes.records
    of_leaf = np.arange(len(shown))
    sizes = records
    while True:
        failing = np.zeros(len(shown), dtype=np.bool_)
        for each in bounds:
            failing |= each.failing(of_leaf.astype(np.int32), len(shown))
        short = np.flatnonzero(failing)
        if not len(short) or len(shown) == 1:
            return np.asarray(shown[of_leaf[of_record]], dtype=np.int64)
        nearest, costs = np.empty(len(short), dtype=np.int64), np.empty(len(short))
        nearest_classes(np.ascontiguousarray(shown), sizes, worth, short, nearest, costs)
        joined: set[int] = set()
        for place in np.argsort(costs, kind="stable").tolist():
            one, other = int(short[place]), int(nearest[place])
            if one in joined or other in joined:
                continue
            joined |= {one, other}
            shown[[one, other]] = np.where(shown[one] == shown[other], shown[one], GONE)
        # Classes that show the same now are one, also where they were not joined on purpose.
        merged = Classes.of(list(shown.T))
        of_leaf, shown = merged.codes[of_leaf], shown[merged.first]
        sizes = np.bincount(of_leaf, records, len(shown)).astype(np.int64)
