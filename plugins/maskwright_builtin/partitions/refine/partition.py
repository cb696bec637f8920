"""Refinement: a partition made by another is improved by moves, swaps and small restarts, at the same k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Cost, InputError, Partition, PluginError, find_partition
from maskwright_builtin.partitions.records import centred, standardised_records
from maskwright_builtin.partitions.refine.search import LONG_FROM, searched_labels, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_builtin.numerics.arrays import Floats, Integers

SMALL, LARGE = 10_000, 200_000
"""Records up to which the usual effort is a second or two, and up to which it starts from MDAV, which is quadratic."""

KICKS = {"fast": (0, 0, 0), "normal": (20, 5, 2), "thorough": (500, 500, 500)}
"""Kicks per group of each effort, for up to `SMALL`, up to `LARGE`, and more records."""

NEIGHBOURS = (15, 8, 8)
"""Nearest records of each one, for the same numbers of records."""

PAIR = 2
"""Searches of which a long one consists, side by side: the better of two falls short far more seldom than one."""

UNTRAPPED_FROM = 100
"""Kicks per group from which a coarse start ends lower: MDAV's clusters of outliers are hard to leave."""

ANNEALED_FROM = 16
"""Kicks per group from which annealing pays."""

COMBINED_UP_TO = 5_000
"""Records up to which several searches are combined: there is a linear programme with a row for each."""

REORDERED_FROM = 5_000
"""Records from which they are renumbered, so that near ones are near in memory."""


class RefineParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of refinement."""

    start: str = Field(
        default="auto",
        description="Partition to start from: the name of one, run with its defaults; 'kd_cut', a fast and coarse one; "
        "or 'auto': mdav for up to 200,000 records and less than 100 kicks per group, else kd_cut.",
    )
    effort: Literal["fast", "normal", "thorough"] = Field(
        default="normal",
        description="How long to go on, in kicks (small restarts) per group: fast is none, only moves and swaps as "
        "long as one helps; normal is 20 for up to 10,000 records, 5 for up to 200,000, and 2 for more; thorough is "
        "500. Not in seconds: the same data give the same groups. From 50 on, up to 200,000 records are searched "
        "twice, side by side on two processors, and the better groups are taken.",
    )
    kicks_per_group: int | None = Field(
        default=None, ge=0, le=1_000_000, strict=True, description="Number of kicks per group, in place of effort."
    )
    neighbours: Annotated[int, Field(ge=1, le=100, strict=True)] | Literal["auto"] = Field(
        default="auto",
        description="Nearest records of each one, with whose groups it may deal. More cost time and memory and gain "
        "little. 'auto': 15 for up to 10,000 records, 8 for more. From 50 kicks per group on, kicks go by the "
        "nearest half, at least 8 (10 up to k = 4).",
    )
    annealing: bool | Literal["auto"] = Field(
        default="auto",
        description="Accept changes for the worse at first, ever more rarely, and return the best groups seen; 'auto': "
        "from 16 kicks per group on.",
    )
    runs: int = Field(
        default=1,
        ge=1,
        le=1000,
        strict=True,
        description="Searches, each with kicks of its own. With more than one, the groups that lose least together are "
        "chosen from those of all searches, and from others beside them: the lowest loss, for up to 5,000 records. It "
        "pays for small k; the choice takes seconds to minutes besides.",
    )
    seed: int = Field(
        default=0,
        ge=0,
        strict=True,
        description="Seed of the kicks. It is apart from the run's: a second release of the same data with other "
        "groups could be compared with the first, and tell more than k allows.",
    )


def cluster(
    block: Block,
    k: int,
    params: RefineParams,
    rng: np.random.Generator,  # noqa: ARG001 - the contract of a partition
) -> Integers:
    """Cut the records of a block into clusters of k to 2k - 1 with a small within-cluster sum of squares.

    From a first partition, records move to, and are swapped with records of, the clusters of their nearest neighbours
    as long as that lowers the sum of squares. Then kicks: three to five neighbouring clusters are dissolved and made
    anew, the descent goes on from there, and the result is taken back if it is worse (annealing: with a probability).

    Parameters
    ----------
    block : Block
        Distances are between rows of `Block.standardised`.

    Returns
    -------
    ndarray of shape (n,), int64
        Labels 0, 1, ... in order of the first record of each cluster. All records are one cluster when n < 2k, and
        each is one when k = 1. The sum of squares is never above that of the start, but for rounding.

    Raises
    ------
    InputError
        When k is below 1, a standardised value is not finite or too large to be squared, the start needs parameters
        or is refinement itself, or several runs are requested with more than `COMBINED_UP_TO` records.
    PluginError
        When the start is unknown, or does not keep k.

    Notes
    -----
    Descent: O(n * neighbours * k * p) for each round; a few rounds. A kick costs the same for some 10 k records. Memory
    for about six copies of the block and the neighbours.
    """
    standardised = standardised_records(block, k)
    n = len(standardised)
    if params.runs > 1 and n > COMBINED_UP_TO:
        raise InputError(
            f"runs: the groups of several searches are combined for up to {COMBINED_UP_TO:,} records, and there are "
            f"{n:,}; leave runs out, or ask for more kicks_per_group"
        )
    if n < 2 * k:
        return np.zeros(n, dtype=np.int64)
    if k == 1:
        return np.arange(n)
    points = centred(standardised if standardised.shape[1] else np.zeros((n, 1)))
    own = np.random.Generator(np.random.PCG64(params.seed))
    size = 0 if n <= SMALL else 1 if n <= LARGE else 2
    kicks = KICKS[params.effort][size] if params.kicks_per_group is None else params.kicks_per_group
    usual = "mdav" if n <= LARGE and kicks < UNTRAPPED_FROM else "kd_cut"
    order, labels = _start(block, points, k, usual if params.start == "auto" else params.start, own)
    annealed = kicks >= ANNEALED_FROM if params.annealing == "auto" else params.annealing
    neighbours = min(NEIGHBOURS[size] if params.neighbours == "auto" else params.neighbours, n - 1)
    searches = params.runs if params.runs > 1 or kicks < LONG_FROM or n > LARGE else PAIR
    generators = [own] + [np.random.Generator(np.random.PCG64([params.seed, turn])) for turn in range(1, searches)]
    refined = _refined(points[order], labels[order], k, kicks, neighbours, annealed, generators, params.runs, block)
    result = np.empty(n, dtype=np.int64)
    result[order] = refined
    _, first, renumbered = np.unique(result, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    block.progress(1.0)
    return rank[renumbered]


def _start(block: Block, points: Floats, k: int, start: str, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Order in which records are numbered, and labels of the first partition, all clusters smaller than 2k."""
    from maskwright_builtin.partitions.refine.kd_cut_kernel import kd_cut

    n = len(points)
    order, cut = np.arange(n), None
    if n >= REORDERED_FROM or start == "kd_cut":
        order, cut = kd_cut(points, k)
    if start == "kd_cut" and cut is not None:
        return order, cut
    from dataclasses import replace

    silenced = replace(block, progress=span(block.progress, 0.0, 0.2))
    labels = _labels_of(silenced, k, start, rng)
    sizes = np.bincount(labels)
    following = len(sizes)
    for large in np.flatnonzero(sizes >= 2 * k).tolist():
        members = np.flatnonzero(labels == large)
        _, pieces = kd_cut(points[members], k)
        labels[members] = np.where(pieces == 0, large, following + pieces - 1)
        following += int(pieces.max())
    return order, labels


