"""Growing and applying a tree, compiled.

Both kinds of tree look for the same thing: with s_k the sums of a part of the records over k = 1..c channels and w its
weight, the split with the largest ``sum s_k^2 / w`` on both sides together. For classification s_k is the weight of
class k, and that is the least Gini impurity; for regression the one channel holds the numbers, and it is the least
variance.

What the records of a node add up to is one table for all predictors: a row for each code of each, with the number of
records, their weight, and their sums by channel. Rows of records are moved along with their nodes, so that a node lies
in one piece of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import NONE, ZERO, compiled
from maskwright_builtin.numerics.trees.tree import LEAF

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32


POWER_STEPS = 12
"""Steps towards the first principal component of the class shares: an order of categories needs no more."""
RECORDS, WEIGHT, CHANNELS = 0, 1, 2
"""Columns of the table."""
UNKNOWN = 2
"""Side of a code that no record of a node has."""


@compiled
def best_cut(
    line: Integers, table: Floats, total: Floats, active: Integers, left: Floats, min_leaf: int, tolerance: float
) -> tuple[float, int]:
    """Score and number of codes on the left of the best cut of a line of codes; 0 on the left when there is none.

    `line`: codes in the order in which they are tried; shape (c,). `table`: what the records of a node add up to, by
    code; shape (size, 2 + channels). `total`: and all together; shape (2 + channels,). `left`: written; shape (2 +
    channels,).
    """
    left[:] = 0.0
    best, where = -np.inf, ZERO
    for position in range(line.shape[0] - 1):
        row = table[line[position]]
        left[RECORDS] += row[RECORDS]
        left[WEIGHT] += row[WEIGHT]
        for column in active:
            left[column] += row[column]
        if left[RECORDS] < min_leaf:
            continue
        if total[RECORDS] - left[RECORDS] < min_leaf:
            break
        right_weight = total[WEIGHT] - left[WEIGHT]
        if left[WEIGHT] <= 0.0 or right_weight <= 0.0:
            continue
        on_left, on_right = 0.0, 0.0
        for column in active:
            on_left += left[column] ** 2
            on_right += (total[column] - left[column]) ** 2
        score = on_left / left[WEIGHT] + on_right / right_weight
        if score > best + tolerance:
            best, where = score, position + 1
    return best, where


@compiled
def ordered_categories(line: Integers, table: Floats, total: Floats, active: Integers) -> Integers:
    """Codes in the order in which the best split of them is sought; parameters as those of `best_cut`.

    By mean, or share of the second class: then the best of all splits is a cut (Breiman et al. 1984). With more classes
    by the first principal component of the shares (Coppersmith, Hong and Hosking 1999).
    """
    many, channels = line.shape[0], active.shape[0]
    shares = np.zeros((many, channels))
    weight = np.zeros(many)
    farthest, start = -1.0, ZERO
    for position in range(many):
        row = table[line[position]]
        weight[position] = row[WEIGHT]
        if row[WEIGHT] <= 0.0:
            continue
        apart = 0.0
        for channel in range(channels):
            share = row[active[channel]] / row[WEIGHT] - total[active[channel]] / total[WEIGHT]
            shares[position, channel] = share
            apart += share * share
        if apart * row[WEIGHT] > farthest:
            farthest, start = apart * row[WEIGHT], position
    if channels <= 2:
        return line[np.argsort(shares[:, channels - 1], kind="mergesort")]
    # From the category that lies farthest from the mean: a start with something of the component in it.
    direction = shares[start].copy()
    following = np.zeros(channels)
    for _ in range(POWER_STEPS):
        following[:] = 0.0
        for position in range(many):
            along = 0.0
            for channel in range(channels):
                along += shares[position, channel] * direction[channel]
            for channel in range(channels):
                following[channel] += weight[position] * along * shares[position, channel]
        length = np.sqrt(np.sum(following * following))
        if length == 0.0:
            break
        direction[:] = following / length
    key = np.zeros(many)
    for position in range(many):
        for channel in range(channels):
            key[position] += direction[channel] * shares[position, channel]
    return line[np.argsort(key, kind="mergesort")]


@compiled
def tabulate(
    rows: NDArray[np.uint16], classes: Integers, amounts: Floats, weights: Floats, offsets: Integers, table: Floats
) -> None:
    """Add up the records of a node by the codes of every predictor; `table` is written."""
    for record in range(rows.shape[0]):
        column, amount, weight = CHANNELS + classes[record], amounts[record], weights[record]
        for j in range(rows.shape[1]):
            at = offsets[j] + rows[record, j]
            table[at, RECORDS] += 1.0
            table[at, WEIGHT] += weight
            table[at, column] += amount


@compiled
def present_codes(column: NDArray[np.uint16], table: Floats, line: Integers) -> int:
    """Codes that records of a node have, in ascending order in `line`, and how many."""
    many = ZERO
    if column.shape[0] >= table.shape[0]:
        for code in range(table.shape[0]):
            if table[code, RECORDS] > 0.0:
                line[many] = code
                many += 1
        return many
    for record in range(column.shape[0]):
        code = column[record]
        if table[code, RECORDS] > 0.0:
            # Marked as seen: numbers of records come back below.
            table[code, RECORDS] = -table[code, RECORDS]
            line[many] = code
            many += 1
    line[:many].sort()
    for position in range(many):
        table[line[position], RECORDS] = -table[line[position], RECORDS]
    return many


@compiled
def settle_sides(side: NDArray[np.uint8], nominal: bool, larger: int) -> None:
    """Say where codes go that no record of the node has; `side` is written.

    An ordered code goes with the nearest below it, or above it where there is none; missing cells and categories go
    with the most records.
    """
    last = side.shape[0] - 1
    if side[last] == UNKNOWN:
        side[last] = larger
    if nominal:
        for code in range(last):
            if side[code] == UNKNOWN:
                side[code] = larger
        return
    known = larger
    for code in range(last - 1, -1, -1):
        if side[code] != UNKNOWN:
            known = side[code]
    for code in range(last):
        if side[code] == UNKNOWN:
            side[code] = known
        known = side[code]


@compiled
def grow(
    rows: NDArray[np.uint16],
    sizes: Integers,
    nominal: Booleans,
    classes: Integers,
    amounts: Floats,
    weights: Floats,
    squares: Floats,
    channels: int,
    min_leaf: int,
    complexity: float,
    max_depth: int,
) -> tuple[
    Integers32,
    Integers32,
    Integers32,
    Integers,
    NDArray[np.uint8],
    Integers,
    Floats,
]:
    """Grow a tree, before pruning.

    `rows`: Codes; written, as are the four of each record; shape (n, p). `sizes`, `nominal`: shape (p,). `classes`:
    channel of each record; shape (n,). `amounts`, `weights`, `squares`: what a record adds to its channel, its weight,
    and its own part of the impurity; shape (n,). Returns feature is -1 for leaves; the children are `first_child` and
    the node after it; where the sides of a node's codes begin; 1 for a code that goes to the second child; of the
    records of a node, in total; shape (nodes,).
    """
    n, p = rows.shape
    most = max(1, 2 * (n // min_leaf) + 1)
    feature = np.full(most, LEAF, dtype=np.int32)
    first_child = np.full(most, LEAF, dtype=np.int32)
    parent = np.full(most, LEAF, dtype=np.int32)
    depth = np.zeros(most, dtype=np.int32)
    first_side = np.zeros(most, dtype=np.int64)
    sides = np.zeros(1024, dtype=np.uint8)
    impurity = np.zeros(most)
    start, stop = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    stop[0] = n
    used, nodes = ZERO, ZERO + 1

    kept_rows, kept_classes = np.empty((n, p), dtype=np.uint16), np.empty(n, dtype=np.int64)
    kept_amounts, kept_weights, kept_squares = np.empty(n), np.empty(n), np.empty(n)
    offsets = np.cumsum(sizes) - sizes
    table = np.zeros((np.sum(sizes), CHANNELS + channels))
    total, left = np.zeros(CHANNELS + channels), np.zeros(CHANNELS + channels)
    line = np.empty(np.max(sizes), dtype=np.int64)
    turned, best_line = np.empty_like(line), np.empty_like(line)
    least, tolerance = 0.0, 0.0

    # Nodes are taken in the order of their numbers: children come after their parents.
    node = ZERO
    while node < nodes:
        a, b = start[node], stop[node]
        total[:] = 0.0
        total[RECORDS] = b - a
        square = 0.0
        for i in range(a, b):
            total[CHANNELS + classes[i]] += amounts[i]
            total[WEIGHT] += weights[i]
            square += squares[i]
        here = np.sum(total[CHANNELS:] ** 2) / total[WEIGHT] if total[WEIGHT] > 0.0 else 0.0
        impurity[node] = max(0.0, square - here)
        if node == 0:
            least, tolerance = complexity * impurity[0], 1e-12 * impurity[0]
        if impurity[node] <= least or b - a < 2 * min_leaf or depth[node] >= max_depth:
            node += 1
            continue
        # The sum of numbers may be 0; a class without weight has no record.
        active = CHANNELS + (np.flatnonzero(total[CHANNELS:]) if channels > 1 else np.arange(1))
        best, best_feature, best_cut_at, best_many = here + tolerance, NONE, ZERO, ZERO
        tabulate(rows[a:b], classes[a:b], amounts[a:b], weights[a:b], offsets, table)
        for j in range(p):
            own = table[offsets[j] : offsets[j] + sizes[j]]
            many = present_codes(rows[a:b, j], own, line)
            for turn in range(2):
                tried = line[:many]
                if nominal[j]:
                    if turn == 0 and many > 1:
                        tried = ordered_categories(tried, own, total, active)
                    else:
                        continue
                elif turn == 1:
                    # Missing cells, which come last, are tried on the other side.
                    if many < 3 or line[many - 1] < sizes[j] - 1:
                        continue
                    turned[0] = line[many - 1]
                    turned[1:many] = line[: many - 1]
                    tried = turned[:many]
                score, cut = best_cut(tried, own, total, active, left, min_leaf, tolerance)
                if cut > 0 and score > best + tolerance:
                    best, best_feature, best_cut_at, best_many = score, j, cut, many
                    best_line[:many] = tried
            for position in range(many):
                own[line[position], :] = 0.0
        if best_feature >= 0:
            size = sizes[best_feature]
            while used + size > sides.shape[0]:
                sides = np.concatenate((sides, np.zeros(sides.shape[0], dtype=np.uint8)))
            side = sides[used : used + size]
            side[:] = UNKNOWN
            for position in range(best_many):
                side[best_line[position]] = 0 if position < best_cut_at else 1
            # The records of a node stay in their order: first ones move up, the others wait and follow.
            first, second = a, ZERO
            for i in range(a, b):
                if side[rows[i, best_feature]] == 1:
                    for j in range(p):
                        kept_rows[second, j] = rows[i, j]
                    kept_classes[second], kept_amounts[second] = classes[i], amounts[i]
                    kept_weights[second], kept_squares[second] = weights[i], squares[i]
                    second += 1
                else:
                    for j in range(p):
                        rows[first, j] = rows[i, j]
                    classes[first], amounts[first] = classes[i], amounts[i]
                    weights[first], squares[first] = weights[i], squares[i]
                    first += 1
            rows[first:b], classes[first:b] = kept_rows[:second], kept_classes[:second]
            amounts[first:b], weights[first:b] = kept_amounts[:second], kept_weights[:second]
            squares[first:b] = kept_squares[:second]
            settle_sides(side, nominal[best_feature], 1 if 2 * second > b - a else 0)
            feature[node], first_child[node], first_side[node] = best_feature, nodes, used
            used += size
            for child in range(nodes, nodes + 2):
                parent[child], depth[child] = node, depth[node] + 1
            start[nodes], stop[nodes], start[nodes + 1], stop[nodes + 1] = a, first, first, b
            nodes += 2
        node += 1
    records = stop[:nodes] - start[:nodes]
    return (
        feature[:nodes],
        first_child[:nodes],
        parent[:nodes],
        first_side[:nodes],
        sides[:used],
        records,
        impurity[:nodes],
    )


@compiled
def apply(
    codes: NDArray[np.uint16],
    feature: Integers32,
    first_child: Integers32,
    first_side: Integers,
    sides: NDArray[np.uint8],
) -> Integers32:
    """Leaf of each record; shape (n,).

    `codes`: shape (p, n).
    """
    n = codes.shape[1]
    leaf = np.zeros(n, dtype=np.int32)
    for record in range(n):
        node = ZERO
        while feature[node] != LEAF:
            node = first_child[node] + sides[first_side[node] + codes[feature[node], record]]
        leaf[record] = node
    return leaf
