"""Variables computed from one to three others: products, ratios, percentages, rates; exact or rounded."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.suggestions.model import Candidate, SuggestionKind, number
from maskwright.edits.suggestions.rounding import BINARY, Numbers, tolerance_for
from maskwright.edits.suggestions.sums import EACH_MATTERS, LEAST_CHANCE, OF_CHANCE
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.suggestions.model import Sample

PAIRS = 32
"""Pairs of records on which relations are tried first."""

LEAST_PAIRS = 5
"""Of these, pairs in which all variables are there and not 0, at least."""

LEAST_RECORDS = 10
"""Records that speak of a relation, at least."""

SPREAD = 0.03
"""Two records of a pair have factors that differ by no more than this part ..."""

AGREEING = 0.6
"""... in this share of the pairs, at least: that is so where 95 % of the records hold and rounding is small."""

LEAST_UNITS = 200
"""Units of the last decimal that a computed variable has at least: with few of them nearly any factor would do."""

FINE = 0.02
"""Part of a variable that its tolerance may be, in the median: beyond it the relation says little."""

MOST_FOR_FOUR = 40
"""Variables among which products of three are looked for, at most: there are as many as sets of four."""

LARGEST_RATE = 3.0
"""A variable is so many times the one that a rate is added to, at most; and the same below."""


Shape = Literal["product", "ratio", "rate"]


@dataclass(frozen=True)
class _Formula:
    """``c * x``, ``c * x * z``, also of three, ``c * x / z`` or ``x * (1 + f * z)``, and the variable that it gives."""

    shape: Shape
    target: int
    places: tuple[int, ...]
    rate: float = 0.0


@dataclass(frozen=True)
class _Judged:
    """A formula that holds; its tolerance as a part of the target's median."""

    candidate: Candidate
    tolerance: float
    factor: Fraction


def computed(sample: Sample, names: Sequence[str]) -> Iterator[Candidate]:
    """``c * x == y``, ``c * x * z == y``, ``c * y / z == x`` and ``x * (1 + z) == y``, exactly or up to rounding.

    And ``x * z * w == y`` where there are few enough variables to try all sets of four.

    The factor is the one that most records allow, with the fewest digits. Of the ways to write one relation that is
    taken in which the rounded variable is the result. All triples of variables are tried on some pairs of records.
    """
    if len(names) < 2:
        return
    numbers = Numbers(sample, names)
    search = _Search(sample, numbers)
    found = [search.of_triple(*each) for each in _triples(numbers)]
    found += [search.of_rate(*each) for each in _rates(numbers)]
    found += [search.of_product(*each) for each in _fours(numbers)]
    yield from (each for each in found if each is not None)


def _logarithms(values: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.abs(values))
    return np.where(np.isfinite(logs), logs, np.nan).astype(np.float32)


