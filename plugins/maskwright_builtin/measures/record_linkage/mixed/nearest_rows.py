"""The nearest rows of the other file over keys of any type, exactly, with how many records share the place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.measures.record_linkage.linkage import large_households, no_progress, relatives
from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from maskwright import Progress
    from maskwright_builtin.measures.record_linkage.mixed.mixed_keys import Rows
    from maskwright_builtin.measures.record_linkage.mixed.nearest_rows_kernel import Exact
    from maskwright_builtin.measures.record_linkage.mixed.row_costs_kernel import Costs
    from maskwright_builtin.measures.record_linkage.mixed.row_trees_kernel import Forest
    from maskwright_builtin.numerics.arrays import Floats, Integers

LEAF = 16
"""Rows of a leaf, at most about."""
QUERIES_AT_ONCE = 16_384
"""Queries with the same keys missing that are answered together."""


@dataclass(frozen=True, eq=False)
class Links:
    """What linking every query record to its nearest records found.

    `chance`: of reaching a record of the own household; shape (q,). `ties`: records that are nearest; 0 where there is
    none with a key in common; shape (q,).
    """

    chance: Floats
    ties: Integers


def link(
    queries: Rows, targets: Rows, costs: Costs, households: tuple[Integers, Integers], progress: Progress
) -> Links:
    """Link each query to its nearest targets; several that are as near share the link."""
    from maskwright_builtin.measures.record_linkage.mixed.row_costs_kernel import pair_costs

    split = _split(queries, targets, costs)
    own, count = np.full(len(queries.of_record), np.inf), np.zeros(len(queries.of_record), dtype=np.int64)
    for chosen, relative in relatives(*households):
        found = np.empty(len(chosen))
        sides = queries.low, queries.high, queries.present, queries.of_record[chosen]
        others = targets.low, targets.high, targets.present, targets.of_record[relative]
        pair_costs(*sides, *others, costs, found)
        nearer = found < own[chosen]
        count[chosen] = np.where(nearer, 1, count[chosen] + ((found == own[chosen]) & np.isfinite(found)))
        own[chosen] = np.minimum(own[chosen], found)
    for chosen, members in large_households(*households):
        needed, of = np.unique(queries.of_record[chosen], return_inverse=True)
        least, ties = np.full(len(queries.low), np.inf), np.zeros(len(queries.low), dtype=np.int64)
        _nearest(queries, needed, forest_of(targets.part(members), split), costs, least, ties, no_progress)
        own[chosen], count[chosen] = least[needed[of]], ties[needed[of]]
    least, ties = np.full(len(queries.low), np.inf), np.zeros(len(queries.low), dtype=np.int64)
    np.minimum.at(least, queries.of_record, own)
    # Queries with the same keys missing are answered together; alike ones walk the same branches, which are then still
    # in the cache.
    widths = np.ptp(queries.low, axis=0) * split
    work = np.lexsort((*queries.low.T[np.argsort(widths, kind="stable")], queries.present))
    _nearest(queries, work, forest_of(targets, split), costs, least, ties, progress)
    best, tied = least[queries.of_record], ties[queries.of_record]
    correct = (own == best) & (tied > 0)
    return Links(np.where(correct, count / np.maximum(tied, 1), 0.0), tied)


def _nearest(
    queries: Rows, needed: Integers, forest: Forest, costs: Costs, least: Floats, ties: Integers, progress: Progress
) -> None:
    """Write the least cost, where a cost that it does not exceed stands, and the ties of the needed rows."""
    from maskwright_builtin.measures.record_linkage.mixed.nearest_rows_kernel import search

    exact = _exact(queries, forest, costs)
    needed = needed[np.argsort(queries.present[needed], kind="stable")]
    if len(costs.top) > 1:
        costs = costs._replace(top=costs.top[needed])
    low, high = queries.low[needed], queries.high[needed]
    present, best, tied = queries.present[needed], least[needed], ties[needed]

    def answer(chunk: slice) -> None:
        pattern = int(present[chunk.start])
        search(low[chunk], high[chunk], pattern, chunk.start, forest, exact, costs, best[chunk], tied[chunk])

    starts = np.flatnonzero(np.diff(present, prepend=-1))
    chunks = [
        slice(begin, min(begin + QUERIES_AT_ONCE, last))
        for start, last in zip(starts.tolist(), np.append(starts[1:], len(needed)).tolist(), strict=True)
        for begin in range(start, last, QUERIES_AT_ONCE)
    ]
    for done, _ in enumerate(in_order(answer, chunks), start=1):
        progress(done / len(chunks))
    least[needed], ties[needed] = best, tied


def _split(queries: Rows, targets: Rows, costs: Costs) -> Floats:
    """Factors that make the ranges of the keys comparable: what two rows lose on the key, times how often they do."""
    split = costs.weight.copy()
    for j in np.flatnonzero(~costs.linear).tolist():
        places, rows = np.unique(targets.low[:, j], return_counts=True)
        differ = 1.0 - float(np.square(rows / len(targets.low)).sum())
        top = costs.top[:, j] if len(costs.top) == 1 else costs.top[queries.of_record, j]
        split[j] = max(float(costs.far[j] - top.mean()), 0.0) * differ / (float(np.ptp(places)) or 1.0)
    return split


def _exact(queries: Rows, forest: Forest, costs: Costs) -> Exact:
    """Keys on which unequal rows are apart: points with levels; of numbers and ordered categories, whole ones."""
    from maskwright_builtin.measures.record_linkage.mixed.nearest_rows_kernel import Exact

    files = (queries.low, queries.high), (forest.low, forest.high)
    points = np.all([(low == high).all(axis=0) for low, high in files], axis=0)
    whole = np.all([(low == np.rint(low)).all(axis=0) for low, _ in files], axis=0)
    by_level = points & ~costs.linear & (costs.near == 0.0)
    by_gap = points & costs.linear & whole
    apart = np.where(
        costs.linear, np.rint(costs.weight), np.minimum(np.where(costs.next > 0.0, costs.close, costs.far), costs.far)
    )
    bits = 1 << np.arange(len(points))
    return Exact(np.array([bits[by_level | by_gap].sum(), bits[by_level].sum()]), apart)


def forest_of(rows: Rows, split: Floats) -> Forest:
    """Cut distinct rows into a tree for each pattern of keys that are there.

    `split`: factor of each key; the key with the widest range is cut; shape (d,).
    """
    from maskwright_builtin.measures.record_linkage.mixed.row_trees_kernel import Forest, cut_rows

    used = np.flatnonzero(rows.copies)
    patterns, of_row, sizes = np.unique(rows.present[used], return_inverse=True, return_counts=True)
    # The largest trees first: the nearest row is most likely there, and makes the search of the others short.
    by_size = np.argsort(-sizes, kind="stable")
    patterns, sizes, of_row = patterns[by_size], sizes[by_size], np.argsort(by_size)[of_row]
    grouped = used[np.argsort(of_row, kind="stable")]
    ends = np.cumsum(sizes)
    trees, node, leaf = [], 0, 0
    for begin, end in zip(ends - sizes, ends, strict=True):
        members = grouped[begin:end]
        low, high, size = rows.low[members], rows.high[members], len(members)
        order = np.arange(size)
        cut, children, bounds = (
            np.empty(2 * size, np.int64),
            np.empty((2 * size, 2), np.int64),
            np.empty(size + 1, np.int64),
        )
        reach = np.zeros((2 * size, 6))
        nodes, leaves = cut_rows(low, high, split, LEAF, order, cut, children, reach, bounds)
        cut, children, bounds = cut[:nodes].copy(), children[:nodes].copy(), bounds[:leaves]
        low, high = low[order], high[order]
        inner = cut >= 0
        children[inner] += node
        children[~inner, 0] += leaf
        boxes = np.minimum.reduceat(low, bounds), np.maximum.reduceat(high, bounds)
        trees.append(
            (low, high, rows.copies[members[order]], cut, children, reach[:nodes].copy(), *boxes, bounds + begin)
        )
        node, leaf = node + nodes, leaf + leaves
    low, high, copies, cut, children, reach, leaf_low, leaf_high, bounds = map(np.concatenate, zip(*trees, strict=True))
    nodes_of = [len(tree[3]) for tree in trees]
    return Forest(
        low,
        high,
        copies,
        np.append(0, ends),
        patterns,
        (np.cumsum(nodes_of) - nodes_of).astype(np.int64),
        np.array([tree[6].min(axis=0) for tree in trees]),
        np.array([tree[7].max(axis=0) for tree in trees]),
        cut,
        np.ascontiguousarray(children[:, 0]),
        np.ascontiguousarray(children[:, 1]),
        reach,
        leaf_low,
        leaf_high,
        np.append(bounds, len(low)),
    )
