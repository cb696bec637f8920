"""The model of probabilistic linkage with several levels of agreement: shares in both classes, counted or by EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST_ITERATIONS = 5_000
TOLERANCE = 1e-10
START_M, START_U = 0.9, 0.1
"""Where the shares of agreeing pairs start among matches and among other pairs."""
SMALLEST = 1e-12
"""Shares stay this far from 0, so that logarithms are finite."""


@dataclass(frozen=True, eq=False)
class LevelClasses:
    """Matches and other pairs.

    `m`, `u`: share of each level of each key, the first being agreement; shape (levels,). `prior`: share of matches
    among all pairs.
    """

    m: Sequence[NDArray[np.float64]]
    u: Sequence[NDArray[np.float64]]
    prior: float
    converged: bool = True


def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts as shares, none of them 0."""
    total = float(counts.sum())
    return np.maximum(counts / total if total else np.full(len(counts), 1.0 / len(counts)), SMALLEST)


def fit_levels(
    levels: Sequence[NDArray[np.int64]], sizes: Sequence[int], counts: NDArray[np.float64], prior: float, *,
    estimate_prior: bool
) -> LevelClasses:  # fmt: skip
    """Fit both classes to the counts of patterns by EM; keys are independent within a class.

    `levels`: level of each key in each pattern; -1 where a missing cell says nothing; shape (patterns,). `counts`:
    pairs with each pattern; shape (patterns,). `prior`: share of matches among all pairs, or where it starts.

    Jaro (1989), Journal of the American Statistical Association 84(406), 414-420; Winkler (1988).
    """
    share = counts / counts.sum()
    m, u = ([_start(agree, size) for size in sizes] for agree in (START_M, START_U))
    converged = False
    for _ in range(MOST_ITERATIONS):
        matching, other = prior * _probability(levels, m), (1.0 - prior) * _probability(levels, u)
        mass = share * matching / np.maximum(matching + other, SMALLEST**4)
        total = float(mass.sum())
        new_m, new_u = (
            [
                shares(np.bincount(level[level >= 0], one[level >= 0], size).astype(np.float64))
                for level, size in zip(levels, sizes, strict=True)
            ]
            for one in (mass, share - mass)
        )
        new_prior = min(max(total, SMALLEST), 1.0 - SMALLEST) if estimate_prior else prior
        moved = [np.abs(new - old).max() for new, old in zip((*new_m, *new_u), (*m, *u), strict=True)]
        # A prior of one in a million must settle too, so its change counts relative to itself.
        change = max(*moved, abs(new_prior - prior) / prior)
        m, u, prior = new_m, new_u, new_prior
        if change < TOLERANCE:
            converged = True
            break
    return LevelClasses(m, u, prior, converged)


def _start(agree: float, size: int) -> NDArray[np.float64]:
    return np.array([agree, *([(1.0 - agree) / max(size - 1, 1)] * (size - 1))])


def _probability(levels: Sequence[NDArray[np.int64]], share: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Probability of each pattern in a class; a key that says nothing counts as certain."""
    product = np.ones(len(levels[0]))
    for level, own in zip(levels, share, strict=True):
        product *= np.append(own, 1.0)[level]
    return product
