"""Families of probability distributions, fitted to a column in closed form or a few steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special, stats

from maskwright_builtin.numerics.weibull import weibull_shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskwright_builtin.methods.distribution.distortion import FamilyName
    from maskwright_builtin.numerics.arrays import Floats

_STEPS = 50


@dataclass(frozen=True)
class Fitted:
    """A family with its parameters."""

    family: FamilyName
    law: Any

    def distance(self, ascending: Floats) -> float:
        """Kolmogorov-Smirnov statistic: largest gap between the distribution functions of the law and of the values.

        `ascending`: sorted; shape (m,).
        """
        m = len(ascending)
        last = np.append(np.flatnonzero(np.diff(ascending)), m - 1)
        first = np.concatenate([[0], last[:-1] + 1])
        points = ascending[last]
        at = self.law.cdf(points)
        # A discrete law jumps at the whole numbers, as the empirical one does at its values.
        below = self.law.cdf(points - 1.0) if self.family == "poisson" else at
        return float(max(np.max(np.abs(at - (last + 1) / m)), np.max(np.abs(below - first / m))))

    def draw(self, m: int, rng: np.random.Generator) -> Floats:
        """Sorted sample of size m, by the inverse of the distribution function."""
        # Uniform on the middles of 2**52 cells: never 0 or 1, where the inverse is infinite.
        shares = (np.sort(rng.integers(0, 2**52, m)) + 0.5) / 2.0**52
        return np.asarray(self.law.ppf(shares), dtype=np.float64)


def fit(family: FamilyName, values: Floats) -> Fitted | None:
    """Fit one family; None where it does not apply to these values.

    `values`: at least two different ones; shape (m,).

    Maximum likelihood, except for beta (on the range of the values), logistic, extreme value (of maxima) and
    chi-squared, which match moments. Gamma, lognormal, Pareto, Weibull and chi-squared need positive values,
    exponential values of at least 0, Poisson whole numbers of at least 0.
    """
    law = _FITS[family](values)
    return None if law is None else Fitted(family, law)


def best_fit(families: tuple[FamilyName, ...], values: Floats) -> tuple[Fitted, float] | None:
    """Fit with the smallest Kolmogorov-Smirnov statistic, and that; the first of several; None where none applies."""
    ascending = np.sort(values)
    best: tuple[Fitted, float] | None = None
    for family in families:
        fitted = fit(family, ascending)
        distance = np.inf if fitted is None else fitted.distance(ascending)
        if fitted is not None and np.isfinite(distance) and (best is None or distance < best[1]):
            best = fitted, distance
    return best


def _beta(values: Floats) -> Any:
    low, span = float(values.min()), float(np.ptp(values))
    shares = (values - low) / span
    mean, variance = float(shares.mean()), float(shares.var())
    size = mean * (1.0 - mean) / variance - 1.0
    return stats.beta(mean * size, (1.0 - mean) * size, loc=low, scale=span) if size > 0.0 else None


def _chi_squared(values: Floats) -> Any:
    return stats.chi2(float(values.mean())) if values.min() > 0.0 else None


def _exponential(values: Floats) -> Any:
    return stats.expon(scale=float(values.mean())) if values.min() >= 0.0 else None


def _extreme_value(values: Floats) -> Any:
    scale = float(values.std()) * np.sqrt(6.0) / np.pi
    return stats.gumbel_r(loc=float(values.mean()) - np.euler_gamma * scale, scale=scale)


def _gamma(values: Floats) -> Any:
    if values.min() <= 0.0:
        return None
    mean = float(values.mean())
    gap = float(np.log(mean) - np.log(values).mean())
    if not gap > 0.0:
        return None
    shape = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(_STEPS):
        # Newton's steps for ln a - digamma(a) = gap, in 1 / a, which keeps the shape positive.
        slope = 1.0 / shape + (np.log(shape) - special.digamma(shape) - gap) / (
            shape**2 * (1.0 / shape - special.polygamma(1, shape))
        )
        change = 1.0 / slope - shape
        shape = float(1.0 / slope)
        if abs(change) <= 1e-12 * shape:
            break
    return stats.gamma(shape, scale=mean / shape)


def _logistic(values: Floats) -> Any:
    return stats.logistic(loc=float(values.mean()), scale=float(values.std()) * np.sqrt(3.0) / np.pi)


def _lognormal(values: Floats) -> Any:
    if values.min() <= 0.0:
        return None
    logarithms = np.log(values)
    return stats.lognorm(float(logarithms.std()), scale=float(np.exp(logarithms.mean())))


def _normal(values: Floats) -> Any:
    return stats.norm(loc=float(values.mean()), scale=float(values.std()))


def _pareto(values: Floats) -> Any:
    low = float(values.min())
    return stats.pareto(1.0 / float(np.log(values / low).mean()), scale=low) if low > 0.0 else None


def _poisson(values: Floats) -> Any:
    whole = bool(np.all(values == np.rint(values))) and values.min() >= 0.0
    return stats.poisson(float(values.mean())) if whole else None


def _uniform(values: Floats) -> Any:
    return stats.uniform(loc=float(values.min()), scale=float(np.ptp(values)))


def _weibull(values: Floats) -> Any:
    if values.min() <= 0.0:
        return None
    # Relative to the largest, powers underflow harmlessly instead of overflowing.
    logarithms = np.log(values / values.max())
    shape = weibull_shape(logarithms, float(logarithms.mean()), float(logarithms.std()), 1.0)
    scale = float(values.max() * np.mean(np.exp(shape * logarithms)) ** (1.0 / shape))
    return stats.weibull_min(shape, scale=scale)


_FITS: dict[FamilyName, Callable[[Floats], Any]] = {
    "beta": _beta,
    "chi_squared": _chi_squared,
    "exponential": _exponential,
    "extreme_value": _extreme_value,
    "gamma": _gamma,
    "logistic": _logistic,
    "lognormal": _lognormal,
    "normal": _normal,
    "pareto": _pareto,
    "poisson": _poisson,
    "uniform": _uniform,
    "weibull": _weibull,
}
