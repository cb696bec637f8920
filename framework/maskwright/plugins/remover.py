"""What a remover is: a protection method that takes records or cells away and leaves every other value as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from maskwright.data.variable import VariableType
from maskwright.plugins.method import Method, ProtectionMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.plugins.block import Block
    from maskwright.plugins.legal_values import Cut, RecordsOrCells, Scope


@dataclass(frozen=True, eq=False, kw_only=True)
class Removed:
    """What a remover takes away from a block: `kept_rows` of records, or `cells`.

    Attributes
    ----------
    kept_rows : ndarray of shape (m,), int64, or None
        Rows of the block that are kept, ascending.
    weights : ndarray of shape (m,), float64, or None
        Sampling weights of the rows kept, where the block has weights and they change; None leaves them.
    cells : ndarray of shape (n, p), bool, or None
        Cells to publish as suppressed ones are. One that is missing already loses its missing code.
    notes, doubts
        As in `Masked`.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Removed
    >>> Removed(kept_rows=np.array([0, 2])).kept_rows
    array([0, 2])
    """

    kept_rows: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    cells: NDArray[np.bool_] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    def left(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """What is left of a block: values and which are missing; both of shape (m, p)."""
        if self.kept_rows is not None:
            return block.values[self.kept_rows], block.missing[self.kept_rows]
        missing = block.missing if self.cells is None else block.missing | self.cells
        values = block.values.copy()
        values[missing] = float("nan")
        return values, missing


@dataclass(frozen=True, kw_only=True)
class Remover(ProtectionMethod):
    """A protection method that takes records or cells away, and leaves every other value as it is.

    It sees all records and variables of its step at once, of any type, with their missing cells.

    Attributes
    ----------
    remove : callable
        ``(block, params, rng) -> Removed``. A pure function, as `Method.protect`: it says what goes, and cannot change
        a value.
    takes_away : {"records", "cells"}
        ``records``: it drops some, and says which it keeps; ``cells``: it leaves some empty.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Block, NoParams, Removed, Remover
    >>> def every_other(block: Block, params: NoParams, rng: np.random.Generator) -> Removed:
    ...     return Removed(kept_rows=np.arange(0, block.n, 2))
    >>> remover = Remover(name="every_other", remove=every_other, takes_away="records", deterministic=True)
    >>> values = np.arange(5.0)[:, None]
    >>> remover.remove(Block(values, np.isnan(values), ()), NoParams(), np.random.default_rng(1)).kept_rows
    array([0, 2, 4])
    """

    remove: Callable[[Block, Any, np.random.Generator], Removed]
    takes_away: RecordsOrCells

    # What the planner asks of every protection method, and is the same of all removers.
    scope: ClassVar[Scope] = "all"
    cut: ClassVar[Cut] = "none"
    within_strata: ClassVar[bool] = False
    variable_types: ClassVar[frozenset[VariableType]] = frozenset(get_args(VariableType))
    handles_missing: ClassVar[bool] = True
    changes_few: ClassVar[bool] = False
    draws_records: ClassVar[bool] = False
    companions_of_edits: ClassVar[bool] = False
    makes_clusters: ClassVar[bool] = False
    mean_cluster_size: ClassVar[None] = None
    fewest_records: ClassVar[None] = None
    limits: ClassVar[None] = None
    gathering: ClassVar[None] = None
    publishes: ClassVar[None] = None

    @property
    def removes(self) -> frozenset[RecordsOrCells]:
        """What it takes away, as of a method."""
        return frozenset({self.takes_away})

    @property
    def changes_cells(self) -> bool:
        """Whether published cells are others than the original ones: not where whole records go, and no cell."""
        return self.takes_away == "cells"


AnyMethod = Method | Remover
"""What a step of a pipeline names."""
