"""PIL: published reference values, the definition written out naively, its invariances and its corner rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError

from maskwright import InputError, measure
from maskwright_builtin.measures.information_loss.pil_statistics import PARTS, quantiles_with_error
from maskwright_builtin.measures.information_loss.probabilistic_information_loss import (
    ProbabilisticInformationLossParams,
    probabilistic_information_loss,
)

GOLDEN = Path(__file__).parents[3] / "golden"
REFERENCE = pd.read_csv(GOLDEN / "pil_reference.csv", comment="#").set_index("masked")
IPSO = pd.read_csv(GOLDEN / "ipso_reference.csv", comment="#").set_index("scenario")
DEFAULT = ProbabilisticInformationLossParams.model_validate({})
CELLS = st.integers(-4, 4).map(float)


@pytest.fixture(scope="module")
def pil(compare, rng):
    def compute(original, masked, params=DEFAULT, **more):
        return probabilistic_information_loss(compare(original, masked, **more), params, rng)

    return compute


def masked_census(kind, census, ipso_a):
    if kind.startswith("IPSO-A"):
        return ipso_a(kind.split()[1])
    masked = {
        "original": census,
        "times 1.01": 1.01 * census,
        "rounded to 1000": (census / 1000).round() * 1000,  # numpy rounds half to even
        "AFNLWGT reversed": census.assign(AFNLWGT=census["AFNLWGT"].to_numpy()[::-1]),
    }
    return census, masked[kind]


@pytest.mark.parametrize("kind", list(REFERENCE.index))
def test_published_reference_values(kind, census, ipso_a, pil):
    found = pil(*masked_census(kind, census, ipso_a))
    assert tuple(found.parts) == PARTS
    assert found.value == pytest.approx(REFERENCE.loc[kind, "pil"], abs=1e-3)
    for part in PARTS:
        assert found.parts[part] == pytest.approx(REFERENCE.loc[kind, part], abs=1e-3), part
    assert np.mean(list(found.per_variable.values())) == pytest.approx(found.value)


@pytest.mark.parametrize("scenario", ["S1", "S2"])
def test_the_last_column_bandwidth_reproduces_the_older_program(scenario, ipso_a, pil):
    found = pil(*ipso_a(scenario), ProbabilisticInformationLossParams.model_validate({"bandwidth": "last-column"}))
    assert found.value == pytest.approx(IPSO.loc[scenario, "pil_lastcolumn_bandwidth"], abs=1e-4)
    assert found.parts["quantiles"] == pytest.approx(IPSO.loc[scenario, "quantiles_lastcolumn_bandwidth"], abs=1e-4)


@pytest.mark.parametrize("scenario", ["S1", "S2"])
def test_over_all_variables_when_only_the_dependents_are_masked(scenario, census, ipso_a, pil):
    _, fitted = ipso_a(scenario)
    found = pil(census, census.assign(**dict(fitted.items())))
    assert found.value == pytest.approx(IPSO.loc[scenario, "pil_all13"], abs=1e-4)


def test_quantiles_of_fedtax(census):
    """Specification, section 3.1: FEDTAX checks."""
    found = quantiles_with_error(census["FEDTAX"].to_numpy())
    assert found.half_window == pytest.approx(21.259)
    np.testing.assert_array_equal(found.values[[0, 9, 18]], [629, 7063, 15973])
    np.testing.assert_allclose(found.sd[[0, 9, 18]], [60.9062, 232.8807, 152.2655], atol=5e-5)


def loss(difference, variance, scale=1.0):
    if variance <= 1e-10 * scale:
        return 0.0 if abs(difference) <= 1e-10 * scale else 1.0
    return math.erf(abs(difference) / math.sqrt(2 * variance))


def moment(x, y, r, s):
    return float(np.mean((x - x.mean()) ** r * (y - y.mean()) ** s))


def test_the_interval_around_a_quantile_is_open():
    """With range 1000 the half width is 1: the neighbours at distance 1 do not count."""
    found = quantiles_with_error(np.arange(1001.0), step=50)
    assert found.sd == pytest.approx([np.sqrt(0.25 * 1001) * 2])


@dataclass(frozen=True)
class Present:
    """Records of a file with all values: each as often as its whole weight, and Kish's effective number, exact."""

    columns: tuple[Any, ...]
    number: Fraction

    @classmethod
    def of(cls, file, columns, weights):
        there = ~np.isnan(file[:, columns]).any(axis=1)
        counts = weights[there]
        repeated = np.repeat(file[there][:, columns], counts, axis=0)
        squares = int((counts**2).sum())
        return cls(tuple(repeated.T), Fraction(int(counts.sum()) ** 2, squares) if squares else Fraction(0))

    def quantile(self, percent):
        ordered = np.sort(self.columns[0])
        return ordered[math.floor(len(ordered) * (1 - 1 / self.number) * percent / 100)]


