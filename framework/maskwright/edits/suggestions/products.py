"""Products with small whole exponents that hold exactly, by the null space of logarithms."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.suggestions.model import Candidate, small_whole
from maskwright.edits.suggestions.null_spaces import sparse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.suggestions.model import Sample

LARGEST_EXPONENT = 3
NEGLIGIBLE = 1e-9


def products(sample: Sample, names: Sequence[str]) -> Iterator[Candidate]:
    """Products with small whole exponents, among variables that are positive in every record.

    Vectors come from the null space of centred logarithms in binary64; whoever calls verifies them.
    """
    present = [sample.data[name] for name in names if name in sample.exact]
    positive = [column.name for column in present if np.all(column.values[~column.missing] > 0)]
    values = sample.cells(positive)
    values = values[~np.isnan(values).any(axis=1)]
    if len(positive) < 2 or len(values) < 2 * len(positive):
        return
    logs = np.log(values[np.linspace(0, len(values) - 1, min(len(values), 8 * len(positive))).astype(int)])
    logs -= logs.mean(axis=0)
    _, sizes, right = np.linalg.svd(logs, full_matrices=True)
    rank = int(np.sum(sizes > NEGLIGIBLE * sizes[0]))
    first = [Fraction(str(float(value))) for value in values[0]]
    for vector in sparse(_snapped(right[rank:]), len(positive)):
        exponents = small_whole(vector, LARGEST_EXPONENT)
        if exponents is None or sum(map(bool, exponents)) < 3:
            continue
        constant = Fraction(1)
        for base, exponent in zip(first, exponents, strict=True):
            constant *= base ** int(exponent)
        yield from _product(positive, exponents, constant)


def _snapped(basis: NDArray[np.float64]) -> list[list[Fraction]]:
    """Reduced rows with entries near simple fractions; rows without are left out."""
    rows = basis.copy()
    for place in range(len(rows)):
        column = int(np.argmax(np.abs(rows[place])))
        rows[place] /= rows[place, column]
        for other in range(len(rows)):
            if other != place:
                rows[other] -= rows[other, column] * rows[place]
    found = []
    for row in rows:
        simple = [Fraction(float(value)).limit_denominator(12) for value in row]
        if np.allclose([float(value) for value in simple], row, atol=1e-6):
            found.append(simple)
    return found


def _product(names: Sequence[str], exponents: Sequence[Fraction], constant: Fraction) -> Iterator[Candidate]:
    simple = constant.limit_denominator(10**6)
    if abs(simple - constant) > NEGLIGIBLE * abs(constant) or simple.numerator > 10**6:
        return
    sides: tuple[list[str], list[str]] = ([], [])
    for name, exponent in zip(names, exponents, strict=True):
        if exponent:
            power = "" if abs(exponent) == 1 else f" ^ {abs(exponent)}"
            sides[0 if exponent > 0 else 1].append(name_text(name) + power)
    factors: tuple[list[str], list[str]] = ([], [str(simple)] if simple != 1 else [])
    if simple.denominator > 1:
        factors = ([str(simple.denominator)], [str(simple.numerator)] if simple.numerator > 1 else [])
    left, right = (" * ".join([*factor, *side]) or "1" for factor, side in zip(factors, sides, strict=True))
    if len(sides[1]) > len(sides[0]):
        left, right = right, left
    vector = {name: exponent for name, exponent in zip(names, exponents, strict=True) if exponent}
    yield Candidate("product", f"{left} == {right}", 1.0, 0.0, vector)
