"""Draws of new categories along the rows of a Markov matrix, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@inlined
def _place(cumulated: Floats, uniform: float, last: int) -> int:
    """First place whose cumulated probability exceeds the number, `last` at most."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if cumulated[middle] > uniform:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def draw_along_rows(codes: Integers, cumulated: Floats, last: Integers, uniforms: Floats) -> Integers:
    """New code of each record; shape (m,).

    `codes`: 0..c-1; shape (m,). `cumulated`: probabilities summed along each row; shape (c, c). `last`: last place of
    each row whose probability is not 0; it takes what rounding leaves over; shape (c,). `uniforms`: in [0, 1); shape
    (m,).
    """
    drawn = np.empty(codes.shape[0], dtype=np.int64)
    for record in range(codes.shape[0]):
        row = codes[record]
        drawn[record] = _place(cumulated[row], uniforms[record], int(last[row]))
    return drawn


@compiled
def draw_retaining(codes: Integers, cumulated: Floats, retain: float, uniforms: Floats) -> Integers:
    """New code of each record along ``retain I + (1 - retain) 1 f'``, without the matrix; shape (m,).

    `codes`: 0..c-1; shape (m,). `cumulated`: sums of f, all of which is positive; shape (c,). `uniforms`: in [0, 1);
    shape (m,).
    """
    last = cumulated.shape[0] - 1
    drawn = np.empty(codes.shape[0], dtype=np.int64)
    for record in range(codes.shape[0]):
        code = codes[record]
        uniform = uniforms[record]
        before = (1.0 - retain) * cumulated[code - 1] if code > 0 else 0.0
        if uniform < before:
            drawn[record] = _place(cumulated, uniform / (1.0 - retain), last)
        elif uniform < (1.0 - retain) * cumulated[code] + retain:
            drawn[record] = code
        else:
            drawn[record] = _place(cumulated, (uniform - retain) / (1.0 - retain), last)
    return drawn
