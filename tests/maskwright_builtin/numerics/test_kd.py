"""The steps of a k-d cut do what sorting would."""

from __future__ import annotations

import numpy as np
import pytest

from maskwright_builtin.numerics.spatial import select, widest_column

RNG = np.random.default_rng(20261122)
COLUMNS = {
    "numbers": RNG.standard_normal(501),
    "many ties": RNG.integers(0, 3, 501).astype(float),
    "all equal": np.zeros(501),
    "ascending": np.arange(501.0),
    "descending": -np.arange(501.0),
    "one": np.ones(1),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", COLUMNS)
def test_the_smaller_records_come_first_and_ties_go_by_record(name, dtype):
    values = COLUMNS[name].astype(dtype)
    n = len(values)
    expected = np.argsort(values, kind="stable")
    for place in {0, n // 3, n // 2, n - 1}:
        order = RNG.permutation(n)
        keys = values[order]
        select(keys, order, 0, n, place)
        np.testing.assert_array_equal(np.sort(order[:place]), np.sort(expected[:place]))
        assert order[place] == expected[place]
        np.testing.assert_array_equal(keys, values[order])


def test_only_the_range_asked_for_is_rearranged():
    order, keys = np.arange(9), np.arange(9.0)[::-1].copy()
    select(keys, order, 3, 7, 5)
    assert order[[0, 1, 2, 7, 8]].tolist() == [0, 1, 2, 7, 8]
    assert sorted(order[3:5]) == [5, 6]


def test_the_widest_column_in_units_of_its_weight():
    values = np.array([[0.0, 0.0, 9.0], [4.0, 2.0, 9.0], [90.0, 2.0, 9.0]])
    order = np.array([1, 0, 2])
    assert widest_column(values, order, 0, 2, np.array([1.0, 1.0, 1.0])) == 0
    assert widest_column(values, order, 0, 2, np.array([1.0, 3.0, 1.0])) == 1
    assert widest_column(values, order, 0, 2, np.array([1.0, 2.0, 1.0])) == 0
