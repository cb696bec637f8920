"""Moments of several variables: those of exact arithmetic, however records are cut."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from maskwright import ExactMoments

if TYPE_CHECKING:
    from numpy.typing import NDArray


def exact(values: NDArray[np.float64]) -> tuple[list[float], list[list[float]]]:
    """Means and covariances in fractions, rounded once."""
    columns = [[Fraction(each) for each in column] for column in values.T.tolist()]
    n = len(values)
    means = [sum(column, Fraction()) / n for column in columns]
    apart = [[value - mean for value in column] for column, mean in zip(columns, means, strict=True)]
    products = [[sum((a * b for a, b in zip(x, y, strict=True)), Fraction()) for y in apart] for x in apart]
    return [float(mean) for mean in means], [[float(each / (n - 1)) for each in row] for row in products]


@pytest.mark.parametrize("center", [0.0, 1e9, -3e-12])
def test_moments_are_those_of_fractions(center: float) -> None:
    values = center + np.random.default_rng(2).standard_normal((60, 3)) * [1.0, 1e-3, 40.0]
    found = ExactMoments.of(values)
    means, covariance = exact(values)
    assert found.mean.tolist() == means
    assert found.covariance.tolist() == covariance


def test_any_cut_and_order_give_the_same_sums() -> None:
    rng = np.random.default_rng(5)
    values = rng.lognormal(3, 2, (500, 2))
    whole = ExactMoments.of(values)
    parts = [ExactMoments.of(each) for each in np.array_split(values[rng.permutation(500)], 7)]
    assert sum(parts[1:], parts[0]) == whole
    assert ExactMoments.from_json(whole.to_json()) == whole
    assert ExactMoments.of(values[:, 1:]) == whole.among([1])


def test_no_record_adds_nothing() -> None:
    values = np.array([[1.5, 2.5]])
    none = ExactMoments.of(values[:0])
    assert none + ExactMoments.of(values) == ExactMoments.of(values)
    assert none.mean.tolist() == [0.0, 0.0]
    assert ExactMoments.of(values).covariance.tolist() == [[0.0, 0.0], [0.0, 0.0]]
