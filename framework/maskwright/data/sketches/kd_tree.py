"""A k-d cut of a file, made from a sample of its records: which leaf any record belongs to.

`maskwright.masking.protecting.variable_group.kd_blocks` cuts all records exactly; here the cuts are quantiles of a
sample, so that leaves differ in size as samples do. Equal values on a cut are distinguished by the hash of the record's
number.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class KdTree:
    """Cuts of a file into leaves of near records; all of shape (c,), the first cut that of all records.

    `columns`: what a cut looks at. `values`: the largest on its left side, and of records with it the largest of
    `hashes`. `left`, `right`: what follows on either side, a cut, or -1 - the number of a leaf.

    >>> import numpy as np
    >>> points, hashes = np.array([[0.0], [9.0], [1.0], [8.0]]), np.array([5, 6, 7, 8], dtype=np.uint64)
    >>> tree = KdTree.of(points, hashes, 2)
    >>> tree.leaf_of(np.array([[0.5], [70.0]]), np.array([1, 2], dtype=np.uint64))
    array([0, 1])
    """

    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    hashes: NDArray[np.uint64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @classmethod
    def of(cls, points: NDArray[np.float64], hashes: NDArray[np.uint64], leaves: int) -> KdTree:
        """Cut a standardised sample into so many leaves, always at a share of the column of largest variance."""
        leaves = max(1, min(leaves, len(points)))
        count = leaves - 1
        columns, values = np.zeros(count, dtype=np.int64), np.zeros(count)
        borders, sides = np.zeros(count, dtype=np.uint64), np.zeros((2, count), dtype=np.int64)
        waiting = [(np.arange(len(points)), 0, leaves, -1, 0)]
        made = 0
        while waiting:
            records, first, inside, parent, side = waiting.pop()
            if inside == 1:
                if parent >= 0:
                    sides[side, parent] = -1 - first
                continue
            here, made = made, made + 1
            if parent >= 0:
                sides[side, parent] = here
            left = inside // 2
            run = points[records]
            column = int(np.argmax(run.var(axis=0))) if points.shape[1] else 0
            own = run[:, column] if points.shape[1] else np.zeros(len(records))
            size = len(records) * left // inside
            border = np.partition(own, size - 1)[size - 1]
            is_left = own < border
            # Of records with the value at the cut, those with the smallest hashes.
            tied = np.flatnonzero(own == border)
            inner = size - int(is_left.sum())
            ordered = tied[np.argsort(hashes[records[tied]], kind="stable")]
            is_left[ordered[:inner]] = True
            columns[here], values[here], borders[here] = column, border, hashes[records[ordered[inner - 1]]]
            waiting.append((records[~is_left], first + left, inside - left, here, 1))
            waiting.append((records[is_left], first, left, here, 0))
        return cls(columns, values, borders, sides[0], sides[1])

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.columns) + 1

    def leaf_of(self, points: NDArray[np.float64], hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Leaf of each record, by points standardised as the sample was; shape (n,)."""
        found = np.zeros(len(points), dtype=np.int64)
        if not len(self.columns):
            return found
        waiting = [(np.arange(len(points)), 0)]
        while waiting:
            records, node = waiting.pop()
            if node < 0:
                found[records] = -1 - node
                continue
            own = points[records, self.columns[node]] if points.shape[1] else np.zeros(len(records))
            tied = (own == self.values[node]) & (hashes[records] <= self.hashes[node])
            is_left = (own < self.values[node]) | tied
            waiting.append((records[is_left], int(self.left[node])))
            waiting.append((records[~is_left], int(self.right[node])))
        return found

    def fingerprint(self) -> str:
        """SHA-256 of its cuts."""
        digest = hashlib.sha256()
        for each in (self.columns, self.values, self.hashes, self.left, self.right):
            digest.update(np.ascontiguousarray(each).astype(each.dtype.newbyteorder("<")).tobytes())
        return digest.hexdigest()
