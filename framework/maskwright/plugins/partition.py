"""What partitions and aggregations are: records in, cluster labels or one representative out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

from maskwright.plugins.legal_values import frozen_sets

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from maskwright.plugins.block import Block
    from maskwright.plugins.legal_values import KeptByAggregation


class NoParams(BaseModel, extra="forbid", frozen=True):
    """Parameter model of a plugin without parameters.

    Examples
    --------
    >>> from maskwright import NoParams, find_partition
    >>> find_partition("univariate").params is NoParams
    True
    """


@dataclass(frozen=True, kw_only=True)
class Partition:
    """A way to cut records into clusters.

    Attributes
    ----------
    name : str
        What the pipeline calls it: ``partition: mdav``.
    cluster : callable
        ``(block, k, params, rng) -> labels``, ndarray of shape (n,), int64: cluster numbers 0..c-1, every cluster
        with at least k records (one cluster when n < 2k). The function standardises with `Block.standardised`.
    params : type of pydantic.BaseModel
        Parameter model; its docstring and field descriptions are the documentation.
    deterministic : bool
        Whether `rng` is left alone.
    one_variable : bool
        Whether it cuts along a single variable, and refuses blocks of several.
    reference : str
        Paper, section.
    summary : str
        One sentence for `maskwright plugins`.

    Examples
    --------
    >>> import numpy as np
    >>> from numpy.typing import NDArray
    >>> from maskwright import Block, NoParams, Partition
    >>> def in_file_order(block: Block, k: int, params: NoParams, rng: np.random.Generator) -> NDArray[np.int64]:
    ...     return np.minimum(np.arange(block.n) // k, max(block.n // k - 1, 0))
    >>> values = np.arange(7.0)[:, None]
    >>> partition = Partition(name="file_order", cluster=in_file_order, summary="Neighbours in the file.")
    >>> partition.cluster(Block(values, np.isnan(values), ()), 3, NoParams(), np.random.default_rng(1))
    array([0, 0, 0, 1, 1, 1, 1])
    """

    name: str
    cluster: Callable[[Block, int, Any, np.random.Generator], NDArray[np.int64]]
    params: type[BaseModel] = NoParams
    deterministic: bool = True
    one_variable: bool = False
    reference: str = ""
    summary: str = ""


@dataclass(frozen=True, eq=False)
class ClusterCells:
    """Cells of one variable that have a value, cluster after cluster. Arrays are read-only.

    Attributes
    ----------
    values : ndarray of shape (m,), float64
        Finite; those of a cluster in the order of the file.
    starts : ndarray of shape (c,), int64
        First cell of each cluster, ascending from 0: no cluster is empty.
    weights : ndarray of shape (m,), float64, or None
        Sampling weights of the records, finite, at least 0 and not all 0 in a cluster; only where they are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import ClusterCells
    >>> cells = ClusterCells(np.array([3.0, 1.0, 2.0, 9.0]), np.array([0, 3]))
    >>> cells.lengths, cells.sorted()
    (array([3, 1]), array([1., 2., 3., 9.]))
    """

    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None

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
    """How the values of a cluster become one representative, for steps that mask by clusters.

    Attributes
    ----------
    name : str
        What the parameter ``aggregation`` of a step calls it.
    represent : callable
        ``(cells, params) -> values``, ndarray of shape (c,), float64: the representative of each cluster of
        `ClusterCells`, finite. A pure function, defined at the top of a module.
    params : type of pydantic.BaseModel
        Parameter model; its docstring and field descriptions are the documentation.
    keeps : set of str
        Claims: edits that hold for representatives when they hold in each record of a cluster. A variable takes the
        aggregation only where it keeps all edits that bind the variable; else the plan's own operator. Each run looks
        whether the claims hold; where they do not, representatives are moved onto the edit.
    uses_weights : bool
        Whether it weighs records where the method is told to. One that does not is refused there.
    reference : str
        Paper, section.
    summary : str
        One sentence for `maskwright plugins`.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Aggregation, ClusterCells, NoParams
    >>> def highest(cells: ClusterCells, params: NoParams) -> np.ndarray:
    ...     return np.maximum.reduceat(cells.values, cells.starts)
    >>> maximum = Aggregation(name="maximum", represent=highest, keeps={"range", "domain"}, summary="The largest.")
    >>> maximum.represent(ClusterCells(np.array([3.0, 1.0, 9.0]), np.array([0, 2])), NoParams())
    array([3., 9.])
    """

    name: str
    represent: Callable[[ClusterCells, Any], NDArray[np.float64]]
    params: type[BaseModel] = NoParams
    keeps: AbstractSet[KeptByAggregation] = frozenset()
    uses_weights: bool = False
    reference: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        """Freeze its sets."""
        frozen_sets(self)


@dataclass(frozen=True)
class ChosenAggregation:
    """An aggregation with its parameters: what `Block.operators` holds where a step asks for one.

    Attributes
    ----------
    aggregation : Aggregation
    params : pydantic.BaseModel

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Aggregation, ChosenAggregation, NoParams, aggregate
    >>> def first(cells, params):
    ...     return cells.values[cells.starts]
    >>> chosen = ChosenAggregation(Aggregation(name="first", represent=first), NoParams())
    >>> table = np.array([[3.0], [1.0], [9.0]])
    >>> aggregate(table, np.isnan(table), np.array([0, 0, 1]), [chosen])
    array([[3.],
           [9.]])
    """

    aggregation: Aggregation
    params: BaseModel

    def __str__(self) -> str:
        return self.aggregation.name
