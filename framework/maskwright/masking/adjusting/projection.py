"""The nearest point that satisfies all edits, in standardised distance.

Linear edits, ranges and the linear alternatives of governing edits are met exactly by a quadratic programme; products
by repeating it with their tangents (sequential quadratic programming); finite sets by trying their nearest members.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_chunk import number_cells
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError
from maskwright.masking.adjusting.constraint_system import (
    MOST_COMBINATIONS,
    RELATIVE,
    Combination,
    ConstraintSystem,
    by_chunks,
    fetcher,
    switched,
    system_of,
    violated,
    with_members,
)
from maskwright.masking.adjusting.constraints import (
    Alternative,
    Constraint,
    LinearConstraint,
    Membership,
    closed_on_grid,
    within_tolerance,
)
from maskwright.masking.adjusting.targets import Targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.variable import Variable
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.adjusting.constraints import Fetch, PolynomialConstraint

MOST_WAYS = 256
NEAREST_MEMBERS = 3
_TANGENTS = 60
_SMALL_TOLERANCE = 0.01
"""Standard deviations that all variables of an equality together move at most from one side to its centre."""
_WHOLE_TOLERANCE = 1e-9
"""Margin with which all that a tolerance allows is used, next to none."""
# A margin of 1 for numbers without a grid, relative to the largest term: beyond what projecting leaves in binary64.
_SLACK = 2e-12


def nearest_feasible(
    system: ConstraintSystem, values: Floats, index: Integers, margin: float = 0.0, members: int = NEAREST_MEMBERS
) -> tuple[Floats, Booleans]:
    """Nearest points that satisfy all constraints.

    `values`: the points; NaN coordinates do not take part, nor do constraints on them; shape (m, q). `index`: their row
    numbers; shape (m,). `margin`: inequalities are tightened by this many grid steps of each of their variables, so
    that rounding has room; by as many times 2e-12 of a standard deviation and of their largest term where a variable
    has no grid. Returns unchanged where nothing feasible was found; shape (m, q).
    """
    best, found = values.copy(), np.zeros(len(values), dtype=np.bool_)

    def work(rows: slice) -> None:
        best[rows], found[rows] = _nearest(system, values[rows], index[rows], margin, members)

    by_chunks(work, len(values))
    left = np.flatnonzero(~found)
    if not margin and len(left) and any(each.has_tolerance for each in system.constraints):
        # Beside other edits the centre of a tolerance may be out of reach.
        best[left], found[left] = nearest_feasible(system, values[left], index[left], _WHOLE_TOLERANCE, members)
    return best, found


@np.errstate(over="ignore", invalid="ignore")
def _nearest(
    system: ConstraintSystem, values: Floats, index: Integers, margin: float, members: int
) -> tuple[Floats, Booleans]:
    best = values.copy()
    distance = np.full(len(values), np.inf)
    for rows, combination in _combinations(system, values, index, members):
        points, solved = _project(system, combination, values[rows], index[rows], margin)
        moved = np.nansum(((points - values[rows]) / system.scale) ** 2, axis=1)
        better = solved & (moved < distance[rows] * (1 - 1e-12))
        best[rows[better]] = points[better]
        distance[rows[better]] = moved[better]
    return best, np.isfinite(distance)


@np.errstate(over="ignore", invalid="ignore")
def feasible_points(
    system: ConstraintSystem, values: Floats, index: Integers, members: int
) -> Iterator[tuple[Integers, Floats]]:
    """Every way to satisfy all constraints, not only the nearest: positions among the rows, and their points.

    Where the nearest way has no point on the grid, another may have one.

    `values`: shape (m, q). `index`: their row numbers; shape (m,). Returns positions among the m rows; shape (s,).
    """
    for rows, combination in _combinations(system, values, index, members, MOST_WAYS):
        points, solved = _project(system, combination, values[rows], index[rows])
        yield rows[solved], points[solved]


def _combinations(
    system: ConstraintSystem, values: Floats, index: Integers, members: int, most: int | None = None
) -> Iterator[tuple[Integers, Combination]]:
    """Rows, and a way to satisfy the constraints that they try next; at most `most` ways for each row."""
    choices = [range(len(constraint.alternatives)) for constraint in system.constraints]
    count = int(np.prod([len(choice) for choice in choices], dtype=np.float64)) if choices else 1
    if count <= MOST_COMBINATIONS:
        everyone = np.arange(len(values))
        ways = (with_members(everyone, system, picks, members) for picks in itertools.product(*choices))
        yield from itertools.islice(itertools.chain.from_iterable(ways), most)
        return
    # Too many combinations: each row starts from the alternatives that it satisfies or is nearest to, and single
    # constraints are switched.
    start = np.stack([_nearest_alternative(system, constraint, values, index) for constraint in system.constraints])
    for picks in np.unique(start, axis=1).T:
        rows = np.flatnonzero((start == picks[:, None]).all(axis=0))
        ways = (with_members(rows, system, tried, members) for tried in switched(tuple(picks), choices))
        yield from itertools.islice(itertools.chain.from_iterable(ways), most)


def _nearest_alternative(system: ConstraintSystem, constraint: Constraint, values: Floats, index: Integers) -> Integers:
    if len(constraint.alternatives) == 1:
        return np.zeros(len(values), dtype=np.int64)
    distances = []
    for alternative in constraint.alternatives:
        points, solved = _project(system, Combination(alternative, (0,) * len(alternative.memberships)), values, index)
        moved = np.nansum(((points - values) / system.scale) ** 2, axis=1)
        distances.append(np.where(solved, moved, np.inf))
    return np.asarray(np.argmin(np.stack(distances), axis=0), dtype=np.int64)


def _project(
    system: ConstraintSystem, combination: Combination, values: Floats, index: Integers, margin: float = 0.0
) -> tuple[Floats, Booleans]:
    """Project onto one conjunction of constraints."""
    from maskwright.masking.adjusting.polyhedron_projection_kernel import project_points

    alternative = combination.alternative
    allowed = np.ones(len(values), dtype=np.bool_)
    for requirement in alternative.requirements:
        allowed &= system.targets.known(requirement, values, index)
    scale, absent = system.scale, np.isnan(values)
    target = np.where(absent, 0.0, values) / scale
    equal, equal_bound, below, below_bound = _matrices(system, alternative, values, index, margin)
    for membership, member in zip(alternative.memberships, combination.members, strict=True):
        rows, bounds = _member_equalities(system, membership, member, values)
        equal, equal_bound = np.vstack([equal, rows]), np.hstack([equal_bound, bounds])
    products = alternative.polynomials
    own = np.zeros((len(values), len(products), len(scale)))
    own_bound = np.full((len(values), len(products)), np.nan)
    status = np.zeros(len(values), dtype=np.int8)
    points = target.copy()
    project_points(points, equal, equal_bound, own, own_bound, below, below_bound, status)
    moving = np.flatnonzero(status == 0) if products else np.zeros(0, dtype=np.int64)
    # An inequality that was violated once stays on its boundary: letting go of it again would go back and forth.
    bound_once = np.zeros((len(values), len(products)), dtype=np.bool_)
    for _ in range(_TANGENTS):
        if not len(moving):
            break
        before = points[moving]
        fetch = fetcher(system, before * scale, index[moving])
        normals, bounds = np.zeros((len(moving), len(products), len(scale))), np.zeros((len(moving), len(products)))
        for number, product in enumerate(products):
            once = bound_once[moving, number]
            _tangent(product, fetch, system, normals[:, number], bounds[:, number], once, margin)
            bound_once[moving, number] = once
            # A product of which a value is missing is unknown, and moves nothing.
            unknown = _lacks_value(product, system, absent[moving])
            normals[unknown, number], bounds[unknown, number] = 0.0, np.nan
        after = target[moving].copy()
        reached = np.zeros(len(moving), dtype=np.int8)
        project_points(after, equal, equal_bound[moving], normals * scale, bounds, below, below_bound[moving], reached)
        points[moving], status[moving] = after, reached
        settled = np.all(np.abs(after - before) <= 1e-13 * (1 + np.abs(before)), axis=1)
        moving = moving[~settled & (reached == 0)]
    result = np.where(absent, np.nan, points * scale)
    _snap_to_bounds(system, alternative, result)
    solved = (status == 0) & allowed
    for product in products:
        value, size = product.evaluate(fetcher(system, result, index))
        solved &= ~product.broken(value, 1e-6 * size)
    return result, solved


def _lacks_value(product: PolynomialConstraint, system: ConstraintSystem, absent: Booleans) -> Booleans:
    """Rows without a value of some variable of a product; `absent`: shape (m, q)."""
    names = {name for _, monomial in product.terms for name, _ in monomial}
    places = [system.position[name] for name in sorted(names & system.position.keys())]
    return np.asarray(np.any(absent[:, places], axis=1))


def _snap_to_bounds(system: ConstraintSystem, alternative: Alternative, points: Floats) -> None:
    """Put coordinates that rounding in binary64 left beyond a bound of their own exactly on it."""
    for linear in alternative.linear:
        if len(linear.coefficients) != 1 or linear.strict or linear.coefficients[0][0] not in system.position:
            continue
        name, coefficient = linear.coefficients[0]
        column = system.position[name]
        bound = float(linear.bound / coefficient)
        values = points[:, column]
        gap = np.abs(values - bound) if linear.relation == "==" else np.sign(float(coefficient)) * (values - bound)
        values[(gap > 0) & (gap <= RELATIVE * (system.scale[column] + abs(bound)))] = bound


def _matrices(
    system: ConstraintSystem, alternative: Alternative, values: Floats, index: Integers, margin: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Normals in standardised coordinates, of length 1, and the bounds of each row."""
    normals: dict[str, list[Floats]] = {"==": [], "<=": []}
    bounds: dict[str, list[Floats]] = {"==": [], "<=": []}
    # Equalities carry the rounding errors of a row's largest number into its small ones.
    largest = 1e-3 * np.nan_to_num(np.abs(values / system.scale)).max(axis=1, initial=0.0)
    for linear in itertools.chain.from_iterable(_forms(system, stated, margin) for stated in alternative.linear):
        normal = np.zeros(len(system.scale))
        bound = np.full(len(values), float(linear.bound))
        for name, coefficient in linear.coefficients:
            column = system.position.get(name)
            if column is None:
                bound = bound - float(coefficient) * system.targets.fixed_numbers(name, index)
                continue
            normal[column] += float(coefficient) * system.scale[column]
            bound[np.isnan(values[:, column])] = np.nan
            places = system.decimals.get(name)
            if margin and linear.relation == "<=" and places is not None:
                step = system.targets.strides[name] * 10.0**-places
                bound = bound - margin * abs(float(coefficient)) * step
        length = float(np.sqrt(np.sum(normal**2)))
        if length == 0:
            continue
        if margin and linear.relation == "<=" and _lacks_grid(system, linear.variables):
            terms = np.nan_to_num(np.abs(normal * values / system.scale)).max(axis=1)
            bound = bound - margin * _SLACK * (length + np.abs(bound) + terms + length * largest)
        normals[linear.relation].append(normal / length)
        bounds[linear.relation].append(bound / length)
    shape, rows = (0, len(system.scale)), len(values)
    return (
        np.array(normals["=="]) if normals["=="] else np.zeros(shape),
        np.stack(bounds["=="], axis=1) if bounds["=="] else np.zeros((rows, 0)),
        np.array(normals["<="]) if normals["<="] else np.zeros(shape),
        np.stack(bounds["<="], axis=1) if bounds["<="] else np.zeros((rows, 0)),
    )


