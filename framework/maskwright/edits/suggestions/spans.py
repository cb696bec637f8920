"""Combinations of relations: what follows from sums, or from products, that are known."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Span:
    """All combinations of vectors, each a mapping of names to coefficients."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, dict[str, Fraction]]] = []

    def add(self, vector: Mapping[str, Fraction]) -> None:
        """Take in a vector."""
        left = self._reduced(vector)
        if left:
            self._rows.append((next(iter(left)), left))

    def holds(self, vector: Mapping[str, Fraction]) -> bool:
        """Whether a vector is a combination of those taken in."""
        return not self._reduced(vector)

    def _reduced(self, vector: Mapping[str, Fraction]) -> dict[str, Fraction]:
        left = {name: value for name, value in vector.items() if value}
        for pivot, row in self._rows:
            if pivot in left:
                factor = left[pivot] / row[pivot]
                for name, value in row.items():
                    left[name] = left.get(name, Fraction(0)) - factor * value
                left = {name: value for name, value in left.items() if value}
        return left


def is_part(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> bool:
    """Whether one of two sums is the other without some of its terms."""
    few, many = sorted((one, other), key=len)
    if not set(few) <= set(many):
        return False
    return len({few[name] / many[name] for name in few}) == 1
