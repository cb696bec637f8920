"""How far adjusting and rounding moved means and covariances, from sums over parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.masking.adjusting.drift import Drift

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.masking.standardisation import Standardisation
    from maskwright.plugins.engine import Receipt

CHUNK = 65_536

NAME = "drift"
"""What a task tells of them."""

Sums = dict[str, Any]


def drift_sums(data: Dataset, names: Sequence[str], standardisation: Standardisation) -> Sums:
    """Sums of standardised values and of their products over the records that have both."""
    center = np.array([standardisation.center[name] for name in names])
    scale = np.array([standardisation.scale[name] for name in names])
    p = len(names)
    both, first, product = (np.zeros((p, p)) for _ in range(3))
    values = data.matrix(names)
    for start in range(0, len(data), CHUNK):
        rows = (values[start : start + CHUNK] - center) / scale
        gone = np.isnan(rows)
        # Not a product of matrices: what a linear algebra library sums differs between machines.
        if gone.any():
            there, rows = (~gone).astype(np.float64), np.nan_to_num(rows)
            both += np.einsum("ni,nj->ij", there, there)
            first += np.einsum("ni,nj->ij", rows, there)
        else:
            both += len(rows)
            first += rows.sum(axis=0)[:, None]
        product += np.einsum("ni,nj->ij", rows, rows)
    return {"both": both.tolist(), "first": first.tolist(), "product": product.tolist()}


class DriftTotals:
    """Sums of both files, added in the order of the parts as they come.

    `before`, `after`: of the file before and after adjusting; empty, or with one.
    """

    def __init__(self) -> None:
        self.before: list[Sums] = []
        self.after: list[Sums] = []

    def taken(self, receipt: Receipt) -> Receipt:
        """Take what a finished part tells of its sums; its receipt without that."""
        for total, own in zip((self.before, self.after), receipt.facts.get(NAME, ()), strict=False):
            total[:] = [dict(zip(own, _added([*total, own]), strict=True))]
        return replace(receipt, facts={name: each for name, each in receipt.facts.items() if name != NAME})


def drift_of_sums(before: Iterable[Sums], after: Iterable[Sums], names: Sequence[str], records: int) -> Drift | None:
    """Largest shift of a mean and of a covariance, as `maskwright.masking.adjusting.drift.drift_of` has it.

    `before`, `after`: as `drift_sums` gives them, in the order of the parts.
    """
    if not names or not records:
        return None
    old, new = _added(before), _added(after)
    # A missing cell counts as the mean of its variable before.
    there = np.diag(old[0])
    middle = np.divide(np.diag(old[1]), there, out=np.zeros(len(names)), where=there > 0)
    (mean_before, covariance_before), (mean_after, covariance_after) = (
        _moments(sums, middle, records) for sums in (old, new)
    )
    means, covariances = np.abs(mean_after - mean_before), np.abs(covariance_after - covariance_before)
    one, other = np.unravel_index(int(np.argmax(covariances)), covariances.shape)
    return Drift(
        float(means.max()), names[int(np.argmax(means))],
        float(covariances.max()), (names[int(one)], names[int(other)]),
    )  # fmt: skip


def _added(parts: Iterable[Sums]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    total: list[NDArray[np.float64]] = []
    for each in parts:
        own = [np.array(each[name]) for name in ("both", "first", "product")]
        total = own if not total else [one + other for one, other in zip(total, own, strict=True)]
    return total[0], total[1], total[2]


def _moments(
    sums: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    middle: NDArray[np.float64],
    records: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    both, first, product = sums
    centred = np.diag(first) - np.diag(both) * middle
    products = product - first * middle[None, :] - (first * middle[None, :]).T + both * np.outer(middle, middle)
    mean = centred / records
    return mean, (products - records * np.outer(mean, mean)) / max(records - 1, 1)
