"""Products, quotients and proportions: exact ones, and those rounded to the published decimals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.suggestions.model import Candidate, number, small_whole
from maskwright.edits.suggestions.sums import OF_CHANCE, sparse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.suggestions.model import Sample

LARGEST_EXPONENT = 3
NEGLIGIBLE = 1e-9
TRIED = 400
"""Records on which a factor is tried first."""

SPREAD = 0.02
"""Half of these records have a factor that differs from the median one by no more than this part of it."""

LEAST_UNITS = 200
"""Units of the last decimal that a computed variable has at least: with few of them nearly any factor would do."""


def products(sample: Sample, names: Sequence[str]) -> Iterator[Candidate]:
    """Products with small whole exponents, among variables that are positive in every record.

    Vectors come from the null space of centred logarithms in binary64; whoever calls verifies them.
    """
    present = [sample.data[name] for name in names]
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


def computed(sample: Sample, names: Sequence[str]) -> Iterator[Candidate]:
    """``y`` is ``c * x``, ``c * x * z`` or ``c * x / z``, exactly or rounded to the decimals of y.

    The factor is the one that most records allow, with the fewest digits. Factors are first tried on `TRIED` records,
    all y at once: p^2 trials of p variables each, which is p^3 divisions of `TRIED` numbers.
    """
    cells = sample.cells(names)
    tried = cells[np.linspace(0, len(cells) - 1, min(len(cells), TRIED)).astype(np.int64)]
    order = sample.shuffled()
    places = range(len(names))
    with np.errstate(divide="ignore", invalid="ignore"):
        for one in places:
            for target in _targets(tried, tried[:, one], {one}):
                yield from _rounded(sample, cells, names, (target, one, None, 1), order)
        for one, other in combinations(places, 2):
            for power, first, second in ((1, one, other), (-1, one, other), (-1, other, one)):
                base = tried[:, first] * tried[:, second] ** power
                for target in _targets(tried, base, {one, other}):
                    yield from _rounded(sample, cells, names, (target, first, second, power), order)


def _targets(tried: NDArray[np.float64], base: NDArray[np.float64], used: set[int]) -> list[int]:
    """Variables whose quotient with a base is nearly the same in most records."""
    some = np.isfinite(base) & (base != 0)
    if np.count_nonzero(some) < 10:
        return []
    factors = tried[some] / base[some, None]
    middle = np.median(factors, axis=0)
    near = np.abs(factors - middle) <= SPREAD * np.abs(middle)
    return [
        int(place) for place in np.flatnonzero((near.mean(axis=0) >= 0.5) & (middle != 0)) if int(place) not in used
    ]


def _rounded(
    sample: Sample,
    cells: NDArray[np.float64],
    names: Sequence[str],
    formula: tuple[int, int, int | None, int],
    order: NDArray[np.int64],
) -> Iterator[Candidate]:
    target, first, second, power = formula
    base = cells[:, first] if second is None else cells[:, first] * cells[:, second] ** power
    y = cells[:, target]
    half = 0.5 * 10.0 ** -(sample.data[names[target]].variable.decimals or 0)
    speaks = np.isfinite(base) & np.isfinite(y)
    base, y = base[speaks], y[speaks]
    if len(y) < 2 or np.abs(y).max() < LEAST_UNITS * half:
        return
    factor = _factor(y, base, half)
    if factor is None or factor == 0 or (second is None and factor == 1):
        return
    fitted = float(factor) * base
    # A number in binary may miss a half by its last bit.
    near = half * (1 + 1e-9) + 1e-12 * np.abs(fitted)
    held = np.abs(y - fitted) <= near
    filled = (base != 0) & (y != 0)
    chance = float(np.mean(np.abs(y - fitted[np.argsort(order[: len(y)], kind="stable")]) > near))
    if not sample.enough(int(held.sum()), len(held)) or not sample.enough(
        int((held & filled).sum()), int(filled.sum())
    ):
        return
    if chance * OF_CHANCE < np.mean(~held) or chance < 0.5:
        return
    texts = [name_text(names[place]) for place in (first, *(() if second is None else (second,)))]
    calculated = (" * " if power == 1 else " / ").join(texts)
    exact = bool(np.all(np.abs(y - fitted)[held] <= 1e-6 * half))
    vector = {names[target]: Fraction(1), names[first]: Fraction(-1)}
    if second is not None:
        vector[names[second]] = Fraction(-power)
    times = calculated if factor == 1 else f"{number(factor)} * {calculated}"
    speaking, wrong = float(speaks.mean()), float(np.mean(~held))
    if not exact or power == -1:
        rule = f"abs({name_text(names[target])} - {times}) <= {number(Fraction(str(half)))}"
        yield Candidate("proportion", rule, chance * speaking, wrong * speaking, vector)
    elif second is not None:
        yield Candidate(
            "product", f"{times} == {name_text(names[target])}", chance * speaking, wrong * speaking, vector
        )


def _factor(y: NDArray[np.float64], base: NDArray[np.float64], half: float) -> Fraction | None:
    """Decimal with the fewest digits among the factors that most records allow."""
    some = base != 0
    ends = np.sort(np.stack([(y[some] - half) / base[some], (y[some] + half) / base[some]]), axis=0)
    if not ends.shape[1]:
        return None
    lows, highs = np.sort(ends[0]), np.sort(ends[1])
    allowing = np.arange(1, len(lows) + 1) - np.searchsorted(highs, lows, side="left")
    best = int(np.argmax(allowing))
    return _shortest(float(lows[best]), float(highs[np.searchsorted(highs, lows[best], side="left")]))


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
