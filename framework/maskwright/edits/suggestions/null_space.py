"""Exact null spaces, and their shortest whole-number vectors."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Vector = list[Fraction]


def null_space(rows: Sequence[Sequence[Fraction]], width: int) -> list[Vector]:
    """Basis of the vectors v with ``row . v == 0`` for every row (Gauss-Jordan elimination)."""
    reduced: list[Vector] = []
    pivots: list[int] = []
    for row in rows:
        left = list(row)
        for pivot, known in zip(pivots, reduced, strict=True):
            if left[pivot]:
                factor = left[pivot]
                left = [value - factor * other for value, other in zip(left, known, strict=True)]
        leading = next((place for place, value in enumerate(left) if value), None)
        if leading is None:
            continue
        pivot = leading
        lead = left[pivot]
        left = [value / lead for value in left]
        for place, known in enumerate(reduced):
            if known[pivot]:
                factor = known[pivot]
                reduced[place] = [value - factor * other for value, other in zip(known, left, strict=True)]
        pivots.append(pivot)
        reduced.append(left)
        if len(pivots) == width:
            return []
    basis: list[Vector] = []
    for free in sorted(set(range(width)) - set(pivots)):
        vector = [Fraction(0)] * width
        vector[free] = Fraction(1)
        for pivot, known in zip(pivots, reduced, strict=True):
            vector[pivot] = -known[free]
        basis.append(vector)
    return basis


def sparse(basis: list[Vector], width: int) -> list[Vector]:
    """Basis of the same space with fewer and smaller entries: pairs are combined while that helps one of them.

    `width`: entries counted; those after it (a constant) are not.
    """
    found = [list(vector) for vector in basis]

    def entries(vector: Vector) -> tuple[int, Fraction]:
        sizes = [abs(value) for value in vector[:width] if value]
        return len(sizes), sum(sizes, Fraction(0)) / min(sizes, default=Fraction(1))

    improved = True
    while improved:
        improved = False
        for place, vector in enumerate(found):
            for other in found:
                if other is vector:
                    continue
                for column in range(width):
                    if vector[column] and other[column]:
                        factor = vector[column] / other[column]
                        shorter = [value - factor * more for value, more in zip(vector, other, strict=True)]
                        if entries(shorter) < entries(found[place]):
                            found[place] = shorter
                            improved = True
                vector = found[place]  # noqa: PLW2901 - go on from the shorter one
    return found
