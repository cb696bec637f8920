"""Counting records by two codes at once, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers, Integers32


@compiled
def count_pairs(first: Integers32, second: Integers32, size: int, table: Integers) -> None:
    """Count records by both codes.

    `first`, `second`: shape (n,).
    """
    for record in range(first.shape[0]):
        table[first[record] * size + second[record]] += 1


@compiled
def weigh_pairs(first: Integers32, second: Integers32, size: int, weights: Floats, table: Floats) -> None:
    """Add up the weights of records by both codes; parameters as those of `count_pairs`."""
    for record in range(first.shape[0]):
        table[first[record] * size + second[record]] += weights[record]
