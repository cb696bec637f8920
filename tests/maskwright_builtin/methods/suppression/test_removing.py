"""Sampling, suppression and recoding on blocks: what is kept, what is emptied, what is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError

import maskwright as mw
from maskwright.masking.protecting.assembling import without_removed
from maskwright.plugins.registry import find_method


def block(
    values: np.ndarray, *, kind: str = "integer", households: np.ndarray | None = None, **more: object
) -> mw.Block:
    """Variables x1, x2, ... of one type."""
    categories = ("a", "b", "c", "d") if kind in ("nominal", "ordinal") else ()
    variables = tuple(mw.Variable(f"x{j + 1}", kind, categories=categories) for j in range(values.shape[1]))  # type: ignore[arg-type]
    return mw.Block(
        np.asarray(values, dtype=np.float64), np.isnan(values), variables, households=households,
        center=np.zeros(values.shape[1]), scale=np.ones(values.shape[1]), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def masked(name: str, data: mw.Block, seed: int = 1, **params: object) -> Any:
    """Result of a method, or what a remover leaves of the block."""
    method, rng = find_method(name), np.random.default_rng(seed)
    chosen = method.params.model_validate(params)
    if method.remove is not None:
        return without_removed(data, method.remove(data, chosen, rng))
    return method.protect(data, chosen, rng)


def sizes(values: np.ndarray, households: np.ndarray | None = None) -> np.ndarray:
    """Records, or clusters, in each class of equal rows."""
    _, classes = np.unique(np.where(np.isnan(values), -1.0, values), axis=0, return_inverse=True)
    owners = np.arange(len(values)) if households is None else households
    return np.array([len(np.unique(owners[classes.ravel() == one])) for one in np.unique(classes)])


KEYS = st.integers(1, 4).flatmap(
    lambda q: st.integers(8, 40).flatmap(lambda n: arrays(np.float64, (n, q), elements=st.sampled_from([0.0, 1, 2, 3])))
)


@settings(max_examples=60)
@given(values=KEYS, k=st.integers(2, 4), households=st.booleans())
def test_local_suppression_reaches_k_and_changes_no_value(values: np.ndarray, k: int, households: bool) -> None:
    """Every class of published keys has k records, or k households; what is left is as it was."""
    households = np.arange(len(values)) // 2 if households else None
    done = masked("local_suppression", block(values, households=households), k=k)
    assert sizes(done.values, households).min() >= k
    assert (done.values[~done.missing] == values[~done.missing]).all()
    assert done.notes["cells_suppressed"] == done.missing.sum()


@settings(max_examples=40)
@given(values=KEYS, k=st.integers(2, 4))
def test_record_suppression_leaves_out_the_rare_and_nobody_else(values: np.ndarray, k: int) -> None:
    """Exactly the records whose keys fewer than k share."""
    _, classes, count = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    common = np.flatnonzero(count[classes.ravel()] >= k)
    if not len(common):
        with pytest.raises(mw.InputError, match="no record would be left"):
            masked("record_suppression", block(values), k=k)
        return
    done = masked("record_suppression", block(values), k=k)
    assert done.kept_rows is not None
    assert done.kept_rows.tolist() == common.tolist()
    assert (done.values == values[common]).all()


def test_nothing_is_suppressed_where_k_holds() -> None:
    """Records that are already common are left alone."""
    values = np.repeat([[0, 1], [1, 1], [2, 0]], 4, axis=0)
    assert not masked("local_suppression", block(values), k=4).missing.any()
    assert len(masked("record_suppression", block(values), k=4).values) == 12


def test_one_rare_record_costs_one_cell() -> None:
    """Its odd key goes, the other stays: it joins nobody otherwise, so a neighbour class gives what is missing."""
    values = np.array([[0, 0]] * 5 + [[1, 0]] * 5 + [[2, 0]] * 2, dtype=np.float64)
    done = masked("local_suppression", block(values), k=2)
    assert not done.missing.any()
    done = masked("local_suppression", block(values), k=3)
    assert done.missing[:, 0].sum() >= 3
    assert not done.missing[:5, 1].any()


def test_an_important_key_is_kept() -> None:
    """Both keys would save the same records; the one worth more stays."""
    values = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]], dtype=np.float64)
    first = masked("local_suppression", block(values), k=3, importance={"x1": 9})
    second = masked("local_suppression", block(values), k=3, importance={"x2": 9})
    assert first.missing.sum(axis=0).tolist() == [0, 9]
    assert second.missing.sum(axis=0).tolist() == [9, 0]


@pytest.mark.parametrize("params", [{"k": 1}, {"k": 2.5}, {"importance": {"x1": 0}}, {"key": ["x1"]}])
def test_parameters_of_suppression_are_checked(params: dict[str, object]) -> None:
    """Before anything runs."""
    with pytest.raises(ValidationError):
        masked("local_suppression", block(np.zeros((9, 2))), **params)


def test_suppression_says_what_cannot_be() -> None:
    """Too few records or households, keys that are not there."""
    with pytest.raises(mw.InputError, match="k = 9 is larger than the number of records, 5"):
        masked("local_suppression", block(np.zeros((5, 1))), k=9)
    with pytest.raises(mw.InputError, match="k = 3 is larger than the number of households, 2"):
        masked("local_suppression", block(np.zeros((5, 1)), households=np.array([0, 0, 0, 1, 1])), k=3)
    with pytest.raises(mw.InputError, match="does not mask the key x7"):
        masked("record_suppression", block(np.zeros((5, 1))), keys=["x7"])


def test_every_record_is_drawn_equally_often() -> None:
    """Inclusion probability n / N within four standard errors over 2 000 samples."""
    drawn = np.zeros(20)
    for seed in range(2000):
        kept = masked("sampling", block(np.zeros((20, 1))), seed=seed, size=5).kept_rows
        assert kept is not None
        assert len(kept) == 5
        drawn[kept] += 1
    assert np.abs(drawn / 2000 - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 2000)


def test_weights_are_those_of_horvitz_and_thompson() -> None:
    """W N / n; untouched when that is asked for; none without a weight."""
    weights = np.arange(1.0, 11.0)
    done = masked("sampling", block(np.zeros((10, 1)), weights=weights), fraction=0.4)
    assert done.kept_rows is not None
    assert done.weights is not None
    np.testing.assert_allclose(done.weights, weights[done.kept_rows] * 2.5)
    assert (
        masked("sampling", block(np.zeros((10, 1)), weights=weights), fraction=0.4, adjust_weights=False).weights
        is None
    )
    assert masked("sampling", block(np.zeros((10, 1))), fraction=0.4).weights is None


@pytest.mark.parametrize("params", [{}, {"fraction": 0.5, "size": 3}, {"fraction": 0}, {"fraction": 1.1}, {"size": 0}])
def test_how_many_to_draw_is_said_once(params: dict[str, object]) -> None:
    """A share in (0, 1] or a number, not both."""
    with pytest.raises(ValidationError):
        masked("sampling", block(np.zeros((9, 1))), **params)


def test_bounds_make_bands_and_the_outer_ones_are_open() -> None:
    """A value on a bound belongs to the band above it; the extremes are not named."""
    done = masked("recoding", block(np.array([[3.0], [18], [29], [30], [99], [np.nan]])), recode={"x1": [18, 30]})
    assert done.variables is not None
    assert done.variables[0].categories == ("below 18", "18 to below 30", "30 and above")
    assert done.variables[0].type == "ordinal"
    np.testing.assert_array_equal(done.values[:, 0], [0, 1, 1, 2, 2, np.nan])


def test_categories_are_joined() -> None:
    """Those not listed stay; the order is that of the first members."""
    done = masked(
        "recoding", block(np.array([[0.0], [1], [2], [3]]), kind="nominal"), recode={"x1": {"bd": ["b", "d"]}}
    )
    assert done.variables is not None
    assert done.variables[0].categories == ("a", "bd", "c")
    assert done.values[:, 0].tolist() == [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("kind", "how", "message"),
    [
        ("integer", {"low": ["a"]}, "give bounds between bands"),
        ("nominal", [1, 2], "give groups of categories"),
        ("nominal", {"z": ["q"]}, "no category called 'q'"),
        ("nominal", {"a": ["b", "c"]}, "is a category that stays"),
        ("ordinal", {"ac": ["a", "c"]}, "only neighbouring categories"),
    ],
)
def test_recoding_says_what_does_not_fit(kind: str, how: object, message: str) -> None:
    """Bounds for categories, groups for numbers, unknown and clashing names, an order torn apart."""
    with pytest.raises(mw.InputError, match=message):
        masked("recoding", block(np.array([[0.0], [1], [2]]), kind=kind), recode={"x1": how})


def test_bounds_from_quantiles_are_no_value_of_a_record() -> None:
    """They are rounded to two digits of the spread, and the bands hold about as many records each."""
    values = np.random.default_rng(4).lognormal(3, 1, (500, 1))
    done = masked("recoding", block(values, kind="continuous"), bands=4)
    counts = np.bincount(done.values[:, 0].astype(int), minlength=4)
    assert counts.min() > 90
    assert done.variables is not None
    bounds = [float(name.split()[-1]) for name in done.variables[0].categories[:-1]]
    assert not np.isin(bounds, values).any()
