"""Adjust and round: rows of masked values onto every edit and onto the published grid.

The order of attempts, each only for the rows that still fail:

1. project onto the edits the rows that violate one, round, compute the dependents; parts of a sum that does not move
   are rounded together (`maskwright.masking.adjusting.rounding`);
2. move the variables of products with a factor that stays (`maskwright.masking.adjusting.constraint_projections`);
   look at neighbouring grid points;
3. project again with room for rounding, and look at neighbours there;
4. walk over the grid towards the edits (`maskwright.masking.adjusting.grid_search`);
5. take the nearest of the donors, rows that are feasible (`maskwright.masking.adjusting.row_outcomes`);
6. where steps have promised multiples: all of this again without them.

A declared code for "no value" is no value that a row may be moved onto, unless there is no other on all edits.

Where the condition of an edit on products holds for a row, its consequent is an edit of that row, and the condition
another: rows are adjusted onto them apart from the others, and onto the edit as it is stated where nothing is found.

Only masked values and edits are read, never an original record. Each row is adjusted alone: with the same donors, rows
come out the same in one call and in pieces.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.edits.normalisation import taken_apart
from maskwright.foundation.progress import Progress, silent
from maskwright.masking.adjusting.constraint_system import RELATIVE, ConstraintSystem, by_chunks, system_of, violated
from maskwright.masking.adjusting.derivation import (
    Derivations,
    PolynomialDerivation,
    derivations,
    equalities_of,
    outputs_of,
)
from maskwright.masking.adjusting.edit_preparation import (
    branches_of,
    codes_of,
    condition_of,
    held_edits,
    with_held,
    without_codes,
)
from maskwright.masking.adjusting.grid_search import AdjustedRows, GridSearch
from maskwright.masking.adjusting.projection import feasible_points, nearest_feasible
from maskwright.masking.adjusting.rounding import Grid, rounded_onto_sums
from maskwright.masking.adjusting.row_outcomes import Donors, by_stated_edit, conflicts, with_rounding, with_taken_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.adjusting.constraints import Membership
    from maskwright.masking.adjusting.targets import Targets

_MARGINS = (0.75, 2.0, 6.0)
"""Steps of the grid that projections leave for rounding, tried one after the other."""

_MORE_MEMBERS = 8
"""Nearest members of a finite set that are tried once the nearest three led nowhere."""

_NEAREST_DONORS = 32
"""Donors that are tried for a row, the nearest first."""


@dataclass(frozen=True, eq=False)
class Adjustment:
    """What adjusting did to the rows of one unit.

    `values`: on the grid and on every edit, except where `infeasible`; shape (r, q). `moved`: moved by more than plain
    rounding and computing dependents; shape (r,). `fallback`: replaced by the nearest feasible row; shape (r,).
    `infeasible`: no feasible point was found; `values` is the rounded row; shape (r,). `touched`: rows that violated
    the edit before, or would have after plain rounding; where values were searched for because of another edit, also
    those in which an equality took up what was moved; shape (r,). `failing`: infeasible rows that violate the edit
    after. `conflicts`: smallest sets of edits that cannot hold together in the first infeasible rows, where that is
    proven. `cost`: root mean square move of each variable over all rows, in standard deviations; shape (q,). `points`:
    on every edit, before rounding to the grid; the values themselves where these were searched for on the grid: a
    search is adjustment, and may go farther than rounding ever does; shape (r, q). `derivations`: which variables were
    computed from which. `without_multiples`: rows for which no multiples that steps have promised were found; other
    values were searched for; shape (r,). `start`: as the methods returned them, and what the plan computes computed;
    shape (r, q).
    """

    values: Floats
    moved: Booleans
    fallback: Booleans
    infeasible: Booleans
    touched: Mapping[str, Booleans]
    failing: Mapping[str, int]
    conflicts: tuple[tuple[str, ...], ...]
    cost: Floats
    points: Floats
    start: Floats
    derivations: Derivations = field(default_factory=lambda: Derivations((), (), ()))
    without_multiples: Booleans = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @property
    def donors(self) -> Donors:
        """Rows that others may be replaced by."""
        return Donors.among(self.values[~(self.infeasible | self.fallback)])


def adjust(
    values: Floats,
    targets: Targets,
    edits: EditSet,
    scale: Floats,
    rng: np.random.Generator,
    *,
    sets: Mapping[Membership, Floats] | None = None,
    computed: frozenset[str] = frozenset(),
    held: Floats | None = None,
    donors: Donors | None = None,
    progress: Progress = silent,
) -> Adjustment:
    """Bring rows onto every edit and onto the grid.

    `values`: masked values; NaN where a row has no value; shape (r, q). `scale`: standard deviations of the original
    file; shape (q,). `sets`: members of domain edits; shape (m, v). `held`: what cells have to be, as zeros that stay;
    NaN where they may be anything; shape (r, q).
    """

    def of_rows(rows: Integers, own: EditSet, progress: Progress) -> Adjustment:
        some = targets if len(rows) == len(values) else targets.of_rows(rows)
        return _adjust_alike(
            values[rows], some, own, scale, deepcopy(rng), sets or {}, computed,
            None if held is None else held[rows], donors, progress,
        )  # fmt: skip

    apart, stated = taken_apart(edits)
    stated |= {condition_of(name): edit for name, edit in stated.items()}
    done, pieces = 0, []
    for rows, own in branches_of(apart, targets, values):

        def share(part: float, before: int = done, count: int = len(rows)) -> None:
            progress((before + part * count) / max(len(values), 1))

        pieces.append((rows, of_rows(rows, own, share)))
        done += len(rows)
    left = np.sort(np.concatenate([rows[found.infeasible] for rows, found in pieces]))
    if len(pieces) > 1 and len(left):
        pieces.append((left, of_rows(left, apart, silent)))
    adjusted = pieces[0][1] if len(pieces) == 1 else _merged(pieces, values)
    infeasible = np.flatnonzero(adjusted.infeasible)
    progress(1.0)
    return replace(
        adjusted,
        touched=by_stated_edit(adjusted.touched, stated),
        failing=_failing(targets, edits, adjusted.values, infeasible),
        conflicts=conflicts(targets, edits, adjusted.values, infeasible),
        cost=_root_mean_square_move(values, adjusted.values, scale),
    )


def _merged(pieces: Sequence[tuple[Integers, Adjustment]], values: Floats) -> Adjustment:
    """What was done to all rows, from what was done to some at a time, the last of it; `values`: shape (r, q)."""
    touched: dict[str, Booleans] = {}
    placed, points, start = values.copy(), values.copy(), values.copy()
    moved, fallback, infeasible, without_multiples = np.zeros((4, len(values)), dtype=np.bool_)
    for rows, found in pieces:
        placed[rows], points[rows], start[rows] = found.values, found.points, found.start
        moved[rows], fallback[rows], infeasible[rows] = found.moved, found.fallback, found.infeasible
        without_multiples[rows] = found.without_multiples
        for name, own in found.touched.items():
            touched.setdefault(name, np.zeros(len(values), dtype=np.bool_))[rows] |= own
    plans = [found.derivations for _, found in pieces]
    steps = tuple(dict.fromkeys(step for plan in plans for step in plan.steps))
    computed = {name for step in steps for name in outputs_of(step)}
    free = tuple(name for name in dict.fromkeys(name for plan in plans for name in plan.free) if name not in computed)
    plan = Derivations(free, steps, tuple(dict.fromkeys(name for each in plans for name in each.searched)))
    return replace(
        pieces[0][1], values=placed, points=points, start=start, touched=touched, derivations=plan, moved=moved,
        fallback=fallback, infeasible=infeasible, without_multiples=without_multiples,
    )  # fmt: skip


def _adjust_alike(
    values: Floats, targets: Targets, edits: EditSet, scale: Floats, rng: np.random.Generator,
    sets: Mapping[Membership, Floats], computed: frozenset[str], held: Floats | None, donors: Donors | None,
    progress: Progress,
) -> Adjustment:  # fmt: skip
    """Bring rows that the same edits bind onto them and onto the grid; what it cost and left is counted after."""
    from maskwright.masking.adjusting.constraint_projections import (  # of products with a fixed factor
        onto_fixed_factor_products,
        onto_kinds,
    )

    standing = EditSet() if held is None else held_edits(targets.names, held)
    with_fixed = targets if held is None else with_held(targets, held)
    codes = codes_of(targets.variables)
    named = {targets.names[place]: frozenset(found.tolist()) for place, found in codes.items()}
    system = system_of(with_fixed, without_codes(edits, named) + standing, scale, sets)
    inside = [each for each in equalities_of(edits) if set(each.part.variables) <= set(targets.names)]
    plan = derivations(targets.names, inside, system.decimals, listed=_listed(system), computed=computed)
    grid = Grid(targets.names, system.decimals, scale, plan, targets.strides)
    search = GridSearch.of(system, edits, grid, held, codes)
    # Without a grid the dependents are computed too, in the order in which the rule is written.
    start = _compute(values, targets, plan, computed, scale)
    broken = violated(system, start)
    progress(0.1)
    placed = onto_kinds(system, edits, start, broken)
    points, projected = _project_violating(system, placed, broken if placed is start else violated(system, placed))
    projected |= np.any((placed != start) & ~np.isnan(start), axis=1)
    if held is not None:
        # Without a grid nothing else puts a cell that has to be 0 there, where the projection ends at 1e-45.
        near = np.abs(points - held) <= RELATIVE * (scale + np.abs(held))
        points = np.where(near, held, points)
    progress(0.4)
    rounded = rounded_onto_sums(system, grid, points)
    rows = AdjustedRows(start, points, rounded, search.satisfied(rounded, np.arange(len(values))), projected)
    progress(0.6)
    left, plain = ~rows.satisfied, rounded.copy()
    known = {edit.name for edit in edits}
    touched = with_rounding(
        {name: rows for name, rows in broken.items() if name in known}, targets, edits, rounded, np.flatnonzero(left)
    )
    onto_fixed_factor_products(search, rows)
    searched = ~rows.satisfied
    _search_further(search, rows, rng)
    if codes and not rows.satisfied.all():
        # Edits come first: where they hold at a code for "no value" only, that is reported as a doubt.
        freely = GridSearch.of(system_of(with_fixed, edits + standing, scale, sets), edits, grid, held)
        rows.satisfied[:] |= freely.satisfied(rows.rounded, np.arange(len(values)))
        _search_further(freely, rows, rng)
    search.polish(start, rounded, np.flatnonzero(searched & rows.satisfied))
    progress(0.9)
    fallback = _take_nearest(search, rows, donors)
    without_multiples = _without_multiples(search, rows, fallback, donors, rng)
    infeasible = ~(rows.satisfied | fallback)
    found = np.flatnonzero((left | fallback) & ~infeasible)
    touched = with_taken_up(touched, targets, edits, found, plain, rounded)
    points[found] = rounded[found]
    return Adjustment(
        values=rounded,
        moved=rows.projected | fallback | (left & ~infeasible),
        fallback=fallback,
        infeasible=infeasible,
        touched=touched,
        failing={},
        conflicts=(),
        cost=np.zeros(values.shape[1]),
        points=points,
        start=start,
        derivations=plan,
        without_multiples=without_multiples,
    )


def _project_violating(
    system: ConstraintSystem, start: Floats, broken: Mapping[str, Booleans]
) -> tuple[Floats, Booleans]:
    """Project the rows that violate an edit; the points of all rows, and which were projected."""
    failing = np.logical_or.reduce(list(broken.values())) if broken else np.zeros(len(start), dtype=np.bool_)
    points = start.copy()
    index = np.flatnonzero(failing)
    if len(index):
        found, solved = nearest_feasible(system, start[index], index)
        points[index[solved]] = found[solved]
    return points, failing


def _search_further(search: GridSearch, rows: AdjustedRows, rng: np.random.Generator) -> None:
    """Look on the grid for rows that are not satisfied yet, near the projection and then farther away."""
    search.neighbours(rows, rng)
    for margin in _MARGINS:
        index = np.flatnonzero(~rows.satisfied)
        if not len(index):
            break
        found, solved = nearest_feasible(search.system, rows.start[index], index, margin, _MORE_MEMBERS)
        index, found = index[solved], found[solved]
        rows.points[index] = found
        rows.rounded[index] = search.grid.round(found)
        rows.satisfied[index] = search.satisfied(rows.rounded[index], index)
        rows.projected[index] = True
        search.neighbours(rows, rng)
    _other_ways(search, rows)
    search.repair(rows, rng)


def _without_multiples(
    search: GridSearch, rows: AdjustedRows, helped: Booleans, donors: Donors | None, rng: np.random.Generator
) -> Booleans:
    """Look for other values where no promised multiples satisfy the edits; which rows these are.

    Rows that the nearest one helps are added to `helped`.
    """
    targets = replace(search.system.targets, multiples={})
    left = ~(rows.satisfied | helped)
    if not search.system.targets.multiples or not left.any():
        return np.zeros(len(left), dtype=np.bool_)
    system = replace(search.system, targets=targets)
    finer = Grid(targets.names, system.decimals, system.scale, search.grid.plan, targets.strides)
    other = GridSearch.of(system, search.edits, finer, search.held, search.codes)
    index = np.flatnonzero(left)
    rows.rounded[index] = rounded_onto_sums(system, finer, rows.points)[index]
    rows.satisfied[index] = other.satisfied(rows.rounded[index], index)
    # Rows that took another one are done: they stay as they are.
    rows.satisfied[helped] = True
    _search_further(other, rows, rng)
    rows.satisfied[helped] = False
    pending = replace(rows, satisfied=rows.satisfied | helped)
    helped |= _take_nearest(other, pending, donors) & left
    return left


def _failing(targets: Targets, edits: EditSet, rounded: Floats, index: Integers) -> dict[str, int]:
    """Rows among `index` that violate each edit; nothing without rows."""
    if not len(index):
        return {}
    return {edit.name: int(np.sum(~targets.satisfied(edit, rounded[index], index))) for edit in edits}


def _root_mean_square_move(before: Floats, after: Floats, scale: Floats) -> Floats:
    """Of each variable over all rows, in standard deviations; shape (q,). A cell without a value has not moved."""
    if not len(before):
        return np.zeros(before.shape[1])
    difference = np.where(np.isnan(after) | np.isnan(before), 0.0, after - before) / scale
    return np.asarray(np.sqrt(np.mean(difference**2, axis=0)))


def _listed(system: ConstraintSystem) -> frozenset[str]:
    """Variables that some edit restricts to a finite set of values, whichever alternative is taken."""
    return frozenset(
        name
        for constraint in system.constraints
        for alternative in constraint.alternatives
        for membership in alternative.memberships
        for name in membership.variables
    )


def _compute(values: Floats, targets: Targets, plan: Derivations, computed: frozenset[str], scale: Floats) -> Floats:
    """Replace the dependents that the plan computes, before rounding.

    Means of clusters and values that are drawn stay, and one variable takes up what their product is off. Records with
    noise of their own are projected instead: of three noisy values none is to be trusted more than the others.
    """
    noisy = targets.members is None and not targets.drawn
    steps = tuple(
        step for step in plan.steps
        if step.variable in computed and not (noisy and isinstance(step, PolynomialDerivation))
    )  # fmt: skip
    if not steps:
        return values
    ungridded: dict[str, int | None] = dict.fromkeys(targets.names)
    return Grid(targets.names, ungridded, scale, Derivations(plan.free, steps, ())).round(values)


def _other_ways(search: GridSearch, rows: AdjustedRows) -> None:
    """Round every way to satisfy the edits, where the nearest one led nowhere."""
    left = np.flatnonzero(~rows.satisfied)

    def work(part: slice) -> None:
        index = left[part]
        best = np.full(len(index), np.inf)
        for places, points in feasible_points(search.system, rows.start[index], index, _MORE_MEMBERS):
            rounded = search.grid.round(points)
            distance = search.distance(rounded, rows.start[index[places]])
            better = np.flatnonzero(distance < best[places])
            better = better[search.satisfied(rounded[better], index[places[better]])]
            best[places[better]] = distance[better]
            rows.rounded[index[places[better]]] = rounded[better]
        rows.satisfied[index[np.isfinite(best)]] = True

    by_chunks(work, len(left))


def _take_nearest(search: GridSearch, rows: AdjustedRows, donors: Donors | None) -> Booleans:
    """Copy the nearest donor into rows that nothing else helped; which rows that helped."""
    helped = np.zeros(len(rows.start), dtype=np.bool_)
    index = np.flatnonzero(~rows.satisfied)
    if not len(index):
        return helped
    given = Donors.among(rows.rounded[rows.satisfied]).rows if donors is None else donors.rows
    if not len(given):
        return helped
    from scipy.spatial import cKDTree  # heavy, and hardly ever needed

    scale = search.system.scale
    count = min(_NEAREST_DONORS, len(given))
    _, nearest = cKDTree(given / scale).query(np.nan_to_num(rows.start[index] / scale), k=list(range(1, count + 1)))
    for choice in range(count):
        candidate = given[np.asarray(nearest)[:, choice]]
        candidate[np.isnan(rows.start[index])] = np.nan
        good = search.satisfied(candidate, index) & ~helped[index]
        rows.rounded[index[good]] = candidate[good]
        helped[index[good]] = True
        if helped[index].all():
            break
    return helped
