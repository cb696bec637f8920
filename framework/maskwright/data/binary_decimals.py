"""Decimals up to rounding of binary arithmetic: 1.1 + 2.2 gives 3.3000000000000003, and 3.3 is what it stands for.

Cells are read as decimals with `d` places where all of them are multiples of ``10 ** -d``, or so near to one that
rounding explains the distance, and are written with as many digits as a sum in binary64 has. It is decided for a whole
column: what is known of parts of it merges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.number_text import MOST_DECIMALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT = 2.0**53
"""Every integer up to this is a binary64 number; beyond it, neighbours become equal."""

MOST_PLACES = 9
FEW_PLACES = 6
"""Most decimals of stored numbers that are all multiples as they stand."""
FEWEST_DIGITS = 15
"""Significant digits with which programs write binary64 numbers: R 15, others up to 17."""
FEW_SHORT = 20
"""Of so many one may have fewer digits: where large terms cancel, one in 200 does, since the last digits are random."""
FARTHEST = 2.0**-42
"""Share of a column's largest number by which rounding moves a cell at most: that of a sum of a thousand terms."""
NEAREST = 2.0**-83
"""Distance that rounding leaves at least: half a unit in the last place of 1e-9, the smallest number that is added."""
HALF_A_UNIT = 2.0**-53
"""Share of a number by which rounding once moves it at most."""
CLEAR = 1 / 16
"""Share of a step of the grid within which a cell belongs to one multiple and to no other."""
BY_CHANCE = 1e-4
"""Numbers that mean their digits lie as near to the grid, all of them, with at most this probability."""
FIRST = 1000
MOST_SMALL = 10_000
EXACT_POWER = 22