def naive_variable(before, after):
    (x,), (y,) = before.columns, after.columns
    n, m2 = float(before.number), moment(x, x, 1, 1)
    h = (x.max() - x.min()) / 1000
    quantiles = []
    for percent in range(5, 100, 5):
        old, new = before.quantile(percent), after.quantile(percent)
        share = np.mean((x > old - h) & (x < old + h))
        q = percent / 100
        quantiles.append(loss(new - old, q * (1 - q) / n * (2 * h) ** 2 / share**2 if h else 0.0, 1e-30))
    return {
        "means": [loss(y.mean() - x.mean(), m2 / n)],
        "variances": [loss(moment(y, y, 1, 1) - m2, (moment(x, x, 2, 2) - m2**2) / n)],
        "quantiles": quantiles,
    }


def naive_pair(before, after):
    (x, y), (a, b) = before.columns, after.columns
    n, m11, m22 = float(before.number), moment(x, y, 1, 1), moment(x, y, 2, 2)
    parts = {"covariances": [loss(moment(a, b, 1, 1) - m11, (m22 - m11**2) / n)]}
    if min(np.ptp(v) for v in (x, y, a, b)) > 0:
        m20, m02 = moment(x, x, 1, 1), moment(y, y, 1, 1)
        r = m11 / math.sqrt(m20 * m02)
        variance = (
            m22 / (m20 * m02)
            + r**2 / 4 * (moment(x, x, 2, 2) / m20**2 + moment(y, y, 2, 2) / m02**2 + 2 * m22 / (m20 * m02))
            - r * (moment(x, y, 3, 1) / (m20**1.5 * m02**0.5) + moment(x, y, 1, 3) / (m20**0.5 * m02**1.5))
        )
        new = moment(a, b, 1, 1) / math.sqrt(moment(a, a, 1, 1) * moment(b, b, 1, 1))
        parts["correlations"] = [loss(new - r, variance / n)]
    return parts


def naive(original, masked, weights=None, origin=None):
    """Return PIL written out from its definition, with no thought for speed or rounding."""
    weights = np.ones(len(original), dtype=int) if weights is None else weights
    others = weights[: len(masked)] if origin is None else weights[origin]

    def present(*columns):
        files = (original, weights), (masked, others)
        return [Present.of(file, list(columns), counts) for file, counts in files]

    found = []
    usable = [j for j in range(original.shape[1]) if all(file.number for file in present(j))]
    for j in usable:
        found.append(naive_variable(*present(j)))
        for i in usable:
            files = present(i, j)
            if i != j and all(file.number for file in files):
                found.append(naive_pair(*files))
    losses = {part: [value for parts in found for value in parts.get(part, [])] for part in PARTS}
    return {part: 100 * float(np.mean(values)) for part, values in losses.items() if values}


FILES = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(arrays(np.float64, shape, elements=CELLS), arrays(np.float64, shape, elements=CELLS))
)
MISSING = st.integers(0, 2**16)


@given(files=FILES, seed=MISSING, share=st.sampled_from([0.0, 0.2]))
def test_equals_the_definition_written_out(pil, files, seed, share):
    """Small whole numbers: constant columns, exact dependence, ties and missing cells are all frequent."""
    original, masked = files
    generator = np.random.default_rng(seed)
    for file in files:
        file[generator.random(file.shape) < share] = np.nan
    expected = naive(original, masked)
    found = pil(original, masked)
    assert found.parts == pytest.approx(expected, abs=1e-6)
    assert all(0 <= part <= 100 for part in found.parts.values())
    if expected:
        assert found.value == pytest.approx(np.mean(list(expected.values())), abs=1e-6)
        assert set(found.parts) == set(PARTS) or found.notes
    else:
        assert np.isnan(found.value)
        assert found.notes


