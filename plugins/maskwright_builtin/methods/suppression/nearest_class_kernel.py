"""Compiled: the class that costs least to be joined with, in cells emptied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@compiled
def nearest_classes(
    codes: Integers, sizes: Integers, worth: Floats, asked: Integers, nearest: Integers, costs: Floats
) -> None:
    """Find for each class asked for the other one with which it is joined at the least worth of emptied cells.

    The keys in which they differ are emptied in both. Of classes that cost the same the first is taken.

    `codes`: -1 where empty; shape (c, q). `sizes`: records of each; shape (c,). `worth`: shape (q,). `asked`: shape
    (a,). `nearest`: written; shape (a,). `costs`: written; shape (a,).
    """
    for place in range(asked.shape[0]):
        one = asked[place]
        best, chosen = np.inf, np.int64(-1)
        for other in range(codes.shape[0]):
            if other == one:
                continue
            cost = 0.0
            for key in range(codes.shape[1]):
                if codes[one, key] != codes[other, key]:
                    records = 0
                    if codes[one, key] >= 0:
                        records += sizes[one]
                    if codes[other, key] >= 0:
                        records += sizes[other]
                    cost += worth[key] * records
                    if cost >= best:
                        break
            if cost < best:
                best, chosen = cost, np.int64(other)
        nearest[place], costs[place] = chosen, best
