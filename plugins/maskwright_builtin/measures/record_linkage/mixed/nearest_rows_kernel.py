"""Compiled: the nearest rows over keys of any type, among trees of rows with the same keys missing.

Small trees are many where cells are missing here and there. Instead of walking down each of them for each query, the
rows of one are put into a hash table by the keys that a near row must have equal.
"""

# Elements of arrays are arrays to it.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.key_counts.counting_kernel import SPREAD
from maskwright_builtin.measures.record_linkage.mixed.row_costs_kernel import Costs, cost_of, gap_between, least_cost_of
from maskwright_builtin.measures.record_linkage.mixed.row_trees_kernel import DEEPEST, Forest
from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


ROWS_A_QUERY = 4
"""A tree with more rows than so many times the queries is walked: making a table of it would take longer."""
SMALL = 64
"""Rows that are visited one by one rather than walking down their tree."""


class Exact(NamedTuple):
    """Keys on which all rows are points, and what a query loses at least on a row that is not equal there.

    `keys`: bits of the keys by which rows are put into tables; the second is a part of the first, of keys on which rows
    lose more; shape (2,). `apart`: the least cost of two different values; shape (d,).
    """

    keys: Integers
    apart: Floats


@inlined
def _mark(bits: int, key: int) -> int:
    """A number of a value of a key; those of several keys are added up."""
    mixed = bits * SPREAD
    mixed ^= (mixed >> np.int64(32)) & np.int64(0xFFFFFFFF)
    mixed *= SPREAD + np.int64(2) * key
    return int(mixed ^ ((mixed >> np.int64(29)) & np.int64(0x7FFFFFFFF)))


@inlined
def _slot(mark: int, last: int) -> int:
    mixed = mark * SPREAD
    return int(((mixed >> np.int64(32)) & np.int64(0xFFFFFFFF)) & last)


@compiled
def _tabulate(bits: Integers, begin: int, end: int, keys: int, starts: Integers, rows: Integers) -> int:
    """Sort the rows from `begin` to `end` by the slots of their values; the number of the last slot."""
    d = bits.shape[1]
    last = 1
    while last < end - begin:
        last *= 2
    last -= 1
    slots = np.empty(end - begin, np.int64)
    starts[: last + 2] = 0
    for row in range(begin, end):
        mark = 0
        for j in range(d):
            if keys >> j & 1:
                mark += _mark(bits[row, j], j)
        slot = _slot(mark, last)
        slots[row - begin] = slot
        starts[slot + 1] += 1
    for slot in range(last + 1):
        starts[slot + 1] += starts[slot]
    for at in range(end - begin - 1, -1, -1):
        slot = slots[at]
        starts[slot + 1] -= 1
        rows[starts[slot + 1]] = begin + at
    # Each start has moved to the start of the slot before it.
    for slot in range(last + 1):
        starts[slot] = starts[slot + 1]
    starts[last + 1] = end - begin
    return last


@compiled
def _visit(
    low: Floats,
    high: Floats,
    i: int,
    forest: Forest,
    rows: Integers,
    begin: int,
    end: int,
    shared: Integers,
    keys: int,
    rest: Floats,
    factor: float,
    costs: Costs,
    limit: float,
    total: int,
) -> tuple[float, int]:
    """The least cost and its ties, with some rows visited one by one."""
    for at in range(begin, end):
        row = rows[at]
        cost = 0.0
        for s in range(keys):
            j = shared[s]
            cost += cost_of(gap_between(low[j], high[j], forest.low[row, j], forest.high[row, j]), i, j, costs)
            if (cost + rest[s + 1]) * factor > limit:
                break
        else:
            cost = (cost + rest[keys]) * factor
            if cost < limit:
                limit, total = cost, forest.copies[row]
            else:
                total += forest.copies[row]
    return limit, total


