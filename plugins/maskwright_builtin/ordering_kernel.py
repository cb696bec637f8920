"""Sorting what is nearly in order, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_builtin.partitions.mdav_leaves import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@compiled
def settle(values: NDArray[np.float64], order: NDArray[np.int64], most: int) -> bool:
    """Put places in ascending order of their values by moving each down to where it belongs.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
    order : ndarray of shape (n,), int64
        Written. Places whose values compare neither way (equal, or NaN) keep their order.
    most : int
        Moves after which to give up.

    Returns
    -------
    bool
        False when given up: the order is not to be used.
    """
    moves = 0
    for start in range(1, order.shape[0]):
        place = order[start]
        value = values[place]
        stop = start
        while stop > 0 and values[order[stop - 1]] > value:
            order[stop] = order[stop - 1]
            stop -= 1
        order[stop] = place
        moves += start - stop
        if moves > most:
            return False
    return True
