"""Aggregations that come with Maskwright: the median and the trimmed mean of each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Aggregation, ClusterCells, NoParams

if TYPE_CHECKING:
    from numpy.typing import NDArray


def median(cells: ClusterCells, params: NoParams) -> NDArray[np.float64]:  # noqa: ARG001 - it has none
    """Make the median of each cluster its representative: the middle value, or the mean of the two in the middle.

    A record far from the others of its cluster does not draw it along, as it does a mean; sums of the variable are not
    kept.

    `cells`: of m cells in c clusters. Returns shape (c,).

    Templ, M., Kowarik, A. and Meindl, B. (2015): Statistical disclosure control for micro-data using the R package
    sdcMicro. Journal of Statistical Software 67(4), 1-36.
    """
    ordered = cells.sorted()
    lower = ordered[cells.starts + (cells.lengths - 1) // 2]
    upper = ordered[cells.starts + cells.lengths // 2]
    # Halves first: a sum of two huge numbers may leave the range of numbers.
    return np.asarray(lower / 2.0 + upper / 2.0)


MEDIAN = Aggregation(
    name="median",
    represent=median,
    keeps={"range", "order"},
    summary="The middle value of each cluster; robust against a record far from the others.",
    reference="Templ, Kowarik and Meindl (2015), Journal of Statistical Software 67(4), 1-36",
)


class TrimmedMeanParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of the trimmed mean."""

    share: float = Field(
        default=0.2,
        ge=0,
        lt=0.5,
        description="Share of the values of a cluster that is left out at each end; rounded down to whole values, so "
        "that 0.2 leaves out one of five to nine.",
    )


def trimmed_mean(cells: ClusterCells, params: TrimmedMeanParams) -> NDArray[np.float64]:
    """Make the mean of the values between the smallest and the largest ones each cluster's representative.

    `cells`: of m cells in c clusters. Returns shape (c,).

    Tukey, J. W. and McLaughlin, D. H. (1963): Less vulnerable confidence and significance procedures for location
    based on a single sample: trimming/Winsorization 1. Sankhya A 25(3), 331-352.
    """
    ordered = cells.sorted()
    places = np.arange(len(ordered)) - cells.starts[cells.clusters]
    # A share such as 0.2 of five is one, whatever binary64 makes of it.
    left_out = np.floor(params.share * cells.lengths + 1e-9).astype(np.int64)
    kept = (places >= left_out[cells.clusters]) & (places < (cells.lengths - left_out)[cells.clusters])
    # Around the median, which is among the kept: sums of differences lose little.
    middle = ordered[cells.starts + (cells.lengths - 1) // 2]
    away = np.where(kept, ordered - middle[cells.clusters], 0.0)
    means = middle + np.add.reduceat(away, cells.starts) / (cells.lengths - 2 * left_out)
    return np.asarray(np.clip(means, ordered[cells.starts], ordered[cells.starts + cells.lengths - 1]))


TRIMMED_MEAN = Aggregation(
    name="trimmed_mean",
    represent=trimmed_mean,
    params=TrimmedMeanParams,
    keeps={"range", "order"},
    summary="The mean of each cluster without its smallest and largest values.",
    reference="Tukey and McLaughlin (1963), Sankhya A 25(3), 331-352",
)


AGGREGATIONS = (MEDIAN, TRIMMED_MEAN)
