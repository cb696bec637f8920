"""Where clustering starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def random_records(values: NDArray[np.float64], c: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Choose `c` records at random as centroids, no two equal while there are others.

    Parameters
    ----------
    values : ndarray of shape (n, p)
    c : int
        At most n.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (c, p)
    """
    different, first = np.unique(values, axis=0, return_index=True)
    if len(different) >= c:
        return different[np.sort(rng.choice(len(different), c, replace=False))]
    again = np.setdiff1d(np.arange(len(values)), first)
    return np.concatenate([different, values[rng.choice(again, c - len(different), replace=False)]])
