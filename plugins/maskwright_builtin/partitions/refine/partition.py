"""Refinement: a partition made by another is improved by moves, swaps and small restarts, at the same k."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, InputError, Partition, PluginError, Progress, find_partition
from maskwright_builtin.partitions.records import centred, standardised_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.partitions.refine.groups import Groups

SMALL, LARGE = 10_000, 200_000
"""Records up to which the usual effort is a second or two, and up to which it starts from MDAV, which is quadratic."""

KICKS = {"fast": (0, 0, 0), "normal": (20, 5, 2), "thorough": (500, 500, 500)}
"""Kicks per group of each effort, for up to `SMALL`, up to `LARGE`, and more records."""

NEIGHBOURS = (15, 8, 8)
"""Nearest records of each one, for the same numbers of records."""

LONG_FROM = 50
"""Kicks per group of a long search, in which more kicks gain more, in the same time, than more neighbours."""

KICKED_NEIGHBOURS, KICKED_NEIGHBOURS_OF_SMALL, SMALL_UP_TO = 8, 10, 4
"""Its kicks deal with the groups of so many nearest records, or of half of them all if that is more; and so many for
such a small k, for which a kick costs little."""

UNTRAPPED_FROM = 100
"""Kicks per group from which a coarse start ends lower: MDAV's clusters of outliers are hard to leave."""

ANNEALED_FROM = 16
"""Kicks per group from which annealing pays."""

COMBINED_UP_TO = 5_000
"""Records up to which several searches are combined: there is a linear programme with a row for each."""

REORDERED_FROM = 5_000
"""Records from which they are renumbered, so that near ones are near in memory."""

SWEPT_FROM = 100_000
"""Records from which kicks go through them in order, and not at random, for the same reason."""

VISITS = 200_000
"""Records visited by the descent between two signs of progress."""

HOTTEST, COLDEST = 0.1, 0.002
"""Temperatures of annealing, as shares of the geometric mean of two sums of squares: that of a group on average, and
that of the groups of a kick."""

EVENNESS = 0.1
"""Kicks go to records with probabilities as the roots of their groups' sums of squares, where most is to be gained, and
this share of the root of the mean one is added: no group is left out."""

KICKS_AT_ONCE = 1024
"""After so many, probabilities are made anew."""


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
        "500. Not in seconds: the same data give the same groups.",
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
) -> NDArray[np.int64]:
    """Cut the records of a block into clusters of k to 2k - 1 with a small within-cluster sum of squares.

    From a first partition, records move to, and are swapped with records of, the clusters of their nearest neighbours
    as long as that lowers the sum of squares. Then kicks: three to five neighbouring clusters are dissolved and made
    anew, the descent goes on from there, and the result is taken back if it is worse (annealing: with a probability).

    Parameters
    ----------
    block : Block
        Distances are between rows of `Block.standardised`.
    k : int
        Smallest cluster size, >= 1.
    params : RefineParams
    rng : numpy.random.Generator
        Left alone: the same parameters and data give the same labels.

    Returns
    -------
    ndarray of shape (n,), int64
        Labels 0, 1, ... in order of the first record of each cluster. All records are one cluster when n < 2k, and
        each is one when k = 1. The sum of squares is never above that of the start, but for rounding.

    Raises
    ------
    InputError
        When k is below 1, a standardised value is not finite or too large to be squared, the start needs parameters
        or is refinement itself, or several runs are asked for with more than `COMBINED_UP_TO` records.
    PluginError
        When the start is unknown, or does not keep k.

    Notes
    -----
    Descent: O(n * neighbours * k * p) for each round; a few rounds. A kick costs the same for some 10 k records. Memory
    for about six copies of the block and the neighbours.

    References
    ----------
    Own combination of known parts. Local search and restarts of microaggregation: Laszlo and Mukherjee (2015),
    Iterated local search for microaggregation, Journal of Systems and Software 100, 15-26.
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
    moved, begun = points[order], labels[order]
    if params.runs == 1:
        refined = refined_labels(moved, begun, k, kicks, neighbours, annealed, own, block.progress)
    else:
        generators = [own] + [
            np.random.Generator(np.random.PCG64([params.seed, turn])) for turn in range(1, params.runs)
        ]
        refined = _combined(moved, begun, k, kicks, neighbours, annealed, generators, block.progress)
    result = np.empty(n, dtype=np.int64)
    result[order] = refined
    _, first, renumbered = np.unique(result, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    block.progress(1.0)
    return rank[renumbered]


def _start(
    block: Block, points: NDArray[np.float64], k: int, start: str, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order in which records are numbered, and labels of the first partition, all clusters smaller than 2k."""
    from maskwright_builtin.partitions.refine.kd_cut_kernel import kd_cut

    n = len(points)
    order, cut = np.arange(n), None
    if n >= REORDERED_FROM or start == "kd_cut":
        order, cut = kd_cut(points, k)
    if start == "kd_cut" and cut is not None:
        return order, cut
    from dataclasses import replace

    silenced = replace(block, progress=_span(block.progress, 0.0, 0.2))
    labels = _labels_of(silenced, k, start, rng)
    sizes = np.bincount(labels)
    following = len(sizes)
    for large in np.flatnonzero(sizes >= 2 * k).tolist():
        members = np.flatnonzero(labels == large)
        _, pieces = kd_cut(points[members], k)
        labels[members] = np.where(pieces == 0, large, following + pieces - 1)
        following += int(pieces.max())
    return order, labels


