"""Loss measures against their formulas, written down again with plain NumPy, pandas and SciPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import optimize, stats

from maskwright import InputError
from maskwright_builtin.measures import MEASURES as OFFERED

MEASURES = tuple(each.record() for each in OFFERED)

BY_NAME = {measure.name: measure for measure in MEASURES if not measure.claims.of_levels}
WEIGHTED = ("sse", "il1s", "pi", "discrepancy", "higher_moments", "kolmogorov_smirnov", "hellinger", "structural_zeros",
            "regression_overlap", "propensity", "subdomains")  # fmt: skip


@pytest.fixture(scope="module")
def found(compare):
    def measure(name, original, masked, params=None, **more):
        chosen = BY_NAME[name]
        comparison = compare(original, masked, **more)
        return chosen.compute(comparison, chosen.params(**(params or {})), np.random.default_rng(0))

    return measure


def noisy(n=200, p=4, seed=0, noise=0.3):
    generator = np.random.default_rng(seed)
    original = generator.normal(size=(n, p)) @ generator.normal(size=(p, p)) + 3.0
    return original, original + noise * generator.normal(size=(n, p))


def variation(a, b):
    a, b = np.ravel(a), np.ravel(b)
    return np.mean([abs(x - y) / abs(x) if x else float(y != 0.0) for x, y in zip(a, b, strict=True)])


@given(seed=st.integers(0, 10_000), n=st.integers(3, 40), p=st.integers(2, 4), rounded=st.booleans())
@settings(max_examples=30)
def test_pi_is_its_formula(found, seed, n, p, rounded):
    original, masked = noisy(n, p, seed)
    if rounded:  # zeros on both sides, and constant variables now and then
        original, masked = np.round(original), np.round(masked)
    above = np.triu_indices(p, 1)
    cov, new = np.cov(original.T), np.cov(masked.T)
    parts = {
        "PI1": variation(original, masked),
        "PI2": variation(original.mean(axis=0), masked.mean(axis=0)),
        "PI3": variation(cov[above], new[above]),
        "PI4": variation(np.diag(cov), np.diag(new)),
    }
    if np.diag(cov).all() and np.diag(new).all() and not rounded:
        parts["PI5"] = np.mean(np.abs(np.corrcoef(original.T) - np.corrcoef(masked.T))[above])
    result = found("pi", original, masked)
    for name, value in parts.items():
        if name in ("PI1", "PI4", "PI5") or not rounded:  # 0 means and covariances are rounding in the oracle
            assert result.parts[name] == pytest.approx(100 * value, rel=1e-7), name
    if len(result.parts) == 5:
        rest = sum(result.parts[f"PI{number}"] for number in range(2, 6))
        assert result.value == pytest.approx(result.parts["PI1"] / 3 + rest / 6)
        assert np.nanmean(result.per_record) == pytest.approx(result.parts["PI1"])


def test_pi_of_one_variable_has_no_pairs(found):
    result = found("pi", [[1.0], [2.0], [4.0]], [[1.0], [3.0], [4.0]])
    assert set(result.parts) == {"PI1", "PI2", "PI4"}
    assert result.value == pytest.approx((result.parts["PI1"] + (result.parts["PI2"] + result.parts["PI4"]) / 2) / 2)
    assert any("PI3, PI5" in note for note in result.notes)


def test_il1s_is_its_formula(found):
    original, masked = noisy()
    expected = np.mean(np.abs(original - masked) / (np.sqrt(2) * original.std(axis=0, ddof=1)))
    result = found("il1s", original, masked)
    assert result.value == pytest.approx(expected)
    assert result.per_record.mean() == pytest.approx(expected)


@pytest.mark.parametrize("of", ["X", "mean", "V", "variance", "R", "RF", "C", "F"])
def test_discrepancies_are_their_formulas(found, of):
    original, masked = noisy(seed=3)
    p = 4
    matrices, weight, first, share = [], np.ones(1), None, None
    for file in (original, masked):
        correlation = np.corrcoef(file.T)
        values, vectors = np.linalg.eigh(correlation)
        values, vectors = values[::-1], vectors[:, ::-1]
        loadings = vectors * np.sqrt(values)
        if matrices and of in ("RF", "F"):
            sign = np.sign((loadings * first).sum(axis=0))
            loadings, vectors = loadings * sign, vectors * sign
        elif not matrices:
            first, share = loadings, values / p
        matrices.append({
            "X": file, "mean": file.mean(axis=0), "V": np.cov(file.T, ddof=0)[np.triu_indices(p)],
            "variance": file.var(axis=0), "R": correlation[np.triu_indices(p, 1)], "RF": loadings,
            "C": loadings[:, 0] ** 2, "F": vectors / np.sqrt(values),
        }[of])  # fmt: skip
    if of in ("RF", "F"):
        weight = share
    a, b = matrices
    expected = {
        "mean_square": np.sum(weight * (a - b) ** 2) / a.size,
        "mean_absolute": np.sum(weight * np.abs(a - b)) / a.size,
        "mean_variation": np.sum(weight * np.abs(a - b) / np.abs(a)) / a.size,
    }
    result = found("discrepancy", original, masked, {"of": of, "error": "mean_absolute"})
    assert result.parts == pytest.approx(expected, rel=1e-6)
    assert result.value == result.parts["mean_absolute"]


def test_components_of_exactly_dependent_variables_are_left_out_and_said(found):
    """The Census file has such a total: no coefficient may be infinite."""
    original, masked = noisy(p=3)
    original, masked = (np.column_stack([file, file[:, 0] + file[:, 1]]) for file in (original, masked))
    for of in ("RF", "C", "F"):
        result = found("discrepancy", original, masked, {"of": of})
        assert np.isfinite(result.value)
        assert of == "C" or any("1 in the original file, 1 in the masked" in note for note in result.notes)


def test_moments_of_order_3_and_4(found):
    original, masked = noisy()
    result = found("higher_moments", original, masked)
    for order in (3, 4):
        scale = original.std(axis=0) ** order
        expected = np.mean(np.abs(stats.moment(masked, order) - stats.moment(original, order)) / scale)
        assert result.parts[f"order_{order}"] == pytest.approx(expected)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 30), m=st.integers(2, 30), ties=st.booleans())
@settings(max_examples=40)
def test_kolmogorov_smirnov_is_that_of_scipy(found, seed, n, m, ties):
    generator = np.random.default_rng(seed)
    original, masked = generator.normal(size=(n, 1)), generator.normal(size=(m, 1)) + 0.3
    if ties:
        original, masked = np.round(2 * original), np.round(2 * masked)
    origin = np.zeros(m, dtype=np.int64)
    expected = 100 * stats.ks_2samp(original[:, 0], masked[:, 0], method="asymp").statistic
    assert found("kolmogorov_smirnov", original, masked, origin=origin).value == pytest.approx(expected)
    ones = found("kolmogorov_smirnov", original, masked, {"weighted": True}, origin=origin, weights=np.ones(n))
    assert ones.value == pytest.approx(expected)


def test_hellinger_is_its_formula(found):
    original, masked = noisy()
    result = found("hellinger", original, masked, {"bins": 5})
    column, other = original[:, 0], masked[:, 0]
    edges = [-np.inf, *np.quantile(column, [0.2, 0.4, 0.6, 0.8], method="lower"), np.inf]
    shares = [pd.Series(pd.cut(each, edges)).value_counts(sort=False) / len(each) for each in (column, other)]
    expected = 100 * np.sqrt(1 - np.sqrt(shares[0].to_numpy() * shares[1].to_numpy()).sum())
    assert result.per_variable["v1"] == pytest.approx(expected)
    apart = found("hellinger", np.zeros((4, 1)), np.ones((4, 1)), {"bins": 2})
    assert apart.value == pytest.approx(100)


@pytest.mark.parametrize("order", [1, 2])
def test_propensity_is_the_maximum_likelihood_fit(found, order):
    original, masked = noisy(n=150, p=3)
    masked = masked * 0.9 + 0.1
    design = np.vstack([original, masked])
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    columns = [np.ones(300), *design.T]
    if order == 2:
        columns += [design[:, i] * design[:, j] for i in range(3) for j in range(i, 3)]
    rows, file = np.column_stack(columns), np.repeat([0.0, 1.0], 150)
    fit = optimize.minimize(
        lambda b: np.sum(np.logaddexp(0, rows @ b) - file * (rows @ b)), np.zeros(rows.shape[1]),
        jac=lambda b: rows.T @ (1 / (1 + np.exp(-rows @ b)) - file), method="BFGS", options={"gtol": 1e-8},
    )  # fmt: skip
    expected = np.mean((1 / (1 + np.exp(-rows @ fit.x)) - 0.5) ** 2)
    result = found("propensity", original, masked, {"order": order})
    assert result.value == pytest.approx(expected, rel=1e-5)
    assert result.parts["parameters"] == rows.shape[1]
    assert result.parts["expected"] == pytest.approx((rows.shape[1] - 1) * 0.25 * 0.5 / 300)


def test_propensity_ratio_is_about_one_for_records_drawn_from_the_original(found):
    """What chance gives, by simulation: the mean of the ratio, and the mean of the standardised measure."""
    generator = np.random.default_rng(5)
    original = generator.normal(size=(200, 2))
    results = [found("propensity", original, original[generator.integers(0, 200, 200)]).parts for _ in range(150)]
    # Standard error of the mean ratio: sqrt(2 / (k - 1) / 150) = 0.05.
    assert np.mean([parts["ratio"] for parts in results]) == pytest.approx(1.0, abs=0.2)
    assert abs(np.mean([parts["standardised"] for parts in results])) < 0.35


def test_files_that_are_told_apart_reach_the_largest_propensity_score(found):
    original, _ = noisy()
    result = found("propensity", original, original + 1000.0)
    assert result.value == pytest.approx(0.25, abs=1e-6)


def test_regression_overlap_is_that_of_least_squares(found):
    original, masked = noisy(n=80)
    half = stats.norm.ppf(0.975)
    expected = []
    intervals = []
    for file in (original, masked):
        rows = np.column_stack([np.ones(80), file[:, 1], file[:, 2]])
        b, left = np.linalg.lstsq(rows, file[:, 0])[:2]
        error = np.sqrt(left[0] / 77 * np.diag(np.linalg.inv(rows.T @ rows)))
        intervals.append([(b[j] - half * error[j], b[j] + half * error[j]) for j in (1, 2)])
    for (low, high), (other_low, other_high) in zip(*intervals, strict=True):
        common = max(0.0, min(high, other_high) - max(low, other_low))
        expected.append(50 * (common / (high - low) + common / (other_high - other_low)))
    result = found("regression_overlap", original, masked, {"models": ["v1 ~ v2 + v3"]})
    assert list(result.parts) == ["v1 ~ v2", "v1 ~ v3"]
    assert list(result.parts.values()) == pytest.approx(expected)


@pytest.mark.parametrize("model", ["v1", "v1 ~", "~ v1", "v1 ~ v2 +", "v1 ~ v1", "v1 ~ v2 + v2", "v1 ~ v2 ~ v3"])
def test_a_text_that_is_no_model_is_refused(model):
    with pytest.raises(ValidationError, match=r"is no model|names a variable twice"):
        BY_NAME["regression_overlap"].params(models=[model])


def test_a_model_of_unknown_variables_is_refused(found):
    with pytest.raises(InputError, match="wages not among the numeric variables compared: v1, v2"):
        found("regression_overlap", *noisy(p=2), {"models": ["v1 ~ wages"]})


def test_subdomains_that_are_the_whole_file_are_the_file(found):
    original, masked = noisy()
    result = found("subdomains", original, masked, {"random": 3, "share": 1.0})
    scale = original.std(axis=0, ddof=1)
    means = np.mean(100 * np.abs(original.mean(axis=0) - masked.mean(axis=0)) / scale)
    moved = 100 * np.abs(np.cov(original.T, ddof=0) - np.cov(masked.T, ddof=0)) / np.outer(scale, scale)
    expected = {"random_means": means, "random_covariances": moved[np.triu_indices(4)].mean()}
    assert result.parts == pytest.approx(expected)
    sampled = found("subdomains", original, masked)
    assert sampled.interval[0] < sampled.value < sampled.interval[1]


def test_declared_subdomains_are_the_categories(found):
    original, masked = noisy()
    original[:, 3] = masked[:, 3] = np.repeat([1.0, 2.0], 100)
    result = found("subdomains", original, masked, {"random": 0, "domains": ["v4"]})
    scale = original.std(axis=0, ddof=1)
    halves = [np.abs(original[part].mean(axis=0) - masked[part].mean(axis=0)) / scale
              for part in (slice(100), slice(100, 200))]  # fmt: skip
    assert result.parts["v4_means"] == pytest.approx(100 * np.mean(halves))


def test_zeros_lost_and_made(found):
    original = np.array([[0.0, 5.0], [0.0, 0.0], [3.0, 2.0], [4.0, 1.0]])
    masked = np.array([[0.0, 5.0], [1.0, 0.0], [0.0, 2.0], [4.0, 1.0]])
    result = found("structural_zeros", original, masked)
    assert result.value == pytest.approx(100 * 2 / 4)
    assert result.per_variable == pytest.approx({"v1": 100 * 2 / 3, "v2": 0.0})
    expected = {"share_original": 37.5, "share_masked": 37.5, "lost": 100 / 3, "made": 100 / 3}
    assert result.parts == pytest.approx(expected)
    assert result.per_record.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("name", WEIGHTED)
def test_whole_weights_count_records_that_often(found, name):
    """A weight of 3 is three copies of the record, as far as the measure has no sampling error in it."""
    original, masked = (np.round(file, 1) for file in noisy(n=60, p=3))
    weights = np.random.default_rng(1).integers(1, 4, 60)
    params = {"random": 0, "domains": ["v1"]} if name == "subdomains" else {}
    if name == "subdomains":
        original[:, 0] = masked[:, 0] = np.arange(60) % 3
    weighted = found(name, original, masked, {"weighted": True, **params}, weights=weights.astype(float))
    times = np.repeat(np.arange(60), weights)
    copied = found(name, original[times], masked[times], params)
    if name in ("sse", "il1s", "subdomains"):  # scaled by the standard deviation of the file, which weights leave alone
        ratio = (original[times].std(axis=0, ddof=1) / original.std(axis=0, ddof=1)) ** (1 if name == "il1s" else 2)
        if name != "subdomains":
            correction = 1.0 if name == "il1s" else 60 / 59 * (len(times) - 1) / len(times)
            for j, variable in enumerate(("v1", "v2", "v3")):
                expected = copied.per_variable[variable] * ratio[j] * correction
                assert weighted.per_variable[variable] == pytest.approx(expected)
        else:
            assert set(weighted.parts) == set(copied.parts)
        return
    if name == "regression_overlap":
        # Errors are those of 60 records, not of the copies: only the coefficients are the same.
        assert set(weighted.parts) == set(copied.parts)
        return
    if name == "hellinger":  # the cells are quantiles of the file's records
        assert weighted.value > 0.0
        return
    assert weighted.value == pytest.approx(copied.value, rel=1e-6)


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_that_are_asked_for_and_not_there_are_refused(found, name):
    with pytest.raises(InputError, match="needs weights: declare one variable with role weight"):
        found(name, *noisy(), {"weighted": True})


OF_CATEGORIES = {
    "contingency_tables",
    "contingency_table_loss",
    "cramers_v",
    "distance_based_loss",
    "entropy_based_loss",
}


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_the_census_is_measured_without_a_silent_nan(name, census, compare):
    """The file has an exact dependence, PTOTVAL = POTHVAL + PEARNVAL; here also a constant and an empty variable."""
    original = census.iloc[:300, :6].assign(TOTAL=census["PTOTVAL"] + census["AGI"], ONE=1.0, NONE=np.nan)
    masked = (original * 1.02).round().assign(ONE=1.0)
    measure = BY_NAME[name]
    of_keys = {"keys": ["FEDTAX"], "sensitive": ["AGI"]}
    categories = {"variables": ["FEDTAX", "TOTAL", "ONE", "NONE"]}
    needed = {"components": [{"measure": "pi", "weight": 1}], "tables": [["FEDTAX"]], **of_keys, **categories}
    asked = {"weighted_score": ("components",), "dominance": ("tables",)}.get(name, ("keys", "sensitive"))
    asked += ("variables",) if name in OF_CATEGORIES else ()
    params = {key: needed[key] for key in asked if key in measure.params.model_fields}
    result = measure.compute(compare(original, masked), measure.params(**params), np.random.default_rng(0))
    assert np.isfinite(result.value)
    assert not any(np.isnan(value) for value in (*result.parts.values(), *result.per_variable.values()))
    if "keys" not in params:  # those look at their keys only
        assert any("NONE" in note or "missing cells" in note for note in result.notes)


def test_a_weighted_score_is_the_sum_of_its_parts(found):
    original, masked = noisy()
    components = [
        {"measure": "pil", "weight": 0.5},
        {"measure": "regression_overlap", "weight": 2, "params": {"models": ["v1 ~ v2"]}, "label": "models"},
    ]
    result = found("weighted_score", original, masked, {"components": components})
    overlap = found("regression_overlap", original, masked, {"models": ["v1 ~ v2"]}).value
    expected = {"pil": found("pil", original, masked).value, "models": 100 - overlap}
    assert result.parts == pytest.approx(expected)
    assert result.value == pytest.approx(0.5 * expected["pil"] + 2 * expected["models"])
    assert any("models: counted as 100 less the measure" in note for note in result.notes)


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ([], "at least 1 item"),
        ([{"measure": "pill", "weight": 1}], "did you mean 'pil'"),
        ([{"measure": "pil", "weight": 0}], "greater than 0"),
        ([{"measure": "pil", "weight": 1, "params": {"steps": 3}}], "params of pil: steps"),
        ([{"measure": "pil", "weight": 1}, {"measure": "pil", "weight": 1}], "two components are called 'pil'"),
    ],
)
def test_a_score_that_cannot_be_computed_is_refused_before_the_run(components, message):
    with pytest.raises(ValidationError, match=message):
        BY_NAME["weighted_score"].params(components=components)


def test_the_score_with_probabilistic_linkage_names_it(found):
    weights = {"distance_record_linkage": 0.125, "probabilistic_record_linkage": 0.125, "interval_disclosure": 0.25}
    assert list(found("score", *noisy(), weights).parts) == ["pil", *weights]
