"""Compiled projection of many points, each onto its own polyhedron.

The dual active-set method of Goldfarb and Idnani (Mathematical Programming 27, 1983, section 3) with the identity as
Hessian: it starts at the unconstrained optimum, the point itself, and adds one violated constraint at a time. A point
of a few dozen coordinates takes a handful of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numba import njit

from maskwright.foundation.kernel_cache import kernel_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.foundation.arrays import Floats

# Where a number that changes starts from, if a function gets it: given a literal, Numba compiles the function twice,
# once for this number alone.
_ZERO = cast("int", np.int64(0))
_NONE = cast("int", np.int64(-1))

SOLVED = 0
INFEASIBLE = 1
STALLED = 2

# Relative to the largest term: what counts as violated, first and on refined points, and what a constraint that
# depends on active ones may miss.
_TOLERANCE = 1e-12
_FINEST = 5e-16
_ALLOWED = 1e-12
_DEPENDENT = 1e-20

# The steps that `_project_one` takes again and again are compiled into it, and get their arrays one by one: calls, and
# tuples of arrays taken apart, count references, which made it up to a tenth slower.
_step_of_projection = njit(nogil=True, error_model="numpy", inline="always")


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _append(normal, sign, basis, triangle, active):  # type: ignore[no-untyped-def]
    """Orthogonalise ``sign * normal`` against the basis (twice: once loses digits); returns the squared rest."""
    dimension = normal.shape[0]
    rest = basis[active]
    for column in range(dimension):
        rest[column] = sign * normal[column]
    for row in range(active):
        triangle[row, active] = 0.0
    for _ in range(2):
        for row in range(active):
            inner = 0.0
            for column in range(dimension):
                inner += basis[row, column] * rest[column]
            triangle[row, active] += inner
            for column in range(dimension):
                rest[column] -= inner * basis[row, column]
    squared = 0.0
    for column in range(dimension):
        squared += rest[column] * rest[column]
    return squared


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _accept(squared, basis, triangle, active):  # type: ignore[no-untyped-def]
    """Make the rest left by `_append` the next basis vector."""
    length = np.sqrt(squared)
    triangle[active, active] = length
    for column in range(basis.shape[1]):
        basis[active, column] /= length


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _multipliers(triangle, active, result):  # type: ignore[no-untyped-def]
    """Coordinates of the appended normal in the active normals: solve the triangle's leading block."""
    for row in range(active - 1, -1, -1):
        value = triangle[row, active]
        for column in range(row + 1, active):
            value -= triangle[row, column] * result[column]
        result[row] = value / triangle[row, row]


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _refine(point, equal, equal_bound, own, own_bound, below, below_bound, active_set):  # type: ignore[no-untyped-def]
    """Put the point exactly onto its active constraints: the steps that led there have left rounding errors."""
    active, basis, triangle, chosen, residual = active_set
    shared = equal.shape[0]
    for row in range(active):
        number = chosen[row]
        if number >= 0:
            normal, bound, sign = below[number], below_bound[number], -1.0
        elif -1 - number < shared:
            normal, bound, sign = equal[-1 - number], equal_bound[-1 - number], 1.0
        else:
            normal, bound, sign = own[-1 - number - shared], own_bound[-1 - number - shared], 1.0
        gap = -bound
        for column in range(point.shape[0]):
            gap += normal[column] * point[column]
        gap *= sign
        # The normals are the columns of basis' * triangle: solve triangle' * residual = gaps on the way.
        for other in range(row):
            gap -= triangle[other, row] * residual[other]
        residual[row] = gap / triangle[row, row]
    for row in range(active):
        for column in range(point.shape[0]):
            point[column] -= residual[row] * basis[row, column]


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _drop(leaving, active, basis, triangle, chosen, dual):  # type: ignore[no-untyped-def]
    """Remove one active constraint: Givens rotations restore the triangle."""
    dimension = basis.shape[1]
    for column in range(leaving, active - 1):
        chosen[column] = chosen[column + 1]
        dual[column] = dual[column + 1]
        for row in range(column + 2):
            triangle[row, column] = triangle[row, column + 1]
    for column in range(leaving, active - 1):
        upper, lower = triangle[column, column], triangle[column + 1, column]
        length = np.hypot(upper, lower)
        cosine, sine = upper / length, lower / length
        for other in range(column, active - 1):
            first, second = triangle[column, other], triangle[column + 1, other]
            triangle[column, other] = cosine * first + sine * second
            triangle[column + 1, other] = -sine * first + cosine * second
        for coordinate in range(dimension):
            first, second = basis[column, coordinate], basis[column + 1, coordinate]
            basis[column, coordinate] = cosine * first + sine * second
            basis[column + 1, coordinate] = -sine * first + cosine * second
    return active - 1


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _meet_equalities(point, equal, equal_bound, own, own_bound, basis, triangle, chosen, dual):  # type: ignore[no-untyped-def]
    """Project the point onto its equalities; returns how many are active, -1 when they exclude each other."""
    dimension = point.shape[0]
    shared = equal.shape[0]
    active = _ZERO
    for number in range(shared + own.shape[0]):
        normal = equal[number] if number < shared else own[number - shared]
        bound = equal_bound[number] if number < shared else own_bound[number - shared]
        if np.isnan(bound):
            continue
        gap = -bound
        size = abs(bound)
        length = 0.0
        for column in range(dimension):
            gap += normal[column] * point[column]
            size = max(size, abs(normal[column] * point[column]))
            length += normal[column] * normal[column]
        squared = 0.0 if active == dimension else _append(normal, 1.0, basis, triangle, active)
        if squared <= _DEPENDENT * length or active == dimension:
            if abs(gap) > 1e-9 * (1.0 + size):
                return _NONE
            continue
        for column in range(dimension):
            point[column] -= gap / squared * basis[active, column]
        _accept(squared, basis, triangle, active)
        chosen[active] = -1 - number
        dual[active] = 0.0
        active += 1
    return active


