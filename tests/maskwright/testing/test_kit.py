"""The kit finds plugins that break their promises, and passes those that keep them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
import pytest
from pydantic import BaseModel, Field

from maskwright import (
    Claims,
    InputError,
    Masked,
    Measure,
    MeasureClaims,
    Measurement,
    Method,
    NoParams,
    Partition,
    PromisesK,
)
from maskwright.testing import measure_checks, method_checks, partition_checks


class SizeParams(BaseModel, extra="forbid", frozen=True):
    """Parameters."""

    k: Annotated[int, PromisesK()] = Field(default=3, ge=2, description="Smallest cluster.")


def cluster_by_order(block, k, params, rng):
    return np.minimum(np.arange(block.n) // k, max(block.n // k - 1, 0)).astype(np.int64)


def protect_by_mean(block, params, rng):
    labels = np.minimum(np.arange(block.n) // params.k, max(block.n // params.k - 1, 0)).astype(np.int64)
    if block.n < params.k:
        raise InputError(f"{block.n} records are fewer than k = {params.k}")
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), block.p))
    np.add.at(sums, labels, block.values)
    representatives = sums / sizes[:, None]
    return Masked(representatives[labels], block.missing, labels=labels, representatives=representatives)


def mean_difference(comparison, params, rng):
    gaps = np.abs(comparison.original_values() - comparison.masked_values())
    if np.isnan(gaps).all():
        return Measurement(float("nan"), notes=("no cell is in both files",))
    return Measurement(float(np.nanmean(gaps)))


MEANS = Method(
    name="means",
    protect=protect_by_mean,
    params=SizeParams,
    claims=Claims(
        variable_types={"continuous"}, preserves={"linear", "inequality", "range", "mean", "k"}, deterministic=True
    ),
    reference="none",
    summary="Means of records in file order.",
    example="method: means\nparams: {k: 4}\n",
)
ORDER = Partition(name="order", cluster=cluster_by_order, summary="File order.", reference="none")
DIFFERENCE = Measure(
    name="difference",
    compute=mean_difference,
    claims=MeasureClaims(invariant_to={"records", "columns"}),
    summary="Mean difference.",
    reference="none",
)


@pytest.mark.parametrize("check", [*method_checks([MEANS]), *partition_checks([ORDER]), *measure_checks([DIFFERENCE])])
def test_right_plugins_pass(check) -> None:
    assert check() is None


def failing(parameters) -> set[str]:
    failed = set()
    for parameter in parameters:
        try:
            parameter.values[0]()
        except (AssertionError, ValueError, TypeError, RuntimeError, ZeroDivisionError):
            failed.add(parameter.id.split("-", 1)[1])
    return failed


def changes_input(block, params, rng):
    values = block.values
    values.setflags(write=True)
    values += 1.0
    return Masked(values.copy(), block.missing)


def own_randomness(block, params, rng):
    return Masked(block.values + np.random.default_rng().normal(size=block.values.shape), block.missing)


def takes_from_rng(block, params, rng):
    return Masked(block.values + rng.normal(size=block.values.shape), block.missing)


def not_importable():
    def protect(block, params, rng):
        return protect_by_mean(block, params, rng)

    return protect


def wrong_shape(block, params, rng):
    return Masked(block.values[:-1], block.missing[:-1])


def not_finite(block, params, rng):
    return Masked(block.values / 0.0, block.missing)


def labels_alone(block, params, rng):
    return Masked(block.values, block.missing, labels=np.zeros(block.n, dtype=np.int64))


def other_representatives(block, params, rng):
    masked = protect_by_mean(block, params, rng)
    return replace(masked, representatives=masked.representatives + 1.0)


def progress_falls(block, params, rng):
    block.progress(0.9)
    block.progress(0.1)
    return Masked(block.values, block.missing)


def _changed(value):
    """Name of a case that is the same in every process: what is changed, and what has to be found."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {getattr(one, '__name__', 'changed')}" for key, one in value.items())
    return " and ".join(sorted(value))


def crashes_on_one_record(block, params, rng):
    if block.n == 1:
        raise RuntimeError("index out of range")
    return Masked(block.values, block.missing)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"protect": changes_input}, {"input_unmodified", "preserves_mean"}),
        ({"protect": own_randomness}, {"same_seed_same_result", "deterministic"}),
        ({"protect": takes_from_rng}, {"deterministic", "preserves_linear", "preserves_mean", "k_respected"}),
        ({"protect": wrong_shape}, {"shapes_continuous", "one_record_continuous"}),
        ({"protect": labels_alone}, {"clusters_and_representatives"}),
        ({"protect": other_representatives}, {"clusters_and_representatives"}),
        ({"protect": progress_falls}, {"progress_is_a_share"}),
        ({"protect": crashes_on_one_record}, {"one_record_continuous"}),
        ({"protect": not_importable()}, {"picklable"}),
        ({"claims": replace(MEANS.claims, preserves={"product"})}, {"preserves_product"}),
        ({"claims": replace(MEANS.claims, preserves={"covariance"})}, {"preserves_covariance"}),
        ({"claims": replace(MEANS.claims, preserves={"domain"})}, {"preserves_domain"}),
        ({"summary": ""}, {"documented"}),
        ({"reference": " "}, {"documented"}),
        ({"example": ""}, {"example"}),
        ({"example": "method: other\n"}, {"example"}),
        ({"example": "method: means\nparams: {k: 1}\n"}, {"example"}),
    ],
    ids=_changed,
)
def test_a_method_that_breaks_a_promise_is_found(change, found) -> None:
    assert found <= failing(method_checks([replace(MEANS, **change)]))


