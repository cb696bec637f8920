"""Synthesis by trees: edits hold in random worlds, households keep what they share, and values are not copied alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright_builtin.methods.synthetic.cart_synthesis import CART_SYNTHESIS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Rule = tuple[str, "Callable[[pd.DataFrame], pd.Series]"]
NAMES = ["region", "town", "sex", "births", "level", "net", "tax", "gross", "rent"]
DECLARED = {"level": {"type": "ordinal", "categories": ["p", "q", "r", "s"]}}


def world(seed: int, n: int = 400) -> tuple[pd.DataFrame, list[Rule]]:
    """A file that obeys some rules, among them sums, conditions and combinations."""
    rng = np.random.default_rng([20261122, seed])
    home = np.sort(rng.integers(0, 3, 8))
    town = rng.integers(0, 8, n)
    sex = rng.choice(["m", "f"], n)
    net, tax = np.round(rng.lognormal(7, 0.6, n)), np.round(rng.gamma(2.0, 90.0, n))
    data = pd.DataFrame(
        {
            "region": [f"r{each}" for each in home[town]], "town": [f"t{each}" for each in town], "sex": sex,
            "births": np.where(sex == "m", 0, rng.integers(0, 4, n)),
            "level": rng.choice(["p", "q", "r", "s"], n), "net": net, "tax": np.minimum(tax, net),
            "rent": np.round(net * rng.uniform(0.1, 0.9, n)),
        }
    )  # fmt: skip
    data.loc[data["level"] == "p", "rent"] = 0
    data["gross"] = data["net"] + data["tax"]
    if rng.random() < 0.5:
        for name in ("level", "rent", "tax"):
            data.loc[rng.random(n) < 0.08, name] = None
    pairs = set(zip(data["region"], data["town"], strict=True))
    rules: list[Rule] = [
        (
            "(region, town) in original",
            lambda d: pd.Series([each in pairs for each in zip(d["region"], d["town"], strict=True)]),
        ),
        ("if sex == 'm' then births == 0", lambda d: (d["sex"] != "m") | (d["births"] == 0)),
        (
            "net + tax == gross",
            lambda d: d[["net", "tax", "gross"]].isna().any(axis=1) | (d["net"] + d["tax"] == d["gross"]),
        ),
        ("tax <= net", lambda d: d["tax"].isna() | (d["tax"] <= d["net"])),
        ("rent <= net", lambda d: d["rent"].isna() | (d["rent"] <= d["net"])),
        ("if level == 'p' then rent == 0", lambda d: (d["level"] != "p") | d["rent"].isna() | (d["rent"] == 0)),
        ("births in {0, 1, 2, 3}", lambda d: d["births"].isin([0, 1, 2, 3])),
    ]
    assert all(bool(holds(data).all()) for _, holds in rules)
    return data[NAMES], [rule for rule in rules if rng.random() < 0.7]


def synthesised(data: pd.DataFrame, rules: list[Rule], seed: int, **more: Any) -> pd.DataFrame:
    result = mw.protect(
        data, "cart_synthesis", edits=[text for text, _ in rules], seed=seed, variables=NAMES, declared=DECLARED,
        waive=[{"doubt": "constant-within-households", "because": "made up"}] if "cluster" in more else (), **more,
    )  # fmt: skip
    assert isinstance(result, pd.DataFrame)
    return result


@pytest.mark.covering(3)
@pytest.mark.parametrize("seed", range(12))
def test_edits_hold_in_synthetic_records(seed: int) -> None:
    data, rules = world(seed)
    found = synthesised(data, rules, seed)
    for text, holds in rules:
        assert bool(holds(found).all()), text
    assert len(found) == len(data)
    assert (
        not found["net"].sort_values().reset_index(drop=True).equals(data["net"].sort_values().reset_index(drop=True))
    )


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_edits_hold_in_many_synthetic_files(first: int) -> None:
    for seed in range(first, first + 50):
        data, rules = world(seed, 150)
        found = synthesised(data, rules, seed)
        for text, holds in rules:
            assert bool(holds(found).all()), (seed, text)


def test_the_same_seed_gives_the_same_records() -> None:
    data, rules = world(5)
    one, other, third = (synthesised(data, rules, seed) for seed in (7, 7, 8))
    pd.testing.assert_frame_equal(one, other)
    assert not one.equals(third)


def _block(values: NDArray[np.float64], variables: tuple[mw.Variable, ...], **more: Any) -> mw.Block:
    p = values.shape[1]
    return mw.Block(values, np.isnan(values), variables, center=np.zeros(p), scale=np.ones(p), **more)


def _drawn(block: mw.Block, seed: int = 1, **params: Any) -> mw.Masked:
    return CART_SYNTHESIS.protect(block, CART_SYNTHESIS.params(**params), np.random.default_rng(seed))


def test_dependence_of_categories_and_missing_cells_are_kept() -> None:
    rng = np.random.default_rng(3)
    one = rng.integers(0, 3, 3000).astype(float)
    other = np.where(rng.random(3000) < 0.9, one, rng.integers(0, 3, 3000))
    other[rng.random(3000) < 0.2 * (one == 2)] = np.nan
    kinds = tuple(mw.Variable(name, "nominal", categories=("a", "b", "c")) for name in ("x", "y"))
    found = _drawn(_block(np.column_stack([one, other]), kinds)).values
    agree = np.mean(one == other), np.mean(found[:, 0] == found[:, 1])
    assert agree[1] == pytest.approx(agree[0], abs=0.04)
    assert np.isnan(found[found[:, 0] == 2, 1]).mean() == pytest.approx(0.2, abs=0.05)
    assert not np.isnan(found[found[:, 0] != 2, 1]).any()


def test_no_category_of_fewer_than_three_records_and_no_lone_number_is_copied() -> None:
    rng = np.random.default_rng(4)
    codes = np.concatenate([rng.integers(0, 3, 998), [3, 3]]).astype(float)
    income = np.concatenate([np.exp(rng.normal(7, 1, 600)), np.zeros(400)])
    kinds = (mw.Variable("trade", "nominal", categories=("a", "b", "c", "rare")), mw.Variable("income"))
    found = _drawn(_block(np.column_stack([codes, income]), kinds)).values
    assert 3 not in found[:, 0]
    assert (found[:, 1] == 0).mean() == pytest.approx(0.4, abs=0.05)
    assert not np.isin(found[found[:, 1] > 0, 1], income).any()


def test_spikes_stay_at_their_share_and_heaped_values_come_from_donors() -> None:
    """35 % zeros that depend on nothing, and four working hours; what is smoothed stays between what is not heaped."""
    rng = np.random.default_rng(6)
    n = 1000
    turnover = np.where(rng.random(n) < 0.35, 0, np.round(rng.lognormal(6, 1.2, n)))
    columns = [np.round(rng.normal(50, 12, n), 1), np.round(rng.beta(2, 2, n), 3), turnover]
    columns.append(rng.choice([20.0, 35.0, 38.0, 40.0], n, p=[0.1, 0.2, 0.2, 0.5]))
    block = _block(np.column_stack(columns), (
        mw.Variable("a", decimals=1), mw.Variable("b", decimals=3), mw.Variable("turnover", "integer", decimals=0),
        mw.Variable("hours", "integer", decimals=0),
    ))  # fmt: skip
    shares = []
    for seed in range(3):
        found = _drawn(block, seed).values
        shares.append([np.mean(found[:, 2] == 0), np.mean(found[:, 3] == 40)])
        assert set(np.unique(found[:, 3])) == {20.0, 35.0, 38.0, 40.0}
        others = found[found[:, 2] != 0, 2]
        assert others.min() >= turnover[turnover > 0].min()
        assert np.mean(np.isin(others, turnover)) < 0.6, "lone numbers are drawn between others"
    # Two standard errors of a mean of three independent draws.
    assert np.mean(shares, axis=0) == pytest.approx([np.mean(turnover == 0), np.mean(columns[3] == 40)], abs=0.025)


def test_a_lone_number_among_heaped_ones_becomes_one_of_them() -> None:
    hours = np.repeat([20.0, 35.0, 40.0, 55.0], [60, 70, 120, 1])
    found = _drawn(_block(hours[:, None], (mw.Variable("hours", "integer", decimals=0),))).values
    assert set(np.unique(found)) <= {20.0, 35.0, 40.0}


def test_unique_originals_are_not_repeated() -> None:
    rng = np.random.default_rng(6)
    values = rng.integers(0, 4, (300, 4)).astype(float)
    kinds = tuple(mw.Variable(f"x{j}", "nominal", categories=("a", "b", "c", "d")) for j in range(4))
    kept = _drawn(_block(values, kinds), repeat_uniques=True)
    redrawn = _drawn(_block(values, kinds))
    assert kept.notes["replicated_uniques"] > 10
    assert redrawn.notes["replicated_uniques"] < kept.notes["replicated_uniques"] / 4


def test_records_that_only_a_missing_code_makes_unique_are_not_repeated(tmp_path: Any) -> None:
    rng = np.random.default_rng(1)
    why = np.where(rng.random(200) < 0.5, "-7", "-9")
    original = pd.DataFrame({"x": rng.integers(1, 60, 200), "s": rng.choice(["f", "m"], 200), "why": why}).astype(str)
    original.to_csv(tmp_path / "d.csv", index=False)
    run = mw.run({
        "maskwright": 1, "seed": 1, "measure": [],
        "data": {"source": str(tmp_path / "d.csv"), "variables": {
            "s": {"role": "quasi_identifier", "type": "nominal"},
            "why": {"type": "integer", "missing": {"-7": "not applicable", "-9": "refused"}},
        }},
        "protect": [{"method": "cart_synthesis", "variables": ["x", "s", "why"]}],
        "output": {"data": str(tmp_path / "masked.csv")},
    })  # fmt: skip
    assert run.ok
    masked = pd.read_csv(tmp_path / "masked.csv", dtype=str)
    before, after = original.value_counts(), masked[original.columns].value_counts()
    assert not set(before[before == 1].index) & set(after[after == 1].index)


def test_households_keep_their_size_and_what_members_share() -> None:
    rng = np.random.default_rng(8)
    homes = np.repeat(np.arange(300), rng.integers(1, 5, 300))
    region = rng.integers(0, 4, 300)[homes].astype(float)
    age = rng.integers(18, 80, len(homes)).astype(float)
    kinds = (mw.Variable("region", "nominal", categories=tuple("abcd")), mw.Variable("age", "integer", decimals=0))
    block = _block(np.column_stack([region, age]), kinds, households=homes)
    found = _drawn(block).values
    first = np.unique(homes, return_index=True)[1]
    assert np.array_equal(found[:, 0], found[first, 0][homes])
    assert (found[first, 0] != region[first]).mean() > 0.5


def test_weights_stay_and_values_are_drawn_given_them() -> None:
    rng = np.random.default_rng(9)
    weights = rng.choice([5.0, 50.0], 2000)
    region = np.where(weights == 5.0, 0, rng.integers(1, 4, 2000)).astype(float)
    kinds = (mw.Variable("region", "nominal", categories=tuple("abcd")),)
    found = _drawn(_block(region[:, None], kinds, weights=weights)).values[:, 0]
    assert np.array_equal(found == 0, weights == 5.0)


def test_order_and_given_name_variables_of_the_step_and_of_its_data() -> None:
    kinds = (mw.Variable("x", "nominal", categories=tuple("ab")),)
    block = _block(np.tile([0.0, 1.0], 50)[:, None], kinds)
    with pytest.raises(mw.InputError, match="order: y are not masked"):
        _drawn(block, order=("y",))
    with pytest.raises(mw.InputError, match="given: y are not in the data"):
        _drawn(block, given=("y",))


def firms(n: int = 1500) -> pd.DataFrame:
    """Firms, a fifth of which have no staff, and nothing that follows from it."""
    rng = np.random.default_rng(20261129)
    staff = np.where(rng.random(n) < 0.2, 0, rng.integers(1, 90, n))
    wages = np.round(staff * rng.lognormal(10, 0.3, n))
    return pd.DataFrame(
        {
            "turnover": rng.integers(1, 10**6, n), "staff": staff, "wages": wages, "social": np.round(wages / 5),
            "labour": wages + np.round(wages / 5), "per_head": np.round(wages / np.maximum(staff, 1)),
        }
    )  # fmt: skip


GOVERNED: dict[str, tuple[str, ...]] = {
    "sum": ("if staff > 0 then wages + social == labour", "if staff == 0 then labour == 0"),
    "choice": ("staff == 0 or wages + social == labour",),
    "else": ("if staff > 0 then wages + social == labour else labour == 0",),
    "opaque": ("if staff * turnover > 0 then wages + social == labour",),
    "tolerance": ("if staff > 0 then abs(wages + social - labour) <= 1",),
    "own total": ("if labour > 0 then wages + social == labour",),
    "circle": ("if labour > 0 then staff > 0", "if staff > 0 then wages + social == labour"),
    "ratio": ("if staff > 0 then round(wages / staff, 0) == per_head",),
    "both": ("if staff > 0 then round(wages / staff, 0) == per_head", "if staff > 0 then wages + social == labour"),
}


@pytest.mark.parametrize("turned", range(6))
@pytest.mark.parametrize("kind", GOVERNED)
def test_equalities_under_a_condition_keep_the_share_of_records_it_holds_for(kind: str, turned: int) -> None:
    """Whatever the order of the columns; rules are checked here, and shares and means are the original's."""
    original, rules = firms(), list(GOVERNED[kind])
    names = [*original][turned:] + [*original][:turned]
    done = mw.protect(original[names], "cart_synthesis", edits=rules, seed=turned + 1)
    assert isinstance(done, pd.DataFrame)
    assert mw.validate(done, rules).ok
    at_work = done[done["staff"] > 0]
    if kind == "ratio":
        assert (abs(at_work["wages"] / at_work["staff"] - at_work["per_head"]) <= 0.5).all()
    else:
        assert (abs(at_work["wages"] + at_work["social"] - at_work["labour"]) <= 1).all()
    for name in names:
        assert (done[name] == 0).mean() == pytest.approx((original[name] == 0).mean(), abs=0.03), name
        assert abs(done[name].mean() - original[name].mean()) < 0.12 * original[name].std(), name


