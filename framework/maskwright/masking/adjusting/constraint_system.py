"""The edits of one adjustment unit as constraints on its rows: violations, chunks, combinations of alternatives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.arrays import Booleans, Floats, Integers
from maskwright.foundation.processes.resources import processors
from maskwright.masking.adjusting.constraints import (
    Alternative,
    Constraint,
    LinearConstraint,
    Membership,
    closed_on_grid,
    constraint_of,
)

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.adjusting.targets import Targets


_CHUNK = 16_384


def by_chunks(work: Callable[[slice], None], rows: int) -> None:
    """Call `work` with slices that cover ``range(rows)``."""
    slices = [slice(start, min(start + _CHUNK, rows)) for start in range(0, rows, _CHUNK)]
    threads = min(len(slices), processors())
    if threads <= 1:
        for each in slices:
            work(each)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, slices):
            pass


RELATIVE = 1e-9
"""Of the largest term, or of a range: what rounding in binary64 may leave a number off a constraint or off another."""

Fetch = Callable[[str], Floats]


@dataclass(frozen=True, eq=False)
class ConstraintSystem:
    """The edits of one adjustment unit as numeric constraints.

    `targets`: the rows that the constraints are on. `scale`: standard deviations; distances are measured in them; shape
    (q,). `sets`: allowed combinations of values; shape (m, v).
    """

    targets: Targets
    constraints: tuple[Constraint, ...]
    scale: Floats
    decimals: Mapping[str, int | None]
    sets: Mapping[Membership, Floats]
    _trees: dict[Membership, cKDTree] = field(default_factory=dict)

    @cached_property
    def position(self) -> dict[str, int]:
        """Column of each variable that may move."""
        return {name: column for column, name in enumerate(self.targets.names)}

    def length(self, linear: LinearConstraint) -> float:
        """How much the sum of a constraint changes at most where its variables move by a standard deviation in all."""
        moving = [(name, float(c)) for name, c in linear.coefficients if name in self.position]
        return float(np.sqrt(sum((c * self.scale[self.position[name]]) ** 2 for name, c in moving)))

    def tree(self, membership: Membership) -> cKDTree:
        """Search tree of a finite set, in standard deviations."""
        if membership not in self._trees:
            from scipy.spatial import cKDTree

            columns = [self.position[name] for name in membership.variables]
            self._trees[membership] = cKDTree(self.sets[membership] / self.scale[columns])
        return self._trees[membership]

    def distance(self, membership: Membership, values: Floats) -> Floats:
        """Of each row to the nearest member of a finite set, in standard deviations; 0 where a value is missing."""
        columns = [self.position[name] for name in membership.variables]
        known: Booleans = np.logical_not(np.any(np.isnan(values[:, columns]), axis=1))
        found, _ = self.tree(membership).query(np.where(known[:, None], values[:, columns], 0.0) / self.scale[columns])
        return np.where(known, found, 0.0)


def system_of(targets: Targets, edits: EditSet, scale: Floats, sets: Mapping[Membership, Floats]) -> ConstraintSystem:
    """Constraints of edits on the rows of an adjustment unit.

    `scale`: standard deviations; shape (q,). `sets`: members of domain edits; those of listed numbers are added; shape
    (m, v).
    """
    movable = frozenset(targets.names)
    constraints = tuple(constraint_of(edit, movable) for edit in edits)
    listed = dict(sets)
    for constraint in constraints:
        for alternative in constraint.alternatives:
            for membership in alternative.memberships:
                if membership.numbers is not None:
                    listed[membership] = np.array([[float(number)] for number in membership.numbers])
    decimals = {variable.name: variable.decimals for variable in targets.variables}
    return ConstraintSystem(targets, constraints, scale, decimals, listed)


def violated(system: ConstraintSystem, values: Floats) -> dict[str, Booleans]:
    """Rows that violate each constraint by more than rounding in binary64 (relative 1e-9); edit name to shape (r,)."""
    found = {constraint.name: np.zeros(len(values), dtype=np.bool_) for constraint in system.constraints}

    @np.errstate(over="ignore", invalid="ignore")
    def work(rows: slice) -> None:
        index = np.arange(rows.start, rows.stop)
        for constraint in system.constraints:
            ways = [_holds(system, alternative, values[rows], index) for alternative in constraint.alternatives]
            found[constraint.name][rows] = ~np.logical_or.reduce(ways)

    by_chunks(work, len(values))
    return found


def _holds(system: ConstraintSystem, alternative: Alternative, values: Floats, index: Integers) -> Booleans:
    result = np.ones(len(values), dtype=np.bool_)
    for linear in alternative.linear:
        total, size = _linear_value(system, linear, values, index)
        gap = total - float(linear.bound)
        allowed = RELATIVE * np.maximum(size, abs(float(linear.bound)))
        if linear.relation == "==":
            result &= ~(np.abs(gap) > allowed + float(linear.tolerance))
        elif linear.strict:
            result &= ~(gap >= 0)
        else:
            result &= ~(gap > allowed)
    for curved in alternative.polynomials:
        value, size = curved.evaluate(fetcher(system, values, index))
        result &= ~curved.broken(value, RELATIVE * size)
    for membership in alternative.memberships:
        away = system.distance(membership, values)
        result &= away <= RELATIVE
    for requirement in alternative.requirements:
        result &= system.targets.known(requirement, values, index)
    return result


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def violation(system: ConstraintSystem, values: Floats, index: Integers) -> Floats:
    """How far rows are from satisfying all constraints, roughly in standard deviations; 0 where they do.

    `values`: shape (m, q). `index`: their row numbers; shape (m,). Returns the sum over constraints of the shortfall of
    the alternative that is nearest to holding; shape (m,).
    """
    total = np.zeros(len(values))
    for constraint in system.constraints:
        ways = [_shortfall(system, alternative, values, index) for alternative in constraint.alternatives]
        total += np.minimum.reduce(ways) if ways else 1.0
    return total


def _shortfall(system: ConstraintSystem, alternative: Alternative, values: Floats, index: Integers) -> Floats:
    result = np.zeros(len(values))
    for stated in alternative.linear:
        linear = closed_on_grid(stated, system.decimals)
        value, size = _linear_value(system, linear, values, index)
        gap = value - float(linear.bound)
        gap = np.abs(gap) - float(linear.tolerance) if linear.relation == "==" else gap
        length = system.length(linear)
        result += np.where(gap > RELATIVE * np.maximum(size, abs(float(linear.bound))), gap / (length or 1.0), 0.0)
    fetch = fetcher(system, values, index)
    for curved in alternative.polynomials:
        value, size = curved.evaluate(fetch)
        slopes = np.empty((len(values), len(system.scale)))
        curved.gradient(fetch, system.position, slopes)
        length = np.sqrt(np.sum((slopes * system.scale) ** 2, axis=1))
        away = np.minimum(np.abs(value) / np.maximum(length, 1e-300), 1e3) + 1e-6
        result += np.where(curved.broken(value, RELATIVE * size), away, 0.0)
    for membership in alternative.memberships:
        away = system.distance(membership, values)
        result += np.where(away > RELATIVE, away, 0.0)
    for requirement in alternative.requirements:
        result += ~system.targets.known(requirement, values, index)
    return result


def _linear_value(
    system: ConstraintSystem, linear: LinearConstraint, values: Floats, index: Integers
) -> tuple[Floats, Floats]:
    total, size, fetch = np.zeros(len(values)), np.zeros(len(values)), fetcher(system, values, index)
    for name, coefficient in linear.coefficients:
        term = float(coefficient) * fetch(name)
        total = total + term
        size = np.maximum(size, np.abs(term))
    return total, size


def fetcher(system: ConstraintSystem, values: Floats, index: Integers) -> Fetch:
    """Function that gives the numbers of a variable by name, shape (m,), whether it moves or not.

    `values`: shape (m, q). `index`: row numbers of `values`; shape (m,).
    """
    position = system.position

    def fetch(name: str) -> Floats:
        column = position.get(name)
        return values[:, column] if column is not None else system.targets.fixed_numbers(name, index)

    return fetch


MOST_COMBINATIONS = 64
"""Combinations of alternatives, or of members of finite sets, up to which all are tried; it bounds time."""


@dataclass(frozen=True)
class Combination:
    """One alternative for each constraint, and for each finite set which of its nearest members."""

    alternative: Alternative
    members: tuple[int, ...]


def switched(picks: tuple[int, ...], choices: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """Alternatives as they are picked, then with another one for a single constraint."""
    yield picks
    for number, choice in enumerate(choices):
        for other in choice:
            if other != picks[number]:
                yield (*picks[:number], other, *picks[number + 1 :])


def with_members(
    rows: Integers, system: ConstraintSystem, picks: Sequence[int], nearest: int
) -> Iterator[tuple[Integers, Combination]]:
    """The rows with one alternative of each constraint, and every choice of the nearest members of finite sets."""
    alternative = Alternative()
    for constraint, pick in zip(system.constraints, picks, strict=True):
        alternative = alternative & constraint.alternatives[pick]
    sizes = [range(min(nearest, len(system.sets[each]))) for each in alternative.memberships]
    for members in itertools.islice(itertools.product(*sizes), MOST_COMBINATIONS):
        yield rows, Combination(alternative, members)
