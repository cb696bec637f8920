"""Contingency tables of both files over every set of one, two or three variables."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright import Progress
    from maskwright_builtin.measures.information_loss.categorical.paired_categories import CategoricalFiles, Categories

FEW_CELLS = 2**16
"""Cells that are always counted in one table, however few records there are."""
MOST_CELLS = 2**24
"""Cells beyond which only those are counted that a record is in."""


@dataclass(frozen=True, eq=False)
class Table:
    """One table of both files.

    `original`, `masked`: records in each cell, or their weight scaled to the number of records; the masked ones scaled
    to as many records as the original has. Cells that no record of either file is in may be left out; shape (c,).
    `cells`: of the product of the domains, empty ones included. `occurring`: numbers of the cells, with the last
    variable running fastest; None where all are there; shape (c,).
    """

    variables: tuple[Categories, ...]
    original: NDArray[np.float64]
    masked: NDArray[np.float64]
    cells: int
    occurring: NDArray[np.int64] | None

    @property
    def hellinger(self) -> float:
        """Hellinger distance of the two distributions, 0 to 1."""
        # Half the sum of squared differences: equal tables give 0 and not the root of a rounding error.
        roots = np.sqrt(self.original / self.original.sum()) - np.sqrt(self.masked / self.masked.sum())
        return float(np.sqrt(min(1.0, 0.5 * float(np.dot(roots, roots)))))

    @property
    def total_variation(self) -> float:
        """Total variation distance of the two distributions, 0 to 1."""
        return float(np.abs(self.original / self.original.sum() - self.masked / self.masked.sum()).sum()) / 2.0

    @property
    def difference(self) -> float:
        """Sum of absolute differences of the counts."""
        return float(np.abs(self.original - self.masked).sum())


def tables(files: CategoricalFiles, ways: int, progress: Progress, least: int = 1) -> Iterator[Table]:
    """Tables of all sets of `least` to `ways` variables.

    A set of three takes the joint codes of its first two, so that each table costs one pass over either file.

    `ways`: 1 to 3.
    """
    variables = files.variables
    q, done = len(variables), 0
    total = sum(comb(q, way) for way in range(least, ways + 1))
    for i, first in enumerate(variables):
        for table in _of_first(files, i, first, ways):
            if len(table.variables) >= least:
                yield table
                done += 1
                progress(done / total)


def _of_first(files: CategoricalFiles, i: int, first: Categories, ways: int) -> Iterator[Table]:
    """Tables whose first variable is the i-th."""
    nothing = (np.zeros(files.records[0], dtype=np.int32), np.zeros(files.records[1], dtype=np.int32))
    yield _table(files, (first,), nothing, (first.original, first.masked), 1)
    if ways < 2:
        return
    for j in range(i + 1, len(files.variables)):
        second = files.variables[j]
        yield _table(files, (first, second), (first.original, first.masked), (second.original, second.masked),
                     first.size)  # fmt: skip
        if ways < 3 or j + 1 == len(files.variables):
            continue
        joint, size = _joined(first, second)
        for third in files.variables[j + 1 :]:
            yield _table(files, (first, second, third), joint, (third.original, third.masked), size)


def _joined(first: Categories, second: Categories) -> tuple[tuple[NDArray[np.int32], NDArray[np.int32]], int]:
    """Joint codes of two variables in both files, and how many there are."""
    if first.size * second.size < 2**31:
        narrow = (first.original * second.size + second.original, first.masked * second.size + second.masked)
        return (narrow[0].astype(np.int32), narrow[1].astype(np.int32)), first.size * second.size
    wide = [
        a.astype(np.int64) * second.size + b
        for a, b in ((first.original, second.original), (first.masked, second.masked))
    ]
    occurring, codes = np.unique(np.concatenate(wide), return_inverse=True)
    return (codes[: len(wide[0])].astype(np.int32), codes[len(wide[0]) :].astype(np.int32)), len(occurring)


def _table(
    files: CategoricalFiles,
    variables: tuple[Categories, ...],
    first: tuple[NDArray[np.int32], NDArray[np.int32]],
    second: tuple[NDArray[np.int32], NDArray[np.int32]],
    first_size: int,
) -> Table:
    size = variables[-1].size
    cells = first_size * size
    n, m = files.records
    occurring = None
    if cells > min(MOST_CELLS, max(FEW_CELLS, 4 * (n + m))):
        wide = [a.astype(np.int64) * size + b for a, b in zip(first, second, strict=True)]
        occurring, codes = np.unique(np.concatenate(wide), return_inverse=True)
        first = np.zeros(n, dtype=np.int32), np.zeros(m, dtype=np.int32)
        second = codes[:n].astype(np.int32), codes[n:].astype(np.int32)
        size = cells = len(occurring)
    weights = (None, None) if files.weights is None else (files.weights.original, files.weights.masked)
    counts = [_counted(a, b, size, cells, own) for a, b, own in zip(first, second, weights, strict=True)]
    # Weights have mean 1 already; files of other lengths are brought to the original's.
    return Table(variables, counts[0], counts[1] * (n / m), prod(each.size for each in variables), occurring)


def _counted(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    size: int,
    cells: int,
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    # Numba: plugins are listed without it.
    from maskwright_builtin.measures.information_loss.categorical.counting_kernel import count_pairs, weigh_pairs

    if weights is not None:
        weighed = np.zeros(cells)
        weigh_pairs(first, second, size, weights, weighed)
        return weighed
    counted = np.zeros(cells, dtype=np.int64)
    count_pairs(first, second, size, counted)
    return counted.astype(np.float64)