def _forms(system: ConstraintSystem, stated: LinearConstraint, margin: float) -> tuple[LinearConstraint, ...]:
    """What rows are projected onto.

    Of an equality with a small tolerance that is its centre, which costs next to nothing and leaves the tolerance to
    rounding. Of a larger tolerance, and with a margin, it is all that the equality allows.
    """
    if not stated.tolerance:
        return (closed_on_grid(stated, system.decimals),)
    if not margin and float(stated.tolerance) <= _SMALL_TOLERANCE * system.length(stated):
        return (stated,)
    return within_tolerance(stated)


def _lacks_grid(system: ConstraintSystem, names: Iterable[str]) -> bool:
    return any(name in system.position and system.decimals.get(name) is None for name in names)


def _member_equalities(
    system: ConstraintSystem, membership: Membership, member: int, values: Floats
) -> tuple[Floats, Floats]:
    columns = [system.position[name] for name in membership.variables]
    scale = system.scale[columns]
    chosen = values[:, columns]
    absent = np.isnan(chosen)
    _, nearest = system.tree(membership).query(np.where(absent, 0.0, chosen) / scale, k=[member + 1])
    bounds = system.sets[membership][np.asarray(nearest)[:, 0]] / scale
    bounds[absent.any(axis=1)] = np.nan
    normals = np.zeros((len(columns), len(system.scale)))
    normals[np.arange(len(columns)), columns] = 1.0
    return normals, bounds


