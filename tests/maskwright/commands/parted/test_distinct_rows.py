"""Combinations of conditions, found column by column, are those that numpy finds row by row."""

from __future__ import annotations

import numpy as np
import pytest

from maskwright.commands.parted.strata import Conditions, distinct_rows
from maskwright.commands.parted.task_settings import WholeVariable
from maskwright.data.dataset import Column
from maskwright.data.variable import Variable
from maskwright.edits.edit_set import EditSet
from maskwright.planning.strata import MISSING_CELLS, Criterion


@pytest.mark.parametrize("columns", [0, 1, 2, 5])
@pytest.mark.parametrize("highest", [1, 2, 40])
def test_rows_and_places_are_those_of_numpy(columns: int, highest: int) -> None:
    codes = np.random.default_rng([columns, highest]).integers(0, highest, (500, columns))
    found, places = distinct_rows(codes)
    if columns:
        expected, inverse = np.unique(codes, axis=0, return_inverse=True)
        assert np.array_equal(found, expected)
        assert np.array_equal(places, inverse.ravel())
    assert np.array_equal(found[places], codes)


def test_no_records_have_no_combinations() -> None:
    found, places = distinct_rows(np.zeros((0, 3), dtype=np.int64))
    assert found.shape == (0, 3)
    assert len(places) == 0


@pytest.mark.parametrize(("missing", "expected"), [(0, (0, 0)), (1, None)])
def test_records_are_looked_at_only_where_they_can_differ(missing: int, expected: tuple[int, ...] | None) -> None:
    gone = np.arange(4) < missing
    columns = [
        Column(Variable(name, "continuous"), np.arange(4.0), gone if name == "b" else np.zeros(4, dtype=np.bool_))
        for name in ("a", "b")
    ]
    conditions = Conditions(("a", "b"), (Criterion(MISSING_CELLS, variables=("a", "b")),), EditSet(()))
    known = {each.variable.name: WholeVariable.of(each) for each in columns}
    assert conditions.only_combination(known) == expected
