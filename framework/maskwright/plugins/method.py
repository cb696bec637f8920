"""What a protection method is: original values in, masked values out."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright.plugins.protection_method import ProtectionMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.variable import Variable, VariableType
    from maskwright.plugins.block import Block
    from maskwright.plugins.gathering import Gathering
    from maskwright.plugins.iteration import Iteration
    from maskwright.plugins.legal_values import CoarserOrEmpty, Cut, Others, Scope
    from maskwright.plugins.limit import Limit


@dataclass(frozen=True, eq=False)
class Masked:
    """What a method made of a block.

    Attributes
    ----------
    values : ndarray of shape (n, p), float64
        Masked values; NaN where `missing`.
    missing : ndarray of shape (n, p), bool
    suppressed : ndarray of shape (n, p), bool, or None
        Missing cells that lose their missing code: they are published as suppressed cells are. Only of a method that
        removes cells.
    variables : tuple of Variable or None
        Only when the method changed them (recoding); None keeps the block's.
    labels : ndarray of shape (n,), int64, or None
        Cluster of each record, when the method has clusters: then ``values == representatives[labels]`` and
        adjustment and rounding act on the representatives, so that k holds.
    representatives : ndarray of shape (c, p), float64, or None
        One row per cluster; NaN where the whole cluster is missing.
    notes : mapping of str to str, int or float
        What the run record should hold (iterations, convergence, smallest cluster); `warnings`, a list of sentences
        without counts or values, is shown to the person who runs the method; `published`, a mapping of lists, goes
        into the public record, and is a doubt where the values change after the method. Notes of several blocks and
        strata become one: of numbers the smallest where the name holds ``smallest``, the largest where it holds
        ``largest``, else their sum (so a note is a count, and no mean); of anything else the last.
    limits : tuple of Limit
        Limits that were found in the data (a top code from a share). They bind the rest of the run; where several
        calls find different ones, the widest does.
    missing_codes : ndarray of shape (n, p), int64, or None
        Of a method that draws records: which of the block's missing codes each missing cell has; None: none, and a
        missing cell is published as an emptied one, since the code of the original record is none of the drawn one.
    doubts : tuple of str
        Sentences, like those of `warnings`, on what the method is for and could not do: records that it left as they
        were, too few partners. Each stops the release unless the pipeline waives it.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Masked
    >>> labels, means = np.array([0, 0, 1]), np.array([[2.0], [5.0]])
    >>> masked = Masked(means[labels], np.zeros((3, 1), dtype=bool), labels=labels, representatives=means)
    >>> masked.values.ravel()
    array([2., 2., 5.])
    """

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    _: KW_ONLY
    variables: tuple[Variable, ...] | None = None
    labels: NDArray[np.int64] | None = None
    representatives: NDArray[np.float64] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    missing_codes: NDArray[np.int64] | None = None
    doubts: tuple[str, ...] = ()
    suppressed: NDArray[np.bool_] | None = None


@dataclass(frozen=True, kw_only=True)
class Method(ProtectionMethod):
    """A protection method: it puts other values in the place of the original ones.

    What only takes records or cells away is a `Remover`.

    Attributes
    ----------
    protect : callable
        ``(block, params, rng) -> Masked``. A pure function, defined at the top of a module: it leaves the block as it
        is, takes all randomness from `rng`, and keeps nothing between calls.
    scope : {"variable", "group", "all"}
        What a block holds: one variable at a time, one variable group of the plan, or all variables of the step.
    cut : {"near", "any", "none"}
        How records may be cut into blocks (``execution: {block_size: N}``). ``near``: into records that are near each
        other, as methods with clusters need it. ``any``: anyhow, with the same values, because each record is masked by
        itself; whatever it draws comes from `uniform_by_record`, and `rng` is the same in all blocks. ``none``: not at
        all, because it would change less, or otherwise, in a part of the file; it masks all records at once, and a run
        over parts is refused, unless there is a `gathering`.
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
        Information that it also takes away: ``detail`` (it publishes coarser categories instead of values:
        `Masked.variables` says which, and rules on these variables are translated by `Variable.bands`), ``cells`` (it
        leaves some empty). The engine refuses results that take away anything else.
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
    iterations : callable or None
        ``(block, params, rng) -> iterator of Iteration``: the same work as `protect` with the same `rng`, one iteration
        at a time, for whoever looks at how the method works (`maskwright.iterations`); a run does not call it.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Block, Masked, Method, NoParams
    >>> def negate(block: Block, params: NoParams, rng: np.random.Generator) -> Masked:
    ...     return Masked(-block.values, block.missing)
    >>> method = Method(
    ...     name="negation", protect=negate, scope="variable", preserves={"equals"}, deterministic=True,
    ...     summary="Signs are turned.",
    ... )
    >>> method.makes_clusters
    False
    """

    protect: Callable[[Block, Any, np.random.Generator], Masked]
    scope: Scope = "group"
    cut: Cut = "near"
    within_strata: bool = True
    variable_types: AbstractSet[VariableType] = frozenset({"continuous", "integer"})
    handles_missing: bool = False
    others: Others = "records"
    removes: AbstractSet[CoarserOrEmpty] = frozenset()
    changes_few: bool = False
    draws_records: bool = False
    companions_of_edits: bool = False
    mean_cluster_size: Callable[[Any, int], int] | None = None
    fewest_records: Callable[[Any, int], int] | None = None
    limits: Callable[[Any, tuple[Variable, ...]], tuple[Limit, ...]] | None = None
    gathering: Gathering | None = None
    publishes: Callable[[Any, Variable], Variable | None] | None = None
    iterations: Callable[[Block, Any, np.random.Generator], Iterator[Iteration]] | None = None

    @property
    def changes_cells(self) -> bool:
        """Whether published cells are others than the original ones: what replaces values does that."""
        return True

    @property
    def makes_clusters(self) -> bool:
        """Whether it puts a representative in the place of each cluster of records."""
        return self.promises_clusters or self.mean_cluster_size is not None
