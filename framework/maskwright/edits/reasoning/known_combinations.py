"""Combinations that occur in the original, and what begins one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class KnownCombinations:
    """Combinations of some variables that occur in the original records, without a missing cell.

    `originals`: NaN where missing; shape (n,).
    """

    def __init__(self, names: tuple[str, ...], originals: Mapping[str, NDArray[np.float64]]) -> None:
        self.names = names
        columns = np.stack([originals[name] for name in names], axis=1)
        self._rows = np.unique(columns[~np.isnan(columns).any(axis=1)], axis=0)
        self._steps: dict[tuple[str, ...], list[tuple[NDArray[np.float64], NDArray[np.int64]]]] = {}

    def may_hold(self, fixed: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
        """Whether some combination has the values of the variables that have one; True where a cell is missing."""
        names = tuple(name for name in self.names if name in fixed)
        m = len(next(iter(fixed.values())))
        found, gone = np.ones(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
        prefix = np.zeros(m, dtype=np.int64)
        for name, (values, pairs) in zip(names, self._numbered(names), strict=True):
            cells = fixed[name]
            gone |= np.isnan(cells)
            code = _place(values, cells, found)
            prefix = _place(pairs, prefix * (len(values) + 1) + code, found)
        return found | gone

    def _numbered(self, names: tuple[str, ...]) -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """For each variable its values, and the pairs (number of what comes before, number of the value) that occur."""
        if names not in self._steps:
            steps: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []
            prefix = np.zeros(len(self._rows), dtype=np.int64)
            for name in names:
                values, code = np.unique(self._rows[:, self.names.index(name)], return_inverse=True)
                pairs, prefix = np.unique(prefix * (len(values) + 1) + code.ravel(), return_inverse=True)
                prefix = prefix.ravel()
                steps.append((values, pairs))
            self._steps[names] = steps
        return self._steps[names]


def _place(known: NDArray[Any], cells: NDArray[Any], found: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Position of each cell among the sorted known ones; `found` is cleared where it is none of them."""
    if not len(known):
        found[:] = False
        return np.zeros(len(cells), dtype=np.int64)
    place = np.minimum(np.searchsorted(known, cells), len(known) - 1)
    found &= known[place] == cells
    return place.astype(np.int64)
