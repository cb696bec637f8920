"""Individual ranking: clusters of each variable on its own, the published figures, missing cells, edits across."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import maskwright as mw
from maskwright import Block, InputError, Variable
from maskwright.plugins.registry import find_method

METHOD = find_method("individual_ranking")


def block_of(values, missing=None, variable=None, operators=()):
    values = np.array(values, dtype=float)[:, None]
    missing = np.zeros(values.shape, dtype=bool) if missing is None else np.asarray(missing)[:, None]
    present = np.where(missing, np.nan, values)
    return Block(
        present, missing, (variable or Variable("income"),), operators=operators, center=np.zeros(1), scale=np.ones(1)
    )


def protect(block, **params):
    return METHOD.protect(block, METHOD.params(**params), np.random.default_rng(0))


@settings(max_examples=60)
@given(
    values=st.lists(st.integers(-50, 50), min_size=2, max_size=60), k=st.integers(2, 7),
    groups=st.sampled_from(["optimal", "fixed"]), holes=st.integers(0, 2**60),
)  # fmt: skip
def test_clusters_hold_k_values_that_are_neighbours(values, k, groups, holes):
    missing = np.array([holes >> at & 3 == 0 for at in range(len(values))])
    block = block_of(values, missing)
    present = int((~missing).sum())
    if 0 < present < k:
        with pytest.raises(InputError, match=f"k = {k} .* 'income', {present}"):
            protect(block, k=k, groups=groups)
        return
    masked = protect(block, k=k, groups=groups)
    np.testing.assert_array_equal(masked.missing, block.missing)
    np.testing.assert_array_equal(np.isnan(masked.values), block.missing)
    if present == 0:
        return
    column = block.values[~missing, 0]
    labels = masked.labels[~missing]
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    order = np.argsort(labels, kind="stable")
    highest = [column[labels == label].max() for label in range(len(sizes))]
    lowest = [column[labels == label].min() for label in range(len(sizes))]
    assert all(low >= high for low, high in zip(lowest[1:], highest, strict=False))
    assert len(order) == present
    assert np.nansum(masked.values) == pytest.approx(column.sum(), abs=1e-9)


def test_the_middle_cluster_is_the_larger_one():
    """Mateo-Sanz's thesis, univariate microaggregation: index g // 2 in ascending order."""
    masked = protect(block_of(np.arange(14.0)[::-1]), k=3, groups="fixed")
    assert masked.values[::-1, 0].tolist() == [1.0] * 3 + [4.0] * 3 + [8.0] * 5 + [12.0] * 3
    assert masked.notes == {"clusters": 4, "smallest_cluster": 3, "largest_cluster": 5}


def test_optimal_clusters_lose_less_than_fixed_ones():
    values = np.repeat([0.0, 10.0, 20.0], [4, 3, 5])
    assert protect(block_of(values), k=3).values[:, 0].tolist() == values.tolist()
    assert protect(block_of(values), k=3, groups="fixed").values[:, 0].tolist() != values.tolist()


def test_the_thesis_variance_measure_of_census(reference):
    """Mateo-Sanz's thesis, row micir03: mean absolute relative change of the variances, 0.11 %."""
    table = np.loadtxt(reference / "census.csv", delimiter=",", skiprows=1)
    masked = np.column_stack([protect(block_of(column), k=3, groups="fixed").values[:, 0] for column in table.T])
    change = np.abs(masked.var(axis=0) / table.var(axis=0) - 1)
    assert 100 * change.mean() == pytest.approx(0.11, abs=0.006)


def test_operators_and_types():
    levels = Variable("schooling", "ordinal", categories=("low", "middle", "high"))
    assert protect(block_of([2, 0, 0, 2, 1, 0], variable=levels), k=3).values[:, 0].tolist() == [2, 0, 0, 2, 2, 0]
    geometric = protect(block_of([1.0, 4.0, 16.0]), k=3)
    assert geometric.values[:, 0].tolist() == [7.0] * 3
    geometric = protect(block_of([1.0, 4.0, 16.0], operators=("geometric_mean",)), k=3)
    np.testing.assert_allclose(geometric.values[:, 0], 4.0)


@pytest.mark.parametrize("params", [{"k": 1}, {"k": 2.5}, {"groups": "best"}, {"size": 3}])
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ValidationError):
        METHOD.params(**params)


def test_several_variables_in_a_block_are_refused():
    values = np.ones((9, 2))
    block = Block(values, np.zeros((9, 2), bool), (Variable("a"), Variable("b")), center=np.zeros(2), scale=np.ones(2))
    with pytest.raises(InputError, match="one variable at a time"):
        protect(block)


def table():
    rng = np.random.default_rng(4)
    parts = rng.integers(1, 1000, (200, 2))
    return pd.DataFrame({"a": parts[:, 0], "b": parts[:, 1], "total": parts.sum(axis=1)})


def test_an_edit_across_variables_voids_k_and_is_refused():
    with pytest.raises(InputError, match="k_guarantee: report"):
        mw.protect(table(), "individual_ranking", edits=mw.EditSet.parse(["a + b == total"]), params={"k": 5}, seed=1)


@pytest.mark.parametrize("groups", ["optimal", "fixed"])
def test_edits_hold_when_k_is_only_reported(groups):
    original = table()
    edits = mw.EditSet.parse(["a + b == total", "a <= total", "total >= 0"])
    params = {"k": 5, "groups": groups, "k_guarantee": "report"}
    masked = mw.protect(original, "individual_ranking", edits=edits, params=params, seed=1)
    assert np.array_equal(masked["a"] + masked["b"], masked["total"])
    assert (masked["a"] <= masked["total"]).all()
    assert not masked["a"].equals(original["a"])
