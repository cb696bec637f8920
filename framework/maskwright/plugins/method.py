"""What a protection method is: parameters and claims, original values in, masked values and limits out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from maskwright.plugins.legal_values import frozen_sets
from maskwright.plugins.parameter_markers import (
    CompanionVariables,
    DependentVariables,
    IndependentVariables,
    KeyVariables,
    NamesPartition,
    PromisesK,
    UsesWeights,
    marked_field,
    marked_names,
    marked_value,
)
from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.variable import Variable, VariableType
    from maskwright.plugins.block import Block, Gathering
    from maskwright.plugins.legal_values import CoarserOrEmpty, Cut, Others, Preserved, Scope
    from maskwright.plugins.parameter_markers import ParameterMarker


@dataclass(frozen=True, kw_only=True)
class ProtectionMethod:
    """What `Method` and `Remover` have in common.

    Attributes
    ----------
    name : str
        What the pipeline calls it.
    params : type of pydantic.BaseModel
        The one source of truth of the parameters: validates the YAML, feeds ``explain``, the docs and the JSON Schema.
        Markers on its fields say which of them promises k (`PromisesK`), names variables (`KeyVariables`,
        `DependentVariables`, `IndependentVariables`, `CompanionVariables`) or a partition (`NamesPartition`), or asks
        for weights (`UsesWeights`).
    preserves : set of str
        Claims, tested by the kit and by every run: kinds of edit that hold in its output when they hold in each
        record of its input and all their variables are in one block. ``combinations``: each record comes out with the
        values that one record of the block had together, missing cells included, with equal companions, so that every
        edit holds; ``households``: what is the same within a household stays so; ``equals``: records that are equal in
        all variables of a block stay so, because the new values of a record depend on its old ones alone (a method
        that does not claim it undoes k where it follows a step that promises k).
    deterministic : bool
        Whether it leaves `rng` alone.
    counts_households : bool
        Whether a promised k is counted in households (``block.households``) where they are declared.
        A method that promises k and cannot do so is refused then.
    variant : callable or None
        ``(params) -> `` the record as it is with these parameters, where what it preserves (of a method: also its
        scope) depends on them. Defined at the top of a module.
    libraries : mapping of str to str
        Libraries that it needs and its package does not always install, by the name under which they are imported:
        what installs each (``{"PIL": "pip install 'maskwright[compression]'"}``). Where one is missing, the method is
        listed as unavailable, and whoever names it is told what to install.
    reference : str
        Paper, section.
    summary : str
        One sentence for ``maskwright plugins``.
    example : str
        A YAML step that runs.
    """

    name: str
    params: type[BaseModel] = NoParams
    preserves: AbstractSet[Preserved] = frozenset()
    deterministic: bool = False
    counts_households: bool = False
    variant: Callable[[Any], Self] | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""
    summary: str = ""
    example: str = ""

    def __post_init__(self) -> None:
        """Freeze its sets."""
        frozen_sets(self)

    def parameter(self, marker: type[ParameterMarker]) -> str | None:
        """Name of the parameter that bears a marker; None where none does."""
        return marked_field(self.params, marker)

    @property
    def has_keys(self) -> bool:
        """Whether it looks at key variables, so that a promised k is of classes of equal keys and not of clusters."""
        return self.parameter(KeyVariables) is not None

    @property
    def promises_clusters(self) -> bool:
        """Whether one of its parameters promises a smallest cluster."""
        return self.parameter(PromisesK) is not None and not self.has_keys

    def promised_k(self, params: BaseModel) -> int | None:
        """Smallest cluster, or smallest class of equal keys, promised with `params`; None when none is promised."""
        k = marked_value(params, PromisesK)
        given_up = self.variant is not None and self.has_keys and "k" not in self.variant(params).preserves
        return k if isinstance(k, int) and not given_up else None

    def smallest_cluster(self, params: BaseModel) -> int | None:
        """Smallest cluster promised with `params`; None when it makes no clusters or promises none."""
        return None if self.has_keys else self.promised_k(params)

    def key_variables(self, params: BaseModel) -> tuple[str, ...]:
        """Key variables that `params` list; empty when they list none."""
        return _listed(marked_value(params, KeyVariables))

    def dependent_variables(self, params: BaseModel) -> tuple[str, ...]:
        """Variables to mask that `params` list; empty when they list none."""
        return marked_names(params, DependentVariables)

    def independent_variables(self, params: BaseModel) -> tuple[str, ...]:
        """Numeric variables that it reads with `params` and leaves as they are."""
        return _listed(marked_value(params, IndependentVariables))

    def companion_variables(self, params: BaseModel) -> tuple[str, ...]:
        """Variables of any type that it reads with `params` and leaves as they are."""
        return marked_names(params, CompanionVariables)

    def with_params(self, params: BaseModel) -> Self:
        """Return what the method is with `params`."""
        return self if self.variant is None else self.variant(params)

    def uses_weights(self, params: BaseModel) -> bool:
        """Whether representatives are made with sampling weights."""
        return marked_value(params, UsesWeights) is True

    def partition(self, params: BaseModel) -> object:
        """Partition that `params` name, as they name it: ``mdav``, or ``{mdav: {its parameters}}``; None: none."""
        return marked_value(params, NamesPartition)


def _listed(names: object) -> tuple[str, ...]:
    return tuple(names) if isinstance(names, (tuple, list, Mapping)) else ()


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Iteration:
    """State of a method after one iteration, for whoever looks at how it works.

    Attributes
    ----------
    values : ndarray of shape (n, p), float64
        Masked values if the method stopped here: before adjustment and rounding.
    objective : float
        What the method makes small.
    memberships : ndarray of shape (n, c, p), float64
        How far each record belongs to each cluster, for each variable; they sum to 1 over the clusters.
    centroids : ndarray of shape (c, p), float64, or None
        Of a method that has some.
    models : ndarray of shape (c, 1 + q, p), float64, or None
        Of a method that regresses: for each cluster and variable the constant, then the slope of each of the q
        independent variables, in their units.
    is_last : bool
        Whether the method stops here: nothing changes any more, or it has made as many iterations as it may.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Iteration
    >>> state = Iteration(values=np.zeros((3, 1)), objective=2.0, memberships=np.ones((3, 1, 1)), is_last=True)
    >>> state.memberships.sum(axis=1).ravel()
    array([1., 1., 1.])
    """

    values: NDArray[np.float64]
    objective: float
    memberships: NDArray[np.float64]
    centroids: NDArray[np.float64] | None = None
    models: NDArray[np.float64] | None = None
    is_last: bool = False


@dataclass(frozen=True)
class Limit:
    """What a method promises of every value of a variable that is published.

    Bounds are edits of the run from then on, so that adjusting, rounding and later steps keep them; multiples are
    counted in the end. A limit that is known from the parameters comes from `Method.limits`, and the plan looks whether
    edits contradict it; one that is found in the data from `Masked.limits`.

    Attributes
    ----------
    variable : str
    low, high : float or None
        Smallest and largest value that may be published; of an ordinal variable the position in the order of its
        categories, from 0. None: no bound.
    multiple_of : float or None
        Published values are its multiples.

    Examples
    --------
    >>> from maskwright import Limit
    >>> Limit("wage", high=60_000.0)
    Limit(variable='wage', low=None, high=60000.0, multiple_of=None)
    """

    variable: str
    low: float | None = None
    high: float | None = None
    multiple_of: float | None = None