@pytest.mark.parametrize("order", [("staff",), ("staff", "per_head"), ("per_head", "staff")])
def test_a_rounded_ratio_under_a_condition_defines_the_last_variable_in_a_given_order(order: tuple[str, ...]) -> None:
    original, rule = firms()[["staff", "wages", "per_head"]], "if staff > 0 then round(wages / staff, 0) == per_head"
    done = mw.protect(original, "cart_synthesis", edits=[rule], seed=1, params={"order": order})
    assert mw.validate(done, [rule]).ok
    for name in original:
        assert (done[name] == 0).mean() == pytest.approx((original[name] == 0).mean(), abs=0.03), name


def test_an_order_that_leaves_most_records_without_what_a_condition_needs_is_not_released() -> None:
    order = ["wages", "social", "labour", "staff"]
    with pytest.raises(mw.OpenDoubts, match=r"W308 spike-lost: staff: .* the share grew to"):
        mw.protect(firms()[order], "cart_synthesis", edits=GOVERNED["choice"], seed=1, params={"order": order})


def test_measures_that_need_pairs_say_that_records_are_drawn(tmp_path: Any) -> None:
    data, _ = world(2)
    data.drop(columns=["births"]).to_csv(tmp_path / "data.csv", index=False)
    pipeline = {
        "maskwright": 1, "data": {"source": str(tmp_path / "data.csv"), "variables": DECLARED}, "seed": 1,
        "edits": ["gross >= 0", "rent >= 0", "net >= 0", "tax >= 0"],
        "protect": [{"method": "cart_synthesis", "variables": [name for name in NAMES if name != "births"]}],
        "measure": ["sse"], "output": {"data": str(tmp_path / "out.csv")},
    }  # fmt: skip
    with pytest.raises(mw.InputError, match="a step draws records anew"):
        mw.run(pipeline)
    pipeline["measure"] = ["contingency_tables"]
    assert mw.run(pipeline).ok


