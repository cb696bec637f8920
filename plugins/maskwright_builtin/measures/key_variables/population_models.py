"""Models of population uniques: Poisson log-linear models, and class sizes (Zayatz, Pitman)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Floats, Integers

    Pair = tuple[int, int]


LARGEST_TABLE = 20_000_000
"""Cells, all of which are held: 160 MB."""
LARGEST_SEARCHED = 200_000
"""Cells of a table on which models are searched: each step fits as many as there are pairs of keys."""
MOST_SWEEPS = 500
SWEEPS_TO_CHOOSE = 20
TOLERANCE = 1e-6
"""Fitting ends once a sweep moves the expected links to sample uniques by less than this share."""
AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class KeyTable:
    """The sample as a table of counts over all combinations of the keys.

    `levels`: values of each key; a missing cell is one more. `codes`: of the c cells that hold a record; shape (q, c).
    `count`: their records, f; shape (c,). `weight`: sum of the weights of their records; shape (c,). `fraction`: mean
    of the inverse weights of their records: the sampling fraction in the cell; shape (c,).
    """

    levels: tuple[int, ...]
    codes: Integers
    count: Integers
    weight: Floats
    fraction: Floats

    @property
    def cells(self) -> int:
        """Of the whole table, empty ones among them."""
        return math.prod(self.levels)

    @property
    def all_fraction(self) -> float:
        """The sampling fraction of the file."""
        return float(self.count.sum() / self.weight.sum())

    def places(self) -> Integers:
        """Where the cells that hold a record stand in the whole table; shape (c,)."""
        return np.asarray(np.ravel_multi_index(tuple(self.codes), self.levels), dtype=np.int64)

    def totals(self, keys: Sequence[int]) -> Floats:
        """Weight of each combination of some keys; shape: their levels."""
        shape = tuple(self.levels[key] for key in keys)
        places = np.ravel_multi_index(tuple(self.codes[key] for key in keys), shape)
        totals = np.bincount(places, weights=self.weight, minlength=math.prod(shape))
        return np.asarray(totals, dtype=np.float64).reshape(shape)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model.

    `pairs`: keys whose interactions it has. `expected`: people of the population expected in each cell that holds a
    record (lambda); shape (c,). `b`, `standard_error`: the statistic of underfitting; None where the whole table was
    not looked at.
    """

    pairs: tuple[Pair, ...]
    expected: Floats
    b: float | None = None
    standard_error: float | None = None


def main_effects(table: KeyTable) -> Fitted:
    """The model of independent keys, in closed form; the whole table is never made."""
    total = float(table.weight.sum())
    expected = np.full(len(table.count), total)
    for key in range(len(table.levels)):
        expected *= table.totals([key])[table.codes[key]] / total
    return Fitted((), expected)


def fit(table: KeyTable, pairs: Sequence[Pair], sweeps: int = MOST_SWEEPS) -> tuple[Fitted, Floats]:
    """Fit main effects and the interactions of some pairs, by iterative proportional fitting on the whole table.

    `table`: of at most `LARGEST_TABLE` cells. Returns people of the population expected in each cell of the whole
    table; shape (cells,).

    Skinner and Shlomo (2008), Assessing identification risk in survey microdata using log-linear models, Journal of the
    American Statistical Association 103, 989-1001.
    """
    from maskwright_builtin.measures.key_variables.log_linear_kernel import (
        fit_pair,
    )  # Numba: plugins are listed without

    total = float(table.weight.sum())
    expected = np.full(1, total)
    for key in range(len(table.levels)):
        expected = np.multiply.outer(expected, table.totals([key]) / total).ravel()
    places = table.places()
    alone = table.count == 1
    before = math.inf
    views = [(expected.reshape(_around(table.levels, pair)), table.totals(pair)) for pair in pairs]
    for _ in range(sweeps if len(pairs) > 1 else len(pairs)):
        for view, totals in views:
            fit_pair(view, totals)
        links = float(first_risk(remaining(expected[places[alone]], table.fraction[alone])).sum())
        if abs(links - before) <= TOLERANCE * links:
            break
        before = links
    b, error = underfitting(table, expected, places)
    return Fitted(tuple(pairs), expected[places], b, error), expected


def _around(levels: Sequence[int], pair: Pair) -> tuple[int, int, int, int, int]:
    first, second = pair
    return (
        math.prod(levels[:first]),
        levels[first],
        math.prod(levels[first + 1 : second]),
        levels[second],
        math.prod(levels[second + 1 :]),
    )


