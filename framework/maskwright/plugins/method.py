"""What a protection method is: original values in, masked values out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.variable import Variable
    from maskwright.plugins.block import Block

Scope = Literal["variable", "group", "all"]
Preserves = Literal["linear", "product", "inequality", "range", "domain", "mean", "covariance", "k"]
Accepts = Literal["continuous", "integer", "ordinal", "nominal", "missing"]
Removes = Literal["records", "cells", "detail"]


@dataclass(frozen=True, eq=False)
class Masked:
    """What a method made of a block.

    Attributes
    ----------
    values : ndarray of shape (n, p), float64
        Masked values; NaN where `missing`.
    missing : ndarray of shape (n, p), bool
    variables : tuple of Variable or None
        Only when the method changed them (recoding); None keeps the block's.
    labels : ndarray of shape (n,), int64, or None
        Cluster of each record, when the method has clusters: then ``values == representatives[labels]`` and
        adjustment and rounding act on the representatives, so that k holds.
    representatives : ndarray of shape (c, p), float64, or None
        One row per cluster; NaN where the whole cluster is missing.
    origin : ndarray of shape (m,), int64, or None
        Rows kept, ascending, when the method drops records: the other arrays have one row for each of them.
    weights : ndarray of shape (m,), float64, or None
        Sampling weights of the rows kept, when the method dropped records and the block has weights; None leaves them.
    notes : mapping of str to str, int or float
        What the run record should hold (iterations, convergence, smallest cluster); `warnings`, a list of sentences
        without counts or values, is shown to the person who runs the method.
    """

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    variables: tuple[Variable, ...] | None = None
    labels: NDArray[np.int64] | None = None
    representatives: NDArray[np.float64] | None = None
    origin: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


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
    scope : {"variable", "group", "all"}
        What a block holds: one variable at a time, one variable group of the plan, or all variables of the step.
    may_be_split : bool
        Whether records may be cut into blocks (``execution: {block_size: N}``) and strata.
    accepts : frozenset of str
        Variable types it can mask, and ``missing`` if it takes missing cells. Of a method that does not, promises no
        groups and removes nothing, records with the same cells missing are masked apart: its blocks then hold the
        variables that these records have, and no other.
    preserves : frozenset of str
        Claims, tested by the kit and by every run: kinds of edit that hold in its output when they hold in each
        record of its input and all their variables are in one block.
    removes : frozenset of str
        Information that it takes away instead of changing values: ``records`` (it drops some), ``cells`` (it leaves
        some empty), ``detail`` (it publishes coarser categories instead of values: `Masked.variables` says which, and
        rules on these variables can hold no longer). The engine refuses results that take away anything else. A
        method that removes records needs ``scope="all"``.
    deterministic : bool
        Whether it leaves `rng` alone.
    k_parameter : str or None
        Name of the parameter that promises a smallest cluster size; where its value may be None, nothing is promised
        then.
    keys_parameter : str or None
        Name of the parameter that lists key variables; where it is empty, they are the step's quasi-identifiers or,
        if it has none, all its variables. They are masked too, whatever their type. What `k_parameter` promises is
        then the smallest class of published records equal on the keys, and the method has no representatives.
    counts_households : bool
        Whether that size is counted in households (``block.households``) where they are declared.
        A method that promises k and cannot do so is refused then.
    mean_cluster_size : callable or None
        ``(params, n) -> int``: how many of a file's n records its groups have in the mean, for methods that return
        labels and representatives but draw the groups. Smaller strata are merged, and reports compare group sizes
        with it; it is no promise. Defined at the top of a module.
    weighted_parameter : str or None
        Name of the parameter, true or false, that makes representatives with the weights of the block.
    fewest_records : callable or None
        ``(params, p) -> int``: how many records it needs to mask p variables together. Smaller strata are merged.
        Defined at the top of a module.
    partition_parameter : str or None
        Name of the parameter that names a partition plugin. The pipeline checks the name
        and its parameters; `maskwright.find_partition` gives the plugin.
    dependent_parameter : str or None
        Name of the parameter that lists the variables to mask; where it is empty, the step's variables are masked.
    independent_parameter : str or None
        Name of the parameter that lists numeric variables the method reads and leaves as they are: it finds them in
        `Block.companions`.
    reference : str
    summary : str
    example : str
        A YAML step that runs.
    """

    name: str
    protect: Callable[[Block, Any, np.random.Generator], Masked]
    params: type[BaseModel] = NoParams
    scope: Scope = "group"
    may_be_split: bool = True
    accepts: frozenset[str] = frozenset({"continuous", "integer"})
    preserves: frozenset[str] = frozenset()
    removes: frozenset[Removes] = frozenset()
    deterministic: bool = False
    k_parameter: str | None = None
    keys_parameter: str | None = None
    mean_cluster_size: Callable[[Any, int], int] | None = None
    counts_households: bool = False
    weighted_parameter: str | None = None
    fewest_records: Callable[[Any, int], int] | None = None
    partition_parameter: str | None = None
    dependent_parameter: str | None = None
    independent_parameter: str | None = None
    reference: str = ""
    summary: str = ""
    example: str = ""
