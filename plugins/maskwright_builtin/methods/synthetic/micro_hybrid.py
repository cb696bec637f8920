"""MicroHybrid: synthetic values within clusters of similar records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from maskwright import Block, Claims, InputError, Masked, Method, Variable
from maskwright_builtin.methods.microaggregation.microaggregation import PartitionName, chosen_partition
from maskwright_builtin.methods.synthetic.regression import (
    MomentsAndEdits,
    independent_columns,
    new_residuals,
    note_moments,
    onto_edits,
    regress,
    require_records,
    require_spread,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers

ASSIGNED_AT_ONCE = 300
"""Records of a cluster among which categories are assigned at once: the work grows with the cube."""

CELLS_AT_ONCE = 4_000_000
"""Cells of clusters of one size that are regressed in one stack; bounds memory."""

UNCHANGED = 1e-9
"""A synthetic value this near to the original, in standard deviations, counts as unchanged."""

CHANCE = 0.001
"""Probability up to which categories dealt at random would be those of the original, in a whole cluster of a file."""


class MicroHybridParams(MomentsAndEdits, frozen=True):
    """Parameters of MicroHybrid."""

    k: int = Field(
        default=50,
        ge=1,
        strict=True,
        description="Smallest number of records of a cluster. Smaller is nearer to the original; from the number of "
        "records on, all are one cluster and the data are synthetic. At least 2|X| + |Y| + 1 for |X| dependent and |Y| "
        "independent variables (|X| + |Y| + 1 unless `uncorrelated`), fewer where they depend on each other; a nominal "
        "variable counts as its number of categories less 1. Or 1: the data as they are, to compare with.",
    )
    partition: PartitionName = Field(
        default="mdav",
        description="How records are cut into clusters: the name of a partition, or {name: {its parameters}}.",
    )
    uncorrelated: bool = Field(
        default=True,
        description="New residuals have no correlation with the old ones of their cluster. false needs smaller "
        "clusters and protects less.",
    )


def protect(block: Block, params: MicroHybridParams, rng: np.random.Generator) -> Masked:
    """Replace the dependent variables by synthetic values, cluster by cluster.

    Parameters
    ----------
    block : Block
        Its variables are the dependents; the independents are companions. Records are clustered on both, standardised.

    Returns
    -------
    Masked
        IPSO-C within each cluster, so that means and covariances of dependents and independents are exact in each
        cluster and in the whole. Categories take part as numbers (indicators of nominal ones, places of ordinal ones);
        then the combinations of categories of a cluster are assigned to its records, each to one whose synthetic
        numbers are near, with the least sum of squared distances: their counts in each cluster are exact, their
        relations to numbers are not. With k = 1 each record is a cluster, and stays as it is.
        Notes: clusters, values that came out unchanged, and the largest change of a third central moment beside its
        bound ``2 sqrt(B) W``, with W the sum of squares of a variable within clusters and B its largest square,
        original or new; both divided by n times the cubed standard deviation.

    Raises
    ------
    InputError
        `k` or the number of records below the limit of degrees of freedom, missing cells, an unknown partition.

    References
    ----------
    Domingo-Ferrer, J. and Gonzalez-Nicolas, U. (2010): Hybrid microdata using microaggregation. Information Sciences
    180(15), 2834-2844, procedure R-microhybrid and lemma 2. The paper's smallest k exchanges its two sets of variables,
    and its bound depends on the unit of measurement; both are corrected here. Categories are beyond it.
    """
    independents = independent_columns(block, params.independent)
    if params.k == 1:
        same = {"clusters": block.n, "smallest_cluster": 1, "largest_cluster": 1, "values_unchanged": block.values.size}
        return Masked(values=block.values.copy(), missing=block.missing.copy(), notes=same)
    coded, numeric = _coded(block)
    whole = regress(coded.values[None], independents[None])
    rank, joint = int(whole.residual_rank[0]), int(whole.joint_rank[0])
    needed = (joint if params.uncorrelated else int(whole.design_rank[0])) + rank + 1
    why = f"1 + rank of the {'variables' if params.uncorrelated else 'independents'} + rank of the residuals"
    if params.k < needed:
        raise InputError(
            f"k = {params.k} is below the limit of {needed} ({why}): smaller clusters would give back original values. "
            f"Take k: {needed} or more"
        )
    require_records(block.n, needed, why)
    require_spread(coded, whole)
    labels = _clusters(block, independents, params, rng)
    block.progress(0.6)
    values = np.empty_like(coded.values)
    for members in _stacks(labels, coded.p + independents.shape[1]):
        found = regress(coded.values[members], independents[members])
        noise = rng.standard_normal(found.fitted.shape)
        avoid = found.basis if params.uncorrelated else found.design
        values[members] = found.mean + found.fitted + new_residuals(noise, avoid, found.factor, found.residual_rank)
    sizes = np.bincount(labels)
    numbers = _columns(coded, numeric)
    notes: dict[str, Any] = {
        "clusters": len(sizes), "smallest_cluster": int(sizes.min()), "largest_cluster": int(sizes.max()),
        "largest_limit": needed, **_third_moments(numbers, values[:, numeric], labels),
    }  # fmt: skip
    unchanged = np.abs(values - coded.values) <= UNCHANGED * coded.scale
    notes["values_unchanged"] = int(np.count_nonzero(unchanged))
    # A value that its whole cluster shares is the cluster's mean: it stays, and discloses nothing of one record.
    given_back = unchanged & _varies(coded.values, labels)
    notes["values_given_back"] = int(np.count_nonzero(given_back))
    masked = block.values.copy()
    is_number = np.array([variable.is_numeric for variable in block.variables])
    categories = block.values[:, ~is_number]
    masked[:, ~is_number] = _assigned(categories, coded.values[:, ~numeric], values[:, ~numeric], labels, rng)
    names = [coded.names[position] for position in np.flatnonzero(given_back.any(axis=0))]
    returned = _returned(categories, masked[:, ~is_number], labels)
    names += [block.names[position] for position in np.flatnonzero(~is_number)[returned]]
    target = whole if numeric.all() else regress(numbers.values[None], independents[None])
    masked[:, is_number], restored = onto_edits(numbers, params, target, values[:, numeric])
    block.progress(1.0)
    return Masked(
        values=masked, missing=block.missing.copy(), notes=notes | note_moments(restored),
        doubts=_given_back(names),
    )  # fmt: skip


def _coded(block: Block) -> tuple[Block, Booleans]:
    """The block with categories as standardised numbers, and which columns are of numbers; shape (q,)."""
    parts = [_columns(block, np.arange(block.p) == position) for position in range(block.p)]
    columns = [part.values if part.variables[0].is_numeric else part.standardised() for part in parts]
    of = np.repeat(np.arange(block.p), [column.shape[1] for column in columns])
    numeric = np.array([block.variables[position].is_numeric for position in of])
    coded = replace(
        block, values=np.concatenate(columns, axis=1), missing=block.missing[:, of],
        variables=tuple(block.variables[position] for position in of),
        center=np.where(numeric, block.center[of], 0.0), scale=np.where(numeric, block.scale[of], 1.0),
    )  # fmt: skip
    return coded, numeric


def _columns(block: Block, chosen: Booleans) -> Block:
    """Some columns of a block; `chosen`: shape (p,)."""
    if chosen.all():
        return block
    variables = tuple(variable for variable, use in zip(block.variables, chosen, strict=True) if use)
    return replace(
        block, values=block.values[:, chosen], missing=block.missing[:, chosen], variables=variables,
        center=block.center[chosen], scale=block.scale[chosen],
    )  # fmt: skip


def _assigned(
    categories: Floats, points: Floats, synthetic: Floats, labels: Integers, rng: np.random.Generator
) -> Floats:
    """Categories of each cluster, assigned to its records by how near their points are to synthetic ones.

    `categories`: codes; shape (n, c). `points`, `synthetic`: shape (n, q). Of a large cluster, records that are drawn
    at random are taken together. Returns shape (n, c).
    """
    assigned = categories.copy()
    if not categories.shape[1]:
        return assigned
    # Plugins are listed without what they compute with.
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    # Within a cluster in random order.
    order = np.lexsort((rng.random(len(labels)), labels))
    for members in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        for some in np.array_split(members, -(-len(members) // ASSIGNED_AT_ONCE)):
            if np.ptp(categories[some], axis=0).any():
                to, given = linear_sum_assignment(cdist(synthetic[some], points[some], "sqeuclidean"))
                assigned[some[to]] = categories[some[given]]
    return assigned


def _varies(values: Floats, labels: Integers) -> Booleans:
    """Cells of variables that are not constant in their cluster; shape (n, p)."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    low, high = (extreme.reduceat(values[order], starts, axis=0) for extreme in (np.minimum, np.maximum))
    return np.asarray((high > low)[np.unique(labels, return_inverse=True)[1]])


