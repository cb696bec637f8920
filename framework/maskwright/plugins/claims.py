"""What a method claims, and what the planner has to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.plugins.cost import USUAL, Cost
from maskwright.plugins.legal_values import frozen_sets

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from maskwright.data.variable import Variable, VariableType
    from maskwright.plugins.block import Gathering
    from maskwright.plugins.legal_values import Cut, Others, Preserved, Removal
    from maskwright.plugins.method import Limit


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What a method keeps, takes and needs: the planner relies on it, the kit and every run test it.

    Of a method that only takes records or cells away (`Method.remove`) `cut`, `within_strata`, `variable_types` and
    `handles_missing` are fixed: it sees all records of its step at once, with variables of any type and their missing
    cells.

    Attributes
    ----------
    preserves : set of str
        Kinds of edit that hold in its output when they hold in each record of its input and all their variables are in
        one block. ``combinations``: each record comes out with the values that one record of the block had together,
        missing cells included, with equal companions, so that every edit holds; ``households``: what is the same within
        a household stays so; ``equals``: records that are equal in all variables of a block stay so, because the new
        values of a record depend on its old ones alone (a method that does not claim it undoes k where it follows a
        step that promises k).
    deterministic : bool
        Whether it leaves `rng` alone.
    counts_households : bool
        Whether a promised k is counted in households (``block.households``) where they are declared.
        A method that promises k and cannot do so is refused then.
    cut : {"near", "any", "none"}
        How records may be cut into blocks (``execution: {block_size: N}``). ``near``: into records that are near each
        other, as methods with clusters need it. ``any``: anywhere, with the same values, because each record is masked
        by itself; whatever it draws comes from `uniform_by_record`, and `rng` is the same in all blocks. ``none``: not
        at all, because it would change less, or otherwise, in a part of the file; it masks all records at once, over
        parts in one place, unless there is a `gathering`.
    within_strata : bool
        Whether the strata of a file, in which edits hold alike, may be masked apart. A method for which they may not
        sees all records at once.
    variable_types : set of str
        Types of variables that it can mask: ``continuous``, ``integer``, ``date``, ``datetime``, ``ordinal``,
        ``nominal``.
    handles_missing : bool
        Whether it takes missing cells. Of a method that does not, promises no groups and removes nothing, records with
        the same cells missing are masked apart: its blocks then hold the variables that these records have, and no
        other.
    others : {"records", "moments"}
        What its blocks then hold of the records that have these cells and others besides, where it is not masked within
        strata and sees them all. ``records``: themselves, after those that are masked; what it makes of them is not
        used, and work grows with records times patterns. ``moments``: `Block.moments`, and no record that is not
        masked.
    removes : set of str
        Information that it takes away: ``detail`` (it publishes coarser categories instead of values:
        `Masked.variables` says which, and rules on these variables are translated by `Variable.bands`), ``cells`` (it
        leaves some empty), ``records`` (it drops some; only with `Method.remove`, which claims either ``cells`` or
        ``records``). The engine refuses results that take away anything else.
    changes_few : bool
        Whether it is expected to leave most values as they are: only a variable that it leaves as it is altogether is
        then a doubt. Else so is one in which it changes less than one value in a thousand.
    draws_records : bool
        Whether it draws records anew, so that none comes from the original in its row: cells may be missing where that
        had a value, and measures that compare records with their originals are not computed.
    companions_of_edits : bool
        Whether it also finds the variables that edits tie to those it masks, and that no step masks, in
        `Block.companions`.
    mean_cluster_size : callable or None
        ``(params, n) -> int``: how many of a file's n records its groups have in the mean, for methods that return
        labels and representatives but draw the groups. Smaller strata are merged, and reports compare group sizes
        with it; it is no promise. Defined at the top of a module.
    fewest_records : callable or None
        ``(params, p) -> int``: how many records it needs to mask p variables together. Smaller strata are merged.
        Defined at the top of a module.
    limits : callable or None
        ``(params, variables) -> tuple[Limit, ...]``: what its parameters promise of the published values of the
        step's variables, before any data are read. Defined at the top of a module.
    gathering : Gathering or None
        What it asks of all records before it masks each by itself: it can then run over parts, with the values of a run
        in memory. Beside ``cut="none"``: in memory all records of a stratum are one block.
    publishes : callable or None
        ``(params, variable) -> Variable or None``: the variable as a method that removes detail publishes it, with
        `Variable.bands`, where that is known before any data are read; None: it is not. Defined at the top of a module.
    cost : Cost
        Processor time; of a method that makes clusters, without that of the partition.

    Examples
    --------
    >>> from maskwright import Claims
    >>> Claims(preserves={"range"}, deterministic=True).cut
    'near'
    """

    preserves: AbstractSet[Preserved] = frozenset()
    deterministic: bool = False
    counts_households: bool = False
    cut: Cut = "near"
    within_strata: bool = True
    variable_types: AbstractSet[VariableType] = frozenset({"continuous", "integer"})
    handles_missing: bool = False
    others: Others = "records"
    removes: AbstractSet[Removal] = frozenset()
    changes_few: bool = False
    draws_records: bool = False
    companions_of_edits: bool = False
    mean_cluster_size: Callable[[Any, int], int] | None = None
    fewest_records: Callable[[Any, int], int] | None = None
    limits: Callable[[Any, tuple[Variable, ...]], tuple[Limit, ...]] | None = None
    gathering: Gathering | None = None
    publishes: Callable[[Any, Variable], Variable | None] | None = None
    cost: Cost = USUAL

    def __post_init__(self) -> None:
        """Freeze its sets."""
        frozen_sets(self)
