"""The model of probabilistic record linkage: two classes of pairs, and agreements that are independent in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ITERATIONS = 5_000
TOLERANCE = 1e-10
START = 0.9
"""Where the agreement probabilities among matches start."""
SMALLEST = 1e-12
"""Probabilities stay this far from 0 and 1, so that logarithms are finite."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Matches and non-matches, as EM found them.

    `m`, `u`: probability of agreeing on each variable for a matching and for a non-matching pair; shape (d,). `prior`:
    probability that a pair matches. `error`: standard error of `m` if pairs were independent; infinite where the file
    does not determine it; shape (d,).
    """

    m: NDArray[np.float64]
    u: NDArray[np.float64]
    prior: float
    converged: bool
    error: NDArray[np.float64]

    def weights(self) -> NDArray[np.float64]:
        """How much agreeing rather than not speaks for a match, ``log2(m / u) - log2((1 - m) / (1 - u))``; (d,)."""
        return np.asarray(np.log2(self.m / self.u) - np.log2((1.0 - self.m) / (1.0 - self.u)))


def fit_classes(counts: NDArray[np.int64], prior: float, *, estimate_prior: bool) -> Classes:
    """Fit two classes to the counts of agreement patterns by EM.

    `counts`: pairs with each pattern, bit j for variable j; shape (2**d,). `prior`: probability that a pair matches;
    with `estimate_prior`, where it starts.

    Jaro (1989), Journal of the American Statistical Association 84(406), 414-420; Winkler (1988).
    """
    d = int(np.log2(len(counts)))
    agrees = ((np.arange(len(counts))[:, None] >> np.arange(d)) & 1).astype(np.float64)
    share = counts / counts.sum()
    m, u = np.full(d, START), np.clip(share @ agrees, SMALLEST, 1.0 - SMALLEST)
    converged = False
    for _ in range(MOST_ITERATIONS):
        matching, other = prior * _probability(agrees, m), (1.0 - prior) * _probability(agrees, u)
        mass = share * matching / (matching + other)
        rest = share - mass
        total = float(mass.sum())
        new_m, new_u = (
            np.clip(one @ agrees / max(float(one.sum()), SMALLEST**2), SMALLEST, 1.0 - SMALLEST) for one in (mass, rest)
        )
        new_prior = min(max(total, SMALLEST), 1.0 - SMALLEST) if estimate_prior else prior
        # A prior of one in a million must settle too, so its change counts relative to itself.
        change = max(np.abs(new_m - m).max(), np.abs(new_u - u).max(), abs(new_prior - prior) / prior)
        m, u, prior = new_m, new_u, new_prior
        if change < TOLERANCE:
            converged = True
            break
    return Classes(m, u, prior, converged, _standard_error(agrees, counts, m, u, prior))


def _probability(agrees: NDArray[np.float64], probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of each pattern in a class; shape (2**d,)."""
    return np.asarray(np.exp(agrees @ np.log(probability) + (1.0 - agrees) @ np.log1p(-probability)))


def _standard_error(
    agrees: NDArray[np.float64], counts: NDArray[np.int64], m: NDArray[np.float64], u: NDArray[np.float64], prior: float
) -> NDArray[np.float64]:
    """Standard errors of `m` from the information of the multinomial counts, with the prior known."""
    d = len(m)
    matching, other = prior * _probability(agrees, m), (1.0 - prior) * _probability(agrees, u)
    slopes = np.hstack(
        [
            matching[:, None] * (agrees - m) / (m * (1.0 - m)),
            other[:, None] * (agrees - u) / (u * (1.0 - u)),
        ]
    )
    # In units of the binomial deviation of each probability, so that small ones do not look undetermined.
    scale = np.sqrt(np.concatenate([m * (1.0 - m), u * (1.0 - u)]))
    slopes *= scale
    information = (slopes / np.maximum(matching + other, SMALLEST**2)[:, None]).T @ slopes * float(counts.sum())
    values, vectors = np.linalg.eigh(information)
    determined = values > 1e-10 * max(values.max(), 1e-300)
    variance = (vectors[:, determined] ** 2 / values[determined]).sum(axis=1)
    loose = (vectors[:, ~determined] ** 2).sum(axis=1) > 1e-6
    error = np.where(loose, np.inf, np.sqrt(variance)) * scale
    return np.asarray(error[:d])
