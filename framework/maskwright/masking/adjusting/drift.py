"""How far adjusting and rounding moved means and covariances of what the methods returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset

RECORDS_AT_ONCE = 100_000


@dataclass(frozen=True)
class Drift:
    """Largest shifts, in standard deviations of the original.

    `covariance`: of a variance or covariance, in products of two standard deviations.
    """

    mean: float
    mean_of: str
    covariance: float
    covariance_of: tuple[str, str]

    def to_json(self) -> dict[str, Any]:
        """As in `run.json`."""
        return {
            "mean": {"variable": self.mean_of, "sd": self.mean},
            "covariance": {"variables": list(self.covariance_of), "sd_squared": self.covariance},
        }


def drift_of(before: Dataset, after: Dataset, names: Sequence[str], scale: Mapping[str, float]) -> Drift | None:
    """Largest shift of a mean and of a covariance between two datasets with the same records.

    `names`: numeric variables. A missing cell counts as the mean of its variable before. Returns none without variables
    or records.
    """
    if not names or not len(before):
        return None
    spread = np.array([scale[name] for name in names])
    center = np.array([_mean(before, name) for name in names])
    (mean_before, covariance_before), (mean_after, covariance_after) = (
        _moments(data, names, center, spread) for data in (before, after)
    )
    means, covariances = np.abs(mean_after - mean_before), np.abs(covariance_after - covariance_before)
    first, second = np.unravel_index(int(np.argmax(covariances)), covariances.shape)
    return Drift(
        float(means.max()), names[int(np.argmax(means))],
        float(covariances.max()), (names[int(first)], names[int(second)]),
    )  # fmt: skip


def _mean(data: Dataset, name: str) -> float:
    column = data[name]
    present = np.asarray(column.values, dtype=np.float64)[~column.missing]
    return float(present.mean()) if len(present) else 0.0


def _moments(
    data: Dataset, names: Sequence[str], center: NDArray[np.float64], spread: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and covariances about `center`, in units of `spread`, a bounded number of records at a time."""
    n, p = len(data), len(names)
    total, products = np.zeros(p), np.zeros((p, p))
    for start in range(0, n, RECORDS_AT_ONCE):
        chunk = slice(start, start + RECORDS_AT_ONCE)
        rows = np.stack([np.asarray(data[name].values[chunk], dtype=np.float64) for name in names], axis=1)
        rows = np.nan_to_num((rows - center) / spread)
        total += rows.sum(axis=0)
        products += rows.T @ rows
    mean = total / n
    return mean, (products - n * np.outer(mean, mean)) / max(n - 1, 1)
