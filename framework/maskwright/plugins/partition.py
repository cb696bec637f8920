"""What a partition is: records in, cluster labels out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.foundation.no_params import NoParams
from maskwright.plugins.cost import USUAL, Cost

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.plugins.block import Block


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
    cost : Cost
        Processor time for clusters of 5.

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
    cost: Cost = USUAL