def noisy_file(seed=3, n=200, p=4):
    generator = np.random.default_rng(seed)
    mixing = generator.normal(size=(p, p))
    original = np.exp(generator.normal(size=(n, p))) @ mixing
    return original, original + generator.normal(size=(n, p)) * 0.3


@given(scale=st.floats(1e-6, 1e6), offset=st.floats(-1e3, 1e3), column=st.integers(0, 3))
@settings(max_examples=30)
def test_a_column_rescaled_in_both_files_changes_nothing(pil, scale, offset, column):
    original, masked = noisy_file()
    expected = pil(original, masked).parts
    for file in (original, masked):
        file[:, column] = scale * (file[:, column] + offset)
    assert pil(original, masked).parts == pytest.approx(expected, abs=1e-6)


def test_order_of_records_and_columns_changes_nothing(pil):
    original, masked = noisy_file()
    expected = pil(original, masked)
    records, columns = np.random.default_rng(5).permutation(200), [2, 0, 3, 1]
    assert pil(original[records], masked[records]).parts == pytest.approx(expected.parts)
    assert pil(original[:, columns], masked[:, columns]).parts == pytest.approx(expected.parts)


def test_with_the_last_column_bandwidth_the_order_of_columns_matters(pil):
    original, masked = noisy_file()
    original[:, 0] *= 50
    masked[:, 0] *= 50
    params = ProbabilisticInformationLossParams.model_validate({"bandwidth": "last-column"})
    forward, backward = pil(original, masked, params), pil(original[:, ::-1], masked[:, ::-1], params)
    assert abs(forward.parts["quantiles"] - backward.parts["quantiles"]) > 1


def test_a_large_offset_costs_no_accuracy(pil):
    """Whole multiples of 1/1024 stay exact at an offset of 1e8, so only the computation can lose digits."""
    original, masked = (np.round(file * 1024) / 1024 for file in noisy_file(n=5000))
    expected = pil(original, masked).parts
    assert pil(original + 1e8, masked + 1e8).parts == pytest.approx(expected, abs=1e-5)


def test_exactly_dependent_columns_that_are_kept_lose_nothing(pil):
    original, _ = noisy_file()
    original = np.column_stack([original, 3 * original[:, 0] + 7, -original[:, 1]])
    found = pil(original, original[np.random.default_rng(1).permutation(200)])
    assert found.parts == pytest.approx(dict.fromkeys(PARTS, 0.0), abs=1e-6)


def test_breaking_an_exact_dependence_is_full_loss_of_the_correlation(pil):
    original = np.column_stack([np.arange(50.0), 2 * np.arange(50.0)])
    masked = original.copy()
    masked[[0, 1], 1] = masked[[1, 0], 1]
    found = pil(original, masked)
    assert found.parts["correlations"] == 100
    assert found.parts["variances"] == 0


def test_variance_of_a_balanced_two_valued_variable_has_no_sampling_error(pil):
    """mu_4 = mu_2 ** 2 there: no variance and no difference is no loss, a difference is full loss."""
    original = np.tile([[0.1], [0.3]], (50, 1))
    assert pil(original, original[::-1]).parts["variances"] == 0
    assert pil(original, 1.5 * original).parts["variances"] == 100


def test_one_variable_has_no_parts_of_pairs_and_says_so(pil):
    original, masked = noisy_file(p=1)
    found = pil(original, masked)
    assert set(found.parts) == {"quantiles", "means", "variances"}
    assert found.value == pytest.approx(np.mean(list(found.parts.values())))
    assert any("covariances and correlations do not exist" in note for note in found.notes)


@pytest.mark.parametrize("value", [0.1, 5e-13, -1e8, 0.0])
def test_a_constant_variable_is_judged_by_whether_it_changed(pil, value):
    original, masked = noisy_file(p=3)
    original[:, 1] = masked[:, 1] = value
    kept = pil(original, masked)
    assert kept.per_variable["v2"] == 0
    assert any("2 pairs" in note for note in kept.notes)
    masked[:, 1] = value + max(abs(value), 1e-13) / 8
    changed = pil(original, masked)
    assert changed.parts["means"] >= 100 / 3
    assert np.isfinite(changed.value)