def _labels_of(block: Block, k: int, start: str, rng: np.random.Generator) -> NDArray[np.int64]:
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


def refined_labels(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    kicks_per_group: int,
    neighbours: int,
    annealed: bool,
    rng: np.random.Generator,
    progress: Progress,
) -> NDArray[np.int64]:
    """Refine a partition.

    Parameters
    ----------
    points : ndarray of shape (n, p), float64
        Finite, about their mean, of size 1 or so; near ones near in order when there are many. n >= 2k.
    labels : ndarray of shape (n,), int64
        Clusters 0..c-1 of k to 2k - 1 records.
    k : int
        At least 2.
    kicks_per_group, neighbours : int
        0 <= kicks_per_group; 1 <= neighbours < n.
    annealed : bool
    rng : numpy.random.Generator
    progress : callable

    Returns
    -------
    ndarray of shape (n,), int64
        Cluster numbers, maybe with gaps.
    """
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.partitions.refine.descent_kernel import descend, fill
    from maskwright_builtin.partitions.refine.groups import WAITING, empty_groups
    from maskwright_builtin.partitions.refine.neighbours import nearest_records

    n, p = points.shape
    share = 0.7 if kicks_per_group == 0 else 0.3
    near = nearest_records(points, neighbours, _span(progress, 0.2, share))
    state = empty_groups(n, p, k)
    fill(points, labels, state)
    scratch = np.zeros(2 * p)
    visit = 0
    while state.counts[WAITING] > 0:
        visit = descend(points, near, scratch, state, k, -1, visit, VISITS)
        # Nearly all records wait once, and many of them once more.
        progress(share + (0.95 if kicks_per_group == 0 else 0.1) * (1.0 - share) * min(visit / (3 * n), 1.0))
    if kicks_per_group == 0:
        return state.of.astype(np.int64)
    rest = _span(progress, share + 0.1 * (1.0 - share), 1.0)
    nearest = neighbours
    if kicks_per_group >= LONG_FROM:
        usual = KICKED_NEIGHBOURS_OF_SMALL if k <= SMALL_UP_TO else KICKED_NEIGHBOURS
        nearest = max(min(neighbours, usual), neighbours // 2)
    asked = np.ascontiguousarray(near[:, :nearest])
    return _kicked(points, asked, k, kicks_per_group, annealed, rng, state, visit, rest)


def _combined(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    kicks_per_group: int,
    neighbours: int,
    annealed: bool,
    generators: list[np.random.Generator],
    progress: Progress,
) -> NDArray[np.int64]:
    """The groups of one search with each generator, combined."""
    from maskwright_builtin.partitions.refine.neighbours import nearest_records
    from maskwright_builtin.partitions.refine.set_partitioning import combined_labels

    found = []
    for turn, generator in enumerate(generators):
        span = _span(progress, 0.7 * turn / len(generators), 0.7 * (turn + 1) / len(generators))
        refined = refined_labels(points, labels, k, kicks_per_group, neighbours, annealed, generator, span)
        found.append(np.unique(refined, return_inverse=True)[1])
    near = nearest_records(points, neighbours, _span(progress, 0.7, 0.71))
    return combined_labels(points, near, found, k, _span(progress, 0.71, 1.0))


def _kicked(
    points: NDArray[np.float64],
    near: NDArray[np.int32],
    k: int,
    kicks_per_group: int,
    annealed: bool,
    rng: np.random.Generator,
    state: Groups,
    visit: int,
    progress: Progress,
) -> NDArray[np.int64]:
    from maskwright_builtin.partitions.refine.kicks_kernel import NUMBERS, empty_pool, kick_groups

    n = len(points)
    groups = int(np.count_nonzero(state.sizes))
    total = kicks_per_group * groups
    scale = float(state.errors[state.sizes > 0].sum()) * k / n
    pool = empty_pool(state, points.shape[1])
    changes = np.zeros(3)
    for first in range(0, total, KICKS_AT_ONCE):
        turns = np.arange(first, min(first + KICKS_AT_ONCE, total))
        numbers = rng.random((len(turns), NUMBERS))
        if n >= SWEPT_FROM:
            starts = ((turns % groups + numbers[:, 0]) / groups * n).astype(np.int64)
        else:
            sums = np.cumsum(np.sqrt(state.errors[state.of]) + EVENNESS * math.sqrt(scale))
            starts = np.searchsorted(sums, numbers[:, 0] * sums[-1], side="right")
        starts = np.minimum(starts, n - 1)
        temperatures = np.zeros(len(turns))
        if annealed:
            temperatures = math.sqrt(scale) * HOTTEST * (COLDEST / HOTTEST) ** (turns / total)
        visit = kick_groups(points, near, k, numbers, temperatures, starts, first, visit, pool, state, changes)
        progress(float(turns[-1] + 1) / total)
    return pool.best.astype(np.int64)


def _span(progress: Progress, start: float, stop: float) -> Progress:
    def report(share: float) -> None:
        progress(start + (stop - start) * share)

    return report


REFINE = Partition(
    name="refine",
    cluster=cluster,
    params=RefineParams,
    deterministic=True,
    reference="Own; of the family of Laszlo and Mukherjee (2015), Iterated local search for microaggregation, "
    "Journal of Systems and Software 100, 15-26",
    summary="Improves the clusters of another partition, mdav as a rule, by moves, swaps and small restarts.",
)
