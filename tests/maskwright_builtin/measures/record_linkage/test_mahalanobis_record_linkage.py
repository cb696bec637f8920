"""Mahalanobis linkage: brute force with NumPy's inverse, invariance to linear maps, dependent columns."""

from __future__ import annotations

import numpy as np
import pytest

from maskwright_builtin.measures.record_linkage.distance_record_linkage import (
    DistanceRecordLinkageParams,
    MahalanobisRecordLinkageParams,
    distance_record_linkage,
    mahalanobis_record_linkage,
)


@pytest.fixture(scope="module")
def linkage(compare, rng):
    def measure(original, masked, origin=None, households=None, **params):
        comparison = compare(original, masked, origin=origin, households=households)
        return mahalanobis_record_linkage(comparison, MahalanobisRecordLinkageParams(**params), rng)

    return measure


def files(seed, n=200, p=4, noise=0.4):
    generator = np.random.default_rng(seed)
    original = generator.normal(size=(n, p)) @ generator.normal(size=(p, p))
    return original, original + noise * generator.normal(size=original.shape)


@pytest.mark.parametrize("covariance", ["independent", "paired"])
@pytest.mark.parametrize("direction", ["original_to_masked", "masked_to_original"])
@pytest.mark.parametrize("sampled", [False, True])
def test_equals_looking_at_every_pair(linkage, covariance, direction, sampled):
    original, masked = files(1)
    origin = np.arange(0, 200, 3) if sampled else np.arange(200)
    masked = masked[origin]
    matrix = np.cov(original.T) + np.cov(masked.T)
    if covariance == "paired":
        matrix = np.cov((original[origin] - masked).T)
    difference = original[:, None, :] - masked[None]
    distance = np.einsum("ijk,kl,ijl->ij", difference, np.linalg.inv(matrix), difference)
    if direction == "original_to_masked":
        expected = distance[origin].argmin(axis=1) == np.arange(len(origin))
    else:
        expected = distance.argmin(axis=0) == origin
    given = origin if sampled else None
    found = linkage(original, masked, given, known=4, direction=direction, covariance=covariance)
    np.testing.assert_array_equal(found.per_record, 100.0 * expected)


def test_a_linear_map_of_both_files_changes_nothing_here_and_much_for_euclidean_distances(linkage, compare, rng):
    original, masked = files(2)
    turn = np.array([[3.0, 2.9, 0.0, 0.0], [1.0, 1.1, 0.0, 0.5], [0.0, 0.0, 1.0, 0.9], [0.0, 1.0, 1.0, 0.0]])
    before = linkage(original, masked, known=4).per_record
    after = linkage(original @ turn, masked @ turn, known=4).per_record
    np.testing.assert_array_equal(before, after)
    params = DistanceRecordLinkageParams.model_validate({"known": 4})
    euclidean = [
        distance_record_linkage(compare(*pair), params, rng).value
        for pair in ((original, masked), (original @ turn, masked @ turn))
    ]
    assert abs(euclidean[0] - euclidean[1]) > 1


@pytest.mark.parametrize("covariance", ["independent", "paired"])
def test_exactly_dependent_columns(linkage, census, covariance):
    """PTOTVAL = POTHVAL + PEARNVAL: the covariance matrix is singular; the unchanged file still links all."""
    names = ["PTOTVAL", "POTHVAL", "PEARNVAL", "AGI"]
    assert linkage(census, census, known=names, covariance=covariance).value == 100
    rounded = (census / 1000).round() * 1000
    assert 0 < linkage(census, rounded, known=names, covariance=covariance).value < 100


def test_groups_of_equal_rows_share_the_link(linkage):
    original = np.random.default_rng(3).normal(size=(60, 3))
    groups = np.repeat(np.arange(20), 3)
    original = original + 100.0 * groups[:, None] * np.array([1.0, 0.5, -0.7])
    masked = np.vstack([original[groups == one].mean(axis=0) for one in groups])
    assert linkage(original, masked, known=1).value == pytest.approx(100 / 3)


@pytest.mark.parametrize("value", [1.0, np.nan])
def test_constant_one_record_and_missing(linkage, value):
    original = np.full((5, 2), value)
    assert linkage(original, original).value == pytest.approx(20)
    assert linkage([[1.0, 2.0]], [[3.0, 4.0]]).value == 100
