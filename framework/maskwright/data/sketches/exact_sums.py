"""Exact sums and moments of binary64 numbers: the same whatever the order and the cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray


UNIT = 1074
"""Sums are counted in 2^-UNIT, the smallest number above 0."""

AT_ONCE = 1 << 20
"""Numbers added at once: sums of their halves, below 2^27 each, then stay below 2^53 and exact."""

SPLIT = 134_217_729.0
"""2^27 + 1: its product with a number is what that is cut into halves with."""


def exact_sum(values: NDArray[np.float64]) -> int:
    """Sum of finite numbers, in units of 2^-1074: it adds up the same whatever the order.

    Parameters
    ----------
    values : ndarray of shape (n,), float64

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import exact_sum
    >>> exact_sum(np.array([1e16, 1.0, -1e16])) / 2**1074  # binary64 would have lost the 1
    1.0
    """
    total = 0
    for start in range(0, len(values), AT_ONCE):
        total += _sum_of_some(np.asarray(values[start : start + AT_ONCE], dtype=np.float64))
    return total


def _sum_of_some(values: NDArray[np.float64]) -> int:
    if not len(values):
        return 0
    if _adds_exactly(values):
        return int(values.sum()) << UNIT
    fractions, exponents = np.frexp(values)
    whole = np.ldexp(fractions, 53).astype(np.int64)
    high, low = whole >> 26, whole & 0x3FFFFFF
    first = int(exponents.min())
    places = exponents - first
    highs, lows = (np.bincount(places, weights=half.astype(np.float64)) for half in (high, low))
    # Below the smallest normal number the last bits of `whole` are zeros, so that nothing is lost by the shift.
    units = 0
    for place in np.flatnonzero((highs != 0) | (lows != 0)).tolist():
        shift = place + first - 53 + UNIT
        sum_here = (int(highs[place]) << 26) + int(lows[place])
        units += sum_here << shift if shift >= 0 else sum_here >> -shift
    return units


def _adds_exactly(values: NDArray[np.float64]) -> bool:
    """Whether numbers are whole and so small that no sum of some of them is rounded."""
    largest = float(np.abs(values).max(initial=0.0)) * len(values)
    return largest <= 2.0**53 and bool(np.all(values == np.rint(values)))


def exact_cell_sums(
    values: NDArray[np.float64], codes: NDArray[np.int64], count: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Sums of the cells that are not NaN, as `exact_sum` gives them, and how many these are: of each code and column.

    `values`: shape (n, p). `codes`: of each record, 0 .. `count` - 1; shape (n,).
    """
    sums: list[list[int]] = [[] for _ in range(count)]
    present = np.zeros((count, values.shape[1]), dtype=np.int64)
    for place, column in enumerate(values.T):
        known = ~np.isnan(column)
        present[:, place] = np.bincount(codes[known], minlength=count)
        for own, total in zip(sums, _sums_by_code(column[known], codes[known], count), strict=True):
            own.append(total)
    return sums, present.tolist()


def _sums_by_code(values: NDArray[np.float64], codes: NDArray[np.int64], count: int) -> list[int]:
    if _adds_exactly(values):
        return [int(each) << UNIT for each in np.bincount(codes, values, minlength=count)]
    order = np.argsort(codes, kind="stable")
    borders = np.cumsum(np.bincount(codes, minlength=count))[:-1]
    return [exact_sum(each) for each in np.split(values[order], borders)]