def _returned(categories: Floats, assigned: Floats, labels: Integers) -> Booleans:
    """Variables of which all records of some cluster have their category again, more than by chance; shape (c,)."""
    from scipy.special import gammaln

    found = np.zeros(categories.shape[1], dtype=np.bool_)
    for column, (before, after) in enumerate(zip(categories.T, assigned.T, strict=True)):
        counts = np.zeros((int(labels.max()) + 1, int(before.max()) + 1))
        np.add.at(counts, (labels, before.astype(np.int64)), 1)
        arrangements = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
        changed = np.bincount(labels, before != after)
        found[column] = np.any((changed == 0) & (arrangements > np.log(len(counts) / CHANCE)))
    return found


def _given_back(names: Sequence[str]) -> tuple[str, ...]:
    listed = ", ".join(dict.fromkeys(names))
    doubt = (
        f"in some clusters the other variables determine {listed}, so that original values come back: raise k, or take "
        "an independent variable out"
    )
    return (doubt,) if names else ()


def _clusters(block: Block, independents: Floats, params: MicroHybridParams, rng: np.random.Generator) -> Integers:
    if params.k > block.n // 2:
        return np.zeros(block.n, dtype=np.int64)
    partition, partition_params = chosen_partition(params.partition)
    spread = independents.std(axis=0, ddof=1)
    together = Block(
        values=np.concatenate([block.values, independents], axis=1),
        missing=np.zeros((block.n, block.p + independents.shape[1]), dtype=np.bool_),
        variables=(*block.variables, *(Variable(name, "continuous") for name in params.independent)),
        weights=block.weights,
        center=np.concatenate([block.center, independents.mean(axis=0)]),
        scale=np.concatenate([block.scale, np.where(spread > 0, spread, 1.0)]),
        progress=lambda share: block.progress(0.6 * share),
    )
    return np.asarray(partition.cluster(together, params.k, partition_params, rng), dtype=np.int64)


