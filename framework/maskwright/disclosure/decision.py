"""The decision about an inference: whether an intruder would be sure of it, and whether that would be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr, bdtrc

from maskwright.data.dependencies import BY_CHANCE, CERTAINTY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright.foundation.arrays import Booleans, Floats, Integers


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
        is_high = self.seen_right >= SURE * self.seen and not is_below(self.seen_right, self.seen, certainty)
        return bool(by_bound or (is_high and self._by_chance(self.seen_right, self.seen) * BY_CHANCE * families < 1))

    def is_relation(self, families: int, certainty: float = CERTAINTY) -> bool:
        """Whether rules of a file in which no cell is hidden are right, and not by chance."""
        right, seen = self.seen_right, self.seen
        if not seen or right <= self.base * seen or is_below(right, seen, certainty):
            return False
        return self._by_chance(right, seen) * BY_CHANCE * families < 1

    def is_right(self, certainty: float = CERTAINTY) -> bool:
        """Whether the hidden cells are named rightly, more often than the distribution alone would.

        The office knows all cells that are named: the share of them is no estimate.
        """
        return self.right > self.base * self.named and self.right >= certainty * self.named

    @property
    def is_exact(self) -> bool:
        """Whether rules name all published cells and all hidden ones rightly."""
        return self.seen_right == self.seen and self.right == self.named

    def is_no_chance(self) -> bool:
        """Whether the distribution alone would not name as many hidden cells rightly."""
        return self._by_chance(self.right, self.named) < LEVEL

    def _by_chance(self, right: int, named: int) -> float:
        """Probability that the distribution alone names as many rightly."""
        return float(bdtrc(right - 1, named, self.base))


def is_below(right: int, named: int, certainty: float) -> bool:
    """Whether so few of the cells that are named are named rightly that it cannot be by chance."""
    return bool(bdtr(right, named, certainty) < LEVEL)


def claims_of(named: Integers, own: Integers, shown: Integers) -> dict[int | None, Claims]:
    """What rules claim: all of them (None), and those that name one value, by its code.

    They are judged apart, as a leak may be one of a single value. What rules name is what everybody sees, unlike which
    of them are right.

    `named`: code of the value that the other records show for each cell, -1 where they show none. `own`: code of the
    value that it has, -1 where missing. `shown`: code of what is published, -1 where nothing is; a cell is hidden where
    that is another; shape (n,) each.
    """
    width = int(max(own.max(initial=-1), named.max(initial=-1), shown.max(initial=-1))) + 1
    shares = np.bincount(shown[shown >= 0], minlength=width).astype(np.float64)
    shares /= max(float(shares.sum()), 1.0)
    seen = np.flatnonzero((named >= 0) & (shown >= 0))
    asked = np.flatnonzero((named >= 0) & (own >= 0) & (shown != own))
    parts = (seen, seen[named[seen] == shown[seen]], asked, asked[named[asked] == own[asked]])
    counts = [np.bincount(named[part], minlength=width) for part in parts]
    found: dict[int | None, Claims] = {None: _together(counts, shares)}
    for code in np.flatnonzero(counts[0] + counts[2]).tolist():
        published, published_right, hidden, right = (int(each[code]) for each in counts)
        found[code] = Claims(published, published_right, hidden, right, float(shares[code]))
    return found


def _together(counts: Sequence[Integers], shares: Floats) -> Claims:
    seen, seen_right, named, right = (int(each.sum()) for each in counts)
    weights = counts[2] if named else counts[0]
    return Claims(seen, seen_right, named, right, float(shares @ weights) / max(named or seen, 1))


def relations(
    claims: Mapping[int | None, Claims], families: int, certainty: float = CERTAINTY
) -> frozenset[int | None]:
    """Families of rules that hold, of those claimed of a file in which no cell is hidden."""
    return frozenset(value for value, each in claims.items() if each.is_relation(families, certainty))


def certain_cells(
    named: Integers,
    own: Integers,
    shown: Integers,
    families: int,
    certainty: float = CERTAINTY,
    related: Collection[int | None] | None = None,
) -> Booleans:
    """Hidden cells that an intruder would be sure of, and rightly; shape (n,).

    Taken of all cells together that a family of rules names, never of a single one: which guesses are right would show.
    Rules that name one value are many: of these some would be right by chance.

    `families`: how many families of rules are tried. `related`: those that hold where no cell is hidden; others are
    there because of what was suppressed; None: any may be.
    """
    found = np.zeros(len(own), dtype=np.bool_)
    hidden = (own >= 0) & (shown != own)
    for value, claims in claims_of(named, own, shown).items():
        if related is not None and value not in related:
            continue
        by_chance = not claims.is_no_chance() and (value is not None or not claims.is_exact)
        if not by_chance and claims.is_right(certainty) and claims.looks_certain(families, certainty):
            found |= hidden & (named >= 0 if value is None else named == value)
    return found