@pytest.mark.parametrize("n", range(3, 40, 3))
def test_a_constant_masked_variable_has_no_correlations_however_its_mean_is_rounded(pil, n):
    original, _ = noisy_file(n=n, p=3)
    masked = original.copy()
    masked[:, 2] = 0.1
    found = pil(original, masked)
    assert any("2 pairs" in note for note in found.notes)
    assert found.parts["correlations"] == 0


def test_one_record(pil):
    assert pil([[1.0, 2.0]], [[1.0, 2.0]]).value == 0
    assert pil([[1.0, 2.0]], [[1.0, 3.0]]).parts["means"] == 50


def test_missing_cells_are_counted_and_a_variable_without_values_is_left_out(pil):
    original, masked = noisy_file()
    original[:7, 0] = np.nan
    masked[:, 1] = np.nan
    found = pil(original, masked)
    assert np.isfinite(found.value)
    assert set(found.per_variable) == {"v1", "v3", "v4"}
    assert any("7 in the original file, 200 in the masked file" in note for note in found.notes)
    assert any("left out" in note and "v2" in note for note in found.notes)


def test_nothing_left_is_not_a_number_with_a_note(pil):
    found = pil([[np.nan], [np.nan]], [[1.0], [2.0]])
    assert np.isnan(found.value)
    assert any("not defined" in note for note in found.notes)


def test_a_sampled_file_is_compared_with_the_whole_original(pil):
    original, _ = noisy_file()
    kept = np.arange(0, 200, 2)
    found = pil(original, original[kept], origin=kept)
    assert found.parts == pytest.approx(naive(original, original[kept]), abs=1e-6)


WEIGHTED = ProbabilisticInformationLossParams.model_validate({"weighted": True})


