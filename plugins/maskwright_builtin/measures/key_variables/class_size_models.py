"""Population uniques from the sizes of the sample's classes alone: Zayatz, and Pitman."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def zayatz(sizes: NDArray[np.int64], population: float) -> float:
    """Probability that a sample unique is unique in the population.

    `sizes`: ``sizes[j]`` classes of the sample have j records; some have one; shape (j + 1,).

    By Bayes, with the sizes of the classes of the sample for those of the population, of which far more are large.

    Zayatz (1991), Estimation of the percent of unique population elements on a microdata file using the sample, U.S.
    Bureau of the Census, research report 91/08.
    """
    from scipy.special import gammaln  # plugins are listed without SciPy

    j = np.flatnonzero(sizes).astype(np.float64)
    sample = float((np.arange(len(sizes)) * sizes).sum())
    if population <= sample:
        return 1.0
    # Of a class of j, exactly one is drawn: C(j, 1) C(N - j, n - 1) / C(N, n).
    others = population - j
    possible = others - (sample - 1.0) >= 0.0

    def log_choose(n: NDArray[np.float64] | float, k: float) -> NDArray[np.float64]:
        return np.asarray(gammaln(np.add(n, 1.0)) - gammaln(k + 1.0) - gammaln(np.subtract(n, k) + 1.0))

    drawn = log_choose(np.where(possible, others, population), sample - 1.0) - log_choose(population, sample)
    one = np.where(possible, j * np.exp(drawn), 0.0)
    weighed = sizes[j.astype(np.int64)] * one
    return float(weighed[j == 1.0].sum() / weighed.sum())


def pitman(sizes: NDArray[np.int64], population: float) -> tuple[float, float, float]:
    """Fit Pitman's sampling formula by maximum likelihood.

    `sizes`: ``sizes[j]`` classes of the sample have j records; some have one, and some have more; shape (j + 1,).
    Returns theta > -alpha, 0 < alpha < 1; expected in the population, at most N.

    Hoshino (2001), Applying Pitman's sampling formula to microdata disclosure risk assessment, Journal of Official
    Statistics 17(4), 499-520.
    """
    from scipy.optimize import minimize
    from scipy.special import expit, gammaln

    j = np.flatnonzero(sizes)
    times = sizes[j].astype(np.float64)
    larger = j > 1
    classes, sample = float(times.sum()), float((j * times).sum())

    def parameters(at: NDArray[np.float64]) -> tuple[float, float]:
        alpha = float(expit(at[1]))
        return math.exp(float(at[0])) - alpha, alpha

    def loss(at: NDArray[np.float64]) -> float:
        theta, alpha = parameters(at)
        steps = (classes - 1.0) * math.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1.0)
        draws = gammaln(theta + sample) - gammaln(theta + 1.0)
        within = times[larger] * (gammaln(j[larger] - alpha) - gammaln(1.0 - alpha))
        return float(draws - steps - within.sum())

    start = np.array([math.log(max(classes, 2.0)), 0.0])
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9, "maxiter": 2000}).x
    theta, alpha = parameters(found)
    uniques = math.exp(float(gammaln(theta + 1.0) - gammaln(theta + alpha)) + alpha * math.log(population))
    return theta, alpha, min(uniques, population)
