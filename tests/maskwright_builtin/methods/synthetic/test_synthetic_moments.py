"""IPSO, MicroHybrid and Muralidhar-Sarathy hybrids: what they keep exactly, and when they refuse."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright import Block, InputError, Variable
from maskwright.plugins.registry import find_method
from maskwright_builtin.methods.synthetic.micro_hybrid import _assigned

DEPENDENT, INDEPENDENT = ("a", "b", "c"), ("x", "y")
ROLES = {"dependent": DEPENDENT, "independent": INDEPENDENT}
EXACT = [
    ("ipso", {"variant": "C"}),
    ("ipso", {"variant": "C", "uncorrelated": False}),
    ("micro_hybrid", {"k": 9}),
    ("micro_hybrid", {"k": 6, "uncorrelated": False}),
    ("micro_hybrid", {"k": 20, "partition": "mdav"}),
    ("micro_hybrid", {"k": 10_000}),
    ("muralidhar_sarathy", {"alpha": 0.0}),
    ("muralidhar_sarathy", {"alpha": 0.7}),
    ("muralidhar_sarathy", {"alpha": {"a": 0.5, "b": 0.45, "c": 0.5}}),
    ("muralidhar_sarathy", {"alpha": ((0.5, 0.0, 0.02), (0.0, 0.5, 0.0), (0.02, 0.0, 0.5))}),
]


def frame(n: int = 120, seed: int = 0, offset: float = 0.0) -> pd.DataFrame:
    """Three dependents with skewed residuals and two independents."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=n), rng.exponential(size=n)
    columns = {
        "a": 2 * x + y + rng.exponential(size=n), "b": -x + rng.normal(size=n), "c": 3 * y + rng.gamma(2.0, size=n),
        "x": x, "y": y,
    }  # fmt: skip
    return pd.DataFrame(columns) * [1.0, 1000.0, 1e-3, 1.0, 10.0] + offset


def protect(data: pd.DataFrame, method: str, **arguments: Any) -> pd.DataFrame:
    """What the method is told not to mask is declared to be published as it is."""
    chosen = arguments.get("params", {}).get("dependent", data.columns)
    declared = {name: {"release": "as is"} for name in data if name not in chosen}
    related = {"doubt": "follows-from-published", "variable": list(data.columns), "because": "the method says it too"}
    return mw.protect(data, method, declared=declared, waive=[related, *arguments.pop("waive", ())], **arguments)


def moments_apart(first: pd.DataFrame, second: pd.DataFrame) -> float:
    """Largest difference of means and covariances, in standard deviations of the first."""
    a, b = first.to_numpy(float), second[first.columns].to_numpy(float)
    spread = a.std(axis=0, ddof=1)
    spread = np.where(spread > 0, spread, 1.0)
    means = np.abs(a.mean(axis=0) - b.mean(axis=0)) / spread
    covariances = np.abs(np.cov(a.T) - np.cov(b.T)) / np.outer(spread, spread)
    return float(max(means.max(), covariances.max()))


@pytest.mark.parametrize(("method", "params"), EXACT)
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_means_and_covariances_are_exact_and_the_independents_stay(method, params, seed):
    data = frame(seed=seed)
    masked = protect(data, method, seed=seed, params={**params, **ROLES})
    assert moments_apart(data, masked) < 1e-9
    pd.testing.assert_frame_equal(masked[list(INDEPENDENT)], data[list(INDEPENDENT)])
    # One value in a hundred thousand comes back by chance.
    assert np.isclose(masked["a"], data["a"], rtol=1e-6).sum() <= 2


@pytest.mark.parametrize(("method", "params"), EXACT)
def test_large_offsets_do_no_harm(method, params):
    data = frame(offset=1e8)
    data["b"] = frame()["b"] + 1e8
    masked = protect(data, method, seed=1, params={**params, **ROLES})
    # The spread of c is 1e-3 of a unit at an offset of 1e8: only 5 digits of it are in the data.
    columns = ["a", "b", "x", "y"]
    assert moments_apart(data[columns], masked[columns]) < 1e-6


