"""Equalities among numbers: linear by the exact null space, products by that of the logarithms, proportions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.suggestions.model import Candidate, linear_rule, number, numeric_names, small_whole
from maskwright.edits.suggestions.null_space import null_space, sparse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset

LARGEST_COEFFICIENT = 1000
LARGEST_EXPONENT = 3
MOST_VARIABLES = 60
DRAWS = 60
NEGLIGIBLE = 1e-9
LARGEST_UNITS = 2.0**53


def units(data: Dataset, names: Sequence[str]) -> NDArray[np.int64]:
    """Complete records in units of each variable's last decimal; shape (m, p)."""
    values = data.matrix(names)
    scale = np.array([10.0 ** (data[name].variable.decimals or 0) for name in names])
    scaled = np.rint(values[~np.isnan(values).any(axis=1)] * scale)
    return np.asarray(scaled.astype(np.int64))


def exact_names(data: Dataset) -> list[str]:
    """Numeric variables with declared decimals, more than one value, and numbers that binary64 holds exactly."""
    found = []
    for name in numeric_names(data):
        column = data[name]
        present = column.values[~column.missing]
        places = column.variable.decimals
        if places is None or not len(present) or np.ptp(present) == 0:
            continue
        if np.abs(present).max() * 10.0**places < LARGEST_UNITS:
            found.append(name)
    return found


def equalities(data: Dataset, names: Sequence[str], share: float, rng: np.random.Generator) -> Iterator[Candidate]:
    """Linear equalities with small whole coefficients that hold in all complete records, or in most.

    The null space of a few records is computed exactly; a vector that some record breaks brings that record in. With
    `share` below 1, null spaces of random draws of records are tried as well.

    Parameters
    ----------
    data : Dataset
    names : sequence of str
        Numeric variables.
    share : float
        Of the complete records, 0 to 1, in which a rule has to hold.
    rng : numpy.random.Generator
        Draws the records.
    """
    table = units(data, names)
    width = len(names)
    if len(table) < 2 * (width + 1):
        return
    found: dict[str, None] = {}
    for vector in _exact_vectors(table):
        found.update(dict.fromkeys(_linear(data, names, vector)))
    if share < 1:
        for _ in range(DRAWS):
            drawn = table[rng.choice(len(table), size=min(len(table), width + 4), replace=False)]
            for vector in sparse(null_space(_rows(drawn), width + 1), width):
                found.update(dict.fromkeys(_linear(data, names, vector)))
    for rule in found:
        yield Candidate("equality", rule)


def _rows(table: NDArray[np.int64]) -> list[list[Fraction]]:
    return [[*(Fraction(int(value)) for value in row), Fraction(1)] for row in table]


def _exact_vectors(table: NDArray[np.int64]) -> list[list[Fraction]]:
    width = table.shape[1]
    chosen = list(dict.fromkeys(np.linspace(0, len(table) - 1, min(len(table), width + 8)).astype(int).tolist()))
    while True:
        basis = sparse(null_space(_rows(table[chosen]), width + 1), width)
        broken = {place for vector in basis if (place := _first_broken(table, vector)) is not None}
        if not broken:
            return basis
        chosen.extend(sorted(broken))


def _first_broken(table: NDArray[np.int64], vector: Sequence[Fraction]) -> int | None:
    """First record that breaks ``row . vector == 0``, in whole numbers of any size."""
    whole = small_whole(vector, 10**30)
    assert whole is not None
    total = np.full(len(table), int(whole[-1]), dtype=object)
    largest = abs(int(whole[-1])) + sum(
        abs(int(value)) * int(np.abs(table[:, place]).max()) for place, value in enumerate(whole[:-1])
    )
    if largest < 2**62:
        total = np.full(len(table), int(whole[-1]), dtype=np.int64)
    for place, value in enumerate(whole[:-1]):
        if value:
            column = table[:, place] if largest < 2**62 else table[:, place].astype(object)
            total = total + int(value) * column
    broken = np.flatnonzero(total != 0)
    return int(broken[0]) if len(broken) else None


def _linear(data: Dataset, names: Sequence[str], vector: Sequence[Fraction]) -> Iterator[str]:
    scaled = [value * 10 ** (data[name].variable.decimals or 0) for name, value in zip(names, vector, strict=False)]
    whole = small_whole([*scaled, vector[-1]], 10**15)
    if whole is None or max(map(abs, whole[:-1])) > LARGEST_COEFFICIENT or sum(map(bool, whole[:-1])) < 2:
        return
    terms = {name: value for name, value in zip(names, whole, strict=False) if value}
    sign = 1 if sum(value > 0 for value in terms.values()) * 2 >= len(terms) else -1
    yield linear_rule({name: sign * value for name, value in terms.items()}, -sign * whole[-1])


def products(data: Dataset, names: Sequence[str]) -> Iterator[Candidate]:
    """Products with small whole exponents, among variables that are positive in every record.

    Vectors come from the null space of centred logarithms in binary64; whoever calls verifies them.
    """
    present = [data[name] for name in names]
    positive = [column.name for column in present if np.all(column.values[~column.missing] > 0)]
    values = data.matrix(positive)
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
    factors = ([str(simple.denominator)] if simple.denominator > 1 else [], [str(simple)] if simple != 1 else [])
    if simple.denominator > 1 and simple.numerator > 1:
        factors = ([str(simple.denominator)], [str(simple.numerator)])
    elif simple.denominator > 1:
        factors = ([str(simple.denominator)], [])
    left, right = (" * ".join([*factor, *side]) or "1" for factor, side in zip(factors, sides, strict=True))
    if len(sides[1]) > len(sides[0]):
        left, right = right, left
    yield Candidate("product", f"{left} == {right}")


def proportions(data: Dataset, names: Sequence[str]) -> Iterator[Candidate]:
    """``y`` is ``c * x`` rounded to the decimals of y: the factor that all records allow, with the fewest digits."""
    for name in names:
        target = data[name]
        half = 0.5 * 10.0 ** -(target.variable.decimals or 0)
        for other in names:
            base = data[other]
            if other == name:
                continue
            both = ~(target.missing | base.missing)
            x, y = base.values[both], target.values[both]
            # With few units in y nearly any factor would do.
            if len(x) < 2 or np.any(x <= 0) or np.abs(y).max() < 200 * half:
                continue
            low, high = float(np.max((y - half) / x)), float(np.min((y + half) / x))
            factor = _shortest(low, high)
            if factor is not None and factor not in (0, 1) and np.any(y != float(factor) * x):
                rule = (
                    f"abs({name_text(name)} - {number(factor)} * {name_text(other)}) <= {number(Fraction(str(half)))}"
                )
                yield Candidate("proportion", rule)


def _shortest(low: float, high: float) -> Fraction | None:
    """Decimal with the fewest digits in an interval."""
    if not low <= high:
        return None
    for places in range(10):
        step = 10**places
        candidate = Fraction(int(np.ceil(low * step)), step)
        if float(candidate) <= high:
            return candidate
    return None
