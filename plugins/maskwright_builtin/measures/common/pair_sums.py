"""Sums of products of the variables of a part, record by record: they add up to the moments of the whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright_builtin.measures.information_loss.file_statistics import FileStatistics
from maskwright_builtin.measures.information_loss.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

RECORDS_AT_ONCE = 16_384

PairSums = dict[str, list[list[float]]]
"""By name, what is summed over the records that have both values of each pair; shape (p, p)."""

POWERS = {"10": (1, 0), "20": (2, 0), "30": (3, 0), "40": (4, 0), "11": (1, 1), "21": (2, 1), "31": (3, 1),
          "22": (2, 2)}  # fmt: skip
"""Powers of the first and of the other variable in each sum."""


def pair_sums(
    values: NDArray[np.float64], center: NDArray[np.float64], scale: NDArray[np.float64], *, to_fourth: bool
) -> PairSums:
    """Sums over the records of a part of products of powers of ``(values - center) / scale``.

    `values`: NaN where missing; shape (n, p). `center`, `scale`: near the mean and the standard deviation of the whole
    file; shape (p,). `to_fourth`: whether moments above the second are wanted.
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


def condensed_sums(parts: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.float64]]:
    """Sums over the records of some parts, added in their order; as `pair_sums` has them.

    `parts`: of `pair_sums`, or of this function.
    """
    ends = {"low": (np.fmin, np.inf), "high": (np.fmax, -np.inf)}
    found: dict[str, NDArray[np.float64]] = {}
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
    """Central moments of the whole file.

    `parts`: of `pair_sums`, in the order of the parts.
    """
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
    parts: Sequence[Mapping[str, list[list[float]]]], center: NDArray[np.float64], scale: NDArray[np.float64]
) -> FileStatistics:
    """Means, covariances and correlations of the whole file.

    `parts`: of `pair_sums` with this centre and scale, in the order of the parts. `center`, `scale`: shape (p,).
    """
    found = moments_of_sums(parts)
    spreads = np.sqrt(found.second_first * found.second_other)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(spreads > 0.0, np.clip(found.product / spreads, -1.0, 1.0), np.nan)
    varies = np.diag(spreads) > 0.0
    correlation[~varies, :] = correlation[:, ~varies] = np.nan
    correlation[varies, varies] = 1.0
    return FileStatistics(center + scale * found.mean, found.product * np.outer(scale, scale), correlation)