@pytest.mark.parametrize("method", ["ipso", "micro_hybrid", "muralidhar_sarathy", "fuzzy_c_regression"])
def test_the_seed_decides(method):
    data = frame()
    params = {**ROLES, "c": 3, "label": "draw"} if method == "fuzzy_c_regression" else ROLES
    first, again, other = (protect(data, method, seed=seed, params=params) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not np.isclose(first["a"], other["a"]).all()


def test_variant_a_is_least_squares_with_and_without_a_column_that_depends_on_others():
    data = frame()
    data["z"] = data["x"] - 2 * data["y"]
    design = np.column_stack([np.ones(len(data)), data[["x", "y"]]])
    expected = design @ np.linalg.lstsq(design, data[list(DEPENDENT)], rcond=None)[0]
    for independent in (("x", "y"), ("x", "y", "z")):
        masked = protect(
            data, "ipso", seed=1, params={"variant": "A", "dependent": DEPENDENT, "independent": independent}
        )
        np.testing.assert_allclose(masked[list(DEPENDENT)], expected, rtol=1e-9)


def test_variant_b_keeps_coefficients_and_the_size_of_residuals():
    data = frame(n=4000)
    masked = protect(data, "ipso", seed=1, params={"variant": "B", **ROLES})
    design = np.column_stack([np.ones(len(data)), data[list(INDEPENDENT)]])
    before, left_before, *_ = np.linalg.lstsq(design, data[list(DEPENDENT)], rcond=None)
    after, left_after, *_ = np.linalg.lstsq(design, masked[list(DEPENDENT)], rcond=None)
    np.testing.assert_allclose(after, before, rtol=1e-9)
    np.testing.assert_allclose(left_after, left_before, rtol=0.15)
    assert not np.allclose(left_after, left_before, rtol=1e-6)


def test_without_independents_the_moments_of_the_dependents_stay():
    data = frame()
    masked = protect(data, "ipso", seed=1)
    assert moments_apart(data, masked) < 1e-9
    means = protect(data, "ipso", seed=1, params={"variant": "A"})
    np.testing.assert_allclose(means, np.broadcast_to(data.mean(), data.shape), rtol=1e-9, atol=1e-12)


def test_new_residuals_have_no_correlation_with_the_old_ones():
    data = frame()
    masked = protect(data, "ipso", seed=3, params=ROLES)
    fitted = protect(data, "ipso", seed=3, params={"variant": "A", **ROLES})
    old, new = (each[list(DEPENDENT)] - fitted[list(DEPENDENT)] for each in (data, masked))
    across = old.T.to_numpy() @ new.to_numpy() / np.outer(old.std(), new.std()) / len(data)
    assert np.abs(across).max() < 1e-9


@pytest.mark.parametrize(
    ("method", "params"),
    [("ipso", {"variant": "A"}), ("ipso", {}), ("micro_hybrid", {"k": 12}), ("muralidhar_sarathy", {})],
)
def test_linear_equalities_survive_without_adjustment(method, params):
    """Also equalities that join dependents and independents."""
    data = frame()
    data["total"] = data["a"] + data["b"] - 2 * data["x"]
    dependent = (*DEPENDENT, "total")
    masked = protect(data, method, seed=1, params={"dependent": dependent, "independent": INDEPENDENT, **params})
    np.testing.assert_allclose(masked["total"], masked["a"] + masked["b"] - 2 * masked["x"], rtol=1e-9, atol=1e-9)


def test_muralidhar_sarathy_mixes_original_and_synthetic():
    data = frame()
    near, far = (protect(data, "muralidhar_sarathy", seed=1, params={"alpha": alpha, **ROLES}) for alpha in (0.99, 0.1))
    assert np.corrcoef(near["b"], data["b"])[0, 1] > 0.98 > np.corrcoef(far["b"], data["b"])[0, 1]
    block = Block(
        data.to_numpy(), np.zeros(data.shape, bool), tuple(map(Variable, data)), center=np.zeros(5), scale=np.ones(5)
    )
    method = find_method("muralidhar_sarathy")
    same = method.protect(block, method.params(alpha=1.0), np.random.default_rng(0))
    np.testing.assert_allclose(same.values, data, rtol=1e-9, atol=1e-9)
    assert "nothing is protected" in same.doubts[0]


def test_the_change_of_third_moments_stays_below_its_bound():
    rng = np.random.default_rng(5)
    values = rng.lognormal(sigma=1.5, size=(300, 3))
    block = Block(
        values,
        np.zeros(values.shape, bool),
        tuple(map(Variable, "abc")),
        center=values.mean(axis=0),
        scale=values.std(axis=0, ddof=1),
    )
    method = find_method("micro_hybrid")
    for k in (7, 20, 100, 300):
        notes = method.protect(block, method.params(k=k), np.random.default_rng(k)).notes
        assert 0 < notes["largest_third_moment_shift"] <= notes["largest_third_moment_bound"]


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("ipso", {"dependent": ("a",), "independent": ("a",)}, "a: dependent and independent at once"),
        ("ipso", {"dependent": ("a", "a")}, "dependent: a variable is listed twice"),
        ("ipso", {"dependent": ("aa",)}, "'aa'.*'a'"),
        ("ipso", {"independent": ("xx",)}, "'xx'.*'x'"),
        ("ipso", {"independent": ("text",)}, "'text' is nominal"),
        ("ipso", {"dependent": ("text",)}, "cannot mask 'text'"),
        ("ipso", {"independent": ("a", "b", "c", "x", "y", "same")}, "nothing to mask"),
        ("ipso", {"dependent": ("same",), "independent": INDEPENDENT}, "determine same"),
        ("muralidhar_sarathy", {"dependent": ("same",), "independent": INDEPENDENT}, "determine same"),
        ("fuzzy_c_regression", {"dependent": ("same",), "independent": INDEPENDENT}, "determine same"),
        ("micro_hybrid", {**ROLES, "k": 8}, "below the limit of 9"),
        ("micro_hybrid", {**ROLES, "k": 5, "uncorrelated": False}, "below the limit of 6"),
        ("micro_hybrid", {**ROLES, "partition": "mdaf"}, "mdav"),
        ("muralidhar_sarathy", {**ROLES, "alpha": 1.5}, "between 0 and 1"),
        ("muralidhar_sarathy", {**ROLES, "alpha": {"a": 0.5}}, "b, c"),
        ("muralidhar_sarathy", {**ROLES, "alpha": ((0.5,),)}, "3 dependent"),
        ("muralidhar_sarathy", {**ROLES, "alpha": ((0.5, 0.1), (0.5,))}, "as many rows"),
        ("fuzzy_c_regression", {**ROLES, "c": 50}, "three for each model"),
        ("fuzzy_c_regression", {**ROLES, "c": 0}, "c:"),
        ("fuzzy_c_regression", {**ROLES, "m": 1.0}, "m:"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_by_name(method, params, message):
    data = frame()
    data["same"] = data["x"] + data["y"]
    data["text"] = "n"
    with pytest.raises(InputError, match=message):
        protect(data, method, seed=1, params=params)


def test_shares_that_leave_no_room_for_noise_are_refused():
    """Nearly equal dependents cannot keep very different shares of their residuals."""
    rng = np.random.default_rng(1)
    data = frame()
    data["b"] = data["a"] + 0.01 * rng.normal(size=len(data))
    with pytest.raises(InputError, match=r"smallest eigenvalue.*-0\."):
        protect(data, "muralidhar_sarathy", seed=1, params={**ROLES, "alpha": {"a": 0.9, "b": 0.1, "c": 0.5}})


@pytest.mark.parametrize(("n", "enough"), [(8, False), (9, True)])
def test_the_limit_on_records_is_exact(n, enough):
    """Two independents and three dependents: 1 + 2 + 3 + 3 records."""
    data = frame(n=n)
    if enough:
        assert moments_apart(data, protect(data, "ipso", seed=1, params=ROLES)) < 1e-9
    else:
        with pytest.raises(InputError, match=r"8 records .* at least 9"):
            protect(data, "ipso", seed=1, params=ROLES)


def test_missing_cells_are_refused_by_name():
    data = frame()
    data.loc[3, "x"] = np.nan
    with pytest.raises(InputError, match="reads x: 1 and takes no missing cells there"):
        protect(data, "ipso", seed=1, params=ROLES)


def test_constant_dependents_stay_and_lose_nothing():
    data = frame()
    data["b"] = 7.0
    masked = protect(data, "ipso", seed=1, params=ROLES)
    assert (masked["b"] == 7.0).all()
    assert moments_apart(data, masked) < 1e-9


def test_small_strata_of_a_condition_are_merged():
    """Four records fulfil the condition; a regression of their own would give their values back."""
    data = frame()
    data["a"] = data["a"] - data["a"].min() + 1
    data["b"] = np.where(np.arange(len(data)) < 4, -1.5, data["b"].abs() + 1)
    edits = mw.EditSet.parse(["if b < 0 then a >= 0"])
    for method in ("ipso", "micro_hybrid", "muralidhar_sarathy", "fuzzy_c_regression"):
        near = [{"doubt": "method-warned", "step": 1, "because": "b is nearly a function of the others"}]
        masked = protect(
            data, method, seed=1, params=ROLES, edits=edits, waive=near if method == "fuzzy_c_regression" else []
        )
        assert mw.validate(masked, edits).ok
        assert not np.isclose(masked["a"], data["a"], rtol=1e-6).any()


def mixed_frame(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """Numbers, an independent number, a nominal variable that moves them, and an ordinal one that follows them."""
    rng = np.random.default_rng(seed)
    x, sector = rng.normal(size=n), rng.integers(0, 3, n)
    wages = x + 2 * (sector == 1) + rng.normal(size=n)
    size = np.clip(np.round(1.5 + 0.6 * wages + 0.5 * rng.normal(size=n)), 0, 4).astype(int)
    return pd.DataFrame({
        "sector": np.array(["farm", "trade", "works"])[sector], "size": np.array(list("abcde"))[size],
        "wages": wages, "tax": 0.3 * wages + 0.1 * rng.exponential(size=n), "x": x,
    })  # fmt: skip


MIXED = ["sector", "size", "wages", "tax"]
DECLARED = {"size": {"type": "ordinal", "categories": list("abcde")}, "x": {"release": "as is"}}


def hybrid(data: pd.DataFrame, k: int) -> pd.DataFrame:
    params = {"k": k, "independent": ["x"]}
    shown = [{"doubt": "follows-from-published", "variable": MIXED, "because": "the method says it too"}]
    return mw.protect(data, "micro_hybrid", variables=MIXED, declared=DECLARED, seed=1, params=params, waive=shown)


@pytest.mark.parametrize("k", [20, 60, 600])
def test_hybrid_data_with_categories_keep_counts_of_combinations_and_moments_of_numbers(k):
    data = mixed_frame()
    masked = hybrid(data, k)
    together = ["sector", "size"]
    pd.testing.assert_series_equal(
        masked.value_counts(together).sort_index(), data.value_counts(together).sort_index()
    )  # fmt: skip
    assert moments_apart(data[["wages", "tax", "x"]], masked[["wages", "tax", "x"]]) < 1e-9
    # Categories are those of other records, and yet near what the numbers were with them.
    changed = (masked[together] != data[together]).mean()
    assert (changed > 0.1).all()
    assert (changed < 0.9).all()
    before, after = (frame.groupby("sector")["wages"].mean() for frame in (data, masked))
    assert before.idxmax() == after.idxmax() == "trade"
    dealt = data["sector"].sample(frac=1, random_state=1).to_numpy()
    assert after["trade"] > masked.groupby(dealt)["wages"].mean()["trade"] + 0.3


def test_categories_of_a_cluster_go_where_the_synthetic_numbers_are_nearest():
    """Against every permutation of a small cluster."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        codes = rng.integers(0, 3, (6, 2)).astype(float)
        points, synthetic = rng.normal(size=(3, 3))[codes[:, 0].astype(int)], rng.normal(size=(6, 3))
        found = _assigned(codes, points, synthetic, np.zeros(6, dtype=np.int64), rng)
        assert sorted(map(tuple, found)) == sorted(map(tuple, codes))
        costs = [float(((points[list(order)] - synthetic) ** 2).sum()) for order in permutations(range(6))]
        nearest = dict(zip(codes[:, 0], points, strict=True))
        cost = float(((np.array([nearest[code] for code in found[:, 0]]) - synthetic) ** 2).sum())
        assert cost == pytest.approx(min(costs))


def test_nominal_categories_count_as_one_less_in_the_least_k():
    data = mixed_frame()
    # 2 numbers, 1 place, 3 - 1 indicators, 1 independent: 2 * 5 + 1 + 1.
    with pytest.raises(InputError, match="below the limit of 12"):
        hybrid(data, 11)
    assert len(hybrid(data, 12)) == len(data)


def test_categories_that_the_others_determine_are_refused_or_named():
    data = mixed_frame()
    data["sector"] = np.where(data["x"] > 0, "farm", "trade")
    data["x"] = (data["x"] > 0).astype(float)
    with pytest.raises(InputError, match="determine sector among"):
        hybrid(data, 20)


def test_categories_that_the_others_nearly_determine_come_back_and_are_named():
    """Their numbers are not exactly the original ones, and yet nearest to the category of each record itself."""
    data = mixed_frame()
    sector = np.array(["farm", "trade", "works"])
    data["sector"] = sector[np.digitize(data["x"], [-0.4, 0.4])]
    data["x"] = data["sector"].map(dict(zip(sector, [0.0, 5.0, 10.0], strict=True))) + 1e-3 * data["x"]
    data["size"] = data["sector"].map(dict(zip(sector, "ace", strict=True)))
    with pytest.raises(mw.OpenDoubts, match="the other variables determine sector, size"):
        hybrid(data, 60)


def test_k_of_one_gives_the_data_as_they_are_and_is_not_released():
    data = frame()
    values = data[list(DEPENDENT)].to_numpy()
    block = Block(
        values, np.zeros(values.shape, bool), tuple(map(Variable, DEPENDENT)), center=values.mean(axis=0),
        scale=values.std(axis=0, ddof=1),
    )  # fmt: skip
    method = find_method("micro_hybrid")
    np.testing.assert_array_equal(
        method.protect(block, method.params(k=1), np.random.default_rng(1)).values, values
    )  # fmt: skip
    with pytest.raises(mw.OpenDoubts, match="step-changed-nothing"):
        protect(data, "micro_hybrid", seed=1, params={"k": 1, **ROLES})
    mixed = mixed_frame()
    with pytest.raises(mw.OpenDoubts, match=r"step-changed-nothing: size[\s\S]*step-changed-nothing: wages"):
        hybrid(mixed, 1)