@compiled
def _walk(
    low: Floats,
    high: Floats,
    i: int,
    forest: Forest,
    pattern: int,
    common: int,
    shared: Integers,
    keys: int,
    rest: Floats,
    factor: float,
    costs: Costs,
    waiting: Integers,
    least: Floats,
    limit: float,
    total: int,
) -> tuple[float, int]:
    """The least cost and its ties, with those rows of a tree visited that can be near enough."""
    base, bound = rest[keys], 0.0
    for s in range(keys):
        j = shared[s]
        gap = gap_between(low[j], high[j], forest.root_low[pattern, j], forest.root_high[pattern, j])
        bound += least_cost_of(gap, i, j, costs)
    waiting[0], least[0], height = forest.root[pattern], base + bound, 1
    while height > 0:
        height -= 1
        if least[height] * factor > limit:
            continue
        node, bound = waiting[height], least[height]
        j = int(forest.cut[node])
        if j >= 0:
            own, one, other = bound, bound, bound
            if common >> j & 1:
                a, b, reach = low[j], high[j], forest.reach[node]
                own = bound - least_cost_of(gap_between(a, b, reach[0], reach[1]), i, j, costs)
                one = own + least_cost_of(gap_between(a, b, reach[2], reach[3]), i, j, costs)
                other = own + least_cost_of(gap_between(a, b, reach[4], reach[5]), i, j, costs)
            nearer, farther = forest.first[node], forest.second[node]
            # The nearer child is taken up next: one nearer row ends the search early.
            if other < one:
                one, other = other, one
                nearer, farther = farther, nearer
            if other * factor <= limit:
                waiting[height], least[height] = farther, other
                height += 1
            if one * factor <= limit:
                waiting[height], least[height] = nearer, one
                height += 1
            continue
        leaf = int(forest.first[node])
        cost = base
        for s in range(keys):
            j = shared[s]
            gap = gap_between(low[j], high[j], forest.leaf_low[leaf, j], forest.leaf_high[leaf, j])
            cost += least_cost_of(gap, i, j, costs)
        if cost * factor > limit:
            continue
        for row in range(forest.bounds[leaf], forest.bounds[leaf + 1]):
            cost = 0.0
            for s in range(keys):
                j = shared[s]
                cost += cost_of(gap_between(low[j], high[j], forest.low[row, j], forest.high[row, j]), i, j, costs)
                if (cost + rest[s + 1]) * factor > limit:
                    break
            else:
                cost = (cost + base) * factor
                if cost < limit:
                    limit, total = cost, forest.copies[row]
                else:
                    total += forest.copies[row]
    return limit, total


@compiled
def search(
    low: Floats,
    high: Floats,
    present: int,
    begin: int,
    forest: Forest,
    exact: Exact,
    costs: Costs,
    best: Floats,
    ties: Integers,
) -> None:
    """The least cost of each query, and how many records have it.

    `low`, `high`: a part of the queries, from `begin` on of all; shape (q, d). `best`: a cost that no best one exceeds,
    infinite where none is known; written. Infinite after it: no row has a key in common; shape (q,). `ties`: written;
    shape (q,).
    """
    queries, d = low.shape
    waiting, bounds = np.empty(DEEPEST + 2, np.int64), np.empty(DEEPEST + 2)
    shared, rest = np.empty(d, np.int64), np.empty(d + 1)
    bits, target_bits = low.view(np.int64), forest.low.view(np.int64)
    least, marks, lift = np.empty((queries, d)), np.empty((queries, d), np.int64), np.full((queries, 2), np.inf)
    for q in range(queries):
        for j in range(d):
            least[q, j] = least_cost_of(0.0, begin + q, j, costs)
            marks[q, j] = _mark(bits[q, j], j)
            for table in range(2):
                if (exact.keys[table] & present) >> j & 1:
                    lift[q, table] = min(lift[q, table], exact.apart[j] - least[q, j])
    most = ROWS_A_QUERY * queries
    largest = 0
    for pattern in range(forest.present.shape[0]):
        size = forest.rows[pattern + 1] - forest.rows[pattern]
        if size <= most:
            largest = max(largest, size)
    starts, rows = np.empty((2, 2 * largest + 2), np.int64), np.empty((2, largest), np.int64)
    ends = np.zeros(2, np.int64)
    ties[:] = 0
    # One tree after another: it stays in the cache while all queries of the part are looked up in it.
    for pattern in range(forest.present.shape[0]):
        common = present & forest.present[pattern]
        if common == 0:
            continue
        keys, base = 0, 0.0
        for j in range(d):
            if common >> j & 1:
                shared[keys] = j
                keys += 1
            else:
                base += costs.gone[j]
        factor = costs.factor[keys]
        first, end = forest.rows[pattern], forest.rows[pattern + 1]
        tabled = end - first <= most
        if tabled:
            for table in range(2):
                ends[table] = _tabulate(target_bits, first, end, exact.keys[table] & common, starts[table], rows[table])
        for q in range(queries):
            # What the keys from s on cost at least: rows are given up as soon as the sum cannot stay in the limit.
            rest[keys] = base
            for s in range(keys - 1, -1, -1):
                rest[s] = rest[s + 1] + least[q, shared[s]]
            limit, i = best[q], begin + q
            if rest[0] * factor > limit:
                continue
            done = False
            if tabled:
                for table in range(2):
                    # A row that differs on one of the keys is too far.
                    if (rest[0] + lift[q, table]) * factor <= limit:
                        continue
                    mark = 0
                    for s in range(keys):
                        if exact.keys[table] >> shared[s] & 1:
                            mark += marks[q, shared[s]]
                    slot = _slot(mark, ends[table])
                    a, b = starts[table, slot], starts[table, slot + 1]
                    if b - a <= SMALL:
                        if b > a:
                            best[q], ties[q] = _visit(
                                low[q], high[q], i, forest, rows[table], a, b, shared, keys, rest, factor, costs,
                                limit, ties[q],
                            )  # fmt: skip
                        done = True
                        break
            if not done:
                best[q], ties[q] = _walk(
                    low[q], high[q], i, forest, pattern, common, shared, keys, rest, factor, costs, waiting, bounds,
                    limit, ties[q],
                )  # fmt: skip
    for q in range(queries):
        if ties[q] == 0:
            best[q] = np.inf
