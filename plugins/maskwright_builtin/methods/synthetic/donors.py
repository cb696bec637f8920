"""Donors: original records in the leaves of a tree whose values satisfy the edits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright import Completion
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32
    from maskwright_builtin.numerics.trees.tree import Predictors, Tree


LEAST_DONORS = 3
"""Records of a node that must have a value for it to be copied from there."""
MOST_CATEGORIES = 256
"""Categories of a variable up to which rare ones are drawn again from all at once."""
HEAPED_SHARE = 0.005
"""Share of a variable's values from which on a number is heaped: its records are a spike, which has to stay one."""
HEAPED_RECORDS = (5, 20)
"""Records that a heaped number has at least, and that make a number heaped in any file."""
PAIRS_AT_ONCE = 2_000_000
"""Records times values that are looked at together; bounds memory."""


class LeafDonors:
    """The records of a tree's nodes, and one variable's values of theirs.

    Records stand in the order of the leaves from left to right, so that those of any node are neighbours; in a leaf
    they stand by value. A category is copied from a node where enough records have it. A number is copied where enough
    records of its leaf have it, or where it is heaped: of all records so many have it that it is a spike (zeros, usual
    working hours), which keeps its share so. Any other is drawn evenly between the numbers next to it in the leaf that
    are not heaped, or in the file where the leaf has no other.

    `predictors`: of n records, all that may be donors. `values`: none missing; shape (n,). `places`: digits after the
    point of numbers that are drawn; None: as they come.
    """

    def __init__(
        self, tree: Tree, predictors: Predictors, values: Floats, *, is_category: bool, places: int | None
    ) -> None:
        self.tree, self.is_category, self.places = tree, is_category, places
        leaf = tree.leaves(predictors)
        position, size = _depth_first(tree)
        order = np.lexsort((values, position[leaf]))
        self.values = values[order]
        own = position[leaf][order]
        counted = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=len(size)))])
        self.start = counted[position]
        self.stop = counted[position + size]
        starts = np.flatnonzero(np.concatenate([[True], (own[1:] != own[:-1]) | (self.values[1:] != self.values[:-1])]))
        self.run_start = starts
        self.run_size = np.diff(np.append(starts, len(own)))
        self.run_of = np.repeat(np.arange(len(starts)), self.run_size)
        self.low, self.high = self._reach(own)
        # Of a category, the places of its records in this order are found by bisection.
        self._by_category = (
            np.sort(self.values.astype(np.int64) * len(own) + np.arange(len(own))) if is_category else None
        )
        self.smallest_is_met = is_category and int(np.bincount(self.values.astype(np.int64)).max()) >= LEAST_DONORS

    def _reach(self, own: Integers) -> tuple[Floats, Floats]:
        """Between which numbers the value of each run of equal ones is drawn."""
        values, leaf = self.values[self.run_start], own[self.run_start]
        if self.is_category:
            return values, values
        numbers, number, counts = np.unique(self.values, return_inverse=True, return_counts=True)
        fewest, enough = HEAPED_RECORDS
        heaped = counts >= max(fewest, min(HEAPED_SHARE * len(self.values), enough))
        smooth = np.flatnonzero(~heaped[number.ravel()[self.run_start]])
        low, high = values.copy(), values.copy()
        if len(smooth):
            low[smooth], high[smooth] = _neighbours(values[smooth], leaf[smooth], numbers[~heaped], numbers)
        copied = self.run_size >= LEAST_DONORS
        return np.where(copied, values, low), np.where(copied, values, high)

    def drawn(self, nodes: Integers32, rng: np.random.Generator) -> Floats:
        """A value for each record from its node; shape (m,)."""
        start = self.start[nodes]
        place = start + (rng.random(len(nodes)) * (self.stop[nodes] - start)).astype(np.int64)
        return self.of_runs(self.run_of[place], rng)

    def of_runs(self, runs: Integers, rng: np.random.Generator) -> Floats:
        """Values drawn for runs of equal ones, one for each."""
        low, high = self.low[runs], self.high[runs]
        if self.is_category:
            return low
        return self.rounded(low + rng.random(len(runs)) * (high - low))

    def rounded(self, values: Floats) -> Floats:
        """Numbers with the digits that the variable has."""
        return values if self.places is None else np.round(values, self.places)

    def is_common(self, nodes: Integers32, values: Floats) -> Booleans:
        """Whether enough records of the node have the value, where it would be copied; shape (m,)."""
        if self._by_category is None or not self.smallest_is_met:
            return np.ones(len(values), dtype=np.bool_)
        return np.asarray(self._count(nodes, values) >= LEAST_DONORS)

    def _count(self, nodes: Integers32, values: Floats) -> Integers:
        """Records of each node that have a category; shape (m,)."""
        assert self._by_category is not None
        code = values.astype(np.int64) * len(self.values)
        first = np.searchsorted(self._by_category, code + self.start[nodes])
        return np.asarray(np.searchsorted(self._by_category, code + self.stop[nodes]) - first, dtype=np.int64)

    def backed_off(self, leaves: Integers32, values: Floats, rng: np.random.Generator) -> Floats:
        """Drawn categories; those that too few records of the leaf have, drawn again among all such ones.

        As often as nodes above the leaf have them, the nearest in which enough records have one: so categories that are
        common in a leaf get no more than their share (back-off).
        """
        values = values.copy()
        if self._by_category is None or not self.smallest_is_met:
            return values
        categories = np.unique(self.values)
        rows = np.flatnonzero(~self.is_common(leaves, values))
        if len(categories) > MOST_CATEGORIES:
            return values
        nodes = leaves
        while len(rows) and (nodes[rows] > 0).any():
            nodes = np.maximum(self.tree.parent[nodes], 0)
            left = [rows[:0]]
            step = max(PAIRS_AT_ONCE // len(categories), 1)
            for begin in range(0, len(rows), step):
                part = rows[begin : begin + step]
                every = np.tile(categories, len(part))
                shape = (len(part), len(categories))
                counts = self._count(np.repeat(nodes[part], len(categories)), every).reshape(shape)
                counts[counts < LEAST_DONORS] = 0
                counts[self.is_common(np.repeat(leaves[part], len(categories)), every).reshape(shape)] = 0
                sums = np.cumsum(counts, axis=1)
                found = sums[:, -1] > 0
                wanted = rng.random(len(part)) * sums[:, -1]
                values[part[found]] = categories[np.argmax(sums[found] > wanted[found, None], axis=1)]
                left.append(part[~found])
            rows = np.concatenate(left)
        return values

    def of_one_value(self, nodes: Integers32) -> Booleans:
        """Whether all records of the node have one value; nodes are leaves."""
        return np.asarray(self.run_of[self.start[nodes]] == self.run_of[self.stop[nodes] - 1])


def _neighbours(values: Floats, leaf: Integers, others: Floats, numbers: Floats) -> tuple[Floats, Floats]:
    """Values next below and above in the same leaf, at its ends the value itself.

    Of a value that is alone in its leaf those next to it among `others`, ascending; the nearest of all `numbers`,
    ascending, where there is no other.

    `values`, `leaf`: leaf by leaf, ascending in each; shape (r,).
    """
    low, high = values.copy(), values.copy()
    joined = leaf[1:] == leaf[:-1]
    low[1:] = np.where(joined, values[:-1], values[1:])
    high[:-1] = np.where(joined, values[1:], values[:-1])
    alone = np.flatnonzero(low == high)
    place = np.searchsorted(others, values[alone])
    low[alone], high[alone] = others[np.maximum(place - 1, 0)], others[np.minimum(place + 1, len(others) - 1)]
    if len(others) == 1 and len(numbers) > 1:
        rest = numbers[numbers != others[0]]
        low[alone] = high[alone] = rest[np.argmin(np.abs(rest - others[0]))]
    return low, high


def _depth_first(tree: Tree) -> tuple[Integers, Integers]:
    """Place of each node when every node is followed by all below it, and how many nodes that are, itself included."""
    many = len(tree.feature)
    size = np.ones(many, dtype=np.int64)
    for node in range(many - 1, 0, -1):
        size[tree.parent[node]] += size[node]
    position = np.zeros(many, dtype=np.int64)
    for split in np.flatnonzero(~tree.is_leaf):
        child = tree.first_child[split]
        position[child] = position[split] + 1
        position[child + 1] = position[child] + size[child]
    return position, size


TRIES = 4
"""Draws from a node before all its donors are looked at (of a leaf), or the node above it is gone to."""
MOST_DONORS = 256
"""Different values of a leaf, or of the root, that are looked at one by one for each record."""


@dataclass
class Tally:
    """What restricting did, in cells and records; for the run record."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, count: int) -> None:
        """Count more of something."""
        self.counts[name] = self.counts.get(name, 0) + int(count)


@dataclass(frozen=True, eq=False)
class DonorSearch:
    """Search for a value of one variable for each of m records.

    `fixed`: what has a value before; shape (m,).
    """

    name: str
    donors: LeafDonors
    completion: Completion
    fixed: Mapping[str, Floats]
    rng: np.random.Generator
    tally: Tally

    def values(self, leaves: Integers32) -> tuple[Floats, Booleans]:
        """Value of each record, and whether it can be completed with that; each of shape (m,).

        `leaves`: leaf of each record; shape (m,).
        """
        found = self.donors.backed_off(leaves, self.donors.drawn(leaves, self.rng), self.rng)
        open_ = np.arange(len(leaves))
        if self.name in self.completion.restricted and not self.donors.is_category:
            open_ = open_[~self._settled(found)]
        restricted = np.zeros(len(leaves), dtype=np.bool_)
        nodes = leaves
        before = open_
        open_ = self._tried(open_, nodes, found, first=True)
        restricted[open_] = True
        open_ = self._drawn_exhaustively(open_, nodes, found)
        self.tally.add("cells_from_restricted_leaves", len(before) and int(restricted.sum()) - len(open_))
        before = open_
        open_ = self._defined(open_, found)
        self.tally.add("computed_cells", len(before) - len(open_))
        while len(open_) and (nodes[open_] > 0).any():
            nodes = np.maximum(self.donors.tree.parent[nodes], 0)
            before = open_
            open_ = self._tried(open_, nodes, found)
            self.tally.add("cells_from_nodes_above", len(before) - len(open_))
        before = open_
        open_ = self._drawn_exhaustively(open_, np.zeros_like(leaves), found)
        self.tally.add("cells_from_nodes_above", len(before) - len(open_))
        before = open_
        open_ = self._any_value(open_, found)
        self.tally.add("cells_with_any_value", len(before) - len(open_))
        possible = np.ones(len(leaves), dtype=np.bool_)
        possible[open_] = False
        return found, possible

    def _here(self, rows: Integers) -> dict[str, Floats]:
        """What is fixed in some records, as far as edits read it."""
        return {name: values[rows] for name, values in self.fixed.items() if name in self.completion.restricted}

    def _fits(self, rows: Integers, nodes: Integers32, values: Floats) -> Booleans:
        """Whether each record may have the value; `nodes` is where that comes from, a value for each row."""
        common = self.donors.is_common(nodes, values)
        if self.name not in self.completion.restricted:
            return common
        common[common] = self.completion.can_complete(
            {**self._here(rows[common]), self.name: values[common]}, self.name
        )
        return common

    def _settled(self, found: Floats) -> Booleans:
        """Give numbers that edits leave no choice, sums of parts above all, the only value; where that is so."""
        low, high = self.completion.bounds(self._here(np.arange(len(found))), self.name, len(found))
        settled = np.isfinite(low) & (np.abs(high - low) <= 1e-9 * (1.0 + np.abs(low)))
        only = self.donors.rounded(low[settled])
        rows = np.flatnonzero(settled)
        fits = self.completion.can_complete({**self._here(rows), self.name: only}, self.name)
        found[rows[fits]] = only[fits]
        settled[rows[~fits]] = False
        self.tally.add("computed_cells", int(fits.sum()))
        return settled

    def _defined(self, rows: Integers, found: Floats) -> Integers:
        """Give numbers of products, and of sums with a tolerance, what the others make them; rows left without."""
        if not len(rows) or self.donors.is_category or self.name not in self.completion.restricted:
            return rows
        values = self.completion.defined(self._here(rows), self.name, len(rows))
        fits = np.isfinite(values)
        values = self.donors.rounded(values)
        fits[fits] = self.completion.can_complete({**self._here(rows[fits]), self.name: values[fits]}, self.name)
        found[rows[fits]] = values[fits]
        return rows[~fits]

    def _tried(self, rows: Integers, nodes: Integers32, found: Floats, *, first: bool = False) -> Integers:
        """Draw for some records until a value fits; those for which none did. `found` is written."""
        for attempt in range(TRIES):
            if not len(rows):
                break
            here = nodes[rows]
            values = found[rows] if first and not attempt else self.donors.drawn(here, self.rng)
            # What was drawn first is from a node where it is common.
            fits = self._fits(rows, np.zeros_like(here) if first and not attempt else here, values)
            found[rows[fits]] = values[fits]
            rows = rows[~fits]
        return rows

    def _drawn_exhaustively(self, rows: Integers, nodes: Integers32, found: Floats) -> Integers:
        """Draw among all values of each node that fit, each as often as records have it; rows without any."""
        left = [rows[:0]]
        step = max(PAIRS_AT_ONCE // MOST_DONORS, 1)
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            first = self.donors.run_of[self.donors.start[nodes[part]]]
            many = self.donors.run_of[self.donors.stop[nodes[part]] - 1] - first + 1
            compared = np.minimum(many, MOST_DONORS)
            owner = np.repeat(np.arange(len(part)), compared)
            place = np.arange(len(owner)) - np.repeat(np.cumsum(compared) - compared, compared)
            # Of more values than are looked at, evenly spread ones from a random start.
            offset = (self.rng.random(len(part)) * many / compared)[owner]
            runs = first[owner] + (place * (many / compared)[owner] + offset).astype(np.int64) % many[owner]
            values = self.donors.of_runs(runs, self.rng)
            fits = self._fits(part[owner], nodes[part][owner], values)
            # The shortest of exponential waiting times belongs to a value with probability in proportion to its rate.
            wait = np.where(fits, self.rng.exponential(size=len(owner)) / self.donors.run_size[runs], np.inf)
            shortest = np.minimum.reduceat(wait, np.cumsum(compared) - compared) if len(part) else wait
            chosen = fits & (wait == shortest[owner])
            found[part[owner[chosen]]] = values[chosen]
            left.append(part[np.isinf(shortest)])
        return np.concatenate(left)

    def _any_value(self, rows: Integers, found: Floats) -> Integers:
        """Move numbers to the nearest that edits allow; rows for which that is not enough."""
        if not len(rows) or self.donors.is_category or self.name not in self.completion.restricted:
            return rows
        low, high = self.completion.bounds(self._here(rows), self.name, len(rows))
        values = np.clip(found[rows], low, high)
        rounded = self.donors.rounded(values)
        values = np.where((rounded >= low) & (rounded <= high), rounded, values)
        fits = np.isfinite(values)
        fits[fits] = self.completion.can_complete({**self._here(rows[fits]), self.name: values[fits]}, self.name)
        found[rows[fits]] = values[fits]
        return rows[~fits]
