"""What a generalisation costs: one figure for each level of each key, and what emptied cells add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.methods.generalisation.leaf_rows import Key, Rows

LossName = Literal["entropy", "lm", "discernibility", "height"]


class CellLoss:
    """A loss that is a sum over cells: of each key's level, and more for cells that are emptied.

    `worth`: how much each key counts.
    """

    def __init__(self, name: LossName, keys: Sequence[Key], n: int, worth: Sequence[float]) -> None:
        self._levels: list[NDArray[np.float64]] = []
        self._emptied: list[list[NDArray[np.float64]]] = []
        total = sum(worth)
        high = sum(each for key, each in zip(keys, worth, strict=True) if key.height)
        for key, each in zip(keys, worth, strict=True):
            if name == "lm":
                scale = each / (n * total)
                levels = [float(np.dot(c, s)) * scale for c, s in zip(key.counts, key.spans, strict=True)]
                emptied = [_but_missing((1.0 - span) * scale, key.missing) for span in key.spans]
            elif name == "entropy":
                levels = [each * (_bits(c) - _bits(key.leaves)) for c in key.counts]
                emptied = [_but_missing(each * np.log2(n / np.maximum(c, 1)), key.missing) for c in key.counts]
            else:
                levels = [each * level / key.height / high if key.height else 0.0 for level in key.levels]
                emptied = [np.zeros(len(c)) for c in key.counts]
            self._levels.append(np.array(levels))
            self._emptied.append(emptied)

    def bounds(self, levels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Loss of nodes with no cell emptied, which no true loss is below; shape (nodes,)."""
        return np.asarray(sum(own[levels[:, j]] for j, own in enumerate(self._levels)), dtype=np.float64)

    def loss(self, node: Sequence[int], rows: Rows, emptied: NDArray[np.bool_]) -> float:
        """Loss of a node in which these rows are emptied."""
        found = sum(float(own[level]) for own, level in zip(self._levels, node, strict=True))
        gone, counts = rows.codes[emptied], rows.counts[emptied]
        if not len(gone):
            return found
        for j, level in enumerate(node):
            more = self._emptied[j][level]
            found += float(np.dot(np.bincount(gone[:, j], weights=counts, minlength=len(more)), more))
        return found

    def most_emptied(self, loss: float) -> int | None:  # noqa: ARG002 - of Discernibility
        """Emptied records of a node that costs no more than this; None: that is not known."""
        return None


class Discernibility:
    """Sum of the squares of the classes that are left, and n for each emptied record (Bayardo and Agrawal 2005)."""

    def __init__(self, keys: Sequence[Key], n: int) -> None:
        self._keys, self._n = keys, n

    def bounds(self, levels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Loss of classes that are all of one size, as many as combinations of categories; shape (nodes,)."""
        widest = np.ones(len(levels))
        for j, key in enumerate(self._keys):
            widest *= np.array([np.count_nonzero(counts) for counts in key.counts], dtype=np.float64)[levels[:, j]]
        return np.asarray(self._n * (self._n / widest), dtype=np.float64)

    def loss(self, node: Sequence[int], rows: Rows, emptied: NDArray[np.bool_]) -> float:  # noqa: ARG002 - of CellLoss
        """Loss of a node in which these rows are emptied."""
        kept = rows.counts[~emptied].astype(np.float64)
        return float(np.dot(kept, kept)) + float(rows.counts[emptied].sum()) * self._n

    def most_emptied(self, loss: float) -> int:
        """Emptied records of a node that costs no more than this."""
        return int(loss / self._n)


def loss_of(name: LossName, keys: Sequence[Key], n: int, worth: Sequence[float]) -> CellLoss | Discernibility:
    """The loss of this name."""
    return Discernibility(keys, n) if name == "discernibility" else CellLoss(name, keys, n, worth)


def _bits(counts: NDArray[np.int64]) -> float:
    present = counts[counts > 0].astype(np.float64)
    return float(np.dot(present, np.log2(present)))


def _but_missing(losses: NDArray[np.float64], missing: int) -> NDArray[np.float64]:
    """An empty cell that was missing has lost nothing."""
    losses[-missing:] = 0.0
    return losses
