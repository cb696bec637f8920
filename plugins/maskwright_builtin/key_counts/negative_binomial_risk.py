"""The risk of a record, given the frequencies of its keys in the file and, estimated, in the population."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def positive_weights(weights: NDArray[np.float64] | None) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Weights with which every record stands for somebody, and what was done to that end.

    `weights`: none of them negative; shape (n,).
    """
    if weights is None or weights.all():
        return weights, ()
    return np.where(weights == 0.0, 1.0, weights), zero_weights(int((weights == 0.0).sum()))


def zero_weights(count: int) -> tuple[str, ...]:
    """Note on records that stand for nobody, if there are any."""
    if not count:
        return ()
    return (f"{count} record(s) with a weight of zero count with weight 1: they stand for themselves",)


def sampling_fraction(
    file: NDArray[np.int64], population: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Share of the people with a record's keys who are in the file, ``f / F``, and where it had to be cut to 1.

    `file`: f; shape (n,). `population`: f, positive; smaller than f where weights are below 1; shape (n,).
    """
    # Sums of weights of 1 may be a rounding error off.
    above = population < file * (1.0 - 1e-12)
    return np.minimum(file / population, 1.0), above


def individual_risk(file: NDArray[np.int64], fraction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of 1 / F given f, for F - f negative binomial with f and pi: the chance that a link is right.

    ``r(f, pi) = (pi^f / f) 2F1(f, f; f + 1; 1 - pi) = (pi / f) sum_n n! (1 - pi)^n / ((f + 1) ... (f + n))``, all terms
    positive; below pi = 1/2 and for small f by ``r(1) = q ln(1 / pi)``, ``r(f) = q (1 / (f - 1) - r(f - 1))`` with
    ``q = pi / (1 - pi)``, which is below 1 there and damps errors. 1 / f for pi = 1.

    `file`: f, at least 1; shape (n,). `fraction`: pi, above 0 and at most 1; shape (n,).

    Benedetti and Franconi (1998); Franconi and Polettini (2004), Privacy in Statistical Databases, LNCS 3050, 262-272.
    """
    from maskwright_builtin.key_counts.negative_binomial_kernel import fill_risks  # Numba, heavy

    risk = np.empty(len(file), dtype=np.float64)
    fill_risks(file.astype(np.int64), fraction.astype(np.float64), risk)
    return risk


def approximate_risk(file: NDArray[np.int64], fraction: NDArray[np.float64]) -> NDArray[np.float64]:
    """The approximation of sdcMicro and others: exact for f of 1 and 2, else ``pi / (f - 1 + pi)``.

    Never too low, and at most 4.04 percent too high.

    `file`, `fraction`: as for `individual_risk`; shape (n,).
    """
    return np.where(file <= 2, individual_risk(np.minimum(file, 2), fraction), fraction / (file - 1.0 + fraction))
