"""Strata: what must not be averaged together, and what happens to small ones."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.planning.small_strata import Candidates, ZeroPatterns
from maskwright.planning.strata import Strata, criteria, stratify


def _strata(
    data: mw.Dataset, group: tuple[str, ...], geometric: tuple[str, ...], edits: mw.EditSet, masked: frozenset[str],
    k: int, *, by_missing: bool = False, structural_zeros: tuple[str, ...] = (),
) -> Strata:  # fmt: skip
    found = criteria(group, geometric, edits, masked, masked, by_missing=by_missing, structural_zeros=structural_zeros)
    return stratify(data, group, found, edits, k)


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
    found = _strata(data, ("a", "b"), (), edits, frozenset("ab"), 3)
    assert found.count == 2
    assert len(set(found.codes[:3])) == len(set(found.codes[3:])) == 1
    assert found.mixed == frozenset()


def test_a_small_stratum_is_merged_and_its_edit_named() -> None:
    """Fewer than k records cannot be a stratum of their own."""
    data = _data(a=[1, 2, 10, 11, 12], b=[0] * 5)
    edits = mw.EditSet.parse(["if a < 5 then b == 0"])
    found = _strata(data, ("a", "b"), (), edits, frozenset("ab"), 3)
    assert found.count == 1
    assert found.mixed == {"edit-1"}
    assert [(one.records, one.merged) for one in found.strata if one.merged] == [(2, True)]


def test_signs_are_kept_apart() -> None:
    """A geometric mean needs one sign; zeros are a pattern of their own."""
    data = _data(a=[-1, -2, 0, 0, 3, 4])
    assert _strata(data, ("a",), ("a",), mw.EditSet(), frozenset("a"), 2).count == 3


def test_merging_goes_to_the_nearest_stratum() -> None:
    """Two zeros join the small positive values, not the large negative ones."""
    data = _data(a=[-100, -101, -102, 0, 1, 2, 3])
    found = _strata(data, ("a",), ("a",), mw.EditSet(), frozenset("a"), 2)
    assert found.count == 2
    assert found.codes[3] == found.codes[4]


def test_missing_patterns_when_asked() -> None:
    """Records with the same cells missing are clustered together."""
    data = _data(a=[1, np.nan, 2, np.nan], b=[1, 2, 3, 4])
    assert _strata(data, ("a", "b"), (), mw.EditSet(), frozenset("ab"), 2, by_missing=True).count == 2
    assert _strata(data, ("a", "b"), (), mw.EditSet(), frozenset("ab"), 2).count == 1


def test_fewer_records_than_k_is_refused_with_both_numbers() -> None:
    """No group of k records exists."""
    with pytest.raises(mw.InputError, match="k = 5 is larger than the number of records, 3"):
        _strata(_data(a=[1, 2, 3]), ("a",), (), mw.EditSet(), frozenset("a"), 5)


def test_structural_zeros_are_kept_apart_when_asked() -> None:
    """Patterns of zeros; a missing cell is no zero."""
    data = _data(a=[0, 0, 5, 6, 0, 7], b=[0, 0, 0, 0, 1, 2])
    found = _strata(data, ("a", "b"), (), mw.EditSet(), frozenset("ab"), 1, structural_zeros=("a", "b"))
    assert {one.label for one in found.strata} == {
        "a = 0, b = 0", "a not 0, b = 0", "a = 0, b not 0", "a not 0, b not 0"
    }  # fmt: skip
    assert _strata(data, ("a",), (), mw.EditSet(), frozenset("ab"), 1, structural_zeros=("b",)).count == 1
    holes = _data(a=[0, np.nan, 5, 6])
    assert _strata(holes, ("a",), (), mw.EditSet(), frozenset("a"), 1, structural_zeros=("a",)).codes.tolist() == [
        1, 0, 0, 0
    ]  # fmt: skip


def _labels(rules: list[str], **columns: list[float]) -> set[str]:
    data = _data(**columns)
    found = _strata(data, tuple(columns), (), mw.EditSet.parse(rules), frozenset(columns), 1, by_missing=True)
    return {one.label for one in found.strata}


def test_strata_are_called_by_their_conditions_and_what_is_missing() -> None:
    """Only what sets them apart; an answer that a missing cell makes unknown goes without saying."""
    rules = ["if age < 16 then wage == 0", "if age < 60 then pension == 0"]
    assert _labels(rules, age=[9, 30, 70, np.nan, 70], wage=[0, 5, 5, 5, np.nan], pension=[0, 0, 7, 0, 7]) == {
        "age < 16, age < 60", "age >= 16, age < 60", "age >= 16, age >= 60", "age missing",
        "age >= 16, age >= 60, wage missing",
    }  # fmt: skip
    assert _labels([], age=[1, np.nan, 3]) == {"nothing missing", "age missing"}


def test_edits_with_one_condition_cut_once_and_are_both_named_when_it_is_mixed() -> None:
    rules = ["if a < 5 then b == 0", "if a < 5 then c == 0"]
    data = _data(a=[1, 10, 11, 12], b=[0] * 4, c=[0] * 4)
    found = _strata(data, ("a", "b", "c"), (), mw.EditSet.parse(rules), frozenset("abc"), 2)
    assert {one.label for one in found.strata} == {"a < 5", "a >= 5"}
    assert found.mixed == {"edit-1", "edit-2"}


def test_long_conditions_are_called_by_their_edit() -> None:
    long = " or ".join(f"a == {number}" for number in range(20))
    assert _labels([f"if {long} then b == 0"], a=[1, 50], b=[0, 1]) == {
        "condition of edit-1", "not condition of edit-1"
    }  # fmt: skip


def test_a_comparison_in_xpath_is_not_turned_around() -> None:
    """With a missing cell both it and its opposite are false."""
    edits = mw.EditSet.parse(["if a < 5 then b == 0"])
    schematron = mw.EditSet((replace(edits["edit-1"], binding="xpath1"),))
    data = _data(a=[1, 10, np.nan], b=[0, 1, 1])
    found = _strata(data, ("a", "b"), (), schematron, frozenset("ab"), 1)
    assert {one.label for one in found.strata} == {"a < 5", "not a < 5"}


def test_an_edit_that_a_class_below_k_breaks_says_so() -> None:
    """One firm of its size class is averaged with others, and no value is right for both."""
    rng = np.random.default_rng(4)
    sizes = ["small"] * 30 + ["medium"] * 30 + ["large"]
    staff = [*rng.integers(10, 50, 30), *rng.integers(50, 250, 30), 900]
    frame = pd.DataFrame({"size": sizes, "staff": staff}).sample(frac=1, random_state=1)
    bounds = {"small": "10 <= staff <= 49", "medium": "50 <= staff <= 249", "large": "staff >= 250"}
    edits = [f'if size == "{size}" then {bound}' for size, bound in bounds.items()]
    declared = {"size": {"role": "other", "type": "nominal"}, "staff": {"type": "integer"}}
    with pytest.raises(mw.EditViolation) as stopped:
        mw.protect(
            frame, "microaggregation", variables=["staff"], params={"k": 3}, edits=edits, declared=declared, seed=1
        )
    assert any("fewer than 3 have its conditions" in (each.hint or "") for each in stopped.value.problems)


ROWS = st.lists(st.tuples(*[st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, 9.0])] * 3), min_size=6, max_size=80)


@settings(max_examples=150 if os.environ.get("SLOW") else 50, deadline=None)
@given(rows=ROWS, k=st.integers(2, 6))
def test_rare_zeros_change_in_no_more_records_than_have_them(rows: list[tuple[float, ...]], k: int) -> None:
    """Every stratum has k records; of others than its most frequent zeros, no more in all than are of rare ones."""
    values = np.array(rows)
    found = _strata(
        _data(**dict(zip("abc", values.T.tolist(), strict=True))), ("a", "b", "c"), (), mw.EditSet(), frozenset("abc"),
        k, structural_zeros=("a", "b", "c"),
    )  # fmt: skip
    assert np.bincount(found.codes).min() >= k
    patterns = (values == 0) @ [1, 2, 4]
    sizes = np.bincount(patterns, minlength=8)
    others = sum(
        np.sum(found.codes == each) - np.bincount(patterns[found.codes == each]).max() for each in range(found.count)
    )
    rare = sizes[sizes < k]
    assert others <= rare.sum()
    if len(sizes[sizes > 0]) == 2 and (sizes >= k).any() and rare.sum():
        fill = k - rare.sum()
        assert others == (fill if fill < rare.sum() and sizes.max() - fill >= k else rare.sum())
    assert sorted(one.records for one in found.strata if one.merged) == sorted(rare[rare > 0]) or found.count == 1


@settings(max_examples=150 if os.environ.get("SLOW") else 50, deadline=None)
@given(rows=ROWS, k=st.integers(2, 6), borders=st.sets(st.integers(1, 79), max_size=3), seed=st.integers(0, 9))
def test_candidates_of_parts_give_the_strata_that_all_records_give(
    rows: list[tuple[float, ...]], k: int, borders: set[int], seed: int
) -> None:
    """Only the nearest records of donors are compared: the result is that of comparing all, however they are cut."""
    points = np.array(rows)
    kinds, codes = np.unique((points == 0) @ [1, 2, 4] + 8 * (points[:, 0] > 4), return_inverse=True)
    sizes = np.bincount(codes)
    means = np.stack([np.bincount(codes, column) / sizes for column in points.T], axis=1)
    strata = np.random.default_rng(seed).integers(0, 2, len(kinds)) * (seed > 4)
    strata = np.unique(strata, return_inverse=True)[1]
    patterns = ZeroPatterns.found(strata, kinds % 8, sizes, means, k)
    expected, every = patterns.separated(Candidates(np.arange(len(rows)), codes, points))
    cuts = [0, *sorted(each for each in borders if each < len(rows)), len(rows)]
    parts = [patterns.candidates(codes[a:b], points[a:b], a) for a, b in pairwise(cuts)]
    again, moved = patterns.separated(Candidates.stacked(parts))
    assert again.tolist() == expected.tolist()
    assert moved.numbers.tolist() == every.numbers.tolist()
    assert moved.strata.tolist() == every.strata.tolist()
    whole = again[codes]
    whole[moved.numbers] = moved.strata
    assert np.bincount(whole).min() >= min(k, np.bincount(strata[codes]).min())


def test_a_missing_cell_stands_at_the_mean() -> None:
    """Of ten that are as near in z, the one without x fills up the zeros: they have its mean."""
    x = [1000.0, 1000.0, np.nan, *[990.0, 1010.0] * 5]
    data = _data(z=[0.0, 0.0, *[1.0] * 11], x=x)
    found = _strata(data, ("z", "x"), (), mw.EditSet(), frozenset("zx"), 3, structural_zeros=("z",))
    assert np.flatnonzero(found.codes == found.codes[0]).tolist() == [0, 1, 2]
    assert found.given == 1


def test_edits_are_mixed_only_where_the_zeros_that_were_cut_again_mix_them() -> None:
    """Two small strata, apart for a missing cell, join one on the other side of the edit; their zeros part them."""
    data = _data(
        a=[1, 1, 1, 1, *[10] * 9], b=[0] * 4 + [3] * 9, x=[5, 5, np.nan, np.nan, *range(1, 10)],
        y=[10, 10, 100, 100, *range(10, 19)],
    )  # fmt: skip
    edits = mw.EditSet.parse(["if a < 5 then b == 0"])
    group = ("a", "b", "x", "y")
    joined = _strata(data, group, (), edits, frozenset(group), 3, by_missing=True)
    assert joined.mixed == {"edit-1"}
    found = _strata(data, group, (), edits, frozenset(group), 3, by_missing=True, structural_zeros=("b",))
    assert found.codes.tolist() == [found.codes[0]] * 4 + [found.codes[4]] * 9
    assert found.mixed == frozenset()
    assert [one.has_gaps for one in found.strata if one.merged] == [False, True]
