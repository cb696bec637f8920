"""Representatives of clusters that a step may ask for: the median, another order statistic, and the trimmed mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright.foundation.no_params import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

KeptByAggregation = Literal["linear", "order", "product", "range", "domain"]
"""What holds of representatives of clusters when it holds in each record of them; ``order``: comparisons of two
variables."""


@dataclass(frozen=True, eq=False)
class ClusterCells:
    """Cells of one variable that have a value, cluster after cluster; `starts` has the first cell of each, from 0.

    `values`: finite, shape (m,). `starts`: ascending, no cluster is empty, shape (c,).
    """

    values: NDArray[np.float64]
    starts: NDArray[np.int64]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of cells of each cluster, shape (c,)."""
        return np.diff(np.append(self.starts, len(self.values)))

    @cached_property
    def clusters(self) -> NDArray[np.int64]:
        """Cluster of each cell, 0..c-1, shape (m,)."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def sorted(self) -> NDArray[np.float64]:
        """Values ascending within each cluster, shape (m,)."""
        return np.asarray(self.values[np.lexsort((self.values, self.clusters))])


@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """How the values of a cluster become one representative.

    `represent`: ``(cells, params) ->`` the representative of each cluster, shape (c,). `keeps`: edits that hold for
    representatives when they hold in each record of a cluster; a variable takes the aggregation only where it keeps all
    edits that bind the variable.
    """

    name: str
    represent: Callable[[ClusterCells, Any], NDArray[np.float64]]
    params: type[BaseModel] = NoParams
    keeps: frozenset[KeptByAggregation] = frozenset()
    reference: str = ""
    summary: str = ""


@dataclass(frozen=True)
class ChosenAggregation:
    """An aggregation with its parameters: what `Block.operators` holds where a step asks for one."""

    aggregation: Aggregation
    params: BaseModel

    def __str__(self) -> str:
        return self.aggregation.name


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
    keeps=frozenset({"range", "order"}),
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
    keeps=frozenset({"range", "order"}),
    summary="The mean of each cluster without its smallest and largest values.",
    reference="Tukey and McLaughlin (1963), Sankhya A 25(3), 331-352",
)


class OrderStatisticParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of an order statistic."""

    share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of the values of a cluster that are at most the representative, rounded up to whole values: "
        "0 is the smallest value, 0.5 the lower median, 1 the largest.",
    )


def order_statistic(cells: ClusterCells, params: OrderStatisticParams) -> NDArray[np.float64]:
    """Make one of the values of each cluster, by its rank, the representative.

    It is monotone in every value and makes no new one, so that comparisons, ranges and sets of values are kept. Every
    Boolean max-min function that does not depend on the order of the records is one of these.

    `cells`: of m cells in c clusters. Returns shape (c,).

    Torra, V., Cano, I. and Navarro-Arribas, G. (2009): Dealing with edit constraints in microdata protection:
    microaggregation, section 3.
    """
    # A share such as 0.2 of five is one, whatever binary64 makes of it.
    ranks = np.maximum(np.ceil(params.share * cells.lengths - 1e-9).astype(np.int64), 1)
    return np.asarray(cells.sorted()[cells.starts + ranks - 1])


ORDER_STATISTIC = Aggregation(
    name="order_statistic",
    represent=order_statistic,
    params=OrderStatisticParams,
    keeps=frozenset({"range", "order", "domain"}),
    summary="One value of each cluster by its rank: the smallest, the lower median, a quartile, the largest.",
    reference="Torra, Cano and Navarro-Arribas (2009), Dealing with edit constraints in microdata protection",
)


AGGREGATIONS: Mapping[str, Aggregation] = {each.name: each for each in (MEDIAN, ORDER_STATISTIC, TRIMMED_MEAN)}
"""By the name that the parameter ``aggregation`` of a step gives."""
