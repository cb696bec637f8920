"""Compiled: a table is scaled to the totals of two of its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats


@compiled
def fit_pair(table: Floats, totals: Floats) -> None:
    """Scale a table so that it has given totals over two keys.

    `table`: the table with the keys before, the first of the two, those between, the second, and those after. Written;
    shape (a, c, b, d, e). `totals`: shape (c, d).
    """
    outer, first, middle, second, inner = table.shape
    factor = np.zeros((first, second))
    for a in range(outer):
        for c in range(first):
            for b in range(middle):
                for d in range(second):
                    total = 0.0
                    for e in range(inner):
                        total += table[a, c, b, d, e]
                    factor[c, d] += total
    for c in range(first):
        for d in range(second):
            factor[c, d] = totals[c, d] / factor[c, d] if factor[c, d] > 0.0 else 0.0
    for a in range(outer):
        for c in range(first):
            for b in range(middle):
                for d in range(second):
                    scale = factor[c, d]
                    for e in range(inner):
                        table[a, c, b, d, e] *= scale
