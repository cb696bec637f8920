"""The table of classes is what pandas groups, and is the same however its records were cut."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright import Classes
from maskwright.data.sketches.exact_totals import ExactTotals

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = list["NDArray[np.int64]"]

EXTREMES = [0, 1, 2, -1, -7, 2**40, 2**40 + 4096, np.iinfo(np.int64).min, np.iinfo(np.int64).max]


@st.composite
def files(draw: st.DrawFn) -> tuple[Columns, NDArray[np.float64], NDArray[np.int64]]:
    """Keys, weights and a sensitive variable of a few records."""
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = draw(st.lists(st.integers(0, 2), min_size=1, max_size=4))
    columns = [
        (rng.integers(-1, 3, n), rng.choice(np.array(EXTREMES), n), rng.integers(0, 2, n) << 50)[kind] for kind in kinds
    ]
    weights = np.round(rng.uniform(0.0, 9.0, n), draw(st.integers(0, 6))) * 10.0 ** draw(st.integers(-20, 20))
    return columns, weights, rng.integers(-2, 3, n)


@given(files())
def test_they_are_the_groups_of_pandas(file: tuple[Columns, NDArray[np.float64], NDArray[np.int64]]) -> None:
    columns, weights, values = file
    found = Classes.of(columns, weights=weights, sensitive={"s": values}).merge()
    names = [f"k{place}" for place in range(len(columns))]
    frame = pd.DataFrame(dict(zip(names, columns, strict=True))).assign(weight=weights, s=values)
    grouped = frame.groupby(names)
    sizes = grouped.size()
    expected = [np.atleast_1d(each).tolist() for each in sizes.index]
    assert np.stack(found.keys, axis=1).tolist() == expected
    assert found.records.tolist() == sizes.tolist()
    exact = grouped["weight"].agg(lambda own: float(sum(map(Fraction, own))))
    assert found.weights == pytest.approx(exact.to_numpy(), rel=1e-15)
    counts = frame.groupby([*names, "s"]).size()
    histogram = found.sensitive["s"]
    rows = [[*expected[each], value] for each, value in zip(histogram.of_class, histogram.values, strict=True)]
    assert rows == [list(each) for each in counts.index]
    assert histogram.records.tolist() == counts.tolist()


@given(files(), st.integers(1, 7), st.randoms())
def test_they_are_the_same_of_any_parts_in_any_order(
    file: tuple[Columns, NDArray[np.float64], NDArray[np.int64]], parts: int, order: object
) -> None:
    columns, weights, values = file
    whole = Classes.of(columns, weights=weights, sensitive={"s": values}).merge().columns()
    records = np.arange(len(weights))
    order.shuffle(records)  # type: ignore[attr-defined]
    tables = [
        Classes.of([each[own] for each in columns], weights=weights[own], sensitive={"s": values[own]})
        for own in np.array_split(records, min(parts, len(records)))
    ]
    one_by_one = tables[0]
    for table in tables[1:]:
        one_by_one = one_by_one.merge(table)
    for found in (one_by_one.merge().columns(), tables[-1].merge(*tables[:-1]).columns()):
        assert {name: each.tolist() for name, each in found.items()} == {
            name: each.tolist() for name, each in whole.items()
        }


def test_they_are_numbered_as_they_first_occur_and_count_households() -> None:
    columns = [np.array([7, -1, 7, 3, -1]), np.array([0, 0, 0, 0, 0])]
    found = Classes.of(columns)
    assert (found.codes.tolist(), found.records.tolist(), found.first.tolist()) == (
        [0, 1, 0, 2, 1],
        [2, 2, 1],
        [0, 1, 3],
    )
    households = np.array([0, 0, 0, 1, 1])
    weights = np.array([2.0, 50.0, 60.0, 4.0, 70.0])
    found = Classes.of(columns, weights=weights, units=households, sensitive={"s": np.array([1, 1, 1, 1, 1])})
    assert found.merge().merge().size.sum() == 4
    assert found.records.tolist() == [2, 2, 1]
    assert (found.size.tolist(), found.weights.tolist()) == ([1, 2, 1], [2.0, 6.0, 4.0])
    assert found.sensitive["s"].records.tolist() == [1, 2, 1]


def test_they_know_the_class_of_each_record_and_of_each_class_of_their_parts() -> None:
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 4, 50), rng.integers(0, 3, 50)]
    found = Classes.of(columns)
    for key, column in zip(found.keys, columns, strict=True):
        assert (key[found.codes] == column).all()
        assert (column[found.first] == key).all()
    fewer = found.by([1])
    assert fewer.records.tolist() == np.bincount(columns[1]).tolist()
    assert (fewer.keys[0][fewer.codes] == found.keys[1]).all()
    assert (found.keys[1][fewer.first] == fewer.keys[0]).all()


def test_numbers_and_truth_values_are_equal_where_their_values_are() -> None:
    found = Classes.of([np.array([0.0, -0.0, 1.5, 1.5]), np.array([True, True, False, True])])
    assert found.codes.tolist() == [0, 0, 1, 2]
    hashes = np.array([2**64 - 1, 0, 2**64 - 1], dtype=np.uint64)
    assert Classes.of([hashes, hashes]).records.tolist() == [2, 1]


def test_no_records_have_no_classes() -> None:
    found = Classes.of([np.zeros(0, dtype=np.int64)], weights=np.zeros(0))
    assert (len(found), len(found.weights), len(found.merge(found))) == (0, 0, 0)


@given(st.lists(st.floats(0.0, 1e300), max_size=30), st.integers(1, 3))
def test_totals_are_exact(values: list[float], count: int) -> None:
    codes = np.arange(len(values)) % count
    found = ExactTotals.of(np.array(values), codes, count)
    for each in range(count):
        exact = sum((Fraction(value) for value in values[each::count]), Fraction(0))
        assert sum(Fraction(2) ** (26 * place) * int(own[each]) for place, own in found.digits.items()) == exact
        assert found.values[each] == pytest.approx(float(exact), rel=1e-15, abs=0.0)
    assert all(own.min() >= 0 and own.max() < 2**26 for own in found.digits.values())


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_what_is_no_weight_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite numbers that are not negative"):
        Classes.of([np.zeros(2, dtype=np.int64)], weights=np.array([1.0, value]))


def test_numbers_far_apart_are_packed_by_rank() -> None:
    rng = np.random.default_rng(8)
    columns = [
        rng.choice(np.array(EXTREMES), 10_000),
        rng.integers(0, 5, 10_000),
        rng.choice(np.array(EXTREMES), 10_000),
    ]
    found = Classes.of(columns).merge()
    sizes = pd.DataFrame(dict(enumerate(columns))).groupby([0, 1, 2]).size()
    assert np.stack(found.keys, axis=1).tolist() == [list(each) for each in sizes.index]
    assert found.records.tolist() == sizes.tolist()
