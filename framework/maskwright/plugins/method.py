"""What a protection method is: original values in, masked values out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

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
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.variable import Variable, VariableType
    from maskwright.plugins.block import Block
    from maskwright.plugins.limit import Limit
    from maskwright.plugins.parameter_markers import ParameterMarker

Scope = Literal["variable", "group", "all"]
Preserves = Literal[
    "linear", "product", "inequality", "range", "domain", "mean", "covariance", "k", "combinations", "households"
]
Removes = Literal["records", "cells", "detail"]


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
    kept_rows : ndarray of shape (m,), int64, or None
        Rows of the block that are kept, ascending, when the method drops records: the other arrays have one row for
        each of them.
    weights : ndarray of shape (m,), float64, or None
        Sampling weights of the rows kept, when the method dropped records and the block has weights; None leaves them.
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
    variables: tuple[Variable, ...] | None = None
    labels: NDArray[np.int64] | None = None
    representatives: NDArray[np.float64] | None = None
    kept_rows: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    missing_codes: NDArray[np.int64] | None = None
    doubts: tuple[str, ...] = ()
    suppressed: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Method:
    """A protection method.

    Attributes
    ----------
    name : str
        What the pipeline calls it.
    protect : callable
        ``(block, params, rng) -> Masked``. A pure function: it leaves the block as it is and takes all randomness
        from `rng`.
    params : type of pydantic.BaseModel
        The one source of truth of the parameters: validates the YAML, feeds ``explain``, the docs and the JSON Schema.
        Markers on its fields say which of them promises k (`PromisesK`), names variables (`KeyVariables`,
        `DependentVariables`, `IndependentVariables`, `CompanionVariables`) or a partition (`NamesPartition`), or asks
        for weights (`UsesWeights`).
    scope : {"variable", "group", "all"}
        What a block holds: one variable at a time, one variable group of the plan, or all variables of the step.
    may_be_split : bool
        Whether records may be cut into blocks (``execution: {block_size: N}``) and strata.
    protects_in_blocks : bool
        Whether it changes as much in blocks as in the whole file. Of a method that does not, a run with
        ``execution: {block_size: N}`` is refused.
    variable_types : frozenset of str
        Types of variables that it can mask: ``continuous``, ``integer``, ``ordinal``, ``nominal``.
    handles_missing : bool
        Whether it takes missing cells. Of a method that does not, promises no groups and removes nothing, records with
        the same cells missing are masked apart: its blocks then hold the variables that these records have, and no
        other.
    preserves : frozenset of str
        Claims, tested by the kit and by every run: kinds of edit that hold in its output when they hold in each
        record of its input and all their variables are in one block. ``combinations``: each record comes out with the
        values that one record of the block had together, missing cells included, with equal companions, so that every
        edit holds; ``households``: what is the same within a household stays so.
    removes : frozenset of str
        Information that it takes away instead of changing values: ``records`` (it drops some), ``cells`` (it leaves
        some empty), ``detail`` (it publishes coarser categories instead of values: `Masked.variables` says which, and
        rules on these variables are translated by `Variable.bands`). The engine refuses results that take away
        anything else. A method that removes records needs ``scope="all"``.
    deterministic : bool
        Whether it leaves `rng` alone.
    counts_households : bool
        Whether a promised k is counted in households (``block.households``) where they are declared.
        A method that promises k and cannot do so is refused then.
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
    keeps_equals : callable or None
        ``(params) -> bool``: whether records that are equal in all variables of a block stay so, because the new
        values of a record depend on its old ones alone. A method of which this is not known undoes k where it follows
        a step that promises k. Defined at the top of a module.
    companions_of_edits : bool
        Whether it also finds the variables that edits tie to those it masks, and that no step masks, in
        `Block.companions`.
    variant : callable or None
        ``(params) -> Method``: what the method is with these parameters, where `scope` or what it preserves depends on
        them. Defined at the top of a module.
    publishes : callable or None
        ``(params, variable) -> Variable or None``: the variable as a method that removes detail publishes it, with
        `Variable.bands`, where that is known before any data are read; None: it is not. Defined at the top of a module.
    changes_few : bool
        Whether it is expected to leave most values as they are: only a variable that it leaves as it is altogether is
        then a doubt. Else so is one in which it changes less than one value in a thousand.
    draws_records : bool
        Whether it draws records anew, so that none comes from the original in its row: cells may be missing where that
        had a value, and measures that compare records with their originals are not computed.
    reference : str
    summary : str
    example : str
        A YAML step that runs.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Block, Masked, Method, NoParams
    >>> def negate(block: Block, params: NoParams, rng: np.random.Generator) -> Masked:
    ...     return Masked(-block.values, block.missing)
    >>> method = Method("negation", negate, scope="variable", deterministic=True, summary="Signs are turned.")
    >>> method.makes_clusters
    False
    """

    name: str
    protect: Callable[[Block, Any, np.random.Generator], Masked]
    params: type[BaseModel] = NoParams
    scope: Scope = "group"
    may_be_split: bool = True
    protects_in_blocks: bool = True
    variable_types: frozenset[VariableType] = frozenset({"continuous", "integer"})
    handles_missing: bool = False
    preserves: frozenset[Preserves] = frozenset()
    removes: frozenset[Removes] = frozenset()
    deterministic: bool = False
    mean_cluster_size: Callable[[Any, int], int] | None = None
    counts_households: bool = False
    fewest_records: Callable[[Any, int], int] | None = None
    limits: Callable[[Any, tuple[Variable, ...]], tuple[Limit, ...]] | None = None
    keeps_equals: Callable[[Any], bool] | None = None
    companions_of_edits: bool = False
    variant: Callable[[Any], Method] | None = None
    publishes: Callable[[Any, Variable], Variable | None] | None = None
    changes_few: bool = False
    draws_records: bool = False
    reference: str = ""
    summary: str = ""
    example: str = ""

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

    @property
    def makes_clusters(self) -> bool:
        """Whether it puts a representative in the place of each cluster of records."""
        return self.promises_clusters or self.mean_cluster_size is not None

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