@given(files=FILES, seed=MISSING, share=st.sampled_from([0.0, 0.2]), sampled=st.booleans())
def test_whole_weights_are_copies_of_the_records_but_for_the_effective_number(pil, files, seed, share, sampled):
    """The definition without weights, on as many copies of each record; only n is Kish's. Weight 0 is no copy."""
    original, masked = files
    generator = np.random.default_rng(seed)
    for file in files:
        file[generator.random(file.shape) < share] = np.nan
    weights = generator.integers(0, 4, len(original))
    weights[generator.integers(len(weights))] = 2
    origin = None
    if sampled:
        origin = generator.choice(np.flatnonzero(weights), size=max(1, len(masked) // 2))
        masked = masked[: len(origin)]
    expected = naive(original, masked, weights, origin)
    for factor in (1.0, 1 / 7):
        found = pil(original, masked, WEIGHTED, weights=weights * factor, origin=origin)
        assert found.parts == pytest.approx(expected, abs=1e-6)
        assert np.isnan(found.value) == (not expected)


@given(files=FILES, seed=MISSING, share=st.sampled_from([0.0, 0.2]), weight=st.sampled_from([1.0, 0.1, 37.0]))
def test_equal_weights_are_no_weights(pil, files, seed, share, weight):
    generator = np.random.default_rng(seed)
    for file in files:
        file[generator.random(file.shape) < share] = np.nan
    expected = pil(*files)
    found = pil(*files, WEIGHTED, weights=np.full(len(files[0]), weight))
    # Scaling other weights than 1 costs the last digits, which differences of moments can raise.
    close = 1e-12 if weight == 1.0 else 1e-8
    assert found.parts == pytest.approx(expected.parts, abs=close)
    assert found.per_variable == pytest.approx(expected.per_variable, abs=close)
    assert found.value == pytest.approx(expected.value, abs=close, nan_ok=True)


def test_records_of_weight_zero_count_for_nothing(pil):
    original, masked = noisy_file(n=5000)
    weights = np.random.default_rng(8).integers(0, 3, 5000).astype(float)
    there = weights > 0
    expected = pil(original[there], masked[there], WEIGHTED, weights=weights[there])
    assert pil(original, masked, WEIGHTED, weights=weights).parts == pytest.approx(expected.parts, abs=1e-8)
    original[~there, 1] = np.nan
    assert pil(original, masked, WEIGHTED, weights=weights).parts == pytest.approx(expected.parts, abs=1e-8)
    original[:, 2] = np.where(there, np.nan, 1.0)
    found = pil(original, masked, WEIGHTED, weights=weights)
    assert any("left out" in note and "v3" in note for note in found.notes)


def test_unequal_weights_make_the_same_change_less_of_a_loss(pil):
    """Weights that have nothing to do with the values: statistics stay about the same, their errors grow."""
    original, masked = noisy_file(n=4000, p=2)
    weights = np.random.default_rng(9).exponential(size=4000) ** 4
    found = pil(original, original + 0.02 * original.std(axis=0), WEIGHTED, weights=weights)
    assert found.parts["means"] < pil(original, original + 0.02 * original.std(axis=0)).parts["means"] - 20
    number = weights.sum() ** 2 / (weights**2).sum()
    assert f"weighted: the 4000 original records with weight are as certain as {number:.0f}" in found.notes
    assert pil(original, original, WEIGHTED, weights=weights).value == 0.0
    assert pil(original, masked, WEIGHTED, weights=weights).value > 1.0


def test_a_large_offset_costs_no_accuracy_with_weights(pil):
    original, masked = (np.round(file * 1024) / 1024 for file in noisy_file(n=5000))
    weights = np.random.default_rng(10).exponential(size=5000)
    expected = pil(original, masked, WEIGHTED, weights=weights).parts
    found = pil(original + 1e8, masked + 1e8, WEIGHTED, weights=weights)
    assert found.parts == pytest.approx(expected, abs=1e-5)


def test_the_last_column_bandwidth_with_weights(pil):
    original, masked = noisy_file()
    for params in ({}, {"bandwidth": "last-column"}):
        expected = pil(original, masked, ProbabilisticInformationLossParams.model_validate(params))
        weighted = ProbabilisticInformationLossParams.model_validate({"weighted": True, **params})
        found = pil(original, masked, weighted, weights=np.full(200, 3.0))
        assert found.parts == pytest.approx(expected.parts)


def test_without_usable_weights_the_weighted_version_is_refused(pil):
    original, masked = noisy_file()
    with pytest.raises(InputError, match="pil: the weighted version needs weights: declare one variable"):
        pil(original, masked, WEIGHTED)
    weights = np.where(np.arange(200) < 100, 1.0, 0.0)
    with pytest.raises(InputError, match="pil: the weights of the masked records are all zero"):
        pil(original, masked[100:], WEIGHTED, weights=weights, origin=np.arange(100, 200))
    bad = pd.DataFrame(original, columns=list("abcd")).assign(w=-1.0)
    with pytest.raises(InputError, match="needs weights"):
        measure(bad, bad, [{"pil": {"weighted": True}}], declared={"w": {"role": "weight"}})


def test_files_of_different_length_are_compared_as_they_are(pil):
    original, _ = noisy_file()
    assert pil(original, np.tile(original, (3, 1))).parts["means"] == pytest.approx(0, abs=1e-6)
    assert pil(original, original[:30]).parts == pytest.approx(naive(original, original[:30]), abs=1e-6)


def test_files_that_cannot_be_compared_are_refused(pil):
    with pytest.raises(InputError, match="no numeric variable"):
        pil(np.zeros((3, 0)), np.zeros((3, 0)))
    with pytest.raises(InputError, match="0 original and 0 masked"):
        pil(np.zeros((0, 1)), np.zeros((0, 1)))
    with pytest.raises(InputError, match=r"infinite values.* in the masked file.*v2"):
        pil(np.zeros((2, 2)), np.array([[0.0, np.inf], [0.0, 1.0]]))
    with pytest.raises(InputError, match=r"positions 0\.\.1"):
        pil(np.zeros((2, 1)), np.zeros((2, 1)), origin=np.array([0, 2]))
    with pytest.raises(InputError, match="3 entries for 2"):
        pil(np.zeros((2, 1)), np.zeros((2, 1)), origin=np.array([0, 1, 1]))


@pytest.mark.parametrize("bad", [{"step": 0}, {"step": 51}, {"bandwidth": "own"}, {"steps": 5}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValidationError):
        ProbabilisticInformationLossParams(**bad)


def test_other_quantile_steps(pil):
    original, masked = noisy_file()
    fine, coarse = (ProbabilisticInformationLossParams.model_validate({"step": step}) for step in (1, 50))
    assert quantiles_with_error(original[:, 0], 1).values.size == 99
    assert pil(original, masked, fine).parts["quantiles"] != pil(original, masked, coarse).parts["quantiles"]
