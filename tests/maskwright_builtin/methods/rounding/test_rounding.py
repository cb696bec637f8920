"""Rounding: multiples, unbiasedness, order, totals, edits among multiples, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import maskwright as mw
from maskwright import EditSet, InputError, Variable
from maskwright.plugins.registry import find_method


def test_nearest_multiples_halves_up(make_block, protect):
    values = [0.0, 2.4, 2.5, 7.5, 12.6, -2.5, -2.6]
    assert protect("rounding", make_block(values), base=5).values[:, 0].tolist() == [0, 0, 5, 10, 15, 0, -5]
    assert protect("rounding", make_block([0.3, 0.34]), base=0.1).values[:, 0] == pytest.approx([0.3, 0.3])


def test_random_rounding_is_unbiased_and_goes_to_a_neighbouring_multiple(make_block, protect):
    values = np.repeat([10.0, 11.0, 12.5, 14.9], 20_000)
    masked = protect("rounding", make_block(values), base=5, kind="random").values[:, 0].reshape(4, -1)
    assert set(np.unique(masked)) == {10.0, 15.0}
    # Four standard errors of a mean of 20 000 draws of 0 or 5.
    np.testing.assert_allclose(masked.mean(axis=1), [10.0, 11.0, 12.5, 14.9], atol=4 * 2.5 / np.sqrt(20_000))
    assert set(masked[0]) == {10.0}


@settings(max_examples=50)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=1, max_size=30),
    kind=st.sampled_from(["deterministic", "random"]), seed=st.integers(0, 999),
)  # fmt: skip
def test_order_and_totals_hold_among_multiples(make_block, protect, pairs, kind, seed):
    parts = np.sort(np.array(pairs, dtype=float), axis=1)
    edits = EditSet.parse(["a + b == total", "a <= b", "a >= 0", "total - 100 == rest"])
    values = np.column_stack([parts, parts.sum(axis=1), parts.sum(axis=1) - 100])
    variables = tuple(Variable(name, decimals=0) for name in ("a", "b", "total", "rest"))
    block = make_block(values, variables=variables, edits=edits)
    masked = protect("rounding", block, seed, base=10, kind=kind)
    np.testing.assert_array_equal(masked.values % 10, 0)
    a, b, total, rest = masked.values.T
    np.testing.assert_array_equal(a + b, total)
    np.testing.assert_array_equal(total - 100, rest)
    assert np.all(a <= b)
    assert masked.notes["records_left_to_adjustment"] == 0
    assert np.abs(masked.values[:, :2] - values[:, :2]).max() <= (5 if kind == "deterministic" else 10)


def test_records_are_rounded_otherwise_where_an_edit_fails(make_block, protect):
    """Both parts round up, beyond the bound of their total; one of them down obeys it."""
    edits = EditSet.parse(["a + b == total", "total <= 15"])
    variables = tuple(Variable(name, decimals=0) for name in ("a", "b", "total"))
    block = make_block([[7.0, 8.0, 15.0], [1.0, 2.0, 3.0]], variables=variables, edits=edits)
    masked = protect("rounding", block, base=10)
    assert masked.values.tolist() == [[0, 10, 10], [0, 0, 0]]
    assert masked.notes["records_rounded_otherwise_for_edits"] == 1


def test_what_no_multiples_obey_is_left_to_adjustment(make_block, protect):
    edits = EditSet.parse(["a in [3, 7]"])
    block = make_block([5.0, 6.0], variables=(Variable("a", decimals=0),), edits=edits)
    assert protect("rounding", block, base=10).notes["records_left_to_adjustment"] == 2
    frame = pd.DataFrame({"a": [5, 6, 4]})
    asked = {"edits": ["a in [3, 7]"], "seed": 1, "params": {"base": 10}}
    with pytest.raises(mw.OpenDoubts, match="W311 multiples-not-kept: a: 3 of 3 values of a are no multiples"):
        mw.protect(frame, "rounding", **asked)
    waived = [{"doubt": "multiples-not-kept", "variable": "a", "because": "no multiple of 10 is allowed"}]
    masked = mw.protect(frame, "rounding", **asked, waive=waived)
    assert masked["a"].between(3, 7).all()


def test_released_values_are_multiples_and_obey_the_edits():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"wage": rng.integers(0, 5000, 400), "rent": rng.integers(0, 900, 400)})
    frame["income"] = frame["wage"] + frame["rent"]
    rules = ["wage + rent == income", "rent <= income", "wage >= 0"]
    for kind in ("deterministic", "random"):
        masked = mw.protect(frame, "rounding", edits=rules, seed=1, params={"base": 50, "kind": kind})
        assert (masked % 50 == 0).all(axis=None)
        assert mw.validate(masked, rules).ok


def test_bases_by_variable_and_missing_cells(make_block, protect):
    block = make_block([[12.0, 120.0], [np.nan, 160.0]])
    masked = protect("rounding", block, base={"x1": 5, "x2": 100})
    np.testing.assert_array_equal(masked.values, [[10.0, 100.0], [np.nan, 200.0]])
    with pytest.raises(InputError, match="base: x2 have none"):
        protect("rounding", block, base={"x1": 5})


@pytest.mark.parametrize("base", [0.5, 2.5, 0.3])
def test_a_base_off_the_published_grid_is_refused(make_block, protect, base):
    with pytest.raises(InputError, match=f"base {base} of 'a' is not a multiple of its published grid, 1"):
        protect("rounding", make_block([1.0], variables=(Variable("a", decimals=0),)), base=base)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"base": 0},
        {"base": -5},
        {"base": {}},
        {"base": {"a": 0}},
        {"base": float("inf")},
        {"base": 5, "kind": "up"},
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ValidationError):
        find_method("rounding").params(**params)
