"""Standardised records of a block, and consecutive clusters of sorted records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Block, InputError
from maskwright_builtin.numerics.ordering import stable_order

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


LARGEST = 1e150
"""Largest standardised value whose square, and a sum of such, is finite."""


def standardised_records(block: Block, k: int) -> Floats:
    """Points whose distances a partition compares.

    Returns `Block.standardised`, finite and at most `LARGEST` in size; shape (n, p).
    """
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    standardised = block.standardised()
    # The comparison is false for NaN.
    wrong = np.logical_not(np.all(np.abs(standardised) <= LARGEST, axis=0)).tolist()
    if any(wrong):
        names = ", ".join(repr(name) for name, bad in zip(block.names, wrong, strict=True) if bad)
        raise InputError(f"records have no distances: values of {names} are not finite, or too far apart to be squared")
    return standardised


def centred(standardised: Floats) -> Floats:
    """Points about their own mean, scaled by a power of two to at most about 1: squares neither overflow nor vanish.

    `standardised`: finite and at most `LARGEST` in size; n >= 1; shape (n, p).
    """
    # A mean as the sum of small parts: the plain sum may overflow.
    points = standardised - standardised[0]
    points -= (points / len(points)).sum(axis=0)
    largest = float(np.abs(points).max(initial=0.0))
    # Below the smallest normal number there is nothing left to scale.
    if largest >= 1e-300:
        points = np.ldexp(points, -int(np.frexp(largest)[1]))
    return np.ascontiguousarray(points, dtype=np.float64)


def consecutive_groups(values: Floats, k: int) -> Integers:
    """Cut a column into clusters of k neighbours; the middle one, in ascending order, takes the remainder.

    `values`: shape (n,). Returns labels 0..g-1, g = n // k, in ascending order; number g // 2 has k + n mod k records.
    One cluster when n < 2k; shape (n,).
    """
    n = len(values)
    count = max(n // k, 1)
    sizes = np.full(count, k, dtype=np.int64)
    sizes[count // 2] = n - (count - 1) * k
    labels = np.empty(n, dtype=np.int64)
    labels[stable_order(values)] = np.repeat(np.arange(count), sizes)
    return labels
