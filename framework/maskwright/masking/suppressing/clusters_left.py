"""Clusters of which a step promises k, after cells or records of theirs are suppressed: what else has to go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes
from maskwright.data.record_groups import published_classes
from maskwright.disclosure.attacks.similar_records import shown_by_equal
from maskwright.disclosure.cells import joined_cells, with_any
from maskwright.disclosure.decision import certain_cells, claims_of, relations
from maskwright.disclosure.published_cells import reads_suppressed
from maskwright.foundation.errors import InputError, Problem
from maskwright.planning.model import with_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.foundation.arrays import Booleans, Integers
    from maskwright.planning.plan import Plan


@dataclass(frozen=True, eq=False)
class PromisedClusters:
    """Variables that a step masks together, and how many records at least it promises to make equal in them.

    `formed`: records of which k were equal before anything is taken away; shape (n,). None: where no record is.
    """

    variables: tuple[str, ...]
    k: int
    formed: Booleans | None = None

    def small(self, data: Dataset) -> Booleans:
        """Records to which fewer than k are equal; a missing cell is a value of its own; shape (n,)."""
        classes = published_classes(data, self.variables)
        return np.less(classes.size[classes.codes], self.k)

    def taken(self, rows: Integers) -> PromisedClusters:
        """The same of these records only."""
        return self if self.formed is None else replace(self, formed=self.formed[rows])


def promised_clusters(plan: Plan) -> tuple[PromisedClusters, ...]:
    """Of all steps whose promise is kept or the plan refused."""
    return tuple(
        PromisedClusters(group.variables, step.k)
        for group, step in with_steps(plan.groups, plan.steps)
        if step.k is not None and step.planning.k_guarantee == "require"
    )


def formed_clusters(plan: Plan, data: Dataset) -> tuple[PromisedClusters, ...]:
    """The same, with the records that are in such clusters."""
    return tuple(replace(each, formed=~each.small(data)) for each in promised_clusters(plan))


def cells_for_clusters(data: Dataset, shown: Dataset, promised: Sequence[PromisedClusters]) -> dict[str, Booleans]:
    """Cells to suppress besides, so that at least k records stay equal in what a step made equal.

    `data`, `shown`: as published, and without suppressed cells. Where a cluster falls into records of which different
    cells are gone, and some are fewer than k, these join the most frequent other ones of the cluster: what is gone of
    either goes of both. Those spare what they can. A cluster that was too small before stays as it is; of one that
    lost records, and has fewer than k left, all cells go.
    """
    found: dict[str, Booleans] = {}
    for each in promised:
        clusters = published_classes(shown, each.variables).codes
        gone = np.column_stack([_taken(data[name], shown[name]) for name in each.variables])
        before, left = gone.copy(), data
        while True:
            classes = published_classes(left, each.variables)
            more = _joined(clusters, classes.codes, classes.size, each.k, gone, spare=data.households is None)
            if not (more & ~gone).any():
                break
            gone |= more
            left = data.with_columns(
                {name: data[name].suppressed(gone[:, at]) for at, name in enumerate(each.variables)}
            )
        if each.formed is not None:
            gone = _with_rest(data, each, each.formed, gone)
        added = gone & ~before
        found = joined_cells(found, {name: added[:, at] for at, name in enumerate(each.variables)})
    return with_any(found)


def cells_of_strata(data: Dataset, shown: Dataset, plan: Plan) -> dict[str, Booleans]:
    """Cells to suppress as well, where the rest of a cluster shows what was suppressed, because it lies in one stratum.

    `data`, `shown`: as published, and without suppressed cells. A variable that cut the strata of a step, `within` or
    the condition of an edit, is one value in the clusters of some of its values, or of all: published records show of
    which. Where such a cell is suppressed in one record, it goes in the rest of its cluster; or what shows the cluster
    goes wherever the variable is suppressed, if these cells are fewer.
    """
    found: dict[str, Booleans] = {}
    for group, step in with_steps(plan.groups, plan.steps):
        if step.only_removes or group.strata is None:
            continue
        names = {name for each in group.cut_by for name in each.variables}.difference(group.variables)
        gone = {name: _taken(data[name], shown[name]) for name in names if name in data and name in shown}
        for name, cells in with_any(gone).items():
            told = _OfStratum(data, shown, group.variables, name, cells, plan.disclosure.certainty)
            found = joined_cells(found, told.complement())
    return with_any(found)


class _OfStratum:
    """Suppressed cells of a variable that cut strata, and what clusters of several variables show of them."""

    def __init__(
        self, data: Dataset, shown: Dataset, variables: Sequence[str], name: str, gone: Booleans, certainty: float
    ) -> None:
        self._shown, self._variables, self._name, self._gone = shown, tuple(variables), name, gone
        self._values = ValueCodes(shown).of(name)
        self._certainty = certainty
        self._left = {each: ~reads_suppressed(data[each]) for each in variables}
        self._present = {each: ~data[each].missing for each in (*variables, name)}

    def complement(self) -> dict[str, Booleans]:
        """Cells of the rest of clusters, or of what makes records members of them: the fewer."""
        rest = np.zeros(len(self._gone), dtype=np.bool_)
        patterns = np.column_stack([self._left[each] for each in self._variables])
        for pattern in np.unique(patterns[self._gone], axis=0):
            names = [each for each, there in zip(self._variables, pattern, strict=True) if there]
            clusters = self._clusters(names)
            shows = self._certain(clusters, self._gone & (patterns == pattern).all(axis=1))
            rest |= np.isin(clusters, clusters[shows]) & self._present[self._name] & ~self._gone
        if not rest.any():
            return {}
        own = with_any({name: self._gone & self._left[name] for name in self._showing()})
        cost = sum(int(np.sum(cells & self._present[name])) for name, cells in own.items())
        return own if own and cost < int(rest.sum()) else {self._name: rest}

    def _showing(self) -> list[str]:
        """Variables of the cluster without which the others show nothing."""
        kept: list[str] = []
        for name in self._variables:
            if not self._certain(self._clusters([*kept, name]), self._gone).any():
                kept.append(name)
        return [name for name in self._variables if name not in kept]

    def _clusters(self, names: Sequence[str]) -> Integers:
        if not names:
            return np.full(len(self._gone), -1, dtype=np.int64)
        return published_classes(self._shown, names).codes

    def _certain(self, clusters: Integers, queried: Booleans) -> Booleans:
        """Suppressed cells of these records that an intruder would be sure of; shape (n,)."""
        values, shown = self._values, np.where(self._gone, -1, self._values)
        families = 2 + int(values.max(initial=-1))
        complete = shown_by_equal(clusters, values, np.zeros_like(self._gone), 1)
        related = relations(claims_of(complete, values, values), families, self._certainty)
        named = np.where(queried | ~self._gone, shown_by_equal(clusters, values, self._gone, 1), -1)
        return certain_cells(named, values, shown, related, families, self._certainty)


def _taken(masked: Column, shown: Column) -> Booleans:
    """Cells whose value or missing code was suppressed; shape (n,)."""
    gone = (masked.missing & ~shown.missing) | (masked.missing_kinds() != shown.missing_kinds())
    return np.asarray(gone, dtype=np.bool_)


def _joined(clusters: Integers, codes: Integers, sizes: Integers, k: int, gone: Booleans, *, spare: bool) -> Booleans:
    """Suppressed cells once the rarest records of each cluster have joined the most frequent other ones.

    `sizes`: of each class; shape (c,). `gone`: shape (n, p).
    """
    parts, first, part = np.unique(np.column_stack([clusters, codes]), axis=0, return_index=True, return_inverse=True)
    part = part.reshape(-1)
    order = np.lexsort((sizes[parts[:, 1]], parts[:, 0]))
    starts = np.flatnonzero(np.r_[True, np.diff(parts[order, 0]) > 0])
    ends = np.r_[starts[1:], len(order)] - 1
    rare, frequent = order[starts], order[ends]
    wanted = (rare != frequent) & (sizes[parts[rare, 1]] < k)
    rare, frequent = rare[wanted], frequent[wanted]
    more = gone.copy()
    if not len(rare):
        return more
    other = np.full(len(parts), -1, dtype=np.int64)
    other[rare], other[frequent] = frequent, rare
    lacking, able = k - sizes[parts[rare, 1]], sizes[parts[frequent, 1]]
    most = np.full(len(parts), len(codes), dtype=np.int64)
    if spare:
        most[frequent] = np.where(able - lacking >= k, lacking, len(codes))
    rank = _rank_within(part, len(parts))
    rows = np.flatnonzero((other[part] >= 0) & (rank < most[part]))
    more[rows] |= gone[first[other[part[rows]]]]
    return more


def _with_rest(data: Dataset, promised: PromisedClusters, formed: Booleans, gone: Booleans) -> Booleans:
    """Suppressed cells once all are of clusters that lost records; where these are fewer than k, of others too.

    `gone`: shape (n, p).
    """
    gone = gone.copy()
    while True:
        left = data.with_columns(
            {name: data[name].suppressed(gone[:, at]) for at, name in enumerate(promised.variables)}
        )
        small = promised.small(left) & formed
        if not (small & ~gone.all(axis=1)).any():
            break
        gone[small] = True
    if small.any():
        classes = published_classes(left, promised.variables)
        sizes = classes.size
        lacking = promised.k - int(sizes[classes.codes[small]].min())
        sizes = np.where(np.bincount(classes.codes, gone.all(axis=1), len(sizes)) > 0, 0, sizes)
        largest = int(np.argmax(sizes))
        if not sizes[largest]:
            message = "of every cluster fewer than k records would be left: no record can be published"
            raise InputError(Problem(message, hint="Set a smaller k of the keys, or of the clusters."))
        spared = data.households is None and sizes[largest] - lacking >= promised.k
        smallest = int(np.argmin(np.where(sizes >= lacking, sizes, len(data) + 1)))
        rows = np.flatnonzero(classes.codes == (largest if spared or sizes[smallest] < lacking else smallest))
        gone[rows[:lacking] if spared else rows] = True
        return _with_rest(data, promised, formed, gone)
    return gone


def _rank_within(part: Integers, count: int) -> Integers:
    """How many records of the same part come before each; shape (n,)."""
    order = np.argsort(part, kind="stable")
    starts = np.cumsum(np.r_[0, np.bincount(part, minlength=count)[:-1]])
    rank = np.empty(len(part), dtype=np.int64)
    rank[order] = np.arange(len(part)) - starts[part[order]]
    return rank
