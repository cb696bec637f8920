"""Two files whose pairs of records agree on some variables: patterns, how often each occurs, and the best partners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.measures.record_linkage.fellegi_sunter import (
    best_same_cell,
    best_within,
    same_cell_patterns,
    within_patterns,
)
from maskwright_builtin.measures.record_linkage.linkage import large_households, relatives

if TYPE_CHECKING:
    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Floats, Integers


class LinkedFiles:
    """Two files ready to be compared: cells (whole numbers) with no `reach`, or values with one."""

    def __init__(
        self,
        queries: Floats,
        targets: Floats,
        households: Integers,
        target_households: Integers,
        reach: Floats | None,
        progress: Progress,
    ) -> None:
        self.queries, self.targets, self.reach = queries, targets, reach
        self.households, self.target_households, self.progress = households, target_households, progress

    def pattern_counts(self) -> Integers:
        """Pairs of records with each pattern; shape (2**d,)."""

        def progress(share: float) -> None:
            self.progress(share / 2.0)

        if self.reach is None:
            return same_cell_patterns(self.queries.astype(np.int64), self.targets.astype(np.int64), progress)
        return within_patterns(self.queries, self.targets, self.reach, progress)

    def part(self, chosen: Integers, members: Integers) -> LinkedFiles:
        """Some queries and targets as files of their own."""
        households = self.households[chosen], self.target_households[members]
        return LinkedFiles(self.queries[chosen], self.targets[members], *households, self.reach, lambda _: None)

    def patterns(self, chosen: Integers, relative: Integers) -> Integers:
        """Patterns of some pairs."""
        result = np.zeros(len(chosen), dtype=np.int64)
        for j in range(self.queries.shape[1]):
            one, other = self.queries[chosen, j], self.targets[relative, j]
            agree = (one == other) & (one >= 0) if self.reach is None else np.abs(one - other) <= self.reach[j]
            result |= agree.astype(np.int64) << j
        return result

    def own_agreement(self) -> Floats:
        """Share of the pairs within a household that agree on each variable; shape (d,)."""
        agreeing, pairs = np.zeros(self.queries.shape[1]), 0
        for chosen, relative in relatives(self.households, self.target_households):
            pattern = self.patterns(chosen, relative)
            agreeing += [(pattern >> j & 1).sum() for j in range(len(agreeing))]
            pairs += len(chosen)
        for chosen, members in large_households(self.households, self.target_households):
            counts = self.part(chosen, members).pattern_counts()
            agreeing += [agreeing_pairs(counts, j) for j in range(len(agreeing))]
            pairs += len(chosen) * len(members)
        return np.asarray(agreeing / pairs)

    def chance(self, ranks: Integers) -> tuple[Floats, Integers]:
        """Chance that each query is linked within its household, by the ranks of the patterns, and its best rank."""
        own, count = np.full(len(self.queries), -1, dtype=np.int64), np.zeros(len(self.queries), dtype=np.int64)
        for chosen, relative in relatives(self.households, self.target_households):
            rank = ranks[self.patterns(chosen, relative)]
            count[chosen] = np.where(rank > own[chosen], 1, count[chosen] + (rank == own[chosen]))
            own[chosen] = np.maximum(own[chosen], rank)
        for chosen, members in large_households(self.households, self.target_households):
            own[chosen], count[chosen] = self.part(chosen, members).best(ranks)
        best, ties = self.best(ranks)
        return np.where(own == best, count / ties, 0.0), best

    def assigned(self, weights: Floats, ranks: Integers) -> tuple[Floats, Integers]:
        """The same where no target is the partner of two queries; a query without a partner has rank 0."""
        from scipy.optimize import linear_sum_assignment

        everyone = np.arange(len(self.targets))
        of_pairs = np.stack(
            [weights[self.patterns(np.full(len(everyone), query), everyone)] for query in range(len(self.queries))]
        )
        chosen, partners = linear_sum_assignment(of_pairs, maximize=True)
        best, chance = np.zeros(len(self.queries), dtype=np.int64), np.zeros(len(self.queries))
        best[chosen] = ranks[self.patterns(chosen, partners)]
        chance[chosen] = self.households[chosen] == self.target_households[partners]
        return chance, best

    def best(self, ranks: Integers) -> tuple[Integers, Integers]:
        """Best rank among each query's pairs, and how many targets have it; each of shape (q,)."""

        def progress(share: float) -> None:
            self.progress(0.5 + share / 2.0)

        if self.reach is not None:
            return best_within(self.queries, self.targets, self.reach, ranks, progress)
        used = [j for j in range(self.queries.shape[1]) if ranks[1 << j] > ranks[0]]
        queries, targets = (file[:, used].astype(np.int64) for file in (self.queries, self.targets))
        return best_same_cell(queries, targets, ranks[patterns_on(used)], progress)


def patterns_on(used: list[int]) -> Integers:
    """Patterns over all variables that agree on no others, in the order of the patterns over the used ones."""
    small = np.arange(2 ** len(used))
    return np.asarray(sum(((small >> place & 1) << j for place, j in enumerate(used)), start=np.zeros_like(small)))


def agreeing_pairs(counts: Integers, j: int) -> int:
    """Pairs that agree on a variable, by the counts of all patterns."""
    return int(counts[np.arange(len(counts)) >> j & 1 == 1].sum())
