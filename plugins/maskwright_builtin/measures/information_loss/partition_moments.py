"""Moments of a file in partitions: merged central moments, sums of products, centre and scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskwright_builtin.measures.information_loss.moments import FileStatistics, Moments
from maskwright_builtin.measures.pairing import present_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright_builtin.measures.partition_statistics import Facts
    from maskwright_builtin.numerics.arrays import Floats, Integers


@dataclass(frozen=True)
class PartMoments:
    """Moments of the values that are present, about their own mean.

    Put together with the formulas of Pébay (2008), Formulas for robust, one-pass parallel computation of covariances
    and arbitrary-order statistical moments, Sandia report SAND2008-6212, section 3.

    `mean`, `second`, `third`, `fourth`: mean, and sums of powers of the differences from it.
    """

    n: int = 0
    mean: float = 0.0
    second: float = 0.0
    third: float = 0.0
    fourth: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def of(cls, column: Floats) -> Self:
        """Moments of a column; NaN where missing."""
        values = present_values(column)
        if not values.size:
            return cls()
        low, high = float(values.min()), float(values.max())
        # Of equal values the mean is exactly theirs, and all differences are none.
        mean = low if low == high else float(values[0] + (values - values[0]).mean())
        left = values - mean
        squares = left * left
        return cls(
            values.size, mean, float(squares.sum()), float((squares * left).sum()), float((squares * squares).sum()),
            low, high,
        )  # fmt: skip

    def __add__(self, other: PartMoments) -> PartMoments:
        if not self.n or not other.n:
            return self if self.n else other
        one, two = self.n, other.n
        n = one + two
        apart = other.mean - self.mean
        share = apart / n
        second = self.second + other.second + apart * share * one * two
        third = (
            self.third + other.third + apart * share**2 * one * two * (one - two)
            + 3.0 * share * (one * other.second - two * self.second)
        )  # fmt: skip
        fourth = (
            self.fourth + other.fourth + apart * share**3 * one * two * (one * one - one * two + two * two)
            + 6.0 * share**2 * (one * one * other.second + two * two * self.second)
            + 4.0 * share * (one * other.third - two * self.third)
        )  # fmt: skip
        return PartMoments(
            n, self.mean + share * two, second, third, fourth, min(self.low, other.low), max(self.high, other.high)
        )

    def spread(self, ddof: int) -> float:
        """Standard deviation; 0 for equal values or too few of them."""
        if self.n <= ddof or self.low == self.high:
            return 0.0
        return math.sqrt(self.second / (self.n - ddof))

    def to_json(self) -> list[Any]:
        """Plain data."""
        extremes = [self.low, self.high] if self.n else [None, None]
        return [self.n, self.mean, self.second, self.third, self.fourth, *extremes]

    @classmethod
    def merged(cls, parts: Iterable[list[Any]]) -> PartMoments:
        """Moments of a column from those of its parts, in their order."""
        return sum((cls(*each) for each in parts if each[0]), cls())


RECORDS_AT_ONCE = 16_384

PairSums = dict[str, list[list[float]]]
"""By name, what is summed over the records that have both values of each pair; shape (p, p)."""

POWERS = {"10": (1, 0), "20": (2, 0), "30": (3, 0), "40": (4, 0), "11": (1, 1), "21": (2, 1), "31": (3, 1),
          "22": (2, 2)}  # fmt: skip
"""Powers of the first and of the other variable in each sum."""


def pair_sums(values: Floats, center: Floats, scale: Floats, *, to_fourth: bool) -> PairSums:
    """Sums over the records of a part of products of powers of ``(values - center) / scale``.

    `values`: NaN where missing; shape (n, p). `center`, `scale`: near the mean and the standard deviation of the whole
    file; shape (p,).
    """
    p = values.shape[1]
    names = POWERS if to_fourth else {name: each for name, each in POWERS.items() if sum(each) <= 2}
    sums = {name: np.zeros((p, p)) for name in ("00", *names)}
    low, high = np.full((p, p), np.inf), np.full((p, p), -np.inf)
    for start in range(0, len(values), RECORDS_AT_ONCE):
        rows = (values[start : start + RECORDS_AT_ONCE] - center) / scale
        there = ~np.isnan(rows)
        powers = [there.astype(np.float64), np.where(there, rows, 0.0)]
        for _ in range(3 if to_fourth else 1):
            powers.append(powers[-1] * powers[1])
        for name in sums:
            # Not a product of matrices: what a linear algebra library sums differs between machines.
            sums[name] += np.einsum("ni,nj->ij", powers[int(name[0])], powers[int(name[1])])
        for j in range(p):
            own = rows if there[:, j].all() else rows[there[:, j]]
            if len(own):
                low[:, j] = np.fmin(low[:, j], np.fmin.reduce(own, axis=0))
                high[:, j] = np.fmax(high[:, j], np.fmax.reduce(own, axis=0))
    # Plain data has no infinite numbers: where no record has both values, the ends are not looked at.
    there = sums["00"] > 0
    sums |= {"low": np.where(there, low, 0.0), "high": np.where(there, high, 0.0)}
    return {name: each.tolist() for name, each in sums.items()}


def condensed_sums(parts: Sequence[Facts]) -> dict[str, Floats]:
    """Sums over the records of some parts, added in their order; as `pair_sums` has them."""
    ends = {"low": (np.fmin, np.inf), "high": (np.fmax, -np.inf)}
    found: dict[str, Floats] = {}
    for part in parts:
        own = {name: np.asarray(each, dtype=np.float64) for name, each in part.items()}
        for name, (_, far) in ends.items():
            own[name] = np.where(own["00"] > 0, own[name], far)
        found = {
            name: ends[name][0](found[name], each) if name in ends else found[name] + each for name, each in own.items()
        } if found else own  # fmt: skip
    there = found["00"] > 0
    return found | {name: np.where(there, found[name], 0.0) for name in ends}


def moments_of_sums(parts: Sequence[Mapping[str, list[list[float]]]]) -> Moments:
    """Central moments of the whole file."""
    some = [{name: np.array(each) for name, each in part.items()} for part in parts]
    total = {name: np.sum([each[name] for each in some], axis=0) for name in some[0] if name not in ("low", "high")}
    there = np.stack([each["00"] > 0 for each in some])
    low = np.min(np.where(there, np.stack([each["low"] for each in some]), np.inf), axis=0)
    high = np.max(np.where(there, np.stack([each["high"] for each in some]), -np.inf), axis=0)
    varies = (low < high).astype(np.float64)
    n = total["00"]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = {name: sums / n for name, sums in total.items()}
    a, b = mean["10"], mean["10"].T
    second = varies * np.maximum(mean["20"] - a**2, 0.0)
    product = varies * varies.T * (mean["11"] - a * b)
    empty = np.full(n.shape, np.nan)
    squares = cubes = fourth = empty
    if "40" in total:
        squares = (
            mean["22"] - 2 * b * mean["21"] - 2 * a * mean["21"].T + b**2 * mean["20"] + a**2 * mean["20"].T
            + 4 * a * b * mean["11"] - 3 * a**2 * b**2
        ) * varies * varies.T  # fmt: skip
        cubes = (
            mean["31"] - b * mean["30"] - 3 * a * mean["21"] + 3 * a * b * mean["20"] + 3 * a**2 * mean["11"]
            - 3 * a**3 * b
        ) * varies * varies.T  # fmt: skip
        fourth = (mean["40"] - 4 * a * mean["30"] + 6 * a**2 * mean["20"] - 3 * a**4) * varies
    return Moments(n, np.diag(a).copy(), second, second.T, product, squares, cubes, fourth, fourth.T)


def statistics_of_sums(
    parts: Sequence[Mapping[str, list[list[float]]]], center: Floats, scale: Floats
) -> FileStatistics:
    """Means, covariances and correlations of the whole file.

    `center`, `scale`: shape (p,).
    """
    found = moments_of_sums(parts)
    spreads = np.sqrt(found.second_first * found.second_other)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(spreads > 0.0, np.clip(found.product / spreads, -1.0, 1.0), np.nan)
    varies = np.diag(spreads) > 0.0
    correlation[~varies, :] = correlation[:, ~varies] = np.nan
    correlation[varies, varies] = 1.0
    return FileStatistics(center + scale * found.mean, found.product * np.outer(scale, scale), correlation)


@dataclass(frozen=True, eq=False)
class StandardUnits:
    """Mean and standard deviation of each original variable, from the first round.

    `center`, `scale`: 0 and 1 where a variable has no value; shape (p,). `deviation`: with divisor n - 1; 0 of
    constants, and where there is no value; shape (p,). `present`: values in the original and in the masked file; shape
    (2, p).
    """

    names: tuple[str, ...]
    center: Floats
    scale: Floats
    deviation: Floats
    present: Integers

    @classmethod
    def of(cls, facts: Sequence[Facts]) -> Self:
        """From what `moments_of_part` found of each part."""
        names = tuple(facts[0]["variables"])
        both = [
            [PartMoments.merged(each["variables"][name][file] for each in facts) for name in names] for file in (0, 1)
        ]
        old = both[0]
        return cls(
            names, np.array([each.low if each.low == each.high else each.mean for each in old]),
            np.array([each.spread(0) or 1.0 for each in old]),
            np.array([each.spread(1) for each in old]),
            np.array([[each.n for each in file] for file in both]),
        )  # fmt: skip

    @property
    def empty(self) -> list[int]:
        """Positions of the variables that have no value in one of the files."""
        return np.flatnonzero((self.present == 0).any(axis=0)).tolist()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "names": list(self.names), "center": self.center.tolist(), "scale": self.scale.tolist(),
            "deviation": self.deviation.tolist(), "present": self.present.tolist(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_json` gave."""
        arrays = {name: np.array(plain[name], dtype=np.float64) for name in ("center", "scale", "deviation")}
        return cls(tuple(plain["names"]), **arrays, present=np.array(plain["present"], dtype=np.int64))


def plain_moments(moments: Moments) -> dict[str, Any]:
    """Moments as plain data, which has no NaN."""
    return {name: [None if math.isnan(each) else each for each in np.ravel(values).tolist()] for name, values in
            vars(moments).items()}  # fmt: skip
