"""Suppression until each record counts k, where missing keys match others: alpha0, subset, wildcard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright import Classes
from maskwright_builtin.key_counts.frequencies import PackedKeys, matched_sizes, pack_keys
from maskwright_builtin.methods.class_criteria import GONE
from maskwright_builtin.methods.suppression.class_suppression import Patterns, k_anonymous, patterns_of

if TYPE_CHECKING:
    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32


Matching = Literal["alpha0", "subset", "wildcard"]

RATIOS = (8.0, 4.0, 2.0, 1.0)
"""How many records a record that is emptied has to save, at first and at last, where it counts for others."""
MOST_COMPARISONS = 200_000_000
"""Of rows with each other, to publish cells again."""


def matching_k(codes: Integers, k: int, count: Matching, worth: Floats, progress: Progress) -> Integers:
    """Codes with cells set to `GONE` so that every record counts k records, itself among them.

    `codes`: left as they are. There are at least k records; shape (n, q). `worth`: positive; shape (q,). Returns shape
    (n, q).
    """
    packed = pack_keys(list(codes.T))
    classes = Classes.of(list(packed.words.T))
    of_row = classes.codes
    search = _Search(packed, packed.words[classes.first], classes.records, k, count, patterns_of(packed, worth), worth)
    start = max(len(search.risky()), 1)
    while len(risky := search.risky()):
        progress(min(1.0 - len(risky) / start, 0.9) if len(risky) < start else 0.0)
        if not search.swept():
            search.empty_one_key(risky)
    search.publish_again()
    progress(1.0)
    emptied = codes.copy()
    for j, mask in enumerate(packed.masks):
        emptied[~(search.words & mask).any(axis=1)[of_row], j] = GONE
    if count == "wildcard":
        return emptied
    # Classes of k that are a partition are enough, and may have lost less.
    parted = k_anonymous(codes, k, None, worth, silent)
    lost, otherwise = (float(((each == GONE) & (codes != GONE)).sum(axis=0) @ worth) for each in (emptied, parted))
    return emptied if lost <= otherwise else parted


def silent(share: float) -> None:
    """Progress that is not shown."""


class _Search:
    """Different rows of keys, with the records of each."""

    def __init__(
        self,
        packed: PackedKeys,
        whole: Integers,
        sizes: Integers,
        k: int,
        count: Matching,
        patterns: Patterns,
        worth: Floats,
    ) -> None:
        from maskwright_builtin.key_counts.counting_kernel import COMPLETE, MOST, SUBSET

        self._masks, self._bits, self._whole = packed.masks, packed.bits, whole
        self.words = whole.copy()
        self._sizes, self._k, self._patterns, self._worth = sizes, k, patterns, worth
        self._rule = {"alpha0": COMPLETE, "subset": SUBSET, "wildcard": MOST}[count]
        self._lends = count == "wildcard"
        self._recount()

    def _recount(self) -> None:
        self._counts = matched_sizes(PackedKeys(self.words, self._masks, self._bits), self._sizes, self._rule)

    def _shown(self) -> Booleans:
        return np.stack([(self.words & mask).any(axis=1) for mask in self._masks], axis=1)

    def risky(self) -> Integers:
        """Rows that count fewer than k."""
        return np.flatnonzero(self._counts < self._k)

    def swept(self) -> bool:
        """Empty sets of keys, the cheapest first, in rows at risk; whether any was."""
        before = self.words.copy()
        for level in self._patterns.levels():
            for ratio in RATIOS if self._lends else (1.0,):
                if not len(self.risky()):
                    return True
                changed = 0
                for pattern in level:
                    changed += self._emptied(int(pattern), ratio)
                if changed:
                    self._recount()
        return bool((self.words != before).any())

    def _emptied(self, pattern: int, ratio: float) -> int:
        """Empty a set of keys in rows at risk, one pattern of missing keys after the other; how many."""
        from maskwright_builtin.methods.suppression.matching_kernel import empty_keys

        risky = self.risky()
        if not len(risky):
            return 0
        shown = self._shown()
        complete = np.asarray(shown.all(axis=1), dtype=np.int64)
        holes = Classes.of(list(shown[risky].T))
        order = np.lexsort((self._counts[risky], holes.codes))
        starts = np.append(0, np.cumsum(holes.records))
        keys = list(self._patterns.keys[pattern])
        emptied = 0
        for number, place in enumerate(holes.first):
            seen = shown[risky[place]]
            if not seen[keys].all():
                continue
            bits = np.asarray(np.bitwise_or.reduce(self._masks[seen], axis=0), dtype=np.int64)
            keep = bits & self._patterns.keeps[pattern]
            # Those emptied show enough to count for the others.
            lends = self._lends and 2 * (int(seen.sum()) - len(keys)) > int(seen.sum())
            rows = risky[order[starts[number] : starts[number + 1]]]
            emptied += empty_keys(
                self.words, self._sizes, self._counts, rows, keep, self._k, self._rule, lends, complete, ratio
            )
        return emptied

    def empty_one_key(self, risky: Integers) -> None:
        """Where no set of keys saves anybody: the cheapest key goes that rows at risk show; at last all of another."""
        shown = self._shown()
        some = shown[risky].any(axis=0)
        if some.any():
            key = int(np.argmin(np.where(some, self._worth, np.inf)))
            self.words[risky] &= ~self._masks[key]
        else:
            left = np.flatnonzero(shown.any(axis=1))
            self.words[left[int(np.argmin(self._sizes[left]))]] = 0
        self._recount()

    def publish_again(self) -> None:
        """Publish emptied cells again where everybody still counts k, in order of importance."""
        from maskwright_builtin.methods.suppression.matching_kernel import publish_cells

        codes, whole = (self._codes(words) for words in (self.words, self._whole))
        rows = np.flatnonzero((codes != whole).any(axis=1))
        # Rows that have lost most first; what is left to compare is spent on them.
        rows = rows[np.argsort(-((codes != whole)[rows] @ self._worth), kind="stable")]
        rows = rows[: max(MOST_COMPARISONS // max(len(codes), 1), 1)]
        keys = np.argsort(-self._worth, kind="stable")
        if not len(rows):
            return
        publish_cells(codes, whole, self._sizes, self._counts, rows, keys, self._k, self._rule)
        for j, mask in enumerate(self._masks):
            back = codes[:, j] != 0
            self.words[back] |= self._whole[back] & mask

    def _codes(self, words: Integers) -> Integers32:
        """A number for what each key shows, 0 where it is empty; shape (n, q)."""
        codes = np.zeros((len(words), len(self._masks)), dtype=np.int32)
        for j, mask in enumerate(self._masks):
            codes[:, j] = np.bitwise_or.reduce(words & mask, axis=1) >> _lowest_bit(mask)
        return codes


def _lowest_bit(mask: Integers) -> int:
    bits = int(np.bitwise_or.reduce(mask))
    return (bits & -bits).bit_length() - 1