@_step_of_projection
def _most_violated(point, below, below_bound, tolerance, in_use, count, columns):  # type: ignore[no-untyped-def]
    """Inequality that is violated most, -1 when none is; its gap, below 0, and the size of its largest term."""
    worst, worst_gap, worst_size = _NONE, 0.0, 0.0
    for number in range(below.shape[0]):
        if in_use[number] or np.isnan(below_bound[number]):
            continue
        gap = below_bound[number]
        size = abs(gap)
        for place in range(count[number]):
            term = below[number, columns[number, place]] * point[columns[number, place]]
            gap -= term
            size = max(size, abs(term))
        if gap < -tolerance * (1.0 + size) and gap < worst_gap:
            worst, worst_gap, worst_size = number, gap, size
    return worst, worst_gap, worst_size


@_step_of_projection
def _append_inequality(below, number, active, basis, triangle):  # type: ignore[no-untyped-def]
    """Append the normal of an inequality: the constraint is -below . x >= -bound, so its normal is -below."""
    if active < basis.shape[1]:
        return _append(below[number], -1.0, basis, triangle, active)
    # The basis is full: nothing is left of the normal.
    for row in range(active):
        inner = 0.0
        for column in range(basis.shape[1]):
            inner -= basis[row, column] * below[number, column]
        triangle[row, active] = inner
    return 0.0


@_step_of_projection
def _longest_dual_step(active, chosen, dual, step):  # type: ignore[no-untyped-def]
    """How far multipliers may move until one of an active inequality is 0, and its place; infinite and -1: no end."""
    longest, leaving = np.inf, _NONE
    for row in range(active):
        if chosen[row] >= 0 and step[row] > 1e-14:
            ratio = dual[row] / step[row]
            if ratio < longest:
                longest, leaving = ratio, row
    return longest, leaving