def test_missing_codes_are_drawn_with_the_cells(tmp_path: Any) -> None:
    """The code of a synthetic cell is none of the record whose row it stands in, and edits that ask for codes hold."""
    rng = np.random.default_rng(7)
    age, sex = rng.integers(0, 80, 1500), rng.choice(["f", "m"], 1500)
    isco = np.where(age < 15, "-1", np.where(rng.random(1500) < 0.2, "-9", rng.choice(["1", "2", "3"], 1500)))
    original = pd.DataFrame({"sex": sex, "age": age, "isco": isco})
    original.to_csv(tmp_path / "persons.csv", index=False)
    missing = {"-1": "does not apply", "-9": "refused"}
    mw.run({
        "maskwright": 1, "seed": 1, "measure": [], "edits": ['if age < 15 then isco is "does not apply"'],
        "data": {"source": str(tmp_path / "persons.csv"), "variables": {
            "sex": {"role": "quasi_identifier"}, "age": {"type": "integer", "role": "quasi_identifier"},
            "isco": {"type": "nominal", "role": "quasi_identifier", "missing": missing},
        }},
        "protect": [{"method": "cart_synthesis", "variables": ["sex", "age", "isco"]}],
        "output": {"data": str(tmp_path / "masked.csv")},
    })  # fmt: skip
    masked = pd.read_csv(tmp_path / "masked.csv", dtype=str, keep_default_na=False)
    assert set(masked["isco"]) == {"-1", "-9", "1", "2", "3"}
    young = masked["age"].astype(int) < 15
    assert abs(young.mean() - (age < 15).mean()) < 0.05
    assert (masked["isco"][young] == "-1").all()
    assert (masked["isco"][~young] != "-1").mean() > 0.98
    coded = np.isin(isco, ["-1", "-9"])
    known = masked["isco"][coded].to_numpy() == isco[coded]
    assert known.mean() < 0.35  # of the record in that row it says nothing
