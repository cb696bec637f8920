"""Microaggregation: clusters of at least k, representatives, missing cells, and parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from maskwright import Block, InputError, PluginError, Variable
from maskwright.plugins.registry import find_method

METHOD = find_method("microaggregation")


def block_of(values, missing=None, variables=None, operators=()):
    values = np.asarray(values, dtype=float)
    missing = np.zeros(values.shape, dtype=bool) if missing is None else missing
    variables = variables or tuple(Variable(f"x{j}") for j in range(values.shape[1]))
    present = np.where(missing, np.nan, values)
    center = np.array(
        [np.mean(column[~np.isnan(column)]) if (~np.isnan(column)).any() else 0.0 for column in present.T]
    )
    scale = np.array(
        [np.std(column[~np.isnan(column)]) or 1.0 if (~np.isnan(column)).any() else 1.0 for column in present.T]
    )
    for array in (present, missing):
        array.setflags(write=False)
    return Block(present, missing, variables, operators=operators, center=center, scale=scale)


def protect(block, **params):
    return METHOD.protect(block, METHOD.params(**params), np.random.default_rng(0))


@settings(max_examples=50)
@given(
    n=st.integers(2, 80), p=st.integers(1, 4), k=st.integers(2, 9), holes=st.sampled_from([0.0, 0.2, 1.0]),
    seed=st.integers(0, 50),
)  # fmt: skip
def test_records_are_their_clusters_representative_and_missing_cells_stay_missing(n, p, k, holes, seed):
    rng = np.random.default_rng(seed)
    block = block_of(rng.integers(0, 50, (n, p)), rng.random((n, p)) < holes)
    if n < k:
        with pytest.raises(InputError, match=f"k = {k} .* records, {n}"):
            protect(block, k=k)
        return
    masked = protect(block, k=k)
    sizes = np.bincount(masked.labels)
    assert sizes.min() >= k or len(sizes) == 1
    assert masked.notes == {
        "clusters": len(sizes), "smallest_cluster": sizes.min(), "largest_cluster": sizes.max()
    }  # fmt: skip
    assert masked.representatives.shape == (len(sizes), p)
    np.testing.assert_array_equal(masked.missing, block.missing)
    expected = np.where(block.missing, np.nan, masked.representatives[masked.labels])
    np.testing.assert_array_equal(masked.values, expected)
    # Means of the values present: every column keeps its total.
    np.testing.assert_allclose(np.nansum(masked.values, axis=0), np.nansum(block.values, axis=0), atol=1e-9)


@settings(max_examples=25)
@given(n=st.integers(6, 60), k=st.integers(2, 6), seed=st.integers(0, 50))
def test_linear_edits_inequalities_and_ranges_hold_afterwards(n, k, seed):
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, 1000, (n, 2))
    masked = protect(block_of(np.column_stack([parts, parts.sum(axis=1)])), k=k).values
    np.testing.assert_allclose(masked[:, 0] + masked[:, 1], masked[:, 2], rtol=1e-13)
    assert np.all(masked[:, 0] <= masked[:, 2])
    assert masked[:, :2].min() >= 0
    assert masked[:, :2].max() <= 999


def test_each_type_has_its_operator_unless_the_plan_says_otherwise():
    variables = (
        Variable("income"),
        Variable("children", "integer"),
        Variable("schooling", "ordinal", categories=("low", "middle", "high")),
        Variable("sex", "nominal", categories=("f", "m")),
    )
    values = [[1, 0, 0, 1], [2, 1, 0, 1], [6, 2, 2, 0], [7, 3, 2, 0]]
    masked = protect(block_of(values, variables=variables), k=4)
    assert masked.representatives.tolist() == [[4.0, 1.5, 0.0, 0.0]]
    planned = ("geometric_mean", "lower_median", "mode", "mode")
    masked = protect(block_of(np.array(values) + 1, variables=variables, operators=planned), k=4)
    np.testing.assert_allclose(masked.representatives, [[(2 * 3 * 7 * 8) ** 0.25, 2.0, 1.0, 1.0]])


def test_fewer_than_2k_records_are_one_cluster():
    masked = protect(block_of([[1.0], [2.0], [9.0]]), k=2)
    assert masked.values.tolist() == [[4.0]] * 3


def test_a_partition_may_be_named_with_its_parameters():
    block = block_of(np.arange(12.0)[:, None])
    np.testing.assert_array_equal(protect(block, k=3, partition={"refine": {}}).values, protect(block, k=3).values)


def test_the_partition_is_refine_unless_another_is_named():
    block = block_of(np.random.default_rng(6).standard_normal((60, 3)))
    usual = protect(block, k=4)
    refined, mdav = (protect(block, k=4, partition=name) for name in ("refine", "mdav"))
    np.testing.assert_array_equal(usual.labels, refined.labels)
    assert ((usual.values - block.values) ** 2).sum() < 0.97 * ((mdav.values - block.values) ** 2).sum()


@pytest.mark.parametrize(
    ("partition", "error", "said"),
    [
        ("mdaw", PluginError, "did you mean 'mdav'"),
        ({"mdav": {"speed": 9}}, InputError, "partition 'mdav': speed"),
    ],
)
def test_a_wrong_partition_is_named(partition, error, said):
    with pytest.raises(error, match=said):
        protect(block_of(np.arange(12.0)[:, None]), k=3, partition=partition)


@pytest.mark.parametrize(
    "params",
    [{"k": 1}, {"k": 2.5}, {"k": "3"}, {"k": True}, {"size": 3}, {"partition": {}}, {"partition": {"a": {}, "b": {}}}],
)
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ValidationError):
        METHOD.params(**params)


def test_every_parameter_is_described():
    assert all(field.description for field in METHOD.params.model_fields.values())


# As for the partition; here with the file's own centre and scale through the method.
@pytest.mark.parametrize(("name", "k", "expected"), [("census", 3, 5.6922), ("tarragona", 10, 33.1929)])
def test_loss_on_the_reference_files(reference_file, name, k, expected):
    values = np.loadtxt(reference_file(f"{name}.csv"), delimiter=",", skiprows=1)
    masked = protect(block_of(values), k=k, partition="mdav").values
    moved = (masked - values) / values.std(axis=0, ddof=1)
    assert 100 * (moved**2).sum() / (values.shape[1] * (len(values) - 1)) == pytest.approx(expected, abs=5.1e-5)
