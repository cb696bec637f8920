"""Probability laws fitted to published values: both tails and their inverses, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from maskwright_builtin.numerics.weibull import weibull_shape

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


class Law(Protocol):
    """A continuous distribution."""

    @property
    def name(self) -> str:
        """What it is called in notes."""
        ...

    def below(self, x: Floats) -> Floats:
        """Probability of at most x."""
        ...

    def above(self, x: Floats) -> Floats:
        """Probability of more than x, accurate where it is small."""
        ...

    def with_below(self, share: Floats) -> Floats:
        """Inverse of `below`."""
        ...

    def with_above(self, share: Floats) -> Floats:
        """Inverse of `above`."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Uniform on [low, high]."""

    low: float = 0.0
    high: float = 1.0
    name: str = "uniform"

    def below(self, x: Floats) -> Floats:
        """Probability of at most x."""
        return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)

    def above(self, x: Floats) -> Floats:
        """Probability of more than x."""
        return np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)

    def with_below(self, share: Floats) -> Floats:
        """Inverse of `below`."""
        return self.low + share * (self.high - self.low)

    def with_above(self, share: Floats) -> Floats:
        """Inverse of `above`."""
        return self.high - share * (self.high - self.low)


@dataclass(frozen=True)
class Normal:
    """Normal with mean and standard deviation."""

    mean: float = 0.0
    sd: float = 1.0
    name: str = "normal"

    def below(self, x: Floats) -> Floats:
        """Probability of at most x."""
        from scipy.special import ndtr  # plugins are listed without SciPy

        return np.asarray(ndtr((x - self.mean) / self.sd))

    def above(self, x: Floats) -> Floats:
        """Probability of more than x."""
        from scipy.special import ndtr  # plugins are listed without SciPy

        return np.asarray(ndtr((self.mean - x) / self.sd))

    def with_below(self, share: Floats) -> Floats:
        """Inverse of `below`."""
        from scipy.special import ndtri

        return np.asarray(self.mean + self.sd * ndtri(share))

    def with_above(self, share: Floats) -> Floats:
        """Inverse of `above`."""
        from scipy.special import ndtri

        return np.asarray(self.mean - self.sd * ndtri(share))


@dataclass(frozen=True)
class LogNormal:
    """Positive values whose logarithm is normal."""

    mean: float = 0.0
    sd: float = 1.0
    name: str = "log-normal"

    @property
    def _of_logarithm(self) -> Normal:
        return Normal(self.mean, self.sd)

    def below(self, x: Floats) -> Floats:
        """Probability of at most x."""
        return self._of_logarithm.below(np.log(x))

    def above(self, x: Floats) -> Floats:
        """Probability of more than x."""
        return self._of_logarithm.above(np.log(x))

    def with_below(self, share: Floats) -> Floats:
        """Inverse of `below`."""
        return np.exp(self._of_logarithm.with_below(share))

    def with_above(self, share: Floats) -> Floats:
        """Inverse of `above`."""
        return np.exp(self._of_logarithm.with_above(share))


@dataclass(frozen=True)
class Weibull:
    """Weibull, positive values: ``P(X > x) = exp(-(x / scale) ** shape)``."""

    shape: float = 1.5
    scale: float = 1.0
    name: str = "Weibull"

    def below(self, x: Floats) -> Floats:
        """Probability of at most x."""
        return -np.expm1(-((np.maximum(x, 0.0) / self.scale) ** self.shape))

    def above(self, x: Floats) -> Floats:
        """Probability of more than x."""
        return np.exp(-((np.maximum(x, 0.0) / self.scale) ** self.shape))

    def with_below(self, share: Floats) -> Floats:
        """Inverse of `below`."""
        return np.asarray(self.scale * (-np.log1p(-share)) ** (1.0 / self.shape))

    def with_above(self, share: Floats) -> Floats:
        """Inverse of `above`."""
        return np.asarray(self.scale * (-np.log(share)) ** (1.0 / self.shape))


@dataclass(frozen=True, eq=False)
class Empirical:
    """Straight lines between published values, each at the middle of its ranks."""

    values: Floats
    shares: Floats
    name: str = "empirical"

    def below(self, x: Floats) -> Floats:
        """Probability of at most x."""
        return np.interp(x, self.values, self.shares)

    def above(self, x: Floats) -> Floats:
        """Probability of more than x."""
        return 1.0 - self.below(x)

    def with_below(self, share: Floats) -> Floats:
        """Inverse of `below`."""
        return np.interp(share, self.shares, self.values)

    def with_above(self, share: Floats) -> Floats:
        """Inverse of `above`."""
        return self.with_below(1.0 - share)


FAMILIES = ("uniform", "normal", "lognormal", "weibull")


def fit_law(values: Floats, copies: Integers, family: str) -> tuple[Law, float] | None:
    """Fit a family by maximum likelihood; with the law its Akaike criterion. None where the family does not apply.

    `values`: distinct, ascending, at least two; shape (g,). `copies`: how often each occurs; shape (g,).
    """
    n = float(copies.sum())
    if family == "uniform":
        low, high = float(values[0]), float(values[-1])
        return Uniform(low, high), 2.0 * n * np.log(high - low) + 4.0
    if family == "normal":
        mean, sd = _mean_and_deviation(values, copies)
        return Normal(mean, sd), n * (np.log(2.0 * np.pi * sd**2) + 1.0) + 4.0
    if values[0] <= 0.0:
        return None
    logarithms = np.log(values)
    mean, sd = _mean_and_deviation(logarithms, copies)
    if not sd > 0.0:
        return None
    if family == "lognormal":
        return LogNormal(mean, sd), n * (np.log(2.0 * np.pi * sd**2) + 1.0 + 2.0 * mean) + 4.0
    weight = copies / n
    shape = weibull_shape(logarithms, mean, sd, weight)
    power = weight * np.exp(shape * (logarithms - logarithms[-1]))
    scale = float(np.exp(logarithms[-1] + np.log(power.sum()) / shape))
    likelihood = n * (np.log(shape) - shape * np.log(scale) + (shape - 1.0) * mean - 1.0)
    return Weibull(shape, scale), -2.0 * float(likelihood) + 4.0


def _mean_and_deviation(values: Floats, copies: Integers) -> tuple[float, float]:
    mean = float(np.average(values, weights=copies))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=copies)))
