"""Any method inside the strata of variables, by one line of the step: `within`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

DECLARED = {name: {"role": "other"} for name in ("region", "size", "kind")}


def firms(n: int = 600, regions: int = 12, seed: int = 1) -> pd.DataFrame:
    """Firms whose turnover depends on their region; two regions are small."""
    rng = np.random.default_rng(seed)
    region = rng.integers(0, regions, n)
    region[:4], region[4:7] = regions, regions + 1
    turnover = np.round(1000.0 * (region + 1) ** 2 * rng.lognormal(0, 0.2, n))
    return pd.DataFrame(
        {"region": [f"r{each:02}" for each in region], "size": rng.integers(1, 4, n), "turnover": turnover.astype(int)}
    )


def masked(data: pd.DataFrame, step: dict[str, Any], **more: Any) -> pd.DataFrame:
    found = mw.protect(data, steps=[step], seed=3, declared={name: DECLARED[name] for name in DECLARED if name in data},
                       **more)  # fmt: skip
    assert isinstance(found, pd.DataFrame)
    return found


def test_clusters_do_not_cross_strata() -> None:
    data = firms()
    found = masked(data, {"method": "microaggregation", "params": {"k": 3}, "within": "region"})
    # The two small regions joined the nearest one.
    region = data["region"].where(data["region"] < "r12", "r11")
    means = found.groupby(region)["turnover"].mean() / data.groupby(region)["turnover"].mean()
    assert means.to_numpy() == pytest.approx(1.0, abs=3e-3)
    assert found.groupby([region, found["turnover"]]).size().min() >= 3


@pytest.mark.parametrize("method", ["rank_swapping", "cart_synthesis", "resampling"])
def test_values_stay_in_their_stratum(method: str) -> None:
    data = firms()
    found = masked(data, {"method": method, "within": ["region", "size"], "variables": ["turnover"]})
    for key, rows in data.groupby(["region", "size"]).groups.items():
        own, true = found.loc[rows, "turnover"], data.loc[rows, "turnover"]
        if len(rows) >= 10 and key[0] != "r11":  # which the two small regions joined
            assert true.min() <= own.min() <= own.max() <= true.max(), key


def test_noise_is_in_proportion_to_the_spread_within_the_stratum() -> None:
    data = firms(20_000, regions=4)
    found = masked(data, {"method": "additive_noise", "params": {"p": 0.1}, "within": "region"})
    change = (found["turnover"] - data["turnover"]).groupby(data["region"]).std()
    spread = data.groupby("region")["turnover"].std()
    assert (change / spread)[:4].to_numpy() == pytest.approx(0.1, rel=0.06)


def test_hundreds_of_strata_are_counted_and_the_small_ones_joined() -> None:
    data = firms(3000, regions=280)
    plan = mw.plan(data, steps=[{"method": "additive_noise", "within": "region"}], declared=DECLARED_FIRMS)
    counts = data["region"].value_counts()
    small = counts[counts < 10]
    (line,) = [text for text in map(str, plan.warnings) if "strata of region" in text]
    assert f"{len(small)} of {len(counts)} strata of region have fewer than 10 records, {small.sum()} in all" in line
    assert not any(region in line for region in counts.index)
    (group,) = plan.groups
    assert group.strata is not None
    assert np.bincount(group.strata.codes).min() >= 10
    for _, rows in data.groupby("region"):
        assert len(np.unique(group.strata.codes[rows.index])) == 1


DECLARED_FIRMS = {"region": {"role": "other"}, "size": {"role": "other"}}


def test_strata_that_are_all_joined_are_a_caution() -> None:
    data = firms(15, regions=3)
    plan = mw.plan(data, steps=[{"method": "additive_noise", "within": "region"}], declared=DECLARED_FIRMS)
    (found,) = [each for each in plan.warnings if "strata of region" in str(each)]
    assert found.is_caution
    assert "one stratum is left, as if there were no 'within'" in str(found)


def test_rare_missing_cells_are_counted_in_their_stratum() -> None:
    data = firms(300, regions=3).astype({"turnover": float})
    data["costs"] = data["turnover"] / 2
    data.loc[[20, 40, 60, 80], "costs"] = np.nan
    step = {"method": "microaggregation", "within": "region", "params": {"k": 5}}
    with pytest.raises(mw.OpenDoubts, match=r"fewer than k = 5 records of their stratum \(region\) share"):
        masked(data, step)


@pytest.mark.parametrize("k", [3, 5])
def test_the_k_of_the_step_is_enough_for_a_stratum(k: int) -> None:
    """Two regions have 4 and 3 firms: with k = 3 they stay apart, with k = 5 they join others."""
    data = firms()
    found = masked(data, {"method": "microaggregation", "params": {"k": k}, "within": "region"})
    means = (found.groupby(data["region"])["turnover"].mean() - data.groupby("region")["turnover"].mean()).abs()
    assert ((means < 1).sum() == 14) == (k == 3)
    assert found.groupby("turnover").size().min() >= k
    plan = mw.plan(data, steps=[{"method": "microaggregation", "params": {"k": k}, "within": "region"}],
                   declared=DECLARED_FIRMS)  # fmt: skip
    said = [text for text in map(str, plan.warnings) if "strata of region" in text]
    assert said == [] if k == 3 else "2 of 14 strata of region have fewer than 5 records, 7 in all" in said[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("condition", [[], ["if size == 1 then turnover >= 0"]])
def test_records_with_the_same_cells_missing_join_one_another(seed: int, condition: list[str]) -> None:
    """A few of them in each stratum, k and more in the file: k holds among them, and the strata of the others stay."""
    data = firms(400, regions=4, seed=seed).astype({"turnover": float})
    rng = np.random.default_rng(seed)
    data["costs"] = np.round(data["turnover"] / rng.uniform(1, 3, 400))
    data.loc[rng.choice(400, 12, replace=False), "costs"] = np.nan
    data.loc[rng.choice(400, 7, replace=False), ["turnover"]] = np.nan
    both = data["turnover"].isna() & data["costs"].isna()
    data.loc[both, "costs"] = 1.0
    step = {"method": "microaggregation", "within": "region", "params": {"k": 5}}
    found = masked(data, step, edits=condition)
    assert found.isna().equals(data.isna())
    assert found.groupby(["turnover", "costs"], dropna=False).size().min() >= 5
    plan = mw.plan(data, steps=[step], edits=condition, declared=DECLARED_FIRMS)
    (group,) = plan.groups
    assert group.strata is not None
    complete = data.notna().all(axis=1)
    regions = data[complete].groupby(group.strata.codes[complete])["region"].agg(set)
    assert all(len(each - {"r04", "r05"}) <= 1 for each in regions)


def test_conditions_cut_inside_the_strata() -> None:
    """An edit with a condition makes small strata: they join others of their region."""
    data = firms(400, regions=5)
    data["staff"] = np.where(np.arange(400) % 40 < 2, 0, np.random.default_rng(1).integers(1, 50, 400))
    data.loc[data["staff"] == 0, "turnover"] = 0
    step = {"method": "microaggregation", "params": {"k": 5}, "within": "region"}
    plan = mw.plan(data, steps=[step], edits=["if staff == 0 then turnover == 0"], declared=DECLARED_FIRMS)
    for group in plan.groups:
        assert group.strata is not None
        regions = data.groupby(group.strata.codes)["region"].agg(set)
        assert all(len(each - {"r05", "r06"}) <= 1 for each in regions), "only the two small regions join others"


def test_small_strata_may_stay() -> None:
    data = firms(regions=4)
    step = {"method": "additive_noise", "params": {"sd": 5, "small_strata": "keep"}, "within": "region"}
    plan = mw.plan(data, steps=[step], declared=DECLARED_FIRMS)
    assert plan.groups[0].strata is not None
    assert plan.groups[0].strata.count == data["region"].nunique()
    assert any("masked by themselves" in str(each) for each in plan.warnings)


def test_pram_in_strata_of_one_category_goes_on() -> None:
    data = pd.DataFrame(
        {"region": np.repeat(["a", "b"], 100), "kind": ["x"] * 100 + ["y", "z"] * 50, "number": range(200)}
    )
    step = {"method": "pram", "variables": ["kind"], "within": "region", "params": {"retain": 0.6}}
    found = mw.protect(
        data, steps=[step], seed=1,
        declared={"kind": {"role": "confidential"}, "number": {"role": "other"}, "region": {"role": "other"}},
    )  # fmt: skip
    assert (found["kind"][:100] == "x").all()
    assert set(found["kind"][100:]) == {"y", "z"}
    assert (found["kind"] != data["kind"])[100:].any()


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"method": "additive_noise", "within": "regoin"}, "did you mean 'region'"),
        ({"method": "additive_noise", "within": "turnover"}, "both masked and in 'within'"),
        ({"method": "recoding", "within": "region", "variables": ["turnover"]}, "decides for the whole file"),
        ({"method": "additive_noise", "params": {"small_strata": "keep"}}, "has no 'within'"),
        ({"method": "additive_noise", "params": {"within": "region"}}, "'within' is no parameter: it goes next to"),
        (
            {"method": "microaggregation", "params": {"k": 3, "small_strata": "keep"}, "within": "region"},
            "makes groups of records",
        ),
        (
            {"method": "cart_synthesis", "params": {"small_strata": "keep"}, "within": "region"},
            "moves or draws records",
        ),
    ],
)
def test_mistakes_are_said(step: dict[str, Any], said: str) -> None:
    with pytest.raises(mw.InputError, match=said):
        mw.plan(firms(), steps=[{"variables": ["turnover"], **step}], declared=DECLARED_FIRMS)


def test_a_variable_of_another_level_is_refused_by_name(tmp_path: Path) -> None:
    pd.DataFrame({"hid": range(40), "region": ["a", "b"] * 20}).to_csv(tmp_path / "h.csv", index=False)
    persons = {"hid": np.repeat(range(40), 2), "pno": [1, 2] * 40, "wage": range(80)}
    pd.DataFrame(persons).to_csv(tmp_path / "p.csv", index=False)
    text = (
        "maskwright: 1\ndata:\n  levels:\n    household: {source: h.csv, key: hid}\n"
        "    person: {source: p.csv, key: pno, in: household}\n  variables: {region: {role: other}}\n"
        "protect: [{method: additive_noise, within: region, variables: [wage]}]\n"
        "output: {data: {household: mh.csv, person: mp.csv}}\nseed: 1\n"
    )
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(mw.InputError, match="'region' is a variable of another level"):
        mw.run(tmp_path / "p.yaml")
    (tmp_path / "p.yaml").write_text(text.replace("within", "unit: household, within"), encoding="utf-8")
    with pytest.raises(mw.PipelineError, match="are not masked apart by variables"):
        mw.run(tmp_path / "p.yaml")


def test_yaml_has_the_line_and_parts_have_the_same_strata(tmp_path: Path) -> None:
    firms().to_csv(tmp_path / "d.csv", index=False)
    text = (
        "maskwright: 1\ndata: {source: d.csv, variables: {region: {role: other}, size: {role: other}}}\n"
        "protect: [{method: additive_noise, within: region}]\noutput: {data: out.csv}\nseed: 1\n"
    )
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    mw.run(tmp_path / "p.yaml")
    whole = masked(firms(), {"method": "additive_noise", "within": ["region"]})
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(whole)
    (tmp_path / "p.yaml").write_text(text + "execution: {engine: local}\n", encoding="utf-8")
    in_memory = pd.read_csv(tmp_path / "out.csv")
    mw.run(tmp_path / "p.yaml")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out.csv"), in_memory)


@pytest.mark.waived("adjustment-distorts", "values-unchanged")
@pytest.mark.parametrize("small", [0, 2])
@pytest.mark.parametrize("power", [1, -1])
def test_a_product_with_one_rate_in_each_stratum_keeps_its_means(small: int, power: int) -> None:
    """Within a stratum it is linear: arithmetic means keep it and totals; a small stratum joins one."""
    rng = np.random.default_rng(4)
    region = np.r_[rng.choice(["a", "b", "c"], 600), ["d"] * small]
    rate = pd.Series(region).map({"a": 2, "b": 3, "c": 5, "d": 7})
    base = np.rint(rng.lognormal(8, 1, len(region))).astype(int)
    data = pd.DataFrame({"region": region, "rate": rate, "base": base, "tax": base * rate})
    rule = "base * rate == tax" if power > 0 else "tax / rate == base"
    step = {"method": "microaggregation", "variables": ["rate", "base", "tax"], "params": {"k": 3}, "within": "region"}
    found = mw.protect(data, edits=[rule], steps=[step], seed=3, declared={"region": {"role": "other"}})
    assert isinstance(found, pd.DataFrame)
    assert (found["base"] * found["rate"] == found["tax"]).all()
    assert found.groupby(["base", "tax", "rate"]).size().min() >= 3
    apart = data.groupby("region").filter(lambda rows: len(rows) >= 3).index
    close = []
    for rows in data.loc[apart].groupby("region").groups.values():
        close.append(found["base"][rows].mean() == pytest.approx(data["base"][rows].mean(), abs=1))
        close.append(found["tax"][rows].mean() == pytest.approx(data["tax"][rows].mean(), abs=5))
        close.append((found["rate"][rows] == data["rate"][rows]).all())
    assert sum(close) == 9 if not small else sum(close) >= 6
