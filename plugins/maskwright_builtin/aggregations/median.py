"""The median of each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
