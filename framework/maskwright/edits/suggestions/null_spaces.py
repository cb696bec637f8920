"""Exact null spaces of records, and their sparsest bases."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.polynomial import Elimination

if TYPE_CHECKING:
    from collections.abc import Sequence


Vector = list[Fraction]


def null_space(rows: Sequence[Sequence[Fraction]], width: int) -> list[Vector]:
    """Basis of the vectors v with ``row . v == 0`` for every row."""
    equations = Elimination[int]()
    for row in rows:
        equations.add(dict(enumerate(row)), pivot_of=min)
        if len(equations.solved) == width:
            return []
    basis: list[Vector] = []
    for free in sorted(set(range(width)) - set(equations.solved)):
        vector = [Fraction(0)] * width
        vector[free] = Fraction(1)
        for pivot, (terms, _) in equations.solved.items():
            vector[pivot] = -terms.get(free, Fraction(0))
        basis.append(vector)
    return basis


def sparse(basis: list[Vector], width: int) -> list[Vector]:
    """Basis of the same space with fewer and smaller entries: pairs are combined while that helps one of them."""
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
