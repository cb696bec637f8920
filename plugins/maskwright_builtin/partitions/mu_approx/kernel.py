"""The loops of µ-Approx, compiled: the forest, and where it is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined
from maskwright_builtin.numerics.spatial import squared_distance

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@inlined
def root_of(above: Integers, record: int) -> int:
    """Root of the tree of a record, whose way up is halved.

    `above`: some record further up, itself at a root; written; shape (n,).
    """
    while above[record] != record:
        above[record] = above[above[record]]
        record = above[record]
    return record


@compiled
def grow_forest(
    points: Floats, k: int, first: int, last: int, above: Integers, sizes: Integers, parents: Integers, lengths: Floats
) -> None:
    """Join the trees of records ``first .. last - 1`` to others until each has k records.

    The root of a tree that is too small gets an edge to the nearest record of another tree; of several the first.

    `points`: n >= k rows; shape (n, p). `above`: as `root_of` has it; written; shape (n,). `sizes`: records of the tree
    of each root; written; shape (n,). `parents`: -1 at roots; written; shape (n,). `lengths`: squared lengths of the
    edges to the parents; written; shape (n,).
    """
    for record in range(first, last):
        root = root_of(above, record)
        while sizes[root] < k:
            nearest, distance = -1, np.inf
            for other in range(len(points)):
                squared = squared_distance(points, other, points[root])
                if squared < distance and root_of(above, other) != root:
                    nearest, distance = other, squared
            parents[root], lengths[root] = nearest, distance
            joined = root_of(above, nearest)
            above[root] = joined
            sizes[joined] += sizes[root]
            root = joined


@compiled
def leaves_first(parents: Integers) -> Integers:
    """Order in which every record comes before its parent; shape (n,).

    `parents`: -1 at roots; shape (n,).
    """
    n = len(parents)
    children = np.zeros(n, dtype=np.int64)
    for record in range(n):
        if parents[record] >= 0:
            children[parents[record]] += 1
    order = np.empty(n, dtype=np.int64)
    end = 0
    for record in range(n):
        if children[record] == 0:
            order[end] = record
            end += 1
    for place in range(n):
        parent = parents[order[place]]
        if parent >= 0:
            children[parent] -= 1
            if children[parent] == 0:
                order[end] = parent
                end += 1
    return order


@compiled
def measure_trees(parents: Integers, order: Integers, sizes: Integers, roots: Integers) -> None:
    """Count the records below each one, itself included, and find its root.

    `parents`: -1 at roots; shape (n,). `order`: as `leaves_first` gives it. `sizes`, `roots`: written; shape (n,).
    """
    sizes[:] = 1
    for record in order:
        if parents[record] >= 0:
            sizes[parents[record]] += sizes[record]
    for record in order[::-1]:
        parent = parents[record]
        roots[record] = record if parent < 0 else roots[parent]


@compiled
def cut_long_edges(parents: Integers, order: Integers, lengths: Floats, k: int) -> None:
    """Cut edges that leave k records on either side, the longest of each tree first, until there are none.

    `parents`: -1 at roots; written; shape (n,). `order`: as `leaves_first` gives it. `lengths`: of the edges; shape
    (n,).
    """
    n = len(parents)
    sizes, roots = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    while True:
        measure_trees(parents, order, sizes, roots)
        longest = np.full(n, -1, dtype=np.int64)
        cuts = 0
        for record in range(n):
            root = roots[record]
            if root != record and sizes[record] >= k and sizes[root] - sizes[record] >= k:
                best = longest[root]
                if best < 0:
                    cuts += 1
                if best < 0 or lengths[record] > lengths[best]:
                    longest[root] = record
        if cuts == 0:
            return
        for edge in longest:
            if edge >= 0:
                parents[edge] = -1


@compiled
def branches_of_stars(parents: Integers, order: Integers, lengths: Floats, k: int) -> tuple[Integers, Integers, Floats]:
    """Take trees of 2k records and more, which no edge cuts, apart at their centres.

    The centre is the record all of whose branches have fewer than k records; alone it is a branch as well. A smaller
    tree is one branch. Returns for each record its root, a record that names its branch, and how far (squared) that
    is from the centre, -1 for the centre; shape (n,) each.
    """
    n = len(parents)
    sizes, roots = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    measure_trees(parents, order, sizes, roots)
    centres = np.full(n, -1, dtype=np.int64)
    for record in order:
        root = roots[record]
        if sizes[root] >= 2 * k and sizes[record] >= k and centres[root] < 0:
            centres[root] = record
    branches, far = roots.copy(), np.zeros(n)
    for record in order[::-1]:
        centre = centres[roots[record]]
        if centre < 0:
            continue
        parent = parents[record]
        if record == centre:
            branches[record], far[record] = record, -1.0
        elif parent == centre:
            branches[record], far[record] = record, lengths[record]
        elif parent >= 0:
            branches[record], far[record] = branches[parent], far[parent]
    # The branch that leads up from the centre to the root is as far as the edge it hangs on.
    for record in range(n):
        centre = centres[roots[record]]
        if centre >= 0 and branches[record] == roots[record] and record != centre:
            far[record] = lengths[centre]
    return roots, branches, far


@compiled
def label_branches(roots: Integers, branches: Integers, by_branch: Integers, k: int, labels: Integers) -> None:
    """Put branches of one tree together, in order, to clusters of k records and more.

    `by_branch`: records ordered by root and branch, so that branches follow each other; shape (n,). `labels`: written;
    shape (n,).
    """
    n = len(roots)
    left = np.zeros(n, dtype=np.int64)
    for record in range(n):
        left[roots[record]] += 1
    label, size, place = -1, 0, 0
    while place < n:
        root, branch = roots[by_branch[place]], branches[by_branch[place]]
        if place == 0 or roots[by_branch[place - 1]] != root or (size >= k and left[root] >= k):
            label, size = label + 1, 0
        while place < n and roots[by_branch[place]] == root and branches[by_branch[place]] == branch:
            labels[by_branch[place]] = label
            size += 1
            left[root] -= 1
            place += 1
