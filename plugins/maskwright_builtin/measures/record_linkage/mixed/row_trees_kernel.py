"""Compiled: distinct rows are cut into binary trees, one for each pattern of keys that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import compiled
from maskwright_builtin.numerics.spatial import select, widest_column

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


DEEPEST = 200
"""Cuts above a leaf, at most."""


class Forest(NamedTuple):
    """Distinct rows of the searched file: a binary tree for each pattern of keys that are there.

    A node knows only how far it and its two children reach on the key that it is cut by: the least cost of a child is
    that of the node with one term exchanged. Leaves know how far they reach on every key.

    `low`, `high`: from where to where each row reaches on each key, in the order of the leaves; 0 where missing; shape
    (r, d). `copies`: records with each row; shape (r,). `rows`: tree i has the rows from number i on; shape (p + 1,).
    `present`, `root`: of each tree: bit j, key j is there; its first node; shape (p,). `root_low`, `root_high`: shape
    (p, d). `cut`: the key a node is cut by, or -1 of a leaf; shape (nodes,). `first`, `second`: the children; of a leaf
    its number and -1; shape (nodes,). `reach`: on the key of the cut: from where to where the node, its first and its
    second child reach; shape (nodes, 6). `leaf_low`, `leaf_high`: shape (leaves, d). `bounds`: leaf i has the rows from
    bound i on; shape (leaves + 1,).
    """

    low: Floats
    high: Floats
    copies: Integers
    rows: Integers
    present: Integers
    root: Integers
    root_low: Floats
    root_high: Floats
    cut: Integers
    first: Integers
    second: Integers
    reach: Floats
    leaf_low: Floats
    leaf_high: Floats
    bounds: Integers


@compiled
def cut_rows(
    low: Floats,
    high: Floats,
    split: Floats,
    leaf: int,
    order: Integers,
    cut: Integers,
    children: Integers,
    reach: Floats,
    bounds: Integers,
) -> tuple[int, int]:
    """Cut rows into a tree, between two different values of the key on which they spread most.

    `low`, `high`: shape (r, d). `split`: factor of each key; shape (d,). `order`: 0, 1, ...; rearranged to the order of
    the leaves; shape (r,). `cut`: shape (2 r,). `children`: shape (2 r, 2). `reach`: shape (2 r, 6). `bounds`: written,
    as in `Forest`; shape (r + 1,).
    """
    rows, d = low.shape
    middles = (low + high) / 2.0
    keys = np.empty(rows)
    begin, end, parent = (
        np.empty(DEEPEST + 2, np.int64),
        np.empty(DEEPEST + 2, np.int64),
        np.empty(DEEPEST + 2, np.int64),
    )
    depth = np.zeros(DEEPEST + 2, np.int64)
    cell = np.empty((DEEPEST + 2, 2, d))
    begin[0], end[0], parent[0], height = 0, rows, -1, 1
    for j in range(d):
        cell[0, 0, j], cell[0, 1, j] = low[:, j].min(), high[:, j].max()
    nodes, leaves = 0, 0
    while height > 0:
        height -= 1
        first, last, up, deep = begin[height], end[height], parent[height], depth[height]
        node = nodes
        nodes += 1
        if up >= 0:
            # The first child is made directly after its node.
            children[up, 0 if up == node - 1 else 1] = node
        axis = widest_column(middles, order, first, last, split)
        smallest, largest = np.inf, -np.inf
        for at in range(first, last):
            keys[at] = middles[order[at], axis]
            smallest, largest = min(smallest, keys[at]), max(largest, keys[at])
        if last - first <= leaf or smallest == largest or deep >= DEEPEST:
            cut[node], children[node, 0], children[node, 1] = -1, leaves, -1
            bounds[leaves] = first
            leaves += 1
            continue
        middle = (first + last) // 2
        select(keys, order, first, last, middle)
        value, below, equal = keys[middle], 0, 0
        for at in range(first, last):
            below += keys[at] < value
            equal += keys[at] == value
        # Before the middle value or after it, whichever halves better; never between equal ones.
        after = below == 0 or (below + equal < last - first and 2 * below + equal < last - first)
        left, right = first, last - 1
        while left <= right:
            if keys[left] < value or (after and keys[left] == value):
                left += 1
            else:
                keys[left], keys[right] = keys[right], keys[left]
                order[left], order[right] = order[right], order[left]
                right -= 1
        cut[node] = axis
        reach[node, 0], reach[node, 1] = cell[height, 0, axis], cell[height, 1, axis]
        for side in range(2):
            a, b = (first, left) if side == 0 else (left, last)
            least, most = np.inf, -np.inf
            for at in range(a, b):
                least, most = min(least, low[order[at], axis]), max(most, high[order[at], axis])
            reach[node, 2 + 2 * side], reach[node, 3 + 2 * side] = least, most
        # The first child comes on top, so that it is the next node.
        for j in range(d):
            cell[height + 1, 0, j], cell[height + 1, 1, j] = cell[height, 0, j], cell[height, 1, j]
        for side in range(2):
            at = height + 1 - side
            begin[at], end[at] = (first, left) if side == 0 else (left, last)
            parent[at], depth[at] = node, deep + 1
            cell[at, 0, axis], cell[at, 1, axis] = reach[node, 2 + 2 * side], reach[node, 3 + 2 * side]
        height += 2
    bounds[leaves] = rows
    return nodes, leaves
