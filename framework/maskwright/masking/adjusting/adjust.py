"""Adjust and round: rows of masked values onto every edit and onto the published grid.

The order of attempts, each only for the rows that still fail:

1. project onto the edits the rows that violate one, round, compute the dependents;
2. look at neighbouring grid points;
3. project again with room for rounding, and look at neighbours there;
4. walk over the grid towards the edits (`maskwright.masking.adjusting.grid_search`);
5. take the nearest row that is already feasible.

Only masked values and edits are read, never an original record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from maskwright.edits.edit import LinearPart, ProductPart
from maskwright.foundation.progress import Progress, silent
from maskwright.masking.adjusting.conflicts import conflicts
from maskwright.masking.adjusting.constraint_system import ConstraintSystem, system_of, violated
from maskwright.masking.adjusting.derivation import Derivations, Equality, derivations
from maskwright.masking.adjusting.grid_search import GridSearch
from maskwright.masking.adjusting.projection import feasible_points, nearest_feasible
from maskwright.masking.adjusting.rounding import Grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.adjusting.constraints import Membership
    from maskwright.masking.adjusting.targets import Targets

_MARGINS = (0.75, 2.0, 6.0)
_MORE_MEMBERS = 8
_MOST_DONORS = 10_000


@dataclass(frozen=True, eq=False)
class Adjustment:
    """What adjusting did to the rows of one unit.

    Attributes
    ----------
    values : ndarray of shape (r, q), float64
        On the grid and on every edit, except where `infeasible`.
    moved : ndarray of shape (r,), bool
        Moved by more than plain rounding and computing dependents.
    fallback : ndarray of shape (r,), bool
        Replaced by the nearest feasible row.
    infeasible : ndarray of shape (r,), bool
        No feasible point was found; `values` is the rounded row.
    touched : mapping of edit name to ndarray of shape (r,), bool
        Rows that violated the edit before, or would have after plain rounding.
    failing : mapping of edit name to int
        Infeasible rows that violate the edit after.
    conflicts : tuple of tuple of str
        Smallest sets of edits that cannot hold together in the first infeasible rows, where that is proven.
    cost : ndarray of shape (q,), float64
        Root mean square move of each variable over all rows, in standard deviations.
    points : ndarray of shape (r, q), float64
        On every edit, before rounding to the grid.
    derivations : Derivations
        Which variables were computed from which.
    """

    values: NDArray[np.float64]
    moved: NDArray[np.bool_]
    fallback: NDArray[np.bool_]
    infeasible: NDArray[np.bool_]
    touched: Mapping[str, NDArray[np.bool_]]
    failing: Mapping[str, int]
    conflicts: tuple[tuple[str, ...], ...]
    cost: NDArray[np.float64]
    points: NDArray[np.float64]
    derivations: Derivations = field(default_factory=lambda: Derivations((), (), ()))


def equalities_of(edits: EditSet) -> tuple[Equality, ...]:
    """Equalities that hold unconditionally, by edit."""
    found: list[Equality] = []
    for edit in edits:
        found.extend(
            Equality(edit.name, part)
            for part in edit.parts
            if isinstance(part, LinearPart | ProductPart) and is_equality(part)
        )
    return tuple(found)


def is_equality(part: LinearPart | ProductPart) -> bool:
    """Whether a part is an equality without tolerance."""
    return part.relation == "==" and not (isinstance(part, LinearPart) and part.tolerance)


def adjust(
    values: NDArray[np.float64],
    rows: Targets,
    edits: EditSet,
    scale: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    sets: Mapping[Membership, NDArray[np.float64]] | None = None,
    computed: frozenset[str] = frozenset(),
    progress: Progress = silent,
) -> Adjustment:
    """Bring rows onto every edit and onto the grid.

    Parameters
    ----------
    values : ndarray of shape (r, q), float64
        Masked values; NaN where a row has no value.
    rows : Rows
    edits : EditSet
        All edits on these variables.
    scale : ndarray of shape (q,)
        Standard deviations of the original file.
    rng : numpy.random.Generator
        For the order in which neighbouring grid points are tried.
    sets : mapping, optional
        Members of domain edits.
    computed : frozenset of str
        Dependents that the plan computes from masked variables: their own masked values are not looked at.
    """
    system = system_of(rows, edits, scale, sets or {})
    names = rows.names
    inside = frozenset(names)
    own_equalities = tuple(equality for equality in equalities_of(edits) if set(equality.part.variables) <= inside)
    plan = derivations(names, own_equalities, system.decimals, listed=_listed(system))
    grid = Grid(names, system.decimals, scale, plan)
    # Without a grid the dependents are computed too, in the order in which the rule is written.
    start = _compute(values, names, plan, computed)
    broken = violated(system, start)
    failing = np.logical_or.reduce(list(broken.values())) if broken else np.zeros(len(values), dtype=np.bool_)
    progress(0.1)
    points = start.copy()
    index = np.flatnonzero(failing)
    projected = failing.copy()
    if len(index):
        found, solved = nearest_feasible(system, start[index], index)
        points[index[solved]] = found[solved]
    progress(0.4)
    result = grid.round(points)
    search = GridSearch.of(system, edits, grid)
    everyone = np.arange(len(values))
    satisfied = search.satisfied(result, everyone)
    progress(0.6)
    walked = ~satisfied
    touched = _with_rounding(broken, rows, edits, result, np.flatnonzero(walked))
    search.neighbours(points, result, satisfied, rng)
    for margin in _MARGINS:
        index = np.flatnonzero(~satisfied)
        if not len(index):
            break
        found, solved = nearest_feasible(system, start[index], index, margin, _MORE_MEMBERS)
        index, found = index[solved], found[solved]
        points[index] = found
        result[index] = grid.round(found)
        satisfied[index] = search.satisfied(result[index], index)
        projected[index] = True
        search.neighbours(points, result, satisfied, rng)
    _other_ways(search, start, result, satisfied)
    search.repair(points, result, satisfied, rng)
    search.polish(start, result, np.flatnonzero(walked & satisfied)[:_MOST_DONORS])
    progress(0.9)
    fallback = _take_nearest(search, start, result, satisfied)
    infeasible = ~(satisfied | fallback)
    left = np.flatnonzero(infeasible)
    failed = {edit.name: int(np.sum(~rows.satisfied(edit, result[left], left))) for edit in edits} if len(left) else {}
    difference = np.where(np.isnan(result) | np.isnan(values), 0.0, result - values) / scale
    cost = np.sqrt(np.mean(difference**2, axis=0)) if len(values) else np.zeros(len(names))
    progress(1.0)
    return Adjustment(
        result,
        projected | fallback | (walked & ~infeasible),
        fallback,
        infeasible,
        touched,
        failed,
        conflicts(rows, edits, result, left),
        cost,
        points,
        plan,
    )


def _listed(system: ConstraintSystem) -> frozenset[str]:
    """Variables that some edit restricts to a finite set of values, whichever alternative is taken."""
    return frozenset(
        name
        for constraint in system.constraints
        for alternative in constraint.alternatives
        for membership in alternative.memberships
        for name in membership.variables
    )


def _with_rounding(
    broken: Mapping[str, NDArray[np.bool_]],
    rows: Targets,
    edits: EditSet,
    rounded: NDArray[np.float64],
    index: NDArray[np.int64],
) -> dict[str, NDArray[np.bool_]]:
    """Rows that violate each edit, with those among `index` that plain rounding takes off it."""
    found = dict(broken)
    for edit in edits:
        off = index[~rows.satisfied(edit, rounded[index], index)]
        if len(off):
            found[edit.name] = found.get(edit.name, np.zeros(len(rounded), dtype=np.bool_)).copy()
            found[edit.name][off] = True
    return found


def _compute(
    values: NDArray[np.float64], names: tuple[str, ...], plan: Derivations, computed: frozenset[str]
) -> NDArray[np.float64]:
    """Replace the dependents that the plan computes, before rounding."""
    if not computed:
        return values
    chosen = Derivations(plan.free, tuple(step for step in plan.steps if step.variable in computed), ())
    ungridded: dict[str, int | None] = dict.fromkeys(names)
    return Grid(names, ungridded, np.ones(len(names)), chosen).round(values)


def _other_ways(
    search: GridSearch, start: NDArray[np.float64], result: NDArray[np.float64], satisfied: NDArray[np.bool_]
) -> None:
    """Round every way to satisfy the edits, where the nearest one led nowhere; writes `result` and `satisfied`."""
    index = np.flatnonzero(~satisfied)[:_MOST_DONORS]
    if not len(index):
        return
    best = np.full(len(index), np.inf)
    for rows, points in feasible_points(search.system, start[index], index, _MORE_MEMBERS):
        rounded = search.grid.round(points)
        distance = search.distance(rounded, start[index[rows]])
        better = np.flatnonzero(distance < best[rows])
        better = better[search.satisfied(rounded[better], index[rows[better]])]
        best[rows[better]] = distance[better]
        result[index[rows[better]]] = rounded[better]
    satisfied[index[np.isfinite(best)]] = True


def _take_nearest(
    search: GridSearch, start: NDArray[np.float64], result: NDArray[np.float64], satisfied: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Copy the nearest feasible row into rows that nothing else helped; writes `result`."""
    helped = np.zeros(len(start), dtype=np.bool_)
    donors = np.flatnonzero(satisfied & ~np.isnan(result).any(axis=1))
    # A search among millions of donors in many dimensions would look at nearly all of them for every row.
    donors = donors[:: max(1, len(donors) // _MOST_DONORS)]
    index = np.flatnonzero(~satisfied)
    if not len(index) or not len(donors):
        return helped
    scale = search.system.scale
    tree = cKDTree(result[donors] / scale)
    count = min(32, len(donors))
    _, nearest = tree.query(np.nan_to_num(start[index] / scale), k=list(range(1, count + 1)))
    for choice in range(count):
        candidate = result[donors[np.asarray(nearest)[:, choice]]].copy()
        candidate[np.isnan(start[index])] = np.nan
        good = search.satisfied(candidate, index) & ~helped[index]
        result[index[good]] = candidate[good]
        helped[index[good]] = True
        if helped[index].all():
            break
    return helped
