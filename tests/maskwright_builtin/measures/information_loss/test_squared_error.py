"""Squared error: the formula, what it is for the mean, missing and constant variables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright_builtin.measures.information_loss.additive_losses import squared_error
from maskwright_builtin.measures.pairing import WeightedParams


@pytest.fixture(scope="module")
def sse(compare, rng):
    def measure(original, masked, **more):
        return squared_error(compare(original, masked, **more), WeightedParams(), rng)

    return measure


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), p=st.integers(1, 4))
@settings(max_examples=40)
def test_equals_the_formula(sse, seed, n, p):
    generator = np.random.default_rng(seed)
    original = generator.normal(size=(n, p)) * 10.0 ** generator.integers(-5, 6, p)
    masked = original + generator.normal(size=(n, p))
    expected = 100 * np.sum(((original - masked) / original.std(axis=0, ddof=1)) ** 2) / (p * (n - 1))
    found = sse(original, masked)
    assert found.value == pytest.approx(expected)
    assert np.mean(list(found.per_variable.values())) == pytest.approx(expected)
    assert found.per_record.sum() == pytest.approx(expected)


def test_the_original_loses_nothing_and_the_mean_loses_everything(sse, census):
    assert sse(census, census).value == 0
    assert sse(census, census * 0 + census.mean()).value == pytest.approx(100)
    offset = census + 1e8
    assert sse(offset, offset * 0 + offset.mean()).value == pytest.approx(100)


def test_scale_and_order_change_nothing(sse):
    generator = np.random.default_rng(1)
    original, masked = generator.normal(size=(50, 3)), generator.normal(size=(50, 3))
    expected = sse(original, masked).value
    order = generator.permutation(50)
    assert sse(original[order][:, ::-1], masked[order][:, ::-1]).value == pytest.approx(expected)
    assert sse(-3e6 * original + 7, -3e6 * masked + 7).value == pytest.approx(expected)


def test_a_constant_variable_counts_only_when_it_is_kept(sse):
    original = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]])
    masked = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 2.0]])
    assert sse(original, masked).per_variable["v1"] == 0
    masked[0, 0] = 0.2
    found = sse(original, masked)
    assert set(found.per_variable) == {"v2"}
    assert found.value == pytest.approx(50)
    assert any("constant" in note and "v1" in note for note in found.notes)
    assert np.isnan(sse(original[:, :1], masked[:, :1]).value)


def test_missing_cells_are_left_out_and_counted(sse):
    original = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan], [4.0, np.nan]])
    masked = np.array([[1.5, 1.0], [2.0, 1.0], [3.0, 1.0], [np.nan, 1.0]])
    found = sse(original, masked)
    assert found.per_variable == {"v1": pytest.approx(100 * 0.25 / np.var([1, 2, 3, 4], ddof=1) / 2)}
    assert any("4 in the original file, 1 in the masked file" in note for note in found.notes)
    assert any("no record has a value in both files: v2" in note for note in found.notes)


def test_one_record(sse):
    assert sse([[1.0]], [[1.0]]).value == 0
    changed = sse([[1.0]], [[2.0]])
    assert np.isnan(changed.value)
    assert any("not defined" in note for note in changed.notes)


def test_sampled_records_use_the_scale_of_the_whole_file(sse):
    original = np.array([[0.0], [1.0], [2.0], [9.0]])
    found = sse(original, [[1.5], [0.0]], origin=np.array([1, 0]))
    assert found.value == pytest.approx(100 * 0.25 / np.var(original, ddof=1))
