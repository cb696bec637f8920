"""Exact statistics of a file in partitions: distinct rows, counts of values, order statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright import Column
    from maskwright_builtin.numerics.arrays import Floats, Integers


Facts = Mapping[str, Any]
"""What one part of a file contributes to a measure: plain data, as JSON has it."""
Request = Mapping[str, Any] | None
"""What all parts are to find out next; None in the first round."""
Columns = Mapping[str, "NDArray[np.generic]"]
"""Columns of equal length by name."""


def distinct_rows(columns: Columns, keys: Sequence[str]) -> tuple[Columns, Integers]:
    """The different rows, in the order of their keys, with the sums of all other columns; and where each is.

    `columns`: shape (n,). Returns which of them each row is; shape (c,).
    """
    n = len(columns[keys[0]])
    order = np.lexsort([columns[name] for name in reversed(keys)])
    new = np.zeros(n, dtype=np.bool_)
    for name in keys:
        ordered = columns[name][order]
        new[1:] |= ordered[1:] != ordered[:-1]
    new[:1] = True
    starts = np.flatnonzero(new)
    of_row = np.empty(n, dtype=np.int64)
    of_row[order] = np.cumsum(new) - 1
    found: dict[str, NDArray[np.generic]] = {}
    for name, values in columns.items():
        ordered = values[order]
        found[name] = ordered[starts] if name in keys or not n else np.add.reduceat(ordered, starts)
    return found, of_row


def places_of_values(column: Column) -> dict[str, Integers]:
    """Records of each value that is there: its category, or the number as text."""
    there = np.flatnonzero(~column.missing)
    values = column.values[there]
    order = np.argsort(values, kind="stable")
    different, starts = np.unique(values[order], return_index=True)
    names = (
        [repr(float(each) + 0.0) for each in different]
        if column.variable.is_numeric
        else [column.variable.categories[int(each)] for each in different]
    )
    return dict(zip(names, np.split(there[order], starts[1:]), strict=True)) if len(different) else {}


def counts_of_values(column: Column) -> dict[str, int]:
    """How many records have each value; ``missing`` counts under a name that no value has."""
    found = {f"={name}": len(rows) for name, rows in places_of_values(column).items()}
    gone = int(column.missing.sum())
    return found | ({"missing": gone} if gone else {})


POINTS = 128
"""Different values of each interval, at most, that a part counts."""

FIRST_POINTS = 1024
"""The same where all its values are one interval: of a part of 50,000 records fewer than `POINTS` values are then left
between two of them, and the next round counts all of these."""

MOST_POINTS = 4096
"""Values of an interval that are kept of all parts together."""

IntervalCounts = list[Any]
"""Of one interval of a part: how many values are below it, how many below or in it, and of some values in it the value,
how many are smaller, and how many are no larger."""


def interval_counts_of(
    column: Floats, intervals: Sequence[Sequence[float]] | None, points: int = POINTS
) -> list[IntervalCounts]:
    """Counts of the values of a part in some intervals, in all where there are none.

    `column`: NaN where missing; shape (n,).
    """
    values = column[~np.isnan(column)]
    if intervals is None:
        return [_interval_counts(np.sort(values), 0, points)]
    found = []
    for low, high in intervals:
        below = int(np.count_nonzero(values < low))
        found.append(_interval_counts(np.sort(values[(values >= low) & (values <= high)]), below, points))
    return found


def _interval_counts(ordered: Floats, below: int, points: int) -> IntervalCounts:
    if not len(ordered):
        return [below, below, [], [], []]
    starts = np.append(np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])), len(ordered))
    count = len(starts) - 1
    chosen = np.unique(np.linspace(0, count - 1, min(count, points)).astype(np.int64))
    return [
        below, below + len(ordered), ordered[starts[chosen]].tolist(), (below + starts[chosen]).tolist(),
        (below + starts[chosen + 1]).tolist(),
    ]  # fmt: skip


def counted(column: Floats, borders: Sequence[float]) -> list[list[int]]:
    """How many values of a part are smaller than each border, and how many are no larger.

    `column`: NaN where missing; shape (n,).
    """
    ordered = np.sort(column[~np.isnan(column)])
    return [np.searchsorted(ordered, borders, side=side).tolist() for side in ("left", "right")]


@dataclass(frozen=True)
class RankSearch:
    """Order statistics of one column, as far as they are known.

    `found`: of each rank that is known, 0-based, its value. `open`: intervals in which others lie.
    """

    found: dict[int, float]
    open: tuple[tuple[float, float, tuple[int, ...]], ...]

    @classmethod
    def begun(cls, ranks: Sequence[int], parts: Sequence[list[IntervalCounts]]) -> Self:
        """Intervals of some ranks after the first round."""
        return cls({}, ((-np.inf, np.inf, tuple(dict.fromkeys(int(rank) for rank in ranks))),)).closer(parts)

    def closer(self, parts: Sequence[list[IntervalCounts]]) -> Self:
        """What is known after another round."""
        found, left = dict(self.found), dict[tuple[float, float], list[int]]()
        for place, (_, _, ranks) in enumerate(self.open):
            if not ranks:
                continue
            for rank, low, high in zip(ranks, *_bounds([each[place] for each in parts], ranks), strict=True):
                if low == high:
                    found[rank] = low
                else:
                    left.setdefault((low, high), []).append(rank)
        return type(self)(found, tuple((*ends, tuple(ranks)) for ends, ranks in left.items()))

    @property
    def intervals(self) -> list[list[float]]:
        """Intervals that parts are to count in."""
        return [[low, high] for low, high, _ in self.open]

    def values(self, ranks: Sequence[int]) -> Floats:
        """Values of ranks that are known."""
        return np.array([self.found[int(rank)] for rank in ranks], dtype=np.float64)

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [[list(each) for each in self.found.items()], [[*ends, list(ranks)] for *ends, ranks in self.open]]

    @classmethod
    def from_json(cls, plain: Sequence[Any]) -> Self:
        """What `to_json` gave."""
        return cls(
            {int(rank): float(value) for rank, value in plain[0]},
            tuple((float(low), float(high), tuple(ranks)) for low, high, ranks in plain[1]),
        )


def condensed(parts: Sequence[list[IntervalCounts]]) -> list[IntervalCounts]:
    """Counts of some parts as if they were one; of more than `MOST_POINTS` values some are left out.

    How many values are smaller is then the most, and how many are no larger the least that there may be.
    """
    found: list[IntervalCounts] = []
    for counts in zip(*parts, strict=True):
        below, upto = (sum(each[at] for each in counts) for at in (0, 1))
        columns = _together(counts)
        count = len(columns[0])
        if count > MOST_POINTS:
            chosen = np.linspace(0, count - 1, MOST_POINTS).astype(np.int64)
            columns = [each[chosen] for each in columns]
        found.append([below, upto, *columns])
    return found


def _together(parts: Sequence[IntervalCounts]) -> list[NDArray[Any]]:
    """Values counted in any part, how many may be smaller at most, and how many are no larger at least."""
    counts = [each for each in parts if len(each[2])]
    if not counts:
        return [np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)]
    values = np.concatenate([np.asarray(each[2], dtype=np.float64) for each in counts])
    # Just behind a counted value, as many may be smaller as are smaller than the next one; from a counted value on,
    # at least as many are no larger.
    most = np.concatenate([np.diff(np.asarray(each[3], dtype=np.int64), append=each[1]) for each in counts])
    least = np.concatenate([np.diff(np.asarray(each[4], dtype=np.int64), prepend=each[0]) for each in counts])
    order = np.argsort(values, kind="stable")
    values, most, least = values[order], np.cumsum(most[order]), np.cumsum(least[order])
    below = sum(each[0] for each in parts)
    points = np.unique(values)
    begin, end = (np.searchsorted(values, points, side=side) for side in ("left", "right"))
    return [points, below + np.append(0, most)[begin], below + least[end - 1]]


def _bounds(parts: Sequence[IntervalCounts], ranks: Sequence[int]) -> tuple[list[float], list[float]]:
    """Largest counted value that is at most the order statistic of each rank, and smallest that is at least it."""
    points, smaller, no_larger = _together(parts)
    low = points[np.searchsorted(smaller, ranks, side="right") - 1]
    high = points[np.searchsorted(no_larger, np.asarray(ranks) + 1, side="left")]
    return low.tolist(), high.tolist()
