"""Rows moved onto constraints of plugins: each kind says where the nearest point is, and its evaluation judges that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.constraint_kinds import known_kinds, params_of, verdicts_of
from maskwright.edits.edit import RangePart
from maskwright.edits.expression import VariableReference
from maskwright.masking.adjusting.constraints import closed_on_grid, constraint_of
from maskwright.planning.projected_kinds import projected_condition
from maskwright.plugins.constraint_kind import MovableRows
from maskwright.plugins.guarding.call import broke_contract
from maskwright.plugins.guarding.origin import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.expression import KindCondition
    from maskwright.masking.adjusting.constraint_system import ConstraintSystem


def onto_kinds(
    system: ConstraintSystem, edits: EditSet, values: NDArray[np.float64], broken: Mapping[str, NDArray[np.bool_]]
) -> NDArray[np.float64]:
    """Rows moved onto the constraints that plugins can move them onto; the others as they are.

    `values`: shape (r, q). `broken`: rows that violate each edit; shape (r,). Returns shape (r, q).
    """
    points = values
    for edit in edits:
        index = np.flatnonzero(broken[edit.name]) if edit.name in broken else np.zeros(0, dtype=np.int64)
        condition = projected_condition(edit, edits, system.targets.names) if len(index) else None
        if condition is None:
            continue
        points = points.copy() if points is values else points
        _move(system, edits, condition, points, index)
    return points


def _move(
    system: ConstraintSystem, edits: EditSet, condition: KindCondition, points: NDArray[np.float64],
    index: NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the nearest points of a condition into the rows `index` that have a value in every column."""
    names = [each.name for each in condition.columns if isinstance(each, VariableReference)]
    place = system.position
    cells = np.stack(
        [
            points[index, place[name]] if name in place else system.targets.companion_numbers(name, index)
            for name in names
        ],
        axis=1,
    )
    known = np.logical_not(np.isnan(cells).any(axis=1))
    index, cells = index[known], cells[known]
    if not len(index):
        return
    movable = np.array([name in place for name in names])
    rows = MovableRows(
        values=cells,
        movable=movable,
        **_bounds(system, edits, names),
        step=np.array([_step(system, name) for name in names]),
        scale=np.array([system.scale[place[name]] if name in place else 1.0 for name in names]),
    )
    kind = known_kinds()[condition.name]
    assert kind.project is not None
    found = np.asarray(kind.project(rows, params_of(kind, condition.numbers)), dtype=np.float64)
    given = np.logical_not(np.isnan(found).any(axis=1))
    grid = movable & (rows.step > 0.0)
    published = found[given].copy()
    published[:, grid] = np.rint(published[:, grid] / rows.step[grid]) * rows.step[grid]
    if (verdicts_of(condition, published) == 0).any():
        raise broke_contract(
            origin_of(kind.project, "constraint", condition.name),
            "moved rows to points that its own evaluation refuses, once they are on the published grid",
        )
    for column in np.flatnonzero(movable):
        points[index[given], place[names[column]]] = published[:, column]


def _step(system: ConstraintSystem, name: str) -> float:
    places = system.decimals.get(name)
    return 0.0 if places is None else system.targets.strides.get(name, 1) * 10.0**-places


def _bounds(system: ConstraintSystem, edits: EditSet, names: list[str]) -> dict[str, NDArray[np.float64]]:
    """Smallest and largest value that other edits allow each variable; as closed intervals."""
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for edit in edits:
        if not all(isinstance(part, RangePart) for part in edit.parts):
            continue
        for alternative in constraint_of(edit, frozenset(system.targets.names)).alternatives:
            for stated in alternative.linear:
                linear = closed_on_grid(stated, system.decimals)
                ((name, coefficient),) = linear.coefficients
                if name not in names:
                    continue
                column, bound = names.index(name), float(linear.bound / coefficient)
                if coefficient > 0 or linear.relation == "==":
                    high[column] = min(high[column], bound)
                if coefficient < 0 or linear.relation == "==":
                    low[column] = max(low[column], bound)
    return {"low": low, "high": high}