def _rows_of(numbers: Numbers, place: int, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Records at random in which a variable is there and not 0; an even number of them."""
    values = numbers.values[order, place]
    some = order[np.isfinite(values) & (values != 0)][: 2 * PAIRS]
    return np.asarray(some[: len(some) // 2 * 2])


def _triples(numbers: Numbers) -> Iterator[tuple[int, int, int | None]]:
    """``(t, x, z)`` for which t may be a multiple of x * z, or of x alone; each once."""
    order = generator(0, "computed").permutation(len(numbers.values))
    found: dict[tuple[int, int, int | None], None] = {}
    width = len(numbers.names)
    for one in range(width):
        rows = _rows_of(numbers, one, order)
        if len(rows) < 2 * LEAST_PAIRS:
            continue
        logs = _logarithms(numbers.values[rows])
        logs -= logs[:, [one]]
        # How much the logarithm of y / x changes from one record to another; that of z, below.
        ratios = logs[1::2] - logs[::2]
        own = _logarithms(numbers.values[rows])
        others = np.column_stack([own[1::2] - own[::2], np.zeros(len(rows) // 2, dtype=np.float32)])
        for sign in (1, -1):
            for target, other in _agreeing(ratios, sign * others):
                alone = other == width
                if target == one or (not alone and other in (target, one)) or (alone and sign < 0):
                    continue
                if alone:
                    found[max(target, one), min(target, one), None] = None
                elif sign > 0:
                    found[target, min(one, other), max(one, other)] = None
                else:  # y = x / z: x is the product
                    found[one, min(target, other), max(target, other)] = None
    yield from found


def _fours(numbers: Numbers) -> Iterator[tuple[int, int, int, int]]:
    """``(t, x, z, w)`` for which t may be x * z * w; each once."""
    width = len(numbers.names)
    if width > MOST_FOR_FOUR:
        return
    order = generator(0, "computed").permutation(len(numbers.values))
    first, second = np.triu_indices(width, 1)
    found: dict[tuple[int, int, int, int], None] = {}
    for one in range(width):
        rows = _rows_of(numbers, one, order)
        if len(rows) < 2 * LEAST_PAIRS:
            continue
        logs = _logarithms(numbers.values[rows])
        changes = logs[1::2] - logs[::2]
        for target, place in _agreeing(changes - changes[:, [one]], changes[:, first] + changes[:, second]):
            x, z, w = sorted((one, int(first[place]), int(second[place])))
            if len({target, x, z, w}) == 4:
                found[target, x, z, w] = None
    yield from found


def _agreeing(ratios: NDArray[np.floating[Any]], others: NDArray[np.floating[Any]]) -> list[tuple[int, int]]:
    """Places y and z where the changes of y / x are those of z in most pairs."""
    agreeing = np.zeros((ratios.shape[1], others.shape[1]), dtype=np.int32)
    known = np.zeros_like(agreeing)
    with np.errstate(invalid="ignore"):
        for ratio, other in zip(ratios, others, strict=True):
            miss = np.abs(ratio[:, None] - other[None, :])
            agreeing += miss <= SPREAD
            known += np.isfinite(miss)
    return [(int(y), int(z)) for y, z in np.argwhere((known >= LEAST_PAIRS) & (agreeing >= AGREEING * known))]


RATES = (1.0, -1.0, 0.01, -0.01)
"""What a rate is multiplied with before it is added to 1: a part or a percentage, added or taken off."""


def _rates(numbers: Numbers) -> Iterator[tuple[int, int, int, float]]:
    """``(y, x, z, f)`` for which y may be x * (1 + f * z)."""
    order = generator(0, "computed").permutation(len(numbers.values))
    largest = np.nanmax(np.abs(numbers.values), axis=0)
    for base in range(len(numbers.names)):
        rows = _rows_of(numbers, base, order)
        if len(rows) < 2 * LEAST_PAIRS:
            continue
        values = numbers.values[rows]
        x = values[:, base]
        ratio = values / x[:, None]
        middle = np.nanmedian(ratio, axis=0)
        near = np.flatnonzero((middle < LARGEST_RATE) & (middle > 1 / LARGEST_RATE))
        error = np.abs(numbers.halves[near] + numbers.halves[base] * np.abs(ratio[:, near])) / np.abs(x)[:, None]
        for factor in RATES:
            chosen = np.flatnonzero(largest * abs(factor) <= 1)
            agreeing = np.zeros((len(near), len(chosen)), dtype=np.int32)
            known = np.zeros_like(agreeing)
            for row in range(len(rows)):
                miss = np.abs((ratio[row, near] - 1)[:, None] - factor * values[row, chosen][None, :])
                agreeing += miss <= error[row][:, None] + 1e-6 * abs(factor) + 1e-6
                known += np.isfinite(miss)
            for y, z in np.argwhere((known >= 2 * LEAST_PAIRS) & (agreeing >= AGREEING * known)):
                target, rate = int(near[y]), int(chosen[z])
                if len({target, base, rate}) == 3:
                    yield target, base, rate, factor


class _Search:
    """Looks into relations that may hold, on all searched records."""

    def __init__(self, sample: Sample, numbers: Numbers) -> None:
        self._sample = sample
        self._numbers = numbers
        self._order = sample.shuffled()

    def of_triple(self, total: int, one: int, other: int | None) -> Candidate | None:
        """The total as a product, or a factor as a ratio, whichever is the rounded one."""
        if other is None:
            ways = [_Formula("product", total, (one,)), _Formula("product", one, (total,))]
            found = [each for way in ways if (each := self._assessed(way, 1.0)) is not None]
            return min(found, key=lambda each: len(number(each.factor))).candidate if found else None
        product = _Formula("product", total, (one, other))
        plain = self._assessed(product, 2.0)
        if plain is not None and plain.factor == 1:
            return plain.candidate
        ways = [_Formula("ratio", one, (total, other)), _Formula("ratio", other, (total, one))]
        found = [each for way in ways if (each := self._assessed(way, 1.0)) is not None]
        if found:
            # The tightest one: wages / staff == wage_head to the cent gives the staff, and not the other way round.
            return min(found, key=lambda each: each.tolerance).candidate
        plain = plain or self._assessed(product, None)
        return None if plain is None else plain.candidate

    def of_product(self, total: int, *factors: int) -> Candidate | None:
        """The total as a product of three, rounded once: with a factor, or more room, many would hold by chance."""
        found = self._assessed(_Formula("product", total, factors), 2.0)
        return None if found is None or found.factor != 1 else found.candidate

    def of_rate(self, total: int, base: int, rate: int, factor: float) -> Candidate | None:
        """The total as a base with a rate of it."""
        formula = _Formula("rate", total, (base, rate), factor)
        found = self._assessed(formula, 2.0) or self._assessed(formula, None)
        return None if found is None else found.candidate

    def _assessed(self, formula: _Formula, units: float | None) -> _Judged | None:
        """Whether a formula holds up to so many half units of its target; None: up to the rounding of all variables."""
        numbers = self._numbers
        used = numbers.values[:, [formula.target, *formula.places]]
        speaks = np.isfinite(used).all(axis=1)
        if formula.shape == "ratio":
            speaks &= used[:, 2] != 0
        used = used[speaks]
        y, half = used[:, 0], float(numbers.halves[formula.target])
        if len(y) < LEAST_RECORDS or np.abs(y).max() < LEAST_UNITS * half:
            return None
        base, bound = _value(formula, used), self._bound(formula, used, units)
        factor = Fraction(1) if formula.shape == "rate" else _factor(y, base, bound)
        if not factor or (len(formula.places) == 1 and factor == 1):
            return None
        fitted = float(factor) * base
        least = half if numbers.noise[formula.target] == 0 else 0.0
        tolerance = tolerance_for(np.abs(y - fitted), bound, fitted, least, self._sample.equal_share)
        if units is None and float(tolerance) > FINE * np.median(np.abs(y)):
            return None
        return self._checked(formula, used, factor, tolerance)

    def _checked(
        self, formula: _Formula, used: NDArray[np.float64], factor: Fraction, tolerance: Fraction
    ) -> _Judged | None:
        """Whether enough records hold, and not by chance: each variable matters."""
        y, fitted = used[:, 0], float(factor) * _value(formula, used)
        allowed = float(tolerance) + BINARY * np.abs(fitted)
        held, filled = np.abs(y - fitted) <= allowed, (fitted != 0) & (y != 0)
        wrong = float(np.mean(~held))
        if not all(
            self._sample.equal_enough(int((held & each).sum()), int(each.sum())) for each in (np.isfinite(y), filled)
        ):
            return None
        order = np.argsort(self._order[: len(y)], kind="stable")
        chances = []
        for place in range(used.shape[1]):
            mixed = used.copy()
            mixed[:, place] = used[order, place]
            with np.errstate(divide="ignore", invalid="ignore"):
                broken = ~(np.abs(mixed[:, 0] - float(factor) * _value(formula, mixed)) <= allowed)
            moved = held & (mixed[:, place] != used[:, place])
            if np.count_nonzero(broken & moved) < EACH_MATTERS * np.count_nonzero(moved):
                return None
            chances.append(float(np.mean(broken)))
        if chances[0] * OF_CHANCE < wrong or chances[0] < LEAST_CHANCE:
            return None
        speaking = len(y) / len(self._sample)
        names, chance = self._numbers.names, chances[0]
        candidate = _candidate(names, formula, factor, tolerance, chance * speaking, wrong * speaking)
        return _Judged(candidate, float(tolerance) / float(np.median(np.abs(y[filled]))), factor)

    def _bound(self, formula: _Formula, used: NDArray[np.float64], units: float | None) -> NDArray[np.float64]:
        """By how much rounding can make a formula miss its target."""
        numbers, size = self._numbers, np.abs(used[:, 0])
        places = (formula.target, *formula.places)
        bound = numbers.halves[formula.target] + (sum(numbers.noise[place] for place in places) + BINARY) * size
        if units is not None:
            return np.asarray(bound * units * (1 + 1e-9))
        for position, place in enumerate(formula.places, start=1):
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = numbers.halves[place] * size / np.abs(used[:, position])
            if formula.shape == "rate" and position == 2:
                moved = numbers.halves[place] * abs(formula.rate) * np.abs(used[:, 1])
            bound = bound + np.where(np.isfinite(moved), moved, 0.0)
        return np.asarray(bound)


def _value(formula: _Formula, used: NDArray[np.float64]) -> NDArray[np.float64]:
    """The formula of the columns behind the target, without its factor."""
    first = used[:, 1]
    if len(formula.places) == 1:
        return first
    match formula.shape:
        case "product":
            return np.asarray(np.prod(used[:, 1:], axis=1))
        case "ratio":
            return first / used[:, 2]
        case "rate":
            return first * (1 + formula.rate * used[:, 2])


def _candidate(
    names: Sequence[str], formula: _Formula, factor: Fraction, tolerance: Fraction, chance: float, wrong: float
) -> Candidate:
    target, *used = (names[place] for place in (formula.target, *formula.places))
    texts = [name_text(name) for name in used]
    vector = {target: Fraction(1), used[0]: Fraction(-1)}
    kind: SuggestionKind = "proportion"
    if formula.shape == "rate":
        share = f"{texts[1]} / 100" if abs(formula.rate) < 1 else texts[1]
        rate = f"1 {'+' if formula.rate > 0 else '-'} {share}"
        text, vector[rate], kind = f"{texts[0]} * ({rate})", Fraction(-1), "product"
    else:
        text = (" * " if formula.shape == "product" else " / ").join(texts)
        if factor != 1:
            text = f"{number(factor)} * {text}"
        if len(used) > 1:
            vector |= dict.fromkeys(used[1:], Fraction(-1 if formula.shape == "product" else 1))
            kind = "product" if formula.shape == "product" else kind
    return Candidate(kind, f"{text} == {name_text(target)}", chance, wrong, vector, tolerance=tolerance)


def _factor(y: NDArray[np.float64], base: NDArray[np.float64], bound: NDArray[np.float64]) -> Fraction | None:
    """Decimal with the fewest digits among the factors that most records allow."""
    some = base != 0
    ends = np.sort(np.stack([(y - bound)[some] / base[some], (y + bound)[some] / base[some]]), axis=0)
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
