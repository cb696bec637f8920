"""What nearly all that are alike show of a value: whoever counts them takes it for that of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.masking.suppressing.single_values import CERTAIN

if TYPE_CHECKING:
    from numpy.typing import NDArray


def told_by_others(given: NDArray[np.int64], found: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """What nearly all that are seen, and have the same `given`, have; -1 where nearly all do not agree.

    `given`, `found`: codes 0, 1, ..., -1 where there is none; shape (groups,). `seen`: groups, or records, of which
    both are published; shape (groups,).
    """
    told = np.full(len(given), -1, dtype=np.int64)
    both = seen & (given >= 0) & (found >= 0)
    if not both.any():
        return told
    width = int(found[both].max()) + 1
    pairs, counts = np.unique(given[both] * width + found[both], return_counts=True)
    sizes = np.bincount(given[both])
    sure = counts >= CERTAIN * sizes[pairs // width]
    by_given = np.full(int(given.max()) + 1, -1, dtype=np.int64)
    by_given[pairs[sure] // width] = pairs[sure] % width
    return np.where(given >= 0, by_given[np.maximum(given, 0)], -1)