def underfitting(table: KeyTable, expected: Floats, places: Integers) -> tuple[float, float]:
    """B of Skinner and Shlomo for the number of population uniques, and its standard error under the model.

    Above 0, the model lacks interactions and overstates the risk; below 0, it has too many. Only the sign is to be
    relied on.

    `expected`: people of the population expected in each cell; shape (cells,). `places`: the cells that hold a record;
    shape (c,).
    """
    whole = table.all_fraction
    b = variance = 0.0
    for begin in range(0, len(expected), AT_ONCE):
        part, spread = _terms(expected[begin : begin + AT_ONCE], 0.0, whole)
        b += float(part.sum())
        variance += float(spread.sum())
    empty, empty_spread = _terms(expected[places], 0.0, whole)
    part, spread = _terms(expected[places], table.count.astype(np.float64), table.fraction)
    b += float((part - empty).sum())
    variance += float((spread - empty_spread).sum())
    return b, math.sqrt(max(variance, 0.0))


def _terms(expected: Floats, count: Floats | float, fraction: Floats | float) -> tuple[Floats, Floats]:
    """Each cell's term of B, and its variance: count - mu and its square less the count are uncorrelated."""
    mu = fraction * expected
    out = expected * np.exp(-expected) * (1.0 - fraction)
    squared = (1.0 - fraction) / (2.0 * fraction)
    term = out * ((count - mu) + squared * ((count - mu) ** 2 - count))
    return term, out**2 * (mu + 2.0 * squared**2 * mu**2)


def search(table: KeyTable, progress: Progress) -> Fitted:
    """Add the interaction that brings B, in standard errors, nearest 0, until none brings it nearer."""
    every = list(itertools.combinations(range(len(table.levels)), 2))
    chosen: tuple[Pair, ...] = ()
    distance = abs(_in_errors(fit(table, ())[0]))
    while len(chosen) < len(every):
        tried = [(*chosen, pair) for pair in every if pair not in chosen]
        judged = [(abs(_in_errors(fit(table, pairs, SWEEPS_TO_CHOOSE)[0])), pairs) for pairs in tried]
        nearest, pairs = min(judged)
        if nearest >= distance:
            break
        distance, chosen = nearest, pairs
        progress(len(chosen) / len(every))
    return fit(table, chosen)[0]


def _in_errors(fitted: Fitted) -> float:
    if fitted.b is None or not fitted.standard_error:
        return 0.0
    return fitted.b / fitted.standard_error


def remaining(expected: Floats, fraction: Floats) -> Floats:
    """People expected in a cell outside the sample."""
    return expected * (1.0 - fraction)


def first_risk(outside: Floats) -> Floats:
    """Mean of 1 / F for a sample unique, with F - 1 Poisson.

    `outside`: v, the mean; shape (c,).
    """
    positive = outside > 0.0
    return np.where(positive, -np.expm1(-outside) / np.where(positive, outside, 1.0), 1.0)


def matching_risk(count: Integers, outside: Floats) -> Floats:
    """Mean of 1 / F for a cell with f records in the sample and F - f, Poisson with mean v, outside it.

    `count`: f, at least 1; shape (c,). `outside`: v; shape (c,).

    The integral of t^(f - 1) exp(-v (1 - t)) over t from 0 to 1, which is 1F1(1; f + 1; -v) / f.
    """
    from scipy.special import hyp1f1  # plugins are listed without SciPy

    return np.where(count == 1, first_risk(outside), hyp1f1(1.0, count + 1.0, -outside) / count)


def zayatz(sizes: Integers, population: float) -> float:
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

    def log_choose(n: Floats | float, k: float) -> Floats:
        return np.asarray(gammaln(np.add(n, 1.0)) - gammaln(k + 1.0) - gammaln(np.subtract(n, k) + 1.0))

    drawn = log_choose(np.where(possible, others, population), sample - 1.0) - log_choose(population, sample)
    one = np.where(possible, j * np.exp(drawn), 0.0)
    weighed = sizes[j.astype(np.int64)] * one
    return float(weighed[j == 1.0].sum() / weighed.sum())


def pitman(sizes: Integers, population: float) -> tuple[float, float, float]:
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

    def parameters(at: Floats) -> tuple[float, float]:
        alpha = float(expit(at[1]))
        return math.exp(float(at[0])) - alpha, alpha

    def loss(at: Floats) -> float:
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
