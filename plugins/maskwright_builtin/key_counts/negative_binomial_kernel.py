"""Compiled: the mean of 1 / F given f."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

SERIES_FROM = 20
"""From here on few terms of the series are left at any pi, and the recursion would take as many steps."""


@compiled
def fill_risks(file: Integers, fraction: Floats, risk: Floats) -> None:
    """Risk of each record.

    `file`: f, at least 1; shape (n,). `fraction`: pi, above 0 and at most 1; shape (n,). `risk`: written; shape (n,).
    """
    for i in range(file.shape[0]):
        f, pi = file[i], fraction[i]
        if pi >= 0.5 or f >= SERIES_FROM:
            term, total = 1.0, 1.0
            step = 0
            while term > 1e-17 * total:
                step += 1
                term *= step * (1.0 - pi) / (f + step)
                total += term
            risk[i] = pi / f * total
        else:
            q = pi / (1.0 - pi)
            value = -q * np.log(pi)
            for below in range(1, f):
                value = q * (1.0 / below - value)
            risk[i] = value
