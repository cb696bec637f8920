"""What the order of records shows: that of the file, and those in which published numbers put them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import BY_CHANCE, EXCEPTIONS, ValueCodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset


RANDOM_ORDER = "Publish the records in random order: `release: {order: random}`."
"""Remedy of what the order of a file shows."""

RANDOM_ORDER_OF_LEVEL = "Publish the records in random order: leave `keep_order` out."
"""The same for a level, whose records are in random order unless it says otherwise."""

FEWEST_RECORDS = 20
"""Records, or households of them, that have to be there for numbers to be in ascending or descending order."""

TURNING = 2 / 3
"""Share of the records of a file in random order, of different numbers, that stand above or below both neighbours."""


def orders_of_numbers(
    numbers: Mapping[str, NDArray[np.float64]], homes: NDArray[np.int64] | None = None
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Each number with several values, and the records that have it, in ascending order of it.

    Equal numbers give no order: the records that have them, and the households of these, are in random order.

    `numbers`: NaN where missing; shape (n,). `homes`: household of each record; shape (n,).
    """
    generator = np.random.default_rng(0)
    shuffled: NDArray[np.int64] | None = None
    for name, values in numbers.items():
        known = np.isfinite(values)
        if not known.any() or np.ptp(values[known]) == 0:
            continue
        if shuffled is None:
            shuffled = generator.permutation(len(values)).astype(np.int64)
            if homes is not None and len(homes):
                places = generator.permutation(int(homes.max()) + 1)
                shuffled = shuffled[np.argsort(places[homes[shuffled]], kind="stable")]
        rows = shuffled[known[shuffled]]
        yield name, rows[np.argsort(values[rows], kind="stable")]


def blocks_in_order_of_numbers(
    data: Dataset, names: Sequence[str], numbers: Mapping[str, NDArray[np.float64]]
) -> Iterator[tuple[str, str]]:
    """Categories that lie in blocks where the records are sorted by a number, each with the first such number.

    `numbers`: NaN where missing; shape (n,).
    """
    codes = ValueCodes(data)
    left, tests = list(names), max(len(names) * len(numbers), 1)
    for number, rows in orders_of_numbers(numbers, data.households) if left else ():
        for name in tuple(left):
            if is_in_blocks(data, name, rows, tests, codes):
                left.remove(name)
                yield name, number
        if not left:
            return


def is_in_blocks(
    data: Dataset,
    name: str,
    rows: NDArray[np.int64] | None = None,
    tests: int = 1,
    codes: ValueCodes | None = None,
) -> bool:
    """Whether nearly all records have the value of the records before and after, and not by chance.

    `rows`: the records in an order of their own; shape (m,). `tests`: what is examined at once.
    """
    own, first, _ = in_order((codes or ValueCodes(data)).of(name), data.households, rows)
    found = own[first]
    found = found[found >= 0]
    if len(found) < 2:
        return False
    counts = np.bincount(found)
    shares = counts / len(found)
    alike, steps = float(shares @ shares), int(np.count_nonzero(np.diff(found)))
    if alike >= 1 or steps > EXCEPTIONS * (len(found) - 1) * (1 - alike):
        return False
    # All arrangements of the values in as many blocks, and all arrangements.
    distinct = int(np.count_nonzero(counts))
    in_blocks = math.log(distinct) + steps * math.log(distinct - 1) + _log_choices(len(found) - 1, steps)
    return in_blocks - _log_arrangements(counts) < -math.log(BY_CHANCE * tests)


def is_in_order(data: Dataset, name: str, tests: int = 1) -> bool:
    """Whether nearly all records have a number between those of the records before and after, and not by chance.

    So have those of a file that is sorted by it, in either direction, or by it within a few other values. Equal
    numbers in a row are one.
    """
    column = data[name]
    values = np.where(column.missing, np.nan, column.values.astype(np.float64))
    _, first, _ = in_order(ValueCodes(data).of(name), data.households, None)
    known = values[first]
    known = known[np.isfinite(known)]
    if len(known) < FEWEST_RECORDS:
        return False
    _, counts = np.unique(known, return_counts=True)
    shares = counts / len(known)
    directions = np.sign(np.diff(known))
    turns = int(np.count_nonzero(np.diff(directions[directions != 0])))
    if len(counts) < 2 or turns > EXCEPTIONS * TURNING * (len(known) - 1) * (1 - float(shares @ shares)):
        return False
    # Which of the runs, ascending or descending, each of the equal numbers is in; and all arrangements.
    runs = turns + 1
    sizes, times = np.unique(counts, return_counts=True)
    in_runs = runs * math.log(2) + sum(
        int(often) * _log_choices(int(size) + runs - 1, runs - 1) for size, often in zip(sizes, times, strict=True)
    )
    return in_runs - _log_arrangements(counts) < -math.log(BY_CHANCE * tests)


def in_order(
    codes: NDArray[np.int64], homes: NDArray[np.int64] | None, rows: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Codes in an order, the first record of each run of them, and the run of each record.

    Members of a household in a row are one run where they have the value in common, and are hidden together; of others
    each is one.
    """
    own = codes if rows is None else codes[rows]
    if homes is None or not len(own) or not _is_of_households(codes, homes):
        every = np.arange(len(own))
        return own, every, every
    steps = np.diff(homes if rows is None else homes[rows], prepend=-1) != 0
    return own, np.flatnonzero(steps), np.cumsum(steps) - 1


def _is_of_households(codes: NDArray[np.int64], homes: NDArray[np.int64]) -> bool:
    """Whether the members of each household have a value in common."""
    one = np.zeros(int(homes.max()) + 1, dtype=np.int64)
    one[homes] = codes
    return bool(np.array_equal(one[homes], codes))


def _log_choices(n: int, k: int) -> float:
    """Logarithm of the number of choices of k among n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_arrangements(counts: NDArray[np.int64]) -> float:
    """Logarithm of the number of orders of values that occur so often."""
    sizes, times = np.unique(counts, return_counts=True)
    equal = sum(int(often) * math.lgamma(int(size) + 1) for size, often in zip(sizes, times, strict=True))
    return math.lgamma(int(counts.sum()) + 1) - equal