def _tangent(
    curved: PolynomialConstraint,
    fetch: Fetch,
    system: ConstraintSystem,
    normal: Floats,
    bound: Floats,
    once: Booleans,
    margin: float,
) -> None:
    """Write the tangent at the current points; NaN bound where the constraint does not bind or is not defined."""
    position = system.position
    value, size = curved.evaluate(fetch)
    names = {name for _, monomial in curved.terms for name, _ in monomial}
    if margin and curved.relation != "==" and _lacks_grid(system, names):
        value = value + margin * _SLACK * size
    curved.gradient(fetch, position, normal)
    bound[:] = -value
    for name in sorted(names & position.keys()):
        bound += normal[:, position[name]] * fetch(name)
    length = np.sqrt(np.sum(normal**2, axis=1))
    binding = (length > 0) & np.isfinite(length) & np.isfinite(bound)
    if curved.relation != "==":
        once |= curved.broken(value, np.zeros(len(bound)))
        binding &= once
    normal[binding] /= length[binding, None]
    bound[binding] /= length[binding]
    normal[~binding] = 0.0
    bound[~binding] = np.nan


def project(
    values: NDArray[np.float64],
    variables: Sequence[Variable],
    edits: EditSet,
    scale: NDArray[np.float64] | None = None,
    companions: Mapping[str, NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Nearest points that satisfy all edits, before rounding; for plugins that want feasible values early.

    Parameters
    ----------
    values : ndarray of shape (n, p), float64
        NaN where missing: constraints on such cells do not apply.
    variables : sequence of Variable, length p
        Numeric.
    edits : EditSet
        Edits on other variables are not looked at.
    scale : ndarray of shape (p,), optional
        Distances are measured in these units; by default standard deviations of `values`.
    companions : mapping of name to ndarray of shape (n,), float64, optional
        Numeric variables that edits read and that stay as they are.

    Returns
    -------
    points : ndarray of shape (n, p)
        Unchanged where no feasible point was found.
    found : ndarray of shape (n,), bool

    Raises
    ------
    InputError
        When `values` does not have one column for each variable.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import EditSet, Variable, project
    >>> values = np.array([[3.0, 4.0, 7.0], [3.0, 4.0, 10.0]])
    >>> variables = [Variable(name) for name in ("wages", "pensions", "income")]
    >>> points, found = project(values, variables, EditSet.parse(["wages + pensions == income"]), np.ones(3))
    >>> points.round(6), found.tolist()
    (array([[3., 4., 7.],
           [4., 5., 9.]]), [True, True])
    """
    held = {name: number_cells(column, np.isnan(column), None) for name, column in (companions or {}).items()}
    names = {variable.name for variable in variables} | set(held)
    if values.ndim != 2 or values.shape[1] != len(variables):
        raise InputError(f"values have shape {values.shape}; {len(variables)} variables need one column each")
    if scale is None:
        spread = np.nanstd(values, axis=0, ddof=1) if len(values) > 1 else np.ones(len(variables))
        scale = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
    rules = EditSet(tuple(edit for edit in edits if set(edit.variables) <= names))
    system = system_of(Targets(tuple(variables), held), rules, scale, {})
    failing = (
        np.logical_or.reduce(list(violated(system, values).values())) if len(rules) else np.zeros(len(values), bool)
    )
    index = np.flatnonzero(failing)
    points, found = values.copy(), ~failing
    if len(index):
        moved, solved = nearest_feasible(system, values[index], index)
        points[index[solved]] = moved[solved]
        found[index] = solved
    return points, found