def _stacks(labels: Integers, columns: int) -> Iterator[Integers]:
    """Records of clusters of equal size, shape (b, m), a bounded number of clusters at a time."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        first = starts[sizes == size]
        at_once = max(CELLS_AT_ONCE // (int(size) * columns), 1)
        for position in range(0, len(first), at_once):
            yield order[first[position : position + at_once, None] + np.arange(size)]


def _third_moments(block: Block, values: Floats, labels: Integers) -> dict[str, float]:
    sizes = np.bincount(labels)
    shift = bound = 0.0
    for column in range(block.p):
        old, new = block.values[:, column] / block.scale[column], values[:, column] / block.scale[column]
        mean = np.bincount(labels, old) / sizes
        within_old, within_new = old - mean[labels], new - mean[labels]
        largest = max(float(np.max(within_old**2)), float(np.max(within_new**2)))
        center = old.mean()
        shift = max(shift, abs(float(np.mean((new - center) ** 3) - np.mean((old - center) ** 3))))
        bound = max(bound, 2 * np.sqrt(largest) * float(np.mean(within_old**2)))
    return {"largest_third_moment_shift": shift, "largest_third_moment_bound": bound}


def fewest_records(params: MicroHybridParams, p: int) -> int:  # noqa: ARG001 - the signature is the contract's
    """Records of a cluster."""
    return params.k


MICRO_HYBRID = Method(
    name="micro_hybrid",
    protect=protect,
    params=MicroHybridParams,
    scope="all",
    claims=Claims(
        cut="near",
        preserves={"linear", "mean"},
        fewest_records=fewest_records,
        variable_types={"continuous", "integer", "ordinal", "nominal"},
    ),
    reference="Domingo-Ferrer and Gonzalez-Nicolas (2010), Information Sciences 180(15), 2834-2844",
    summary="Replaces dependent variables by synthetic values with the means and covariances of each small cluster.",
    example="method: micro_hybrid\nparams: {k: 50, partition: mdav}\n",
)
