"""Rank swapping: no value moves further than p percent of the ranks, and every one allowed is as likely."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import maskwright as mw
from maskwright import InputError
from maskwright.plugins.registry import find_method


@settings(max_examples=80)
@given(
    values=st.lists(st.integers(-30, 30), min_size=1, max_size=120), tenths=st.integers(1, 1000),
    seed=st.integers(0, 2**31), holes=st.integers(0, 2**60),
)  # fmt: skip
def test_no_value_moves_by_more_than_p_percent_of_the_ranks(make_block, protect, values, tenths, seed, holes):
    missing = np.array([holes >> (at % 60) & 3 == 0 for at in range(len(values))])
    block = make_block(values, missing)
    m = int((~missing).sum())
    reach = math.floor(Fraction(tenths, 1000) * m)
    if m > 0 and (reach < 1 or m < 2):
        with pytest.raises(InputError, match=r"less than one rank|a single value"):
            protect("rank_swapping", block, seed, p=tenths / 10)
        return
    masked = protect("rank_swapping", block, seed, p=tenths / 10)
    np.testing.assert_array_equal(masked.missing, block.missing)
    if m == 0:
        return
    old, new = block.values[~missing, 0], masked.values[~missing, 0]
    np.testing.assert_array_equal(np.sort(new), np.sort(old))
    # The ranks that a value has: from the number of smaller ones to the number of those not larger.
    ascending = np.sort(old)
    low, high = (np.searchsorted(ascending, new, side) for side in ("left", "right"))
    first, last = (np.searchsorted(ascending, old, side) for side in ("left", "right"))
    assert np.all(low - (last - 1) <= reach)
    assert np.all(first - (high - 1) <= reach)


def test_distinct_values_swap_in_pairs_within_reach(make_block, protect):
    values = np.random.default_rng(1).permutation(20_000).astype(float)
    masked = protect("rank_swapping", make_block(values), p=3).values[:, 0].astype(int)
    ranks = values.astype(int)
    assert np.abs(masked - ranks).max() <= 600
    partner = np.empty(20_000, dtype=int)
    partner[ranks] = masked
    np.testing.assert_array_equal(partner[partner], np.arange(20_000))
    # Only the last ranks, whose windows are used up, stay; about the root of the window.
    assert np.count_nonzero(partner == np.arange(20_000)) < 40


def test_every_free_rank_is_as_likely(make_block, protect):
    """Four ranks with reach 2: the walk's probabilities, counted out by hand."""
    counts = Counter(
        tuple(protect("rank_swapping", make_block([0.0, 1.0, 2.0, 3.0]), seed, p=50).values[:, 0].astype(int))
        for seed in range(4000)
    )
    # 0 with 1, then 2 with 3; or 0 with 2, then 1 with 3 (its window, ranks 2 and 3, has only 3 free).
    assert set(counts) == {(1, 0, 3, 2), (2, 3, 0, 1)}
    # Five standard deviations of a fair coin.
    assert abs(counts[(1, 0, 3, 2)] - 2000) < 160


def test_a_rank_without_a_free_one_above_stays(make_block, protect):
    """Two of three values swap, whatever is drawn: the last one has no window left."""
    for seed in range(50):
        masked = protect("rank_swapping", make_block([0.0, 1.0, 2.0]), seed, p=100).values[:, 0]
        assert np.count_nonzero(masked == [0.0, 1.0, 2.0]) == 1


def test_ordinal_codes_are_swapped(make_block, protect):
    levels = (mw.Variable("schooling", "ordinal", categories=("low", "middle", "high")),)
    masked = protect("rank_swapping", make_block([0, 0, 1, 1, 2, 2] * 5, variables=levels), p=30)
    assert sorted(masked.values[:, 0]) == sorted([0, 0, 1, 1, 2, 2] * 5)


@pytest.mark.parametrize("p", [0, -5, 100.5, float("nan"), float("inf"), "wide"])
def test_p_is_a_percentage(p):
    with pytest.raises(ValidationError):
        find_method("rank_swapping").params(p=p)


def test_a_window_of_no_rank_is_refused_with_the_smallest_p(make_block, protect):
    with pytest.raises(InputError, match=r"p = 5 percent of the 12 values of 'x1' .* take p of at least 8.4"):
        protect("rank_swapping", make_block(np.arange(12.0)), p=5)
    with pytest.raises(InputError, match="'x1' has a single value"):
        protect("rank_swapping", make_block([1.0]), p=100)
