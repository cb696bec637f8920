"""Numbers packed with their places, and sorting what is nearly in order, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


LARGEST = np.int64(2**63 - 1)


@compiled
def packed_with_places(values: Floats, places: int) -> Integers:
    """Integers in the order of the numbers, with the place of each in the bits that `places` has.

    `values`: NaNs come last; shape (n,). Returns shape (n,).
    """
    n = values.shape[0]
    # Adding 0 makes one zero of both, which compare as equal.
    packed = (values + 0.0).view(np.int64)
    for place in range(n):
        bits = packed[place]
        if np.isnan(values[place]):
            bits = LARGEST
        elif bits < 0:
            # Negative numbers are larger integers the smaller they are.
            bits ^= LARGEST
        packed[place] = (bits & ~places) | place
    return packed


@compiled
def settle(values: Floats, order: Integers, most: int) -> bool:
    """Put places in ascending order of their values by moving each down to where it belongs.

    `values`: shape (n,). `order`: Written. Places whose values compare neither way (equal, or NaN) keep their order;
    shape (n,).
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