@_step_of_projection
def _meet_inequality(point, number, gap, size, below, active, basis, triangle, chosen, dual, step, in_use):  # type: ignore[no-untyped-def]
    """Step by step make a violated inequality active; returns how many constraints are, -1 when none can make room."""
    dimension = point.shape[0]
    own_dual = 0.0
    length = 0.0
    for column in range(dimension):
        length += below[number, column] * below[number, column]
    remaining = gap
    while True:
        squared = _append_inequality(below, number, active, basis, triangle)
        _multipliers(triangle, active, step)
        dual_step, leaving = _longest_dual_step(active, chosen, dual, step)
        primal_step = np.inf
        if active < dimension and squared > _DEPENDENT * length:
            primal_step = -remaining / squared
        if np.isinf(dual_step) and np.isinf(primal_step):
            if -remaining > _ALLOWED * (1.0 + size):
                return _NONE
            # Rounding errors of the active constraints that it depends on.
            in_use[number] = True
            return active
        taken = min(dual_step, primal_step)
        for row in range(active):
            dual[row] -= taken * step[row]
        own_dual += taken
        if not np.isinf(primal_step):
            for column in range(dimension):
                point[column] += taken * basis[active, column]
        if primal_step <= dual_step:
            _accept(squared, basis, triangle, active)
            chosen[active] = number
            dual[active] = own_dual
            in_use[number] = True
            return active + 1
        remaining += taken * squared if not np.isinf(primal_step) else 0.0
        in_use[chosen[leaving]] = False
        active = _drop(leaving, active, basis, triangle, chosen, dual)


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _project_one(point, equal, equal_bound, own, own_bound, below, below_bound, work):  # type: ignore[no-untyped-def]
    """Project one point in place; see `project_points`."""
    basis, triangle, chosen, dual, step, in_use, count, columns = work
    limits = below.shape[0]
    active = _meet_equalities(point, equal, equal_bound, own, own_bound, basis, triangle, chosen, dual)
    if active < 0:
        return INFEASIBLE
    for number in range(limits):
        in_use[number] = False
    tolerance = _TOLERANCE
    for _ in range(20 * (limits + point.shape[0]) + 20):
        worst, gap, size = _most_violated(point, below, below_bound, tolerance, in_use, count, columns)
        if worst < 0:
            active_set = (active, basis, triangle, chosen, step)
            _refine(point, equal, equal_bound, own, own_bound, below, below_bound, active_set)
            if tolerance == _FINEST:
                return SOLVED
            tolerance = _FINEST
            continue
        active = _meet_inequality(point, worst, gap, size, below, active, basis, triangle, chosen, dual, step, in_use)
        if active < 0:
            return INFEASIBLE
    return SOLVED if tolerance == _FINEST else STALLED


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _project_all(points, equal, equal_bound, own, own_bound, below, below_bound, status):  # type: ignore[no-untyped-def]
    """Project every row; its point changes only when that worked."""
    dimension = points.shape[1]
    room = dimension + 1
    # Of the active constraints: an orthonormal basis of their normals, its triangle, numbers (-1, -2, ... for
    # equalities) and multipliers; room for a step of these; which inequalities are active.
    basis, triangle = np.empty((room, dimension)), np.empty((room, room))
    chosen, dual, step = np.empty(room, np.int64), np.empty(room), np.empty(room)
    in_use = np.zeros(below.shape[0], np.bool_)
    # Most normals have one or a few nonzero coordinates: how many, and which.
    count, columns = np.zeros(below.shape[0], np.int64), np.empty(below.shape, np.int64)
    work = (basis, triangle, chosen, dual, step, in_use, count, columns)
    for number in range(below.shape[0]):
        for column in range(dimension):
            if below[number, column] != 0.0:
                columns[number, count[number]] = column
                count[number] += 1
    point = np.empty(dimension)
    for row in range(points.shape[0]):
        # Cell by cell: copying a row whole makes Numba compile three seconds of code that words an error about shapes.
        for column in range(dimension):
            point[column] = points[row, column]
        status[row] = _project_one(
            point, equal, equal_bound[row], own[row], own_bound[row], below, below_bound[row], work
        )
        if status[row] == SOLVED:
            for column in range(dimension):
                points[row, column] = point[column]


def project_points(
    points: Floats,
    equal: Floats,
    equal_bound: Floats,
    own: Floats,
    own_bound: Floats,
    below: Floats,
    below_bound: Floats,
    status: NDArray[np.int8],
) -> None:
    """Project every point in place onto its own polyhedron.

    The nearest x with ``equal @ x == equal_bound``, ``own @ x == own_bound`` and ``below @ x <= below_bound``.

    `points`: replaced by their projections where `status` is 0; shape (r, d). `equal`, `below`: normals shared by all
    points; shape (e, d) and (i, d). `equal_bound`, `below_bound`: bounds of each point; NaN leaves the constraint out
    for that point; shape (r, e) and (r, i). `own`, `own_bound`: equalities with normals of their own for each point
    (linearised products); shape (r, o, d) and (r, o). `status`: Written: 0 solved, 1 infeasible, 2 stalled; shape (r,).
    """
    _project_all(points, equal, equal_bound, own, own_bound, below, below_bound, status)
