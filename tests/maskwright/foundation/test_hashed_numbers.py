"""Hashes of rows: what a row holds decides, and nothing else."""

from __future__ import annotations

import numpy as np

from maskwright.foundation.randomness import mixed, row_hashes


def test_published_numbers() -> None:
    """The first numbers of SplitMix64 from state 0, as its authors' reference code prints them."""
    gamma = 0x9E3779B97F4A7C15
    states = np.array([(number * gamma) % 2**64 for number in range(3)], dtype=np.uint64)
    assert [f"{each:016x}" for each in mixed(states)] == ["e220a8397b1dcdaf", "6e789e6aa1b965f4", "06c45d188009454f"]


def test_equal_rows_have_equal_hashes() -> None:
    """Places, other rows, kinds of zero and bits of NaN do not matter; columns do."""
    rows = np.array([[0.0, np.nan, 2.5], [-0.0, np.float64(-np.nan), 2.5], [np.nan, 0.0, 2.5]])
    found = row_hashes(rows)
    assert found[0] == found[1] != found[2]
    np.testing.assert_array_equal(row_hashes(rows[::-1]), found[::-1])
    np.testing.assert_array_equal(row_hashes(np.asfortranarray(rows)), found)


def test_hashes_are_spread_evenly() -> None:
    """Of many rows of whole numbers, a tenth has hashes below a tenth of the range."""
    rows = np.arange(100_000, dtype=np.float64).reshape(-1, 1)
    found = row_hashes(rows)
    assert len(np.unique(found)) == len(rows)
    assert abs(np.mean(found < np.uint64(2**64 // 10)) - 0.1) < 0.005
