"""The decision about an inference: whether an intruder would be sure of it, and whether that would be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr, bdtrc

from maskwright.data.dependencies import BY_CHANCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.foundation.arrays import Booleans, Integers


CERTAINTY = 0.9
"""Share of cells that are rightly named from which an intruder may be said to know them."""

SURE = 0.95
"""Share of few published cells that have to be named rightly."""

LEVEL = 0.05
"""Level of the bounds on such shares."""


@dataclass(frozen=True)
class Claims:
    """What rules claim of cells.

    `seen`, `seen_right`: published cells that the rules name from the other records, and how many rightly: everybody
    can count that. `named`, `right`: the same of the hidden cells, which only the office can count. `base`: share of
    the named cells that the published distribution alone would name rightly.
    """

    seen: int
    seen_right: int
    named: int
    right: int
    base: float

    @property
    def precision(self) -> float:
        """Share of the hidden cells named that are named rightly; NaN where none is."""
        return self.right / self.named if self.named else float("nan")

    def looks_certain(self, families: int, certainty: float = CERTAINTY) -> bool:
        """Whether published cells show the rules to be right, one of so many families of rules that are tried.

        By a bound on the share of those that are right, or, where they are few, by one that is high, and not by chance.
        """
        if not self.seen:
            return False
        by_bound = bdtrc(self.seen_right - 1, self.seen, certainty) <= LEVEL / families
        is_high = self.seen_right >= SURE * self.seen
        return bool(by_bound or (is_high and self._by_chance(self.seen_right, self.seen) * BY_CHANCE * families < 1))

    def is_relation(self, families: int, certainty: float = CERTAINTY) -> bool:
        """Whether rules of a file in which no cell is hidden are right, and not by chance."""
        right, seen = self.seen_right, self.seen
        if not seen or right <= self.base * seen or bdtr(right, seen, certainty) < LEVEL:
            return False
        return self._by_chance(right, seen) * BY_CHANCE * families < 1

    def is_right(self, certainty: float = CERTAINTY) -> bool:
        """Whether the hidden cells are named rightly, more often than the distribution alone would."""
        return is_certain(self.right, self.named, self.base, certainty)

    def _by_chance(self, right: int, named: int) -> float:
        """Probability that the distribution alone names as many rightly."""
        return float(bdtrc(right - 1, named, self.base))


def is_certain(right: int, named: int, base: float, certainty: float = CERTAINTY) -> bool:
    """Whether rules that most published records obey give suppressed cells away, or mislead.

    `right` of `named` suppressed cells are as the rules say: what the office knows. `base`: share that the published
    distribution alone would name rightly.
    """
    return right > base * named and bool(bdtr(right, named, certainty) >= LEVEL)


def claims_of(named: Integers, own: Integers, hidden: Booleans) -> Claims:
    """Count what rules claim.

    `named`: code of the value that the other records show for each cell, -1 where they show none. `own`: code of the
    value that it has, -1 where missing. `hidden`: whether it is empty in the release; shape (n,) each.
    """
    said = (named >= 0) & (own >= 0)
    right, asked = named == own, said & hidden
    shares = _shares(own, ~hidden)
    cells = named[asked] if asked.any() else named[said]
    return Claims(
        int(np.sum(said & ~hidden)),
        int(np.sum(said & ~hidden & right)),
        int(np.sum(asked)),
        int(np.sum(asked & right)),
        float(shares[cells].mean()) if len(cells) else 0.0,
    )


def families_of(named: Integers, own: Integers) -> Iterator[tuple[int | None, Booleans]]:
    """Rules that are judged apart: all, then those that name one value: a leak may be one of a single value.

    What they name is what everybody sees, unlike which of them are right. Yields that value, None for all, and the
    cells that are named; shape (n,).
    """
    yield None, named >= 0
    values = np.flatnonzero(np.bincount(named[(named >= 0) & (own >= 0)], minlength=1))
    if len(values) > 1:
        for value in values.tolist():
            yield value, named == value


def certain_cells(
    named: Integers, own: Integers, hidden: Booleans, of_original: Integers, families: int
) -> Booleans:
    """Hidden cells that an intruder would be sure of, and mostly right; shape (n,).

    Taken of all cells together that a family of rules names, never of a single one: which guesses are right would show.

    `of_original`: what the same rules name where no cell is hidden; others are there because of what was suppressed.
    `families`: how many families of rules are tried.
    """
    found = np.zeros(len(own), dtype=np.bool_)
    nothing = np.zeros(len(own), dtype=np.bool_)
    for value, cells in families_of(named, own):
        claims = claims_of(np.where(cells, named, -1), own, hidden)
        if not claims.is_right() or not claims.looks_certain(families):
            continue
        whole = of_original if value is None else np.where(of_original == value, of_original, -1)
        if claims_of(whole, own, nothing).is_relation(families):
            found |= cells & hidden
    return found


def has_relation(named: Integers, own: Integers, families: int) -> bool:
    """Whether any family of rules holds in a file in which no cell is hidden; shape (n,) each."""
    nothing = np.zeros(len(own), dtype=np.bool_)
    return any(
        claims_of(np.where(cells, named, -1), own, nothing).is_relation(families)
        for _, cells in families_of(named, own)
    )


def _shares(own: Integers, shown: Booleans) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Share of each code among the published cells."""
    width = int(own.max(initial=-1)) + 2
    counts = np.bincount(own[shown & (own >= 0)], minlength=width).astype(np.float64)
    return counts / max(float(counts.sum()), 1.0)
