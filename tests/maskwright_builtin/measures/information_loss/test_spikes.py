"""The measure of spikes: shares of frequent values by hand, against a count of each value, and without pairs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw


def measured(before: pd.DataFrame, after: pd.DataFrame, **params: float) -> mw.Measurement:
    return mw.measure(before, after, [{"spikes": params}])["spikes"]


def test_lost_zeros_and_new_hours_by_hand() -> None:
    """Of 40 % zeros half are lost; of four working hours the most usual one loses a fifth of the records."""
    before = pd.DataFrame({"turnover": [0] * 40 + [*range(1, 61)], "hours": [20] * 25 + [38] * 25 + [40] * 50})
    after = pd.DataFrame(
        {"turnover": [0] * 20 + [*range(1, 81)], "hours": [20] * 25 + [38] * 25 + [40] * 40 + [41] * 10}
    )
    found = measured(before, after)
    assert found.per_variable == pytest.approx({"turnover": 50.0, "hours": 10.0})
    assert found.value == pytest.approx(30.0)
    assert found.parts == pytest.approx(
        {
            "largest": 50.0, "zeros_original": 20.0, "zeros_masked": 10.0, "distinct_original": 32.0,
            "distinct_masked": 42.5, "frequent_original": 72.0, "frequent_masked": 62.0,
        }
    )  # fmt: skip
    assert measured(before, before).value == 0.0


def test_what_has_no_spike_loses_none_and_few_records_are_none() -> None:
    rng = np.random.default_rng(1)
    before, after = (pd.DataFrame({"x": rng.normal(size=500)}) for _ in range(2))
    assert measured(before, after).value == 0.0
    assert not measured(before, after).per_variable
    few = pd.DataFrame({"x": [0] * 10 + [*range(1, 41)]})
    assert measured(few, few + 1).value == 0.0
    assert measured(few, few + 1, records=10).value == 100.0


def test_weighted_shares_are_those_of_the_records_written_out() -> None:
    """A record of weight 3 counts as three."""
    rng = np.random.default_rng(2)
    weight = rng.integers(1, 4, 200)
    before = pd.DataFrame({"x": rng.integers(0, 5, 200), "w": weight})
    after = before.assign(x=rng.integers(0, 5, 200))
    declared = {"w": {"role": "weight"}}
    found = mw.measure(before, after, [{"spikes": {"weighted": True}}], declared=declared)["spikes"]
    rows = np.repeat(np.arange(200), weight)
    expected = measured(before.iloc[rows][["x"]], after.iloc[rows][["x"]])
    assert found.value == pytest.approx(expected.value)
    parts = {name: found.parts[name] for name in expected.parts}
    assert parts == pytest.approx(expected.parts)


def test_files_of_different_length_and_missing_cells() -> None:
    before = pd.DataFrame({"x": [0.0] * 50 + [np.nan] * 50 + [*np.arange(1.0, 51.0)]})
    after = pd.DataFrame({"x": [0.0] * 30 + [*np.arange(1.0, 71.0)]})
    assert measured(before, after).value == pytest.approx(100 * 0.2 / 0.5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-2, 3), min_size=30, max_size=80), st.lists(st.integers(-2, 3), min_size=1, max_size=80),
    st.sampled_from([0.05, 0.2, 0.5]),
)  # fmt: skip
def test_any_files_against_a_count_of_each_value(before: list[int], after: list[int], share: float) -> None:
    old, new = Counter(before), Counter(after)
    shares = [
        (old[v] / len(before), new[v] / len(after))
        for v in old if old[v] >= share * len(before) and old[v] >= 5
    ]  # fmt: skip
    expected = 100 * sum(abs(a - b) for a, b in shares) / sum(map(max, shares)) if shares else 0.0
    found = measured(pd.DataFrame({"x": before}), pd.DataFrame({"x": after}), share=share, records=5)
    assert found.value == pytest.approx(expected)
    assert found.parts["distinct_masked"] == len(new)
    assert found.parts["zeros_masked"] == pytest.approx(100 * new[0] / len(after))
