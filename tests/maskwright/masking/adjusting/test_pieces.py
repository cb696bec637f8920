"""Rows are adjusted alone: cut into calls of any size, they come out the same in every value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting import row_outcomes as donors_module
from maskwright.masking.adjusting.adjust import Adjustment, adjust
from maskwright.masking.adjusting.row_outcomes import Donors
from maskwright.masking.adjusting.targets import Targets


@dataclass(frozen=True)
class World:
    """Rules that rounding alone does not meet, and rows that violate them."""

    rules: tuple[str, ...]
    grid: dict[str, int | None]
    high: tuple[float, ...]
    rows: int

    def values(self) -> np.ndarray:
        rng = np.random.default_rng(3)
        values = np.column_stack([rng.uniform(-high / 20, high, self.rows) for high in self.high])
        values[rng.random(values.shape) < 0.02] = np.nan
        return np.asarray(values)

    def adjusted(self, values: np.ndarray, donors: Donors | None = None) -> Adjustment:
        variables = tuple(mw.Variable(name, decimals=places) for name, places in self.grid.items())
        scale = np.array(self.high) / 4
        rng = generator(1, "pieces")
        return adjust(values, Targets(variables, {}), mw.EditSet.parse(self.rules), scale, rng, donors=donors)


WORLDS = {
    "products and multiples": World(
        ("rate * base == tax", "0.01 <= rate <= 0.5", "3*a + 5*b == 2*c", "if a > 40 then b <= 30", "c <= 200"),
        {"rate": 2, "base": 2, "tax": 2, "a": 0, "b": 0, "c": 0},
        (0.5, 5000, 2500, 100, 100, 300),
        200,
    ),
    "products under conditions": World(
        ("if staff > 9 then round(wages / staff, 1) == head", "if staff > 30 then part * 3 == staff", "part <= 15"),
        {"staff": 0, "wages": 0, "head": 1, "part": 0},
        (60, 3000, 100, 20),
        120,
    ),
    # More than 64 ways to combine alternatives, so that each row has ways of its own.
    "many alternatives": World(
        (
            *(f"if v{i} > 10 then v{i + 1} <= 5 or v{i + 1} >= 30" for i in range(7)),
            "v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7 + v8 == total",
            "7 * v0 + 11 * v1 == 13 * v2",
        ),
        {**{f"v{i}": 0 for i in range(9)}, "total": 0},
        (*(40,) * 9, 300),
        24,
    ),
    # Hardly any row has a point on the grid near it.
    "the nearest donor": World(
        ("x * y == z", "z in {1001, 2002, 5005, 9996}", "x >= 2", "y >= 2", "5 * x + 7 * w == 11 * y"),
        {"x": 0, "y": 0, "z": 0, "w": 0},
        (100, 100, 10_000, 100),
        24,
    ),
}


@cache
def whole(name: str) -> np.ndarray:
    """Rows of a world, adjusted in one call: computed once, as several tests compare with it."""
    values = WORLDS[name].adjusted(WORLDS[name].values()).values
    values.setflags(write=False)
    return values


def _in_pieces(world: World, values: np.ndarray, cuts: list[int]) -> np.ndarray:
    """Pieces without donors, the donors of all, and what is left again with these."""
    parts = np.split(values, sorted(cuts))
    first = [world.adjusted(part, Donors.none(values.shape[1])) for part in parts]
    donors = Donors.merged([each.donors for each in first])
    found = []
    for part, each in zip(parts, first, strict=True):
        done, left = each.values.copy(), np.flatnonzero(each.infeasible)
        done[left] = world.adjusted(part[left], donors).values
        found.append(done)
    return np.concatenate(found)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_pieces_of_any_size_are_the_whole(name: str, seed: int) -> None:
    """One call and pieces agree in every value, also where donors are needed and where there is one row to a piece."""
    world = WORLDS[name]
    values = world.values()
    # The first and the last piece have no row, and the second has one.
    cuts = [0, 1, *np.random.default_rng(seed).integers(1, len(values), 2).tolist(), len(values)]
    np.testing.assert_array_equal(_in_pieces(world, values, cuts), whole(name))


@pytest.mark.parametrize("name", WORLDS)
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    """Rows that are shuffled come out as they did, in their new places."""
    world = WORLDS[name]
    values = world.values()
    order = np.random.default_rng(0).permutation(len(values))
    np.testing.assert_array_equal(world.adjusted(values[order]).values, whole(name)[order])


def test_single_rows_are_the_whole() -> None:
    """A piece may be one row."""
    world = WORLDS["many alternatives"]
    values = world.values()[:20]
    pieces = _in_pieces(world, values, list(range(len(values))))
    np.testing.assert_array_equal(pieces, world.adjusted(values).values)


def test_the_worlds_are_hard() -> None:
    """Every attempt is needed somewhere, or these tests would show nothing."""
    assert WORLDS["products and multiples"].adjusted(WORLDS["products and multiples"].values()).moved.mean() > 0.9
    done = WORLDS["the nearest donor"].adjusted(WORLDS["the nearest donor"].values())
    assert done.fallback.any()


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 400), max_size=6))
def test_donors_do_not_depend_on_how_rows_are_cut(seed: int, cuts: list[int]) -> None:
    """Merged donors of the parts are those of the whole, also where there are more rows than donors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(donors_module, "MOST", 50)
        rows = np.random.default_rng(seed).integers(0, 30, size=(400, 3)).astype(np.float64)
        rows[rows == 7] = np.nan
        merged = Donors.merged([Donors.among(part) for part in np.split(rows, sorted(cuts))])
        np.testing.assert_array_equal(merged.rows, Donors.among(rows).rows)
        assert len(merged.rows) == 50
        assert len(np.unique(merged.rows, axis=0)) == 50