@dataclass(frozen=True)
class Moments:
    """Number, sum, sum of squares and extremes of the cells of a variable that have a value; they add up exactly.

    `total`, `squares`: in units of 2^-1074. `low`, `high`: NaN where no cell has a value.
    """

    n: int = 0
    total: int = 0
    squares: int = 0
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Self:
        """Moments of finite numbers; shape (n,)."""
        if not len(values):
            return cls()
        return cls(
            len(values),
            exact_sum(values),
            exact_sum_of_products(values, values),
            float(values.min()),
            float(values.max()),
        )

    def __add__(self, other: Moments) -> Moments:
        if not self.n or not other.n:
            return self if self.n else other
        return Moments(
            self.n + other.n, self.total + other.total, self.squares + other.squares, min(self.low, other.low),
            max(self.high, other.high),
        )  # fmt: skip

    @classmethod
    def merged(cls, shares: Iterable[Moments]) -> Moments:
        """Moments of all shares together."""
        return sum(shares, cls())

    @property
    def mean(self) -> float:
        """Correctly rounded; 0 where no cell has a value."""
        return float(Fraction(self.total, self.n << UNIT)) if self.n else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation with divisor n - 1; 0 where there are fewer than two values."""
        if self.n < 2:
            return 0.0
        above = Fraction(self.squares, 1 << UNIT) - Fraction(self.total * self.total, self.n << (2 * UNIT))
        return math.sqrt(max(float(above / (self.n - 1)), 0.0))

    @property
    def scale(self) -> float:
        """Standard deviation; 1 where it is rounding noise: dividing by that would make noise count as distance."""
        largest = max(abs(self.low), abs(self.high)) if self.n else 0.0
        deviation = self.deviation
        return deviation if deviation > 1e-12 * (abs(self.mean) + largest) else 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain data, the sums as texts of whole numbers."""
        return {
            "n": self.n, "total": hex(self.total), "squares": hex(self.squares),
            "low": self.low.hex(), "high": self.high.hex(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """What `to_json` gave."""
        return cls(
            int(content["n"]), int(content["total"], 16), int(content["squares"], 16), float.fromhex(content["low"]),
            float.fromhex(content["high"]),
        )  # fmt: skip


def exact_sum_of_products(one: NDArray[np.float64], other: NDArray[np.float64]) -> int:
    """Sum of products of finite numbers, in units of 2^-1074.

    A product is two numbers without rounding (Dekker 1971, Numerische Mathematik 18, 224-242), for products between
    1e-290 and 1e290; of others the last bits are lost.

    `one`, `other`: shape (n,).
    """
    total = 0
    for start in range(0, len(one), AT_ONCE):
        a, b = one[start : start + AT_ONCE], other[start : start + AT_ONCE]
        product = a * b
        whole = len(a) and np.abs(product).max() * len(a) <= 2.0**53
        if whole and np.all(a == np.rint(a)) and np.all(b == np.rint(b)):
            total += int(product.sum()) << UNIT
            continue
        (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
        rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
        total += exact_sum(product) + exact_sum(rest)
    return total


def _halves(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    raised = SPLIT * values
    high = raised - (raised - values)
    return high, values - high


@dataclass(frozen=True)
class ExactMoments:
    """Sums of records without missing cells: of their values, and of the products of these; they add up exactly.

    Attributes
    ----------
    n : int
        Number of records.
    totals : tuple of p int
        In units of 2^-1074.
    products : tuple of p (p + 1) / 2 int
        Of each variable with itself and those after it, in the same units.
    low, high : tuple of p float
        Smallest and largest values; infinite where there is no record.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import ExactMoments
    >>> values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    >>> parts = ExactMoments.of(values[:1]), ExactMoments.of(values[1:])
    >>> whole = parts[0] + parts[1]
    >>> whole.mean.tolist(), whole.covariance.tolist()
    ([3.0, 5.0], [[4.0, 7.0], [7.0, 13.0]])
    """

    n: int
    totals: tuple[int, ...]
    products: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Self:
        """Moments of finite numbers.

        Parameters
        ----------
        values : ndarray of shape (n, p), float64
        """
        n, p = values.shape
        columns = [np.ascontiguousarray(values[:, j]) for j in range(p)]
        return cls(
            n, tuple(exact_sum(column) for column in columns),
            tuple(exact_sum_of_products(columns[i], columns[j]) for i in range(p) for j in range(i, p)),
            tuple(float(column.min(initial=math.inf)) for column in columns),
            tuple(float(column.max(initial=-math.inf)) for column in columns),
        )  # fmt: skip

    def __add__(self, other: ExactMoments) -> ExactMoments:
        return ExactMoments(
            self.n + other.n,
            tuple(one + two for one, two in zip(self.totals, other.totals, strict=True)),
            tuple(one + two for one, two in zip(self.products, other.products, strict=True)),
            tuple(map(min, self.low, other.low)),
            tuple(map(max, self.high, other.high)),
        )

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.totals)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Means, correctly rounded; shape (p,), 0 where there is no record."""
        return np.array([float(Fraction(total, self.n << UNIT)) if self.n else 0.0 for total in self.totals])

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Covariances with divisor n - 1, correctly rounded; shape (p, p), 0 for fewer than two records."""
        found = np.zeros((self.p, self.p))
        if self.n < 2:
            return found
        places = ((i, j) for i in range(self.p) for j in range(i, self.p))
        for (i, j), product in zip(places, self.products, strict=True):
            above = Fraction(product, 1 << UNIT) - Fraction(self.totals[i] * self.totals[j], self.n << (2 * UNIT))
            found[i, j] = found[j, i] = float(above / (self.n - 1))
        return found

    def among(self, places: Sequence[int]) -> ExactMoments:
        """The same of some of the variables.

        Parameters
        ----------
        places : sequence of int
            Ascending.
        """
        of_pair = dict(zip(((i, j) for i in range(self.p) for j in range(i, self.p)), self.products, strict=True))
        return ExactMoments(
            self.n, tuple(self.totals[i] for i in places),
            tuple(of_pair[i, j] for at, i in enumerate(places) for j in places[at:]),
            tuple(self.low[i] for i in places), tuple(self.high[i] for i in places),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Plain data, the sums as texts of whole numbers."""
        return {
            "n": self.n, "totals": [hex(each) for each in self.totals],
            "products": [hex(each) for each in self.products],
            "low": [each.hex() for each in self.low], "high": [each.hex() for each in self.high],
        }  # fmt: skip

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        """What `to_json` gave.

        Parameters
        ----------
        said : mapping
        """
        sums = [tuple(int(each, 16) for each in said[name]) for name in ("totals", "products")]
        ends = [tuple(float.fromhex(each) for each in said[name]) for name in ("low", "high")]
        return cls(int(said["n"]), *sums, *ends)
