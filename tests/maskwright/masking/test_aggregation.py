"""Aggregation of clusters into representatives."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright import InputError, aggregate

OPERATORS = ("mean", "geometric_mean", "lower_median", "mode")


def exact_mean(cells, weights=None):
    weights = [1] * len(cells) if weights is None or not any(weights) else weights
    return float(
        sum(Fraction(w) * Fraction(x) for w, x in zip(weights, cells, strict=True)) / sum(map(Fraction, weights))
    )


def column(values, labels, operator, missing=None, **more):
    table = np.asarray(values, dtype=float)[:, None]
    gone = np.zeros_like(table, dtype=bool) if missing is None else np.asarray(missing, dtype=bool)[:, None]
    return aggregate(table, gone, np.asarray(labels), [operator], **more)[:, 0]


@st.composite
def clustered(draw, largest=1000):
    values = draw(st.lists(st.integers(-largest, largest).map(float), min_size=1, max_size=40))
    labels = draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    missing = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    return values, labels, missing


@settings(max_examples=60)
@given(data=clustered(), offset=st.sampled_from([0.0, 1e8, -1e12]))
def test_a_mean_is_correct_to_the_last_place_or_two_at_any_offset(data, offset):
    values, labels, missing = data
    values = [value / 8 + offset for value in values]
    found = column(values, labels, "mean", missing, clusters=5)
    for label in range(5):
        cells = [x for x, own, gone in zip(values, labels, missing, strict=True) if own == label and not gone]
        if not cells:
            assert math.isnan(found[label])
            continue
        assert abs(found[label] - exact_mean(cells)) <= 2 * math.ulp(max(map(abs, cells)) or 1.0)
        assert min(cells) <= found[label] <= max(cells)


def test_a_mean_of_a_million_cells_loses_nothing():
    values = 1e12 + np.random.default_rng(1).random(1_000_000)
    assert column(values, np.zeros(1_000_000, dtype=int), "mean")[0] == math.fsum(values) / 1_000_000


def test_equal_means_of_whole_numbers_are_equal_numbers():
    """Thirds of one sum, reached from different cells: a published class must not fall apart by rounding."""
    rng = np.random.default_rng(2)
    parts = rng.integers(0, 10**9, (200, 2))
    cells = np.column_stack([parts, 2 * 10**9 + 1 - parts.sum(axis=1)]).astype(float)
    assert set(column(cells.ravel(), np.repeat(np.arange(200), 3), "mean")) == {(2 * 10**9 + 1) / 3}


@pytest.mark.parametrize("count", [3, 70_000, 200_000])
def test_clusters_are_found_however_many_there_are(count):
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(count), 2))
    expected = np.bincount(labels, np.arange(2.0 * count)) / 2
    np.testing.assert_array_equal(column(np.arange(2.0 * count), labels, "mean"), expected)


def test_the_mean_of_equal_values_is_that_value():
    assert column([0.1] * 7, [0] * 7, "mean")[0] == 0.1


def test_a_mean_of_numbers_near_the_largest_is_finite():
    assert column([1.7e308, -1.7e308, 1.7e308], [0, 0, 0], "mean")[0] == pytest.approx(1.7e308 / 3)


@settings(max_examples=40)
@given(
    data=clustered(),
    weights=st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e9]), min_size=40, max_size=40),
)
def test_weighted_means_match_exact_arithmetic_and_zero_weights_count_alike(data, weights):
    values, labels, missing = data
    weights = weights[: len(values)]
    found = column(values, labels, "mean", missing, weights=np.array(weights), clusters=5)
    for label in range(5):
        chosen = [i for i in range(len(values)) if labels[i] == label and not missing[i]]
        if chosen:
            expected = exact_mean([values[i] for i in chosen], [weights[i] for i in chosen])
            assert found[label] == pytest.approx(expected, abs=1e-12, rel=1e-12)


def test_tiny_and_huge_weights_neither_vanish_nor_overflow():
    values, labels = [1.0, 3.0], [0, 0]
    assert column(values, labels, "mean", weights=np.array([5e-324, 5e-324]))[0] == 2.0
    assert column(values, labels, "mean", weights=np.array([1e308, 1e308]))[0] == 2.0


@settings(max_examples=60)
@given(
    cells=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=12),
    sign=st.sampled_from([-1.0, 1.0]),
)
def test_a_geometric_mean_is_that_of_the_sizes_with_the_common_sign(cells, sign):
    found = column([sign * cell for cell in cells], [0] * len(cells), "geometric_mean")[0]
    assert found == pytest.approx(sign * statistics.geometric_mean(cells), rel=1e-13)


@settings(max_examples=40)
@given(
    factors=st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=1, max_size=20),
    label=st.integers(0, 2),
)
def test_geometric_means_keep_products(factors, label):
    table = np.array([(a, b, a * b) for a, b in factors], dtype=float)
    found = aggregate(table, np.isnan(table), np.full(len(table), label), ["geometric_mean"] * 3)[label]
    assert found[0] * found[1] == pytest.approx(found[2], rel=1e-13)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([0.0, 0.0], 0.0),
        ([-4.0, -9.0], -6.0),
        ([-2.0, 4.0], 1.0),
        ([0.0, 4.0], 2.0),
        ([1e300, 1e-300], 1.0),
        ([1e-300, 1e300, 1.0], 1.0),
        ([7.0, 7.0, 7.0], 7.0),
        ([5e-324, 5e-324], 5e-324),
    ],
)
def test_geometric_means_of_zeros_mixed_signs_and_extremes(cells, expected):
    assert column(cells, [0] * len(cells), "geometric_mean")[0] == pytest.approx(expected, rel=1e-12, abs=0.0)


@pytest.mark.parametrize(
    ("cells", "expected"), [([4.0, 1.0], 1.0), ([1.0, 2.0, 4.0, 3.0], 2.0), ([5.0, 3.0, 4.0], 4.0)]
)
def test_of_an_even_number_of_cells_the_lower_median_is_the_lower_of_two(cells, expected):
    assert column(cells, [0] * len(cells), "lower_median")[0] == expected


@settings(max_examples=60)
@given(data=clustered(largest=3))
def test_lower_median_and_mode_match_a_plain_computation(data):
    values, labels, missing = data
    medians = column(values, labels, "lower_median", missing, clusters=5)
    modes = column(values, labels, "mode", missing, clusters=5)
    for label in range(5):
        cells = sorted(x for x, own, gone in zip(values, labels, missing, strict=True) if own == label and not gone)
        if not cells:
            assert math.isnan(medians[label])
            assert math.isnan(modes[label])
            continue
        assert medians[label] == statistics.median_low(cells)
        assert modes[label] == min(cells, key=lambda x: (-cells.count(x), x))


@settings(max_examples=30)
@given(rows=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=30))
def test_means_keep_linear_equalities_and_inequalities(rows):
    table = np.array([(a, b, a + b) for a, b in rows], dtype=float)
    labels = np.arange(len(table)) % 3
    found = aggregate(table, np.isnan(table), labels, ["mean"] * 3)
    np.testing.assert_allclose(found[:, 0] + found[:, 1], found[:, 2], rtol=1e-14)
    assert np.all(found[:, 0] <= found[:, 2])


@pytest.mark.parametrize("operator", OPERATORS)
def test_missing_cells_are_left_out_whatever_they_hold_and_an_empty_cluster_is_nan(operator):
    found = column([2.0, np.nan, np.inf, 2.0, np.nan], [0, 0, 0, 1, 3], operator, [0, 1, 1, 0, 1])
    np.testing.assert_array_equal(found, [2.0, 2.0, np.nan, np.nan])


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_order_of_labels_does_not_matter(operator):
    rng = np.random.default_rng(5)
    table = rng.integers(1, 6, (60, 1)).astype(float)
    labels = rng.integers(0, 7, 60)
    names = rng.permutation(7)
    none = np.zeros_like(table, dtype=bool)
    np.testing.assert_array_equal(
        aggregate(table, none, names[labels], [operator])[names], aggregate(table, none, labels, [operator])
    )


def test_input_is_left_as_it_is_and_no_records_give_no_rows():
    table = np.ones((4, 2))
    none = np.zeros((4, 2), dtype=bool)
    for array in (table, none):
        array.setflags(write=False)
    assert aggregate(table, none, np.array([1, 1, 0, 0]), ["mean", "mode"]).shape == (2, 2)
    assert aggregate(table[:0], none[:0], np.zeros(0, dtype=int), ["mean", "mode"]).shape == (0, 2)


TABLE = np.array([[1.0], [2.0]])
NONE = np.zeros((2, 1), dtype=bool)
LABELS = np.array([0, 1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((TABLE, NONE, LABELS, ["maen"]), "did you mean 'mean'"),
        ((TABLE, NONE, LABELS, "mean"), "one operator for each of the 1 columns"),
        ((TABLE, NONE, LABELS, ["mean", "mean"]), "one operator for each of the 1 columns"),
        ((TABLE, NONE[:1], LABELS, ["mean"]), "matrices of one shape"),
        ((TABLE[:, 0], NONE[:, 0], LABELS, ["mean"]), "matrices of one shape"),
        ((TABLE, NONE, LABELS[:1], ["mean"]), "labels must be 2 integers"),
        ((TABLE, NONE, LABELS.astype(float), ["mean"]), "labels must be 2 integers"),
        ((TABLE, NONE, LABELS - 1, ["mean"]), "lie in -1..0"),
        ((TABLE, NONE, LABELS, ["mean"], None, 1), r"must lie in 0\.\.0"),
        ((TABLE * np.nan, NONE, LABELS, ["mean"]), "2 cells are not finite .* record 1, column 1"),
        ((TABLE, NONE, LABELS, ["mean"], np.array([1.0, -1.0])), "weights must be 2"),
        ((TABLE, NONE, LABELS, ["mean"], np.array([1.0])), "weights must be 2"),
        ((TABLE, NONE, LABELS, ["mean"], np.array([1.0, np.nan])), "weights must be 2"),
    ],
)
def test_bad_input_is_named(arguments, said):
    with pytest.raises(InputError, match=said):
        aggregate(*arguments)
