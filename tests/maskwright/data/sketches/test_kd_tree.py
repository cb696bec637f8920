"""k-d cuts from a sample: balanced leaves, ties, and the same leaf for any cut of the file into parts."""

from __future__ import annotations

import numpy as np
import pytest

from maskwright.data.sketches.kd_tree import KdTree
from maskwright.data.sketches.record_hashes import record_hashes, sampled


@pytest.mark.parametrize("leaves", [1, 2, 3, 7, 20])
def test_of_all_records_leaves_differ_by_one_record(leaves: int) -> None:
    points = np.random.default_rng(2).normal(size=(1_000, 3))
    hashes = record_hashes(0, 1_000)
    tree = KdTree.of(points, hashes, leaves)
    sizes = np.bincount(tree.leaf_of(points, hashes), minlength=leaves)
    assert tree.leaves == leaves
    assert sizes.sum() == 1_000
    assert sizes.max() - sizes.min() <= 1


def test_equal_values_are_told_apart_by_their_hashes() -> None:
    points, hashes = np.zeros((1_000, 2)), record_hashes(0, 1_000)
    sizes = np.bincount(KdTree.of(points, hashes, 4).leaf_of(points, hashes))
    assert sizes.tolist() == [250] * 4


def test_leaves_of_a_sample_hold_their_share() -> None:
    points = np.random.default_rng(3).normal(size=(40_000, 2))
    hashes = record_hashes(0, 40_000)
    rows = sampled(hashes, 40_000, 8_000)
    assert 7_500 < len(rows) < 8_500
    tree = KdTree.of(points[rows], hashes[rows], 8)
    sizes = np.bincount(tree.leaf_of(points, hashes), minlength=8)
    assert sizes.min() > 0.85 * 5_000
    assert sizes.max() < 1.15 * 5_000


def test_parts_give_the_same_leaves_as_the_file() -> None:
    points, hashes = np.random.default_rng(4).normal(size=(3_000, 2)), record_hashes(0, 3_000)
    tree = KdTree.of(points[:500], hashes[:500], 9)
    whole = tree.leaf_of(points, hashes)
    first = tree.leaf_of(points[:1_234], record_hashes(0, 1_234))
    rest = tree.leaf_of(points[1_234:], record_hashes(1_234, 3_000 - 1_234))
    assert np.array_equal(whole, np.concatenate([first, rest]))
