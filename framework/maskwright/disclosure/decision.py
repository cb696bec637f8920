"""The decision about an inference: whether an intruder would be sure of it, and whether that would be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr, bdtrc

from maskwright.data.dependencies import BY_CHANCE, CERTAINTY

if TYPE_CHECKING:
    from collections.abc import Collection

    from maskwright.foundation.arrays import Booleans, Floats, Integers


SURE = 0.95
"""Share of few published cells that have to be named rightly."""

LEVEL = 0.05
"""Level of the bounds on such shares."""


ALL = -1
"""Stands for all rules together, where a family is named by the code of the value that its rules name."""


@dataclass(frozen=True, eq=False)
class Claims:
    """What families of rules claim of cells; shape (families,) each.

    `codes`: of the value that the rules name; the first is `ALL`. `seen`, `seen_right`: published cells that the rules
    name from the other records, and how many rightly: everybody can count that. `named`, `right`: the same of the
    hidden cells, which only the office can count. `base`: share of the named cells that the published distribution
    alone would name rightly.
    """

    codes: Integers
    seen: Integers
    seen_right: Integers
    named: Integers
    right: Integers
    base: Floats

    def looks_certain(self, families: int | None, certainty: float = CERTAINTY) -> Booleans:
        """Whether published cells show the rules to be right.

        By a bound on the share of those that are right, or, where they are few, by one that is high, and not by chance.

        `families`: how many families of rules are tried; None: published cells have shown each rule to be right, so
        that it is enough if those of a family are not wrong together.
        """
        is_possible = ~_is_below(self.seen_right, self.seen, certainty)
        if families is None:
            return is_possible
        by_bound = bdtrc(self.seen_right - 1, self.seen, certainty) <= LEVEL / families
        is_high = self.seen_right >= SURE * self.seen
        no_chance = self._by_chance(self.seen_right, self.seen) * BY_CHANCE * families < 1
        return np.asarray((self.seen > 0) & (by_bound | (is_high & no_chance)))

    def is_relation(self, families: int, certainty: float = CERTAINTY) -> Booleans:
        """Whether rules of a file in which no cell is hidden are right, and not by chance."""
        right, seen = self.seen_right, self.seen
        is_right = (right > self.base * seen) & ~_is_below(right, seen, certainty)
        return np.asarray(is_right & (self._by_chance(right, seen) * BY_CHANCE * families < 1))

    def is_right(self, certainty: float = CERTAINTY) -> Booleans:
        """Whether the hidden cells are named rightly, more often than the distribution alone would."""
        return np.asarray((self.right > self.base * self.named) & ~_is_below(self.right, self.named, certainty))

    def is_no_chance(self) -> Booleans:
        """Whether the distribution alone would not name as many hidden cells rightly."""
        return np.asarray(self._by_chance(self.right, self.named) < LEVEL)

    def _by_chance(self, right: Integers, named: Integers) -> Floats:
        """Probability that the distribution alone names as many rightly."""
        return np.asarray(bdtrc(right - 1, named, self.base), dtype=np.float64)


def _is_below(right: Integers, named: Integers, certainty: float) -> Booleans:
    """Whether so few of the cells that are named are named rightly that it cannot be by chance."""
    return np.asarray(bdtr(right, named, certainty) < LEVEL)


def claims_of(named: Integers, own: Integers, shown: Integers) -> Claims:
    """What rules claim: all of them, and those that name one value.

    They are judged apart, as a leak may be one of a single value. What rules name is what everybody sees, unlike which
    of them are right.

    `named`: code of the value that the other records show for each cell, -1 where they show none. `own`: code of the
    value that it has, -1 where missing. `shown`: code of what is published, -1 where nothing is; a cell is hidden where
    that is another; shape (n,) each.
    """
    width = int(max(own.max(initial=-1), named.max(initial=-1), shown.max(initial=-1))) + 1
    shares = np.bincount(shown[shown >= 0], minlength=width).astype(np.float64)
    shares /= max(float(shares.sum()), 1.0)
    is_seen, is_hidden = (named >= 0) & (shown >= 0), (named >= 0) & (own >= 0) & (shown != own)
    parts = (is_seen, is_seen & (named == shown), is_hidden, is_hidden & (named == own))
    counts = np.array([np.bincount(named[part], minlength=width) for part in parts])
    totals = counts.sum(axis=1)
    base = float(shares @ counts[2 if totals[2] else 0]) / max(int(totals[2] or totals[0]), 1)
    codes = np.flatnonzero(counts[0] + counts[2])
    seen, seen_right, hidden, right = np.column_stack([totals, counts[:, codes]])
    return Claims(np.append(ALL, codes), seen, seen_right, hidden, right, np.append(base, shares[codes]))


def relations(claims: Claims, families: int, certainty: float = CERTAINTY) -> Integers:
    """Families of rules that hold, of those claimed of a file in which no cell is hidden."""
    return claims.codes[claims.is_relation(families, certainty)]


def certain_cells(
    named: Integers,
    own: Integers,
    shown: Integers,
    related: Integers | Collection[int],
    families: int | None = None,
    certainty: float = CERTAINTY,
) -> Booleans:
    """Hidden cells that an intruder would be sure of, and mostly right; shape (n,).

    Taken of all cells together that a family of rules names, never of a single one: which guesses are right would show.

    `related`: families of rules that hold where no cell is hidden. Others are there because of what was suppressed, and
    are judged all together, as of many some would be right by chance. `families`: see `Claims.looks_certain`.
    """
    claims = claims_of(named, own, shown)
    holds = np.isin(claims.codes, np.asarray(related)) | ((claims.codes == ALL) & claims.is_no_chance())
    certain = claims.codes[holds & claims.is_right(certainty) & claims.looks_certain(families, certainty)]
    cells = (named >= 0) & (own >= 0) & (shown != own)
    if ALL not in certain:
        is_certain = np.zeros(int(named.max(initial=-1)) + 2, dtype=np.bool_)
        is_certain[certain] = True
        cells &= is_certain[named]
    return np.asarray(cells)