def _labels_of(block: Block, k: int, start: str, rng: np.random.Generator) -> Integers:
    if start == "refine":
        raise InputError("refine cannot start from itself; name another partition, or 'auto'")
    partition = find_partition(start)
    missing = [name for name, field in partition.params.model_fields.items() if field.is_required()]
    if missing:
        raise InputError(f"refine runs its start with default parameters; partition {start!r} needs {missing[0]!r}")
    labels = np.array(partition.cluster(block, k, partition.params(), rng), dtype=np.int64)
    if labels.shape != (block.n,) or labels.min() < 0 or np.bincount(labels).min() < k:
        raise PluginError(f"partition {start!r} broke its promise: clusters 0..c-1 of at least k = {k} records")
    return labels


def _refined(
    points: Floats,
    labels: Integers,
    k: int,
    kicks_per_group: int,
    neighbours: int,
    annealed: bool,
    generators: Sequence[np.random.Generator],
    runs: int,
    block: Block,
) -> Integers:
    """The groups of the best of several searches, or, of more than one run, the best of all their groups."""
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.partitions.refine.search import nearest_records

    started, neared = 0.2, 0.7 if kicks_per_group == 0 else 0.3
    searched = 1.0 if runs == 1 else 0.7
    near = nearest_records(points, neighbours, span(block.progress, started, neared))
    progress = span(block.progress, neared, searched)
    found = searched_labels(points, near, labels, k, kicks_per_group, annealed, generators, progress)
    if runs == 1:
        return min(found, key=lambda search: search[0])[1]
    from maskwright_builtin.partitions.refine.set_partitioning import combined_labels

    partitions = [np.unique(each, return_inverse=True)[1] for _, each in found]
    return combined_labels(points, near, partitions, k, span(block.progress, searched, 1.0))


REFINE = Partition(
    name="refine",
    cluster=cluster,
    params=RefineParams,
    deterministic=True,
    reference="Own; of the family of Laszlo and Mukherjee (2015), Iterated local search for microaggregation, "
    "Journal of Systems and Software 100, 15-26",
    summary="Improves the clusters of another partition, mdav as a rule, by moves, swaps and small restarts.",
    cost=Cost(cell=3.1),
)
