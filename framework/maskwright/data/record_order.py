"""What the order of the records tells: in a file sorted by region, the neighbours of a record show its region."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import BY_CHANCE, EXCEPTIONS, ValueCodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset


def told_by_neighbours(data: Dataset, name: str, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Hidden cells of a variable whose value the nearest shown ones before and after have; shape (n,).

    None where that tells nothing: of the shown cells between two alike, so few have to differ from these, and so many
    have to be there, that it is not by chance (see `maskwright.data.dependencies.determines`).

    `hidden`: shape (n,).
    """
    own = ValueCodes(data).of(name)
    run = _runs(own, data.households)
    first = np.flatnonzero(np.diff(run, prepend=-1))
    return np.asarray(_told(own[first], hidden[first])[run] & hidden)


def is_in_blocks(data: Dataset, name: str) -> bool:
    """Whether nearly all records have the value of the records before and after, and not by chance."""
    own = ValueCodes(data).of(name)
    run = _runs(own, data.households)
    codes = own[np.flatnonzero(np.diff(run, prepend=-1))]
    codes = codes[codes >= 0]
    if len(codes) < 2:
        return False
    shares = np.bincount(codes) / len(codes)
    alike, steps = float(shares @ shares), np.diff(codes) != 0
    by_chance = alike >= 1 or len(steps) * -math.log(alike) < math.log(BY_CHANCE)
    return not by_chance and int(np.count_nonzero(steps)) <= EXCEPTIONS * len(steps) * (1 - alike)


def _told(codes: NDArray[np.int64], hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Hidden cells that stand between shown ones of their own value, where such tell it."""
    seen = np.where(hidden, -1, codes)
    before, after = _last_shown(seen), _last_shown(seen[::-1])[::-1]
    between = (before >= 0) & (before == after)
    shown = between & (seen >= 0)
    shares = np.bincount(seen[seen >= 0], minlength=1) / max(int(np.count_nonzero(seen >= 0)), 1)
    alike, number = float(shares @ shares), int(np.count_nonzero(shown))
    nothing = np.zeros(len(codes), dtype=np.bool_)
    if not 0 < alike < 1 or number * -math.log(alike) < math.log(BY_CHANCE):
        return nothing
    exceptions = int(np.count_nonzero(seen[shown] != before[shown]))
    return nothing if exceptions > EXCEPTIONS * number * (1 - alike) else hidden & between & (codes == before)


def _last_shown(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Code of the nearest shown cell before each, -1 where there is none; shape (n,)."""
    places = np.maximum.accumulate(np.where(codes >= 0, np.arange(len(codes)), -1))
    before = np.concatenate([[-1], places[:-1]]).astype(np.int64)
    return np.where(before >= 0, codes[before], -1)


def _runs(codes: NDArray[np.int64], homes: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Number of the run of each record, shape (n,): housemates in a row are one where they have the value in common.

    What a household has in common is suppressed in all its members or in none, so they say nothing of each other.
    """
    if homes is None or not len(codes):
        return np.arange(len(codes))
    first = np.unique(homes, return_index=True)[1]
    if not np.array_equal(codes[first][homes], codes):
        return np.arange(len(codes))
    return np.cumsum(np.diff(homes, prepend=homes[0]) != 0)
