"""Data swapping and shuffling: what stays exactly, who swaps with whom, rank correlations, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.stats import spearmanr

import maskwright as mw
from maskwright import InputError
from maskwright.plugins.registry import find_method


@pytest.fixture(scope="module")
def table():
    """2 000 records of three correlated, skewed variables."""
    rng = np.random.default_rng(8)
    common = rng.normal(size=(2000, 1))
    return np.exp(common + 0.8 * rng.normal(size=(2000, 3)))


def test_records_are_exchanged_whole_at_the_stated_rate(table, make_block, protect):
    masked = protect("data_swapping", make_block(table), rate=0.2)
    moved = np.any(masked.values != table, axis=1)
    assert moved.sum() == masked.notes["swapped_records"] == 400
    assert {tuple(row) for row in masked.values} == {tuple(row) for row in table}
    # An exchange done twice is none.
    place = {tuple(row): number for number, row in enumerate(table)}
    source = np.array([place[tuple(row)] for row in masked.values])
    np.testing.assert_array_equal(source[source], np.arange(2000))


def test_swaps_stay_within_equal_companions_and_patterns_of_missing_cells(table, make_block, protect):
    region = np.repeat([1.0, 2.0, np.nan, 4.0], 500)
    values = table.copy()
    values[::7, 1] = np.nan
    masked = protect("data_swapping", make_block(values, companions={"region": region}), rate=1, within=["region"])
    np.testing.assert_array_equal(np.isnan(masked.values), np.isnan(values))
    for code in (1.0, 2.0, 4.0):
        here = region == code
        np.testing.assert_array_equal(np.sort(masked.values[here, 0]), np.sort(values[here, 0]))
    assert np.count_nonzero(masked.values[:, 0] != values[:, 0]) > 1980


def test_too_few_partners_are_told(make_block, protect):
    alone = {"region": np.arange(5.0)}
    masked = protect("data_swapping", make_block(np.arange(5.0), companions=alone), rate=1, within=["region"])
    assert masked.notes["swapped_records"] == 0
    assert "fewer pairs" in masked.doubts[0]
    assert protect("data_swapping", make_block(np.arange(5.0)), rate=0.001).notes["swapped_records"] == 2


def test_edits_inside_a_group_hold_without_adjustment():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(1, 100, 300), "b": rng.integers(1, 100, 300)})
    frame["total"] = frame["a"] + frame["b"]
    rules = ["a + b == total", "if a < 50 then b >= 0", "a * 1 <= total"]
    masked = mw.protect(frame, "data_swapping", edits=rules, seed=1, params={"rate": 0.5})
    assert {tuple(row) for row in masked.to_numpy()} <= {tuple(row) for row in frame.to_numpy()}
    assert not masked.equals(frame)


def test_shuffling_keeps_values_and_rank_correlations(table, make_block, protect):
    block = make_block(table[:, 1:], companions={"S": table[:, 0]})
    masked = protect("data_shuffling", block, independent=["S"]).values
    np.testing.assert_array_equal(np.sort(masked, axis=0), np.sort(table[:, 1:], axis=0))
    before = spearmanr(table).statistic
    after = spearmanr(np.column_stack([table[:, 0], masked])).statistic
    # Four standard errors of a rank correlation of 2 000 records.
    np.testing.assert_allclose(after, before, atol=0.09)
    assert (masked == table[:, 1:]).mean() < 0.02


def test_given_the_independents_nothing_ties_a_value_to_its_record(table, make_block, protect):
    masked = protect("data_shuffling", make_block(table)).values
    for position in range(3):
        assert abs(spearmanr(masked[:, position], table[:, position]).statistic) < 4 / np.sqrt(2000)


def test_shuffling_refuses_what_would_come_back(table, make_block, protect):
    block = make_block(table[:, 0], companions={"S": np.log(table[:, 0])})
    with pytest.raises(InputError, match="determine the ranks of x1"):
        protect("data_shuffling", block, independent=["S"])
    with pytest.raises(InputError, match="at least 3 are needed"):
        protect("data_shuffling", make_block(table[:2, 0], companions={"S": table[:2, 1]}), independent=["S"])
    with pytest.raises(InputError, match="no missing cells; there are some in x1"):
        protect("data_shuffling", make_block([1.0, np.nan, 3.0]))


@pytest.mark.parametrize("params", [{"rate": 0}, {"rate": 1.2}, {"rate": -1}, {"rate": float("nan")}, {"share": 0.1}])
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ValidationError):
        find_method("data_swapping").params(**params)


def test_unknown_companions_are_refused(make_block, protect):
    with pytest.raises(InputError, match="within: region are not in the data"):
        protect("data_swapping", make_block([1.0, 2.0]), within=["region"])
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match="no variable called 'regio'"):
        mw.protect(frame, "data_swapping", seed=1, params={"within": ["regio"]})
