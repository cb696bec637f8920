"""Groups moved with their members: the least move there is, sums that come out even, and groups that cannot move."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import maskwright as mw
from maskwright.edits.edit_set import EditSet
from maskwright.edits.levels.joint_rules import LevelColumns, joined_groups, joint_rules
from maskwright.edits.levels.joint_writing import JointWriter
from maskwright.masking.levels.moving import moved_together
from maskwright.planning.levels.bound_edits import edits_of_levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.edits.levels.binding import BoundEdits

LEVELS = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household", "pointers": {"mother": "pno"}}}
SUM = "sum(person.income) + capital == total"
SIGNS = ("income >= 0", "capital >= 0")


def linked_of(
    members: Sequence[Sequence[float]], capital: Sequence[float], total: Sequence[float], **more: Sequence[float]
) -> mw.LinkedData:
    sizes = [len(each) for each in members]
    persons = pd.DataFrame(
        {
            "hhid": np.repeat(np.arange(len(sizes)) + 1, sizes),
            "pno": np.concatenate([np.arange(size) + 1 for size in sizes]),
            "mother": 0,
            "income": np.concatenate(members),
            **more,
        }
    )
    rows = pd.DataFrame({"hhid": np.arange(len(sizes)) + 1, "capital": capital, "total": total})
    return mw.linked_data({"household": rows, "person": persons}, LEVELS)


def bound_to(linked: mw.LinkedData, *rules: str) -> BoundEdits:
    return edits_of_levels(EditSet.parse(list(rules)), linked)


MOVING = {"household": ["capital"], "person": ["income"]}
SCALE = {"capital": 2.0, "income": 3.0}


def drawn(households: int, places: int | None) -> mw.LinkedData:
    """Households of up to six members, on a grid of so many decimals or on none."""
    rng = np.random.default_rng(5)
    digits = 9 if places is None else places
    members = [np.round(rng.gamma(2, 400, size), digits) for size in rng.integers(1, 7, households)]
    capital = np.round(rng.gamma(1, 300, households), digits)
    total = np.array([each.sum() for each in members]) + capital
    total = total * np.exp(rng.normal(0, 0.3, households))
    # Cents stand on quarters, as those do that steps mask: their sums are exact in binary64.
    linked = linked_of(members, capital, np.rint(total * 4) / 4 if places == 2 else np.round(total, digits))
    return on_grid(linked, places)


def on_grid(linked: mw.LinkedData, places: int | None) -> mw.LinkedData:
    amounts = ("income", "capital", "total")
    return linked.with_data(
        {
            level.name: level.data.with_columns(
                {
                    each.name: replace(each, variable=replace(each.variable, decimals=places, binary_steps=True))
                    for each in level.data
                    if each.name in amounts
                }
            )
            for level in linked
        }
    )


def test_the_move_is_the_least_one_by_another_solver() -> None:
    """Without a grid: the joint projection, to 1e-8 of what SLSQP finds on 500 households."""
    linked = drawn(500, None)
    moved = moved_together(linked, bound_to(linked, SUM, *SIGNS), MOVING, SCALE, 100, 1)
    assert not moved.infeasible.any()
    starts = linked.starts("person")
    before, after = linked["person"].data["income"].values, moved.linked["person"].data["income"].values
    for group in range(500):
        here = slice(starts[group], starts[group + 1])
        start = np.append(before[here], linked["household"].data["capital"].values[group])
        found = np.append(after[here], moved.linked["household"].data["capital"].values[group])
        unit = np.append(np.full(len(start) - 1, 3.0), 2.0)
        total = linked["household"].data["total"].values[group]
        exact = _nearest(start, unit, total)
        assert found == pytest.approx(exact, abs=1e-8 * max(1.0, total))
        assert found.sum() == pytest.approx(total, rel=1e-12)


def _nearest(start: np.ndarray, unit: np.ndarray, total: float) -> np.ndarray:
    """Least move onto a sum with nothing below 0: active sets that scipy's solver finds, solved exactly."""
    size = float(np.abs(start).max())
    rough = minimize(
        lambda x: float(np.sum(((x - start / size) / unit) ** 2)), start / size, method="SLSQP",
        jac=lambda x: 2 * (x - start / size) / unit**2, bounds=[(0, None)] * len(start),
        constraints={"type": "eq", "fun": lambda x: x.sum() - total / size, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    free = rough.x > 1e-7
    exact = np.zeros(len(start))
    gap = total - start[free].sum()
    exact[free] = start[free] + gap * unit[free] ** 2 / (unit[free] ** 2).sum()
    return exact


@pytest.mark.parametrize("places", [0, 2])
def test_sums_come_out_even_and_no_cell_moves_a_unit_by_rounding(places: int) -> None:
    linked = drawn(2_000, places)
    moved = moved_together(linked, bound_to(linked, SUM, *SIGNS), MOVING, SCALE, 100, 1)
    assert moved.moved.sum() > 1_900
    scale = 10**places
    members = np.rint(moved.linked["person"].data["income"].values * scale)
    sums = np.bincount(linked["person"].groups, members) + np.rint(
        moved.linked["household"].data["capital"].values * scale
    )
    assert (sums == np.rint(linked["household"].data["total"].values * scale)).all()
    # Beside the projection that nobody rounds, in steps of 1 or 0.25.
    exact = moved_together(on_grid(linked, None), bound_to(linked, SUM, *SIGNS), MOVING, SCALE, 100, 1).linked
    for level, name in (("person", "income"), ("household", "capital")):
        steps = np.abs(moved.linked[level].data[name].values - exact[level].data[name].values) * 2**places
        assert (steps < 1).all()
    assert (members >= 0).all()
    assert (moved.linked["household"].data["capital"].values >= 0).all()


def test_zeros_stay_and_who_has_nothing_to_move_is_named() -> None:
    linked = linked_of([[100, 0], [0, 0], [50]], [0, 0, 20], [130, 10, 70])
    moved = moved_together(linked, bound_to(linked, SUM, *SIGNS), MOVING, SCALE, 100, 1)
    assert moved.linked["person"].data["income"].values.tolist() == [130, 0, 0, 0, 50]
    assert (moved.moved.tolist(), moved.infeasible.tolist()) == ([True, False, False], [False, True, False])
    assert moved.by_edit == {"edit-1": 2}
    assert moved.failing == {"edit-1": 1}


def test_a_zero_stays_without_a_grid_too() -> None:
    """The projection ends near 0 and not on it; the group is moved all the same, and not only said to be."""
    linked = on_grid(linked_of([[0, 408, 1145, 677, 48, 2610]], [0], [3686]), None)
    moved = moved_together(linked, bound_to(linked, SUM, *SIGNS), MOVING, SCALE, 100, 1)
    incomes = moved.linked["person"].data["income"].values
    assert incomes[0] == 0
    assert incomes.sum() == pytest.approx(3686, rel=1e-12)


def test_large_groups_are_left() -> None:
    linked = linked_of([[1, 2, 3], [1, 2]], [0, 0], [9, 9])
    moved = moved_together(linked, bound_to(linked, SUM, *SIGNS), MOVING, SCALE, 2, 1)
    assert (moved.large.tolist(), moved.moved.tolist()) == ([True, False], [False, True])


def test_rules_are_written_out_for_each_composition() -> None:
    linked = linked_of([[10, 20, 5], [7, 3, 1]], [1, 1], [36, 12], age=[40, 10, 50, 30, 60, 8])
    rules = (
        "sum(person.income where age < 16) <= 0.5 * capital",
        "max(person.income) <= total",
        "income <= household.total",
        "if capital > 0 then any(person where age < 16)",
        "any(person where income > 0 and age < 16)",
        "unique(person.pno)",
        "one(person where income > 0)",
    )
    bound = bound_to(linked, *rules)
    found = joint_rules(bound, ("household", "person"), MOVING)
    groups = joined_groups(LevelColumns.of(linked, bound, found), "income")
    assert len(groups) == 1  # two adults and a child, the richer adult first
    assert groups[0].members.tolist() == [[0, 2, 1], [3, 4, 5]]
    written = JointWriter(found).edits(groups[0].composition)
    variables = {edit.name: edit.variables for edit in written.edits}
    assert variables["edit-1"] == ("income[3]", "capital")
    assert variables["edit-2"] == ("income[1]", "total", "income[2]", "income[3]")
    assert variables["edit-3 [2]"] == ("income[2]", "total")
    assert variables["edit-5"] == ("income[3]",)
    assert "edit-4" not in variables  # a member under 16 is there, whatever the capital
    assert "edit-6" not in variables  # it reads nothing that moves
    assert written.open == ("edit-7",)


def test_pointers_lead_to_the_member_pointed_to() -> None:
    linked = linked_of([[10, 4], [3, 20]], [0, 0], [14, 23], mother=[0, 1, 2, 0])
    bound = bound_to(linked, "income <= mother.income")
    found = joint_rules(bound, ("household", "person"), MOVING)
    (group,) = joined_groups(LevelColumns.of(linked, bound, found), "income")
    assert group.members.tolist() == [[0, 1], [3, 2]]
    (edit,) = JointWriter(found).edits(group.composition).edits
    assert edit.variables == ("income[2]", "income[1]")
    moved = moved_together(linked, bound_to(linked, "income <= mother.income", SUM, *SIGNS), MOVING, SCALE, 100, 1)
    assert not moved.left.any()
