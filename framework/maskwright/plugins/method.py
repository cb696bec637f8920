"""What a protection method is: parameters and claims, a block in, masked values or what is removed out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

from maskwright.data.variable import VariableType
from maskwright.foundation.no_params import NoParams
from maskwright.plugins.claims import Claims
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.variable import Variable
    from maskwright.plugins.block import Block
    from maskwright.plugins.legal_values import Scope
    from maskwright.plugins.parameter_markers import ParameterMarker


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
    without_spread : tuple of str
        Variables that stay as they are because their values in the block are all equal, with no spread to scale a
        change by. A notice names in how many strata; where it is most of them, it is a doubt.

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
    without_spread: tuple[str, ...] = ()


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


# What is the same of all methods that only take records or cells away.
_OF_REMOVERS: Mapping[str, Any] = {
    "cut": "none",
    "within_strata": False,
    "variable_types": frozenset(get_args(VariableType)),
    "handles_missing": True,
}


@dataclass(frozen=True, kw_only=True)
class Method:
    """A protection method: it puts other values in the place of the original ones, or takes records or cells away.

    Attributes
    ----------
    name : str
        What the pipeline calls it.
    protect : callable or None
        ``(block, params, rng) -> Masked``. A pure function, defined at the top of a module: it leaves the block as it
        is, takes all randomness from `rng`, and keeps nothing between calls.
    remove : callable or None
        ``(block, params, rng) -> Removed``, in the place of `protect`, of a method that takes records or cells away and
        leaves every other value as it is. It says what goes, and cannot change a value. It sees all records and
        variables of its step at once, of any type, with their missing cells.
    params : type of pydantic.BaseModel
        The one source of truth of the parameters: validates the YAML, feeds ``explain``, the docs and the JSON Schema.
        Markers on its fields say which of them promises k (`PromisesK`), names variables (`KeyVariables`,
        `DependentVariables`, `IndependentVariables`, `CompanionVariables`) or a partition (`NamesPartition`), or asks
        for weights (`UsesWeights`).
    scope : {"variable", "group", "all"}
        What a block holds: one variable at a time, one variable group of the plan, or all variables of the step.
    claims : Claims
        What it keeps, takes and needs.
    variant : callable or None
        ``(params) -> Method``: the method as it is with these parameters, where what it claims, or its scope, depends
        on them. Defined at the top of a module; `claiming` makes one.
    iterations : callable or None
        ``(block, params, rng) -> iterator of Iteration``: the same work as `protect` with the same `rng`, one iteration
        at a time, for whoever looks at how the method works (`maskwright.iterations`); a run does not call it.
    libraries : mapping of str to str
        Libraries that it needs and its package does not always install, by the name under which they are imported:
        what installs each (``{"PIL": "pip install 'maskwright[compression]'"}``). Where one is missing, the method is
        listed as unavailable, and a message says what to install.
    reference : str
        Paper, section.
    summary : str
        One sentence for ``maskwright plugins``.
    example : str
        A YAML step that runs.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Block, Claims, Masked, Method, NoParams
    >>> def negate(block: Block, params: NoParams, rng: np.random.Generator) -> Masked:
    ...     return Masked(-block.values, block.missing)
    >>> method = Method(
    ...     name="negation", protect=negate, scope="variable", summary="Signs are turned.",
    ...     claims=Claims(preserves={"equals"}, deterministic=True),
    ... )
    >>> method.makes_clusters
    False
    """

    name: str
    protect: Callable[[Block, Any, np.random.Generator], Masked] | None = None
    remove: Callable[[Block, Any, np.random.Generator], Removed] | None = None
    params: type[BaseModel] = NoParams
    scope: Scope = "group"
    claims: Claims = field(default_factory=Claims)
    variant: Callable[[Any], Method] | None = None
    iterations: Callable[[Block, Any, np.random.Generator], Iterator[Iteration]] | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""
    summary: str = ""
    example: str = ""

    def __post_init__(self) -> None:
        """Say of a method that only removes what is the same of all of them."""
        if self.is_remover:
            object.__setattr__(self, "scope", "all")
            object.__setattr__(self, "claims", replace(self.claims, **_OF_REMOVERS))

    def claiming(self, **claims: Any) -> Method:
        """Return the same method with other claims.

        Parameters
        ----------
        **claims
            Fields of `Claims`; the others stay.
        """
        return replace(self, claims=replace(self.claims, **claims))

    @property
    def is_remover(self) -> bool:
        """Whether it only takes records or cells away."""
        return self.remove is not None

    @property
    def changes_cells(self) -> bool:
        """Whether published cells are others than the original ones: not where whole records go, and no cell."""
        return not self.is_remover or "cells" in self.claims.removes

    @property
    def makes_clusters(self) -> bool:
        """Whether it puts a representative in the place of each cluster of records."""
        return self.promises_clusters or self.claims.mean_cluster_size is not None

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
        given_up = self.variant is not None and self.has_keys and "k" not in self.variant(params).claims.preserves
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

    def with_params(self, params: BaseModel) -> Method:
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
    low_is, high_is : str, default "limit"
        What each bound is, as the name of its edit says it: ``step-1: wage <= limit``.

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
    low_is: str = field(default="limit", repr=False)
    high_is: str = field(default="limit", repr=False)
