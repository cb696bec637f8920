"""Search of the lattice of generalisations for the node that fulfils the criteria at the least loss."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from maskwright import Progress
    from maskwright_builtin.methods.class_criteria import Criteria
    from maskwright_builtin.methods.generalisation.hierarchy_levels import CellLoss, Discernibility, Key, Rows
    from maskwright_builtin.numerics.arrays import Booleans, Integers


MOST_NODES = 100_000
"""Nodes up to which every one is looked at or ruled out."""


class Lattice:
    """Nodes of a lattice, numbered in lexicographic order.

    `sizes`: how many levels each key has.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = np.array(sizes, dtype=np.int64)
        self.steps = np.append(np.cumprod(self.sizes[:0:-1])[::-1], 1).astype(np.int64)
        self.count = int(np.prod(self.sizes, dtype=object))

    def levels(self) -> Integers:
        """Position of the level of each key in each node; shape (nodes, q)."""
        return np.asarray(np.arange(self.count)[:, None] // self.steps % self.sizes, dtype=np.int64)

    def number(self, node: Sequence[int]) -> int:
        """Number of a node."""
        return int(np.dot(np.array(node, dtype=np.int64), self.steps))

    def above(self, node: Sequence[int]) -> list[tuple[int, ...]]:
        """Nodes one level higher in one key."""
        return [(*node[:j], node[j] + 1, *node[j + 1 :]) for j in range(len(node)) if node[j] + 1 < int(self.sizes[j])]

    def below(self, node: Sequence[int]) -> list[tuple[int, ...]]:
        """Nodes one level lower in one key."""
        return [(*node[:j], node[j] - 1, *node[j + 1 :]) for j in range(len(node)) if node[j] > 0]

    @property
    def top(self) -> tuple[int, ...]:
        """The node of the highest levels."""
        return tuple((self.sizes - 1).tolist())


Node = tuple[int, ...]

SAME = 1e-12
"""Relative difference up to which two losses are equal: their terms are summed in another order."""

MOST_KEPT = 2**28
"""Bytes of rows of nodes that are kept, to make those above them of."""

FEWER = 8
"""By how much fewer combinations of categories such a node has than the one before it."""

SHARED_FROM = 20_000
"""Rows from which a node is not made of them alone, but by way of nodes that others are made of too."""

WIDTH = 8
"""Nodes that the search of a large lattice goes on from, level by level."""


@dataclass(frozen=True)
class Evaluated:
    """What a node is found to be.

    `passes`: whether there are not too many outliers, by the criteria that are monotone. `fulfils`: whether it may be
    published: by all criteria, and the emptied records as a class of their own. `bound`: which no node above has a
    lower loss than.
    """

    node: Node
    passes: bool
    fulfils: bool
    loss: float
    bound: float


@dataclass(frozen=True)
class Found:
    """The best node, how many were evaluated, and whether every other one was looked at or ruled out."""

    best: Evaluated
    evaluated: int
    is_certain: bool


class Evaluator:
    """Evaluates nodes, each from the smallest known set of rows below it."""

    def __init__(
        self, keys: Sequence[Key], rows: Rows, criteria: Criteria, loss: CellLoss | Discernibility, most_emptied: int
    ) -> None:
        self.keys, self.criteria, self.loss, self.most_emptied = keys, criteria, loss, most_emptied
        self._n = int(rows.counts.sum())
        self.count = 0
        leaf = replace(rows, of_leaf=np.arange(len(rows.counts), dtype=np.int32))
        self._bottom: Node = (0,) * len(keys)
        self._leaf = leaf
        self._widest_first = sorted(range(len(keys)), key=lambda j: -len(keys[j].leaves))
        self._known: dict[Node, Rows] = {}
        self._by_size: list[tuple[int, Node]] = []
        self._kept = 0

    @property
    def _most_classes(self) -> int:
        """Of more classes than these, too many have fewer than k records."""
        if self.criteria.of_people:
            return len(self._leaf.counts)
        return self._n // self.criteria.k + self.most_emptied

    def better_than(self, loss: float) -> None:
        """From now on, nodes with so many outliers that they cost more than this have too many."""
        most = self.loss.most_emptied(loss * (1 + SAME))
        if most is not None:
            self.most_emptied = min(self.most_emptied, most)

    def rows_on(self, node: Node) -> Rows:
        """Classes of a node, or some of them where they are too many; `of_leaf` only where a criterion needs it."""
        low, source = self._nearest(node)
        if low == node:
            return source
        if len(source.counts) > SHARED_FROM:
            low, source = self._shared(node, low, source)
        return self._made(node, low, source, self._most_classes)

    def _nearest(self, node: Node) -> tuple[Node, Rows]:
        """The fewest rows that are known at or below a node."""
        for _, other in self._by_size:
            if all(a <= b for a, b in zip(other, node, strict=True)):
                return other, self._known[other]
        return self._bottom, self._leaf

    def _shared(self, node: Node, low: Node, source: Rows) -> tuple[Node, Rows]:
        """Rows that are the same for many nodes: those on the levels of the keys with the most categories alone."""
        via, share = low, 1.0
        for j in self._widest_first:
            share *= len(self.keys[j].counts[node[j]]) / len(self.keys[j].counts[via[j]])
            via = (*via[:j], node[j], *via[j + 1 :])
            if share > 1 / FEWER or via == node:
                continue
            nearest, rows = self._nearest(via)
            low, source = (via, rows) if nearest == via else (via, self._made(via, nearest, rows))
            share = 1.0
        return low, source

    def _made(self, node: Node, low: Node, source: Rows, most: int | None = None) -> Rows:
        """Rows of a node from those of one below it."""
        maps = [key.between(a, b) for key, a, b in zip(self.keys, low, node, strict=True)]
        found = source.on(maps, most)
        if most is not None and len(found.counts) > most:
            return found
        of_leaf = found.of_leaf[source.of_leaf] if self.criteria.of_leaves else np.zeros(0, dtype=np.int32)
        found = replace(found, of_leaf=of_leaf)
        self._keep(node, found)
        return found

    def _keep(self, node: Node, rows: Rows) -> None:
        self._known[node] = rows
        insort(self._by_size, (len(rows.counts), node))
        self._kept += rows.bytes
        while len(self._known) > 1 and self._kept > MOST_KEPT:
            oldest = next(iter(self._known))
            gone = self._known.pop(oldest)
            self._by_size.remove((len(gone.counts), oldest))
            self._kept -= gone.bytes

    def emptied(self, rows: Rows) -> Booleans:
        """Classes of a node whose keys are emptied; those without any key are among them where there are others."""
        failing = self.criteria.too_small(rows)
        failing |= self.criteria.uniform(rows, monotone=True)
        failing |= self.criteria.uniform(rows, monotone=False)
        return _with_blank(rows, failing | self.criteria.riskiest(rows, failing))

    def evaluate(self, node: Node) -> Evaluated:
        """Count the outliers of a node, and what it costs."""
        self.count += 1
        rows = self.rows_on(node)
        if len(rows.counts) > self._most_classes:
            return Evaluated(node, passes=False, fulfils=False, loss=np.inf, bound=-np.inf)
        bound = self.loss.loss(node, rows, np.zeros(len(rows.counts), dtype=np.bool_))
        failing = self.criteria.too_small(rows)
        if not self._too_many(rows, failing):
            failing |= self.criteria.uniform(rows, monotone=True)
        if self._too_many(rows, failing) or self._too_many(rows, failing | self.criteria.at_risk(rows), at_risk=True):
            return Evaluated(node, passes=False, fulfils=False, loss=np.inf, bound=bound)
        failing |= self.criteria.uniform(rows, monotone=False)
        failing |= self.criteria.riskiest(rows, failing)
        if self._too_many(rows, failing):
            return Evaluated(node, passes=self.most_emptied > 0, fulfils=False, loss=np.inf, bound=bound)
        emptied = _with_blank(rows, failing)
        fulfils = self.criteria.fulfilled_together(rows, emptied)
        return Evaluated(node, passes=True, fulfils=fulfils, loss=self.loss.loss(node, rows, emptied), bound=bound)

    def failing_records(self, node: Node) -> tuple[dict[str, int], int, bool]:
        """Records in classes of a node that fail each criterion, or any; whether these, emptied, fulfil them as one."""
        rows = self._leaf.on([key.between(0, level) for key, level in zip(self.keys, node, strict=True)])
        failing = self.criteria.failing(rows)
        emptied = self.emptied(rows)
        by_criterion = {name: int(rows.counts[each].sum()) for name, each in failing.items()}
        return by_criterion, int(rows.counts[emptied].sum()), self.criteria.fulfilled_together(rows, emptied)

    def _too_many(self, rows: Rows, failing: Booleans, *, at_risk: bool = False) -> bool:
        return int(rows.counts[failing].sum()) > self.most_emptied + at_risk * self.criteria.most_above


def _with_blank(rows: Rows, failing: Booleans) -> Booleans:
    if not failing.any():
        return failing
    return np.asarray(failing | (rows.codes == rows.blanks).all(axis=1), dtype=np.bool_)


def best_node(evaluator: Evaluator, lattice: Lattice, progress: Progress) -> Found | None:
    """Find the node of the lowest loss that fulfils the criteria; of equal ones the first in lexicographic order."""
    if lattice.count > MOST_NODES:
        return _best_of_beam(evaluator, lattice, progress)
    return _Search(evaluator, lattice).run(progress)


class _Search:
    """Every node is evaluated, or ruled out by another."""

    def __init__(self, evaluator: Evaluator, lattice: Lattice) -> None:
        self._evaluator, self._lattice = evaluator, lattice
        self._levels = lattice.levels()
        self._bounds = evaluator.loss.bounds(self._levels)
        self._open = np.ones(lattice.count, dtype=np.bool_)
        self._passes = np.zeros(lattice.count, dtype=np.bool_)
        self._best: Evaluated | None = None

    def run(self, progress: Progress) -> Found | None:
        """Take nodes by their bounds until none can be better."""
        while True:
            number = self._next()
            if number is None:
                break
            progress(min(1.0 - float(self._open.mean()), 0.99))
            if self._passes[number]:
                self._evaluate_node(number)
            else:
                self._bisect(self._path(number))
        return None if self._best is None else Found(self._best, self._evaluator.count, is_certain=True)

    def _next(self) -> int | None:
        """The open node of the lowest bound that may be better than the best; the first of equal ones."""
        candidates = self._open
        if self._best is not None:
            candidates = candidates & self._may_be_better()
        found = np.flatnonzero(candidates)
        return int(found[np.argmin(self._bounds[found])]) if len(found) else None

    def _may_be_better(self) -> Booleans:
        assert self._best is not None
        slack = SAME * max(abs(self._best.loss), SAME)
        number = self._lattice.number(self._best.node)
        equal = (self._bounds <= self._best.loss + slack) & (np.arange(self._lattice.count) < number)
        return np.asarray((self._bounds < self._best.loss - slack) | equal, dtype=np.bool_)

    def _path(self, number: int) -> list[int]:
        """Nodes from this one upward, each the one of the lowest bound that is open, up to one known to pass."""
        path = [number]
        while not self._passes[path[-1]]:
            node = self._levels[path[-1]].tolist()
            above = [each for each in map(self._lattice.number, self._lattice.above(node)) if self._open[each]]
            if not above:
                break
            path.append(min(above, key=lambda each: (self._bounds[each], each)))
        return path

    def _bisect(self, path: Sequence[int]) -> None:
        """Find the lowest node of a path that passes, and rule out what follows from it."""
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            if self._evaluate_node(path[middle]):
                high = middle - 1
            else:
                low = middle + 1

    def _evaluate_node(self, number: int) -> bool:
        """Evaluate a node unless that was done; whether it passes."""
        if not self._open[number]:
            return bool(self._passes[number])
        found = self._evaluator.evaluate(tuple(self._levels[number].tolist()))
        self._open[number] = False
        levels = self._levels[number]
        higher = (self._levels >= levels).all(axis=1)
        self._bounds[higher] = np.maximum(self._bounds[higher], found.bound)
        if found.passes:
            self._passes |= higher
        else:
            self._open &= ~(self._levels <= levels).all(axis=1)
        if found.fulfils and (self._best is None or is_better(found, self._best)):
            self._best = found
            self._evaluator.better_than(found.loss)
        return found.passes


def is_better(one: Evaluated, other: Evaluated) -> bool:
    """Whether a node costs less than another, or as much and is the first in lexicographic order."""
    slack = SAME * max(abs(other.loss), SAME)
    if abs(one.loss - other.loss) <= slack:
        return one.node < other.node
    return one.loss < other.loss


def _best_of_beam(evaluator: Evaluator, lattice: Lattice, progress: Progress) -> Found | None:
    """Go down from the top, level by level, from the few passing nodes of the lowest bounds."""
    top = evaluator.evaluate(lattice.top)
    if not top.passes:
        return None
    best = top if top.fulfils else None
    beam, seen = [top], {top.node}
    height = sum(lattice.top)
    for depth in range(height):
        progress(depth / height)
        below = {node for each in beam for node in lattice.below(each.node)} - seen
        seen |= below
        found = [evaluator.evaluate(node) for node in _cheapest(evaluator, below)]
        beam = sorted((each for each in found if each.passes), key=lambda each: (each.bound, each.node))[:WIDTH]
        for each in beam:
            if each.fulfils and (best is None or is_better(each, best)):
                best = each
        if not beam:
            break
    return None if best is None else Found(best, evaluator.count, is_certain=False)


def _cheapest(evaluator: Evaluator, nodes: Iterable[Node]) -> list[Node]:
    """Nodes by their bounds; at most as many as the beam can have neighbours worth a look."""
    listed = sorted(nodes)
    bounds = evaluator.loss.bounds(np.array(listed, dtype=np.int64).reshape(len(listed), -1))
    return [listed[place] for place in np.argsort(bounds, kind="stable")[: 4 * WIDTH].tolist()]
