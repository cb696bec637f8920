"""Strata: what must not be averaged together, and what happens to small ones."""

from __future__ import annotations

import numpy as np
import pytest

import maskwright as mw
from maskwright.planning.strata import stratify


def _data(**columns: list[float]) -> mw.Dataset:
    made = []
    for name, values in columns.items():
        array = np.array(values, dtype=float)
        made.append(mw.Column(mw.Variable(name, decimals=0), array, np.isnan(array)))
    return mw.Dataset(tuple(made))


def test_a_condition_cuts_the_records() -> None:
    """Records on either side of a governing edit's condition are kept apart."""
    data = _data(a=[1, 2, 3, 10, 11, 12], b=[0] * 6)
    edits = mw.EditSet.parse(["if a < 5 then b == 0"])
    found = stratify(data, ("a", "b"), (), edits, frozenset("ab"), 3)
    assert found.count == 2
    assert len(set(found.codes[:3])) == len(set(found.codes[3:])) == 1
    assert found.mixed == frozenset()


def test_a_small_stratum_is_merged_and_its_edit_named() -> None:
    """Fewer than k records cannot be a stratum of their own."""
    data = _data(a=[1, 2, 10, 11, 12], b=[0] * 5)
    edits = mw.EditSet.parse(["if a < 5 then b == 0"])
    found = stratify(data, ("a", "b"), (), edits, frozenset("ab"), 3)
    assert found.count == 1
    assert found.mixed == {"edit-1"}
    assert [(one.records, one.merged) for one in found.strata if one.merged] == [(2, True)]


def test_signs_are_kept_apart() -> None:
    """A geometric mean needs one sign; zeros are a pattern of their own."""
    data = _data(a=[-1, -2, 0, 0, 3, 4])
    assert stratify(data, ("a",), ("a",), mw.EditSet(), frozenset("a"), 2).count == 3


def test_merging_goes_to_the_nearest_stratum() -> None:
    """Two zeros join the small positive values, not the large negative ones."""
    data = _data(a=[-100, -101, -102, 0, 1, 2, 3])
    found = stratify(data, ("a",), ("a",), mw.EditSet(), frozenset("a"), 2)
    assert found.count == 2
    assert found.codes[3] == found.codes[4]


def test_missing_patterns_when_asked() -> None:
    """Records with the same cells missing are clustered together."""
    data = _data(a=[1, np.nan, 2, np.nan], b=[1, 2, 3, 4])
    assert stratify(data, ("a", "b"), (), mw.EditSet(), frozenset("ab"), 2, by_missing=True).count == 2
    assert stratify(data, ("a", "b"), (), mw.EditSet(), frozenset("ab"), 2).count == 1


def test_fewer_records_than_k_is_refused_with_both_numbers() -> None:
    """No group of k records exists."""
    with pytest.raises(mw.InputError, match="k = 5 is larger than the number of records, 3"):
        stratify(_data(a=[1, 2, 3]), ("a",), (), mw.EditSet(), frozenset("a"), 5)


def test_structural_zeros_are_kept_apart_when_asked() -> None:
    """Patterns of zeros; a missing cell is no zero."""
    data = _data(a=[0, 0, 5, 6, 0, 7], b=[0, 0, 0, 0, 1, 2])
    found = stratify(data, ("a", "b"), (), mw.EditSet(), frozenset("ab"), 1, structural_zeros=["a", "b"])
    assert {one.label for one in found.strata} == {
        "a = 0, b = 0", "a not 0, b = 0", "a = 0, b not 0", "a not 0, b not 0"
    }  # fmt: skip
    assert stratify(data, ("a",), (), mw.EditSet(), frozenset("ab"), 1, structural_zeros=["b"]).count == 1
    holes = _data(a=[0, np.nan, 5, 6])
    assert stratify(holes, ("a",), (), mw.EditSet(), frozenset("a"), 1, structural_zeros=["a"]).codes.tolist() == [
        1, 0, 0, 0
    ]  # fmt: skip
