"""The chance that each group and its own masked group are linked, when the nearest set of members is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress
    from maskwright_builtin.measures.groups.set_linkage_kernel import Sets


@dataclass(frozen=True, eq=False)
class GroupValues:
    """Groups of one file as sets of points.

    `own`: values of the groups, without NaN; shape (g, r). `members`: values of members, without NaN; members of a
    group stand together, groups in their order; shape (n, p). `starts`: where the members of each group begin; shape (g
    + 1,). `kinds`: members are assigned to members of their own kind only; numbered alike in both files; shape (n,).
    `composition`: groups of one composition have as many members of each kind; numbered alike in both files; shape
    (g,).
    """

    own: NDArray[np.float64]
    members: NDArray[np.float64]
    starts: NDArray[np.int64]
    kinds: NDArray[np.int64]
    composition: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Members of each group."""
        return np.diff(self.starts)

    def in_canonical_order(self) -> GroupValues:
        """Copy in which the members of each group stand by their kind, then by their values."""
        groups = np.repeat(np.arange(len(self.sizes)), self.sizes)
        order = np.lexsort((*self.members.T[::-1], self.kinds, groups))
        return GroupValues(self.own, self.members[order], self.starts, self.kinds[order], self.composition)


def chance_of_link(
    queries: GroupValues,
    targets: GroupValues,
    own_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    progress: Progress,
) -> NDArray[np.float64]:
    """Chance that each group is linked to its own counterpart among the groups of the same composition.

    `queries`, `targets`: group i of the queries is the original of group i of the targets. `own_weights`, `weights`:
    factors of differences; shape (r,) and (p,). Returns 1 over the number of groups that are nearest, if the own one is
    among them; else 0; shape (g,).
    """
    from maskwright_builtin.measures.groups.set_linkage_kernel import link_sets  # Numba, heavy

    queries, targets = queries.in_canonical_order(), targets.in_canonical_order()
    found = np.zeros(len(queries.composition))
    sizes, counts = np.unique(queries.sizes, return_counts=True)
    done = np.cumsum(counts) / counts.sum()
    for size, share in zip(sizes.tolist(), done.tolist(), strict=True):
        asked, there = np.flatnonzero(queries.sizes == size), np.flatnonzero(targets.sizes == size)
        asked = asked[np.isin(queries.composition[asked], targets.composition[there])]
        if not len(asked):
            continue
        names, of_target = np.unique(targets.composition[there], return_inverse=True)
        distinct, copies, row_of = _distinct(targets, there, of_target, size)
        of_query = np.searchsorted(names, queries.composition[asked])
        order = np.argsort(of_query, kind="stable")
        asked, of_query = asked[order], of_query[order]
        counterpart = np.full(len(queries.composition), -1, dtype=np.int64)
        counterpart[there] = row_of
        same = queries.composition[asked] == targets.composition[asked]
        first = np.searchsorted(there, distinct)
        kinds = targets.kinds[_members_of(targets, distinct[np.unique(of_target[first], return_index=True)[1]], size)]
        factors = np.concatenate([own_weights, np.repeat(weights, size)])
        ties = np.zeros(len(asked), dtype=np.int64)
        link_sets(
            _sets(queries, asked, of_query, len(names), size),
            _sets(targets, distinct, of_target[first], len(names), size),
            copies, np.where(same, counterpart[asked], -1), weights, own_weights, factors,
            kinds.reshape(len(names), size), ties,
        )  # fmt: skip
        found[asked] = np.where(ties > 0, 1.0 / np.maximum(ties, 1), 0.0)
        progress(share)
    return found


def _members_of(values: GroupValues, groups: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Members of groups of this size; shape (groups, size)."""
    return values.starts[groups][:, None] + np.arange(size)


def _distinct(
    values: GroupValues, groups: NDArray[np.int64], composition: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of groups that are alike the first, by composition; how many are, and which of the distinct each group is."""
    flat = values.members[_members_of(values, groups, size)].reshape(len(groups), -1)
    rows = np.column_stack([composition, values.own[groups], flat])
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.flatnonzero(begins)
    row_of = np.empty(len(rows), dtype=np.int64)
    row_of[order] = np.cumsum(begins) - 1
    return groups[order[first]], np.diff(np.append(first, len(rows))), row_of


def _sets(
    values: GroupValues, groups: NDArray[np.int64], composition: NDArray[np.int64], compositions: int, size: int
) -> Sets:
    """Groups of one size as the kernel takes them; they stand by their composition."""
    from maskwright_builtin.measures.groups.set_linkage_kernel import Sets

    places = _members_of(values, groups, size)
    members, kinds = values.members[places], values.kinds[places]
    columns = [
        np.take_along_axis(each, np.lexsort((each, kinds), axis=1), axis=1) for each in np.moveaxis(members, 2, 0)
    ]
    together = np.column_stack([values.own[groups], *columns])
    starts = np.searchsorted(composition, np.arange(compositions + 1)).astype(np.int64)
    return Sets(values.own[groups], np.ascontiguousarray(members), np.ascontiguousarray(together), starts)