def test_division_by_zero_is_found() -> None:
    with np.errstate(divide="ignore"):
        assert "shapes_continuous" in failing(method_checks([replace(MEANS, protect=not_finite)]))


@pytest.mark.parametrize(
    ("cluster", "found"),
    [
        (lambda block, k, params, rng: np.arange(block.n), {"sizes_n53_k5", "picklable"}),
        (lambda block, k, params, rng: np.zeros(block.n), {"sizes_n53_k5"}),
        (lambda block, k, params, rng: 1 + cluster_by_order(block, k, params, rng), {"sizes_n1_k3"}),
        (lambda block, k, params, rng: cluster_by_order(block, 2, params, rng), {"sizes_n5_k3"}),
        (lambda block, k, params, rng: rng.permutation(cluster_by_order(block, k, params, rng)), {"deterministic"}),
    ],
)
def test_a_partition_that_breaks_a_promise_is_found(cluster, found) -> None:
    assert found <= failing(partition_checks([replace(ORDER, cluster=cluster)]))


def upside_down(comparison, params, rng):
    return Measurement(1.0 / (1.0 + mean_difference(comparison, params, rng).value))


def out_of_range(comparison, params, rng):
    return Measurement(-1.0)


def unexplained(comparison, params, rng):
    return Measurement(float("nan"))


def first_record(comparison, params, rng):
    return Measurement(float(abs(comparison.original_values()[0, 0] - comparison.masked_values()[0, 0])))


def numpy_value(comparison, params, rng):
    return Measurement(np.float32(0.0), per_variable={"nobody": 0.0})


def noisy(comparison, params, rng):
    return Measurement(float(rng.random()))


def silent_part(comparison, params, rng):
    return Measurement(0.0, parts={"one": float("nan")})


def in_file_order(comparison, params, rng):
    gaps = np.abs(comparison.original_values() - comparison.masked_values()).sum(axis=1)
    return Measurement(float(np.nansum(gaps)), per_record=np.sort(gaps))


def in_place_of_origin(comparison, params, rng):
    gaps = comparison.original.matrix(comparison.variables)[: len(comparison.masked)] - comparison.masked_values()
    return Measurement(float(np.nansum(np.abs(gaps))), notes=("missing cells are left out",))


def crashes_without_values(comparison, params, rng):
    if np.isnan(comparison.masked_values()).all(axis=0).any():
        raise ZeroDivisionError
    return mean_difference(comparison, params, rng)


def crashes_on_weights(comparison, params, rng):
    if comparison.weights is not None:
        raise ZeroDivisionError
    return mean_difference(comparison, params, rng)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"compute": upside_down}, {"identity"}),
        ({"compute": out_of_range}, {"measurement", "identity"}),
        ({"compute": unexplained}, {"measurement", "missing_cells"}),
        ({"compute": first_record}, {"invariant_to_records", "invariant_to_columns"}),
        ({"compute": numpy_value}, {"measurement"}),
        ({"compute": silent_part}, {"measurement", "swapped"}),
        ({"compute": in_file_order}, {"paired_by_origin"}),
        ({"compute": in_place_of_origin}, {"paired_by_origin"}),
        ({"compute": crashes_without_values}, {"missing_variable"}),
        ({"compute": crashes_on_weights}, {"weights_and_households"}),
        ({"range": (0.0, 1e6)}, {"far_away"}),
        ({"compute": noisy}, {"deterministic"}),
        ({"claims": replace(DIFFERENCE.claims, invariant_to={"affine"})}, {"invariant_to_affine"}),
        ({"kind": "risk"}, {"identity"}),
        ({"summary": ""}, {"documented"}),
    ],
    ids=_changed,
)
def test_a_measure_that_breaks_a_promise_is_found(change, found) -> None:
    assert found <= failing(measure_checks([replace(DIFFERENCE, **change)]))


class RequiredParams(BaseModel, extra="forbid", frozen=True):
    """Parameters."""

    size: int


def test_parameters_come_from_the_caller_the_defaults_or_the_example() -> None:
    needs = replace(ORDER, name="needs", params=RequiredParams)
    assert "parameters" in failing(partition_checks([needs]))
    assert "parameters" not in failing(partition_checks([needs], params={"needs": {"size": 3}}))
    assert "parameters" not in failing(partition_checks([needs], params={"needs": RequiredParams(size=3)}))
    assert "documented" in failing(partition_checks([needs], params={"needs": {"size": 3}}))


def test_an_excuse_is_a_strict_xfail_with_its_reason() -> None:
    (excused,) = [
        parameter
        for parameter in method_checks([MEANS], excuses={"means-k_respected": "known"})
        if parameter.id == "means-k_respected"
    ]
    (mark,) = excused.marks
    assert (mark.name, mark.kwargs) == ("xfail", {"strict": True, "reason": "known"})


def test_an_excuse_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="excuses for no check: k_respekted"):
        method_checks([MEANS], excuses={"k_respekted": "typing"})


def test_a_plugin_without_parameters_needs_none() -> None:
    assert ORDER.params is NoParams
