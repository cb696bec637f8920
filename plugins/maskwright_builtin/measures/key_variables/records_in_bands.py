"""Distributions of records over bands of risk, or of class size, for the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright import MeasureTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

RISK_BANDS: Mapping[str, float] = {
    "up to 0.01": 0.01,
    "0.01 to 0.05": 0.05,
    "0.05 to 0.1": 0.1,
    "0.1 to 0.2": 0.2,
    "0.2 to 0.5": 0.5,
    "0.5 to 1": 1.0,
}
"""Each holds its upper bound."""
SIZE_BANDS: Mapping[str, float] = {"1": 1, "2": 2, "3 to 4": 4, "5 to 9": 9, "10 and more": math.inf}


def risk_table(
    risk: NDArray[np.float64],
    title: str = "Records by individual risk",
    records: NDArray[np.int64] | None = None,
) -> MeasureTable:
    """Records in bands of risk.

    `risk`: of each record, 0 to 1; shape (n,). `records`: how many records have each of these risks, where `risk` are
    those of classes; shape (n,).
    """
    return _table("risk_bands", title, "risk", risk, RISK_BANDS, records)


def size_table(
    sizes: NDArray[np.int64], what: str = "records", records: NDArray[np.int64] | None = None
) -> MeasureTable:
    """Records in bands of the size of their class.

    `sizes`: of the class of each record; shape (n,). `what`: what the size of a class counts. `records`: how many
    records are in classes of each of these sizes, where `sizes` are different ones; shape (n,).
    """
    title = f"Records by how many {what} share their keys"
    return _table("class_sizes", title, "class size", sizes, SIZE_BANDS, records)


def _table(
    name: str, title: str, heading: str, values: NDArray[np.float64] | NDArray[np.int64], bands: Mapping[str, float],
    records: NDArray[np.int64] | None = None,
) -> MeasureTable:  # fmt: skip
    band = np.searchsorted(np.array(list(bands.values())), values, side="left")
    counts = np.bincount(np.minimum(band, len(bands) - 1), records, minlength=len(bands))
    rows = tuple((label, float(count)) for label, count in zip(bands, counts, strict=True))
    return MeasureTable(name, title, (heading, "records"), rows, "records")
