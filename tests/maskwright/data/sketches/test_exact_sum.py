"""Sums without rounding, against whole numbers and fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.data.sketches.exact_sums import UNIT, Moments, exact_sum, exact_sum_of_products

NUMBERS = st.lists(
    st.one_of(
        st.floats(min_value=-1e100, max_value=1e100, allow_nan=False),
        st.integers(-(10**6), 10**6).map(float),
        st.integers(-(10**9), 10**9).map(lambda whole: whole / 100),
    ),
    max_size=60,
)


@given(NUMBERS)
def test_sum_is_that_of_fractions(numbers: list[float]) -> None:
    assert exact_sum(np.array(numbers)) == sum(map(Fraction, numbers)) * 2**UNIT


@given(st.lists(st.floats(min_value=-1e60, max_value=1e60).filter(lambda x: x == 0 or abs(x) > 1e-60), max_size=60))
def test_sum_of_squares_is_that_of_fractions(numbers: list[float]) -> None:
    squares = sum(Fraction(x) ** 2 for x in numbers) * 2**UNIT
    assert exact_sum_of_products(np.array(numbers), np.array(numbers)) == squares


@given(NUMBERS, st.data())
def test_any_cut_gives_the_same_moments(numbers: list[float], data: st.DataObject) -> None:
    values = np.array(numbers)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(numbers)), max_size=4)))
    pieces = np.split(values, cuts)
    merged = Moments.merged(Moments.of(piece) for piece in pieces)
    assert merged == Moments.of(values) or not len(values)
    assert Moments.from_json(merged.to_json()).total == merged.total


def test_moments_are_those_of_numpy() -> None:
    values = np.round(np.random.default_rng(1).lognormal(8, 1, 5_000), 2)
    found = Moments.of(values)
    assert found.mean == pytest.approx(values.mean(), rel=1e-14)
    assert found.deviation == pytest.approx(values.std(ddof=1), rel=1e-13)
    assert (found.low, found.high) == (values.min(), values.max())
