"""Values of donors with which a synthetic record can still satisfy its edits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.methods.synthetic.leaf_donors import PAIRS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright import Completion
    from maskwright_builtin.methods.synthetic.leaf_donors import LeafDonors

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
    fixed: Mapping[str, NDArray[np.float64]]
    rng: np.random.Generator
    tally: Tally

    def values(self, leaves: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
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
        open_ = self._looked_through(open_, nodes, found)
        self.tally.add("cells_from_restricted_leaves", len(before) and int(restricted.sum()) - len(open_))
        while len(open_) and (nodes[open_] > 0).any():
            nodes = np.maximum(self.donors.tree.parent[nodes], 0)
            before = open_
            open_ = self._tried(open_, nodes, found)
            self.tally.add("cells_from_nodes_above", len(before) - len(open_))
        before = open_
        open_ = self._looked_through(open_, np.zeros_like(leaves), found)
        self.tally.add("cells_from_nodes_above", len(before) - len(open_))
        before = open_
        open_ = self._any_value(open_, found)
        self.tally.add("cells_with_any_value", len(before) - len(open_))
        possible = np.ones(len(leaves), dtype=np.bool_)
        possible[open_] = False
        return found, possible

    def _here(self, rows: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
        """What is fixed in some records, as far as edits read it."""
        return {name: values[rows] for name, values in self.fixed.items() if name in self.completion.restricted}

    def _fits(
        self, rows: NDArray[np.int64], nodes: NDArray[np.int32], values: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Whether each record may have the value; `nodes` is where that comes from, a value for each row."""
        common = self.donors.is_common(nodes, values)
        if self.name not in self.completion.restricted:
            return common
        common[common] = self.completion.can_complete(
            {**self._here(rows[common]), self.name: values[common]}, self.name
        )
        return common

    def _settled(self, found: NDArray[np.float64]) -> NDArray[np.bool_]:
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

    def _tried(
        self, rows: NDArray[np.int64], nodes: NDArray[np.int32], found: NDArray[np.float64], *, first: bool = False
    ) -> NDArray[np.int64]:
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

    def _looked_through(
        self, rows: NDArray[np.int64], nodes: NDArray[np.int32], found: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Draw among all values of each node that fit, each as often as records have it; rows without any."""
        left = [rows[:0]]
        step = max(PAIRS_AT_ONCE // MOST_DONORS, 1)
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            first = self.donors.run_of[self.donors.start[nodes[part]]]
            many = self.donors.run_of[self.donors.stop[nodes[part]] - 1] - first + 1
            looked = np.minimum(many, MOST_DONORS)
            owner = np.repeat(np.arange(len(part)), looked)
            place = np.arange(len(owner)) - np.repeat(np.cumsum(looked) - looked, looked)
            # Of more values than are looked at, evenly spread ones from a random start.
            offset = (self.rng.random(len(part)) * many / looked)[owner]
            runs = first[owner] + (place * (many / looked)[owner] + offset).astype(np.int64) % many[owner]
            values = self.donors.of_runs(runs, self.rng)
            fits = self._fits(part[owner], nodes[part][owner], values)
            # The shortest of exponential waiting times belongs to a value with probability in proportion to its rate.
            wait = np.where(fits, self.rng.exponential(size=len(owner)) / self.donors.run_size[runs], np.inf)
            shortest = np.minimum.reduceat(wait, np.cumsum(looked) - looked) if len(part) else wait
            chosen = fits & (wait == shortest[owner])
            found[part[owner[chosen]]] = values[chosen]
            left.append(part[np.isinf(shortest)])
        return np.concatenate(left)

    def _any_value(self, rows: NDArray[np.int64], found: NDArray[np.float64]) -> NDArray[np.int64]:
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
