"""Distances between the distributions of a variable in both files, however these were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Measurement
from maskwright_builtin.measures.common.pairing import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MISSING_RULE = "each file uses its present values"


def ranks_of_edges(n: int, bins: int) -> NDArray[np.int64]:
    """Place, 0-based, among n sorted values, of those that cells of equal shares end with; shape (bins - 1,)."""
    return np.floor((n - 1) * (np.arange(1, bins) / bins)).astype(np.int64)


def hellinger_distance(first: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Hellinger distance between the shares of cells in both files; shape (c,) each."""
    # The sum of squared differences of the roots is 2 (1 - sum sqrt(p p')), and exactly 0 for equal shares.
    return float(np.sqrt(0.5 * np.sum((np.sqrt(first) - np.sqrt(other)) ** 2)))


def mean_distance(
    names: Sequence[str], per_variable: Mapping[str, float], others: Mapping[str, float], notes: Sequence[str]
) -> Measurement:
    """A measure, from the distances of all variables.

    `names`: of the numeric variables compared. `per_variable`: of those that have values in both files.
    """
    said = list(notes)
    without = [name for name in names if name not in per_variable]
    if without:
        said.append(f"left out, no value (with weight) in one of the files: {listed(without)}")
    found = [*per_variable.values(), *others.values()]
    if not found:
        return Measurement(float("nan"), notes=(*said, "not defined: no variable can be compared"))
    parts = {"mean": float(np.mean(found)), "largest": max(found), **others}
    return Measurement(parts["mean"], parts, per_variable, notes=tuple(said))