@dataclass(frozen=True, eq=False)
class GridFacts:
    """How far the numbers of a column, or of a part of it, are from the grids of 0, 1, ..., 9 decimals.

    `cells`: those without a value among them. `written`: decimals that the texts need; None: binary64 is stored.
    `beyond`: numbers that are no multiple as they stand; shape (10,). `short`: those of them with fewer digits than
    sums in binary64 have; shape (10,). `distance`: of the farthest one; infinite where that is too far; shape (10,).
    """

    cells: int
    largest: float
    written: int | None
    beyond: NDArray[np.int64]
    short: NDArray[np.int64]
    distance: NDArray[np.float64]

    @classmethod
    def of(cls, numbers: NDArray[np.float64], written: int | None, cells: int | None = None) -> GridFacts:
        """Facts of some numbers, of which none is NaN. `numbers`: shape (n,)."""
        largest = float(np.max(np.abs(numbers), initial=0.0))
        count = len(numbers) if cells is None else cells
        beyond, short = (np.zeros(MOST_PLACES + 1, dtype=np.int64) for _ in range(2))
        distance = np.zeros(MOST_PLACES + 1)
        if written is not None and have_few_digits(largest, written):
            # None of them has the digits of a sum in binary64.
            beyond[:written], distance[:written] = len(numbers), np.inf
            return cls(count, largest, written, beyond, short, distance)
        for places in range(MOST_PLACES + 1):
            beyond[places], short[places], distance[places] = _from_grid(numbers, places, largest)
            if beyond[places] == 0:
                # Multiples of 0.01 are multiples of 0.001, as far as binary64 distinguishes these.
                finer = [place for place in range(places, MOST_PLACES + 1) if largest * 10.0**place >= EXACT]
                beyond[finer], distance[finer] = len(numbers), np.inf
                break
        return cls(count, largest, written, beyond, short, distance)

    def __add__(self, other: GridFacts) -> GridFacts:
        """Facts of the numbers of both."""
        known = None if self.written is None or other.written is None else max(self.written, other.written)
        return GridFacts(
            self.cells + other.cells, max(self.largest, other.largest), known, self.beyond + other.beyond,
            self.short + other.short, np.maximum(self.distance, other.distance),
        )  # fmt: skip

    def places(self, declared: int | None = None) -> int | None:
        """Decimals that all numbers are read with; None: as they are written, or stored on no grid.

        Where decimals are declared, it is these, or None.
        """
        if declared is not None:
            return declared if declared <= MOST_PLACES and self._stand_for(declared, is_declared=True) else None
        exact = None
        if self.written is None:
            exact = next((each for each in range(FEW_PLACES + 1) if self._are(each)), None)
            if exact is not None and have_few_digits(self.largest, exact):
                return exact
        finest = exact if self.written is None else self.written
        coarser = range(MOST_PLACES + 1 if finest is None else min(MOST_PLACES + 1, finest))
        return next((each for each in coarser if self._stand_for(each)), exact)

    @property
    def has_no_grid(self) -> bool:
        """Whether the texts of the numbers have more digits than binary64 holds."""
        return self.written is not None and exceed_binary64(self.largest, self.written)

    def changes(self, places: int) -> bool:
        """Whether numbers that are read with so many decimals are not what the file says."""
        return bool(self.beyond[places]) or (self.written is not None and self.written > places)

    def notice(self, name: str, places: int) -> str | None:
        """What is said of a variable that is read so; None where all its numbers are these decimals as they stand."""
        return notice_of(name, places, int(self.beyond[places]), self.cells) if self.changes(places) else None

    def _are(self, places: int) -> bool:
        """Whether the numbers are multiples as they stand."""
        return not self.beyond[places] and self.largest * 10.0**places < EXACT

    def _stand_for(self, places: int, *, is_declared: bool = False) -> bool:
        """Whether rounding explains how far the numbers are from multiples, and chance does not."""
        farthest = float(max(self.distance[places], self.largest * HALF_A_UNIT))
        steps = farthest * 10.0**places
        beyond = int(self.beyond[places])
        if not (steps <= CLEAR and farthest <= FARTHEST * self.largest and self.short[places] <= beyond // FEW_SHORT):
            return False
        return is_declared or not beyond or (2 * steps) ** float(beyond) <= BY_CHANCE


def have_few_digits(largest: float, decimals: int) -> bool:
    """Whether numbers with so many decimals all have fewer digits than sums in binary64 are written with."""
    return largest * 10.0 ** min(decimals, 300) < 10.0 ** (FEWEST_DIGITS - 1)


def exceed_binary64(largest: float, decimals: int) -> bool:
    """Whether numbers with so many decimals have more digits than binary64 holds: they have no grid."""
    return decimals > MOST_DECIMALS or largest * 10.0**decimals > EXACT


def notice_of(name: str, places: int, count: int, cells: int) -> str:
    """What is said of a variable of which so many cells are read as decimals with so many places."""
    what = "whole numbers" if places == 0 else f"decimals with {places} place{'' if places == 1 else 's'}"
    one = count == 1
    many = f"{count} of {cells} cells" if count else "cells"
    verbs = ("is one of the", "is read as this") if one else ("are", "are read as these")
    return f"{name}: {many} {verbs[0]} {what} up to rounding of binary arithmetic, and {verbs[1]}"


def on_grid(numbers: NDArray[np.float64], places: int) -> NDArray[np.float64]:
    """Nearest decimals with so many places; NaN stays. `numbers`: shape (n,)."""
    scale = 10.0**places
    # Adding 0 leaves no negative one.
    return np.rint(numbers * scale) / scale + 0.0


def _from_grid(numbers: NDArray[np.float64], places: int, largest: float) -> tuple[int, int, float]:
    """How many numbers are no multiples, how many of these have few digits, and how far they are at most."""
    hopeless = (len(numbers), 0, np.inf)
    if not largest * 10.0**places < EXACT:
        return hopeless
    # Most columns show by their first numbers how many decimals are too few.
    count, short, farthest = 0, 0, 0.0
    for part in (numbers[:FIRST], numbers[FIRST:]):
        nearest = on_grid(part, places)
        others = nearest != part
        found = part[others]
        distances = np.abs(found - nearest[others])
        farthest = max(farthest, float(np.max(distances, initial=0.0)))
        if farthest * 10.0**places > CLEAR or np.min(distances, initial=np.inf) < NEAREST:
            return hopeless
        count, short = count + len(found), short + _with_few_digits(found)
    return count, short, farthest


def _with_few_digits(numbers: NDArray[np.float64]) -> int:
    """How many of some numbers, none of them 0, are written with fewer than 15 significant digits. Shape (n,)."""
    sizes = np.abs(numbers)
    powers = FEWEST_DIGITS - 2 - np.floor(np.log10(sizes)).astype(np.int64)
    usual = (powers >= 0) & (powers <= EXACT_POWER)
    scale = 10.0 ** powers[usual].astype(np.float64)
    found = int(np.count_nonzero(np.rint(sizes[usual] * scale) / scale == sizes[usual]))
    if np.all(usual):
        return found
    # No power of ten that binary64 holds says it of the others; they are remainders, and few are different.
    small, counts = np.unique(sizes[~usual], return_counts=True)
    if len(small) > MOST_SMALL:
        return len(numbers)
    short = [_digits(size) < FEWEST_DIGITS for size in small.tolist()]
    return found + int(counts[short].sum())


def _digits(value: float) -> int:
    return len(f"{value!r}".partition("e")[0].replace(".", "").strip("0"))
