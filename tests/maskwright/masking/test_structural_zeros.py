"""Structural zeros stay zeros, and no other value becomes one, whatever the method, and with edits that move values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.maskwright.commands.parted.parted_world import pipeline, read_parts, survey, write_parts

import maskwright as mw
from maskwright.data.frames import dataset_from_frame
from maskwright.masking.masked_value_checks import zero_counts, zero_doubts
from maskwright.planning.make_plan import make_plan
from maskwright.planning.model import PlanningParams, Step
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from pathlib import Path


def firms(n: int = 300) -> pd.DataFrame:
    """Exports of two firms in five are 0, many are small, and all are part of a total."""
    rng = np.random.default_rng(1)
    export = np.where(rng.random(n) < 0.4, 0, 1 + np.round(rng.lognormal(4, 1.5, n))).astype(int)
    home = 1 + np.round(rng.normal(500, 100, n)).astype(int)
    return pd.DataFrame({"export": export, "home": home, "turnover": export + home})


METHODS: dict[str, dict[str, Any]] = {
    "additive_noise": {"p": 0.5},
    "additive_noise in units": {"sd": 50},
    "correlated_noise": {"p": 0.5},
    "correlated_noise corrected": {"p": 0.5, "correction": "mean_and_variance"},
    "multiplicative_noise": {"p": 0.5},
    "resampling": {},
    "rank_swapping": {"p": 10},
    "ipso": {},
    "cart_synthesis": {},
    "microaggregation": {"k": 3},
}
SUM = "export + home == turnover"


@pytest.mark.parametrize("edits", [["export >= 0"], [SUM, "export >= 0", "home >= 0"]], ids=["range", "sum"])
@pytest.mark.parametrize("named", METHODS)
@pytest.mark.waived("adjustment-distorts")
def test_zeros_stay_and_nothing_else_becomes_zero(named: str, edits: list[str]) -> None:
    data, params = firms(), METHODS[named] | {"structural_zeros": ["export"]}
    masked = mw.protect(data, named.split(maxsplit=1)[0], edits=edits, params=params, seed=3, variables=list(data))
    assert isinstance(masked, pd.DataFrame)
    assert ((masked["export"] == 0) == (data["export"] == 0)).all()
    assert (masked["export"] >= 0).all()
    assert SUM not in edits or (masked["export"] + masked["home"] == masked["turnover"]).all()
    some = data["export"] > 0
    assert (masked["export"] != data["export"])[some].mean() > 0.5, "what is not 0 is masked"


def test_noise_is_in_proportion_to_the_spread_of_what_is_not_zero() -> None:
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": np.where(rng.random(4000) < 0.5, 0.0, rng.normal(1e6, 1e3, 4000).round(3))})
    masked = mw.protect(data, "additive_noise", params={"p": 0.1, "structural_zeros": ["x"]}, seed=1)
    some = data["x"] != 0
    assert (masked["x"] - data["x"])[some].std() == pytest.approx(100, rel=0.1)


def test_values_of_both_signs_keep_off_zero() -> None:
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"profit": rng.integers(-3, 4, 500)})
    masked = mw.protect(data, "additive_noise", params={"sd": 2, "structural_zeros": ["profit"]}, seed=1)
    assert ((masked["profit"] == 0) == (data["profit"] == 0)).all()
    assert {-1, 1} <= set(masked["profit"])


def test_edits_come_before_zeros() -> None:
    """Where what is published unmasked leaves no zero, the edit holds; the doubt says how many were lost, and why."""
    data = pd.DataFrame({"export": [0] * 40 + [*range(1, 61)], "floor": [0] * 100})
    data.loc[:4, "floor"] = 2
    data = data.sample(frac=1, random_state=1, ignore_index=True)
    with pytest.raises(mw.OpenDoubts, match="in 5 of 100 records a structural zero of export") as caught:
        mw.protect(
            data, "additive_noise", edits=["export >= floor"], params={"structural_zeros": ["export"]}, seed=1,
            variables=["export"], declared={"floor": {"role": "other"}},
        )  # fmt: skip
    assert "5 of these records violate an edit in the original data" in str(caught.value)
    assert "if ... then" not in str(caught.value)


@pytest.mark.parametrize("way", ["localize", "drop"])
def test_the_ways_out_for_records_that_violate_an_edit_lead_to_a_release(way: str, tmp_path: Path) -> None:
    data = pd.DataFrame({"export": [0] * 40 + [*range(1, 61)], "floor": [0] * 100})
    data.loc[:4, "floor"] = 2
    data = data.sample(frac=1, random_state=1, ignore_index=True)
    data.to_csv(tmp_path / "firms.csv", index=False)
    settings: dict[str, Any] = {
        "maskwright": 1,
        "data": {
            "source": "firms.csv",
            "variables": {"export": {"role": "confidential", "distortion": 1}, "floor": {"role": "other"}},
        },
        "edits": ["export >= floor"], "seed": 1, "output": {"data": "masked.csv"},
        "protect": [{"method": "additive_noise", "variables": ["export"], "params": {"structural_zeros": ["export"]}}],
    }  # fmt: skip
    path = tmp_path / "pipeline.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    with pytest.raises(mw.OpenDoubts, match="`on_input_violation: localize` mends them first, `drop` leaves them out"):
        mw.run(path)
    path.write_text(yaml.safe_dump(settings | {"on_input_violation": way}), encoding="utf-8")
    mw.run(path)
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert (masked["export"] == 0).sum() == 35
    assert (masked["export"] >= masked["floor"]).all()


def rare_zeros(rare: int) -> pd.DataFrame:
    """Of 200 records 98 have neither, so many export and pay tax, and between them `rare` do one of both."""
    rng = np.random.default_rng(2)
    home = 1.0 + rng.integers(100, 900, 200)
    export = np.where(np.arange(200) < 98, 0.0, home)
    tax = np.where(np.arange(200) < 98 + rare, 0.0, export + 5)
    return pd.DataFrame({"home": home, "export": export, "tax": tax, "all": home + export})


@pytest.mark.parametrize(("rare", "changed"), [(1, 1), (2, 2), (3, 2), (4, 1)])
def test_as_few_records_as_k_asks_get_the_zeros_of_others(rare: int, changed: int) -> None:
    """Of a pattern that fewer than k share either its records change or those that fill it up, whatever are fewer."""
    data, edits = rare_zeros(rare), ["home + export == all", "home >= 0", "export >= 0", "tax >= 0"]
    params = {"k": 5, "group_size": "all", "structural_zeros": ["export", "tax"]}
    masked = mw.protect(data, "microaggregation", edits=edits, params=params, seed=1)
    moved = (masked[["export", "tax"]] == 0) != (data[["export", "tax"]] == 0)
    assert moved.any(axis=1).sum() == changed
    assert masked.groupby(list(masked)).size().min() >= 5
    assert mw.validate(masked, edits).ok


def test_zeros_of_many_that_few_share_are_a_doubt() -> None:
    """Where each record has its own pattern, zeros and k cannot both be kept."""
    rng = np.random.default_rng(5)
    amounts = rng.integers(1, 99, (120, 8)) * (rng.random((120, 8)) < 0.5)
    data = pd.DataFrame(amounts.astype(float), columns=list("abcdefgh"))
    params = {"k": 5, "group_size": "all", "structural_zeros": list(data)}
    with pytest.raises(mw.OpenDoubts, match="W310 zeros-not-kept") as caught:
        mw.protect(data, "microaggregation", params=params, seed=1)
    assert "fewer than k = 5 records share the zeros of" in str(caught.value)
    assert "name fewer variables in 'structural_zeros'" in str(caught.value)
    assert "available_cases" not in str(caught.value), "no cell is missing"


@pytest.mark.parametrize(("rare", "cuts"), [(2, (3,)), (4, (1, 7))])
def test_rare_zeros_over_parts_are_those_in_memory(rare: int, cuts: tuple[int, ...], tmp_path: Path) -> None:
    data = rare_zeros(rare)[["home", "export", "tax"]].assign(
        region=np.arange(200) < 150, age=np.arange(200) * 7 % 90.0
    )
    data.loc[::20, "age"] = np.nan
    step = {
        "method": "microaggregation", "variables": ["home", "export", "tax", "age"], "within": "region",
        "params": {"k": 5, "group_size": "all", "structural_zeros": ["export", "tax"]},
    }  # fmt: skip
    variables = {"region": {"role": "other"}} | {
        name: {"role": "confidential", "distortion": 1} for name in step["variables"]
    }
    released = []
    for parts in (0, *cuts):
        source = write_parts(data, tmp_path / f"in{parts}", max(parts, 1))
        settings: dict[str, Any] = {
            "maskwright": 1, "protect": [step], "edits": [], "seed": 1,
            "data": {"source": str(source if parts else source / "part-0.parquet"), "variables": variables},
            "output": {"data": str(tmp_path / f"out{parts}") + ("/" if parts else ".parquet")},
            "execution": {"block_size": 200} | ({"engine": "local"} if parts else {}),
        }  # fmt: skip
        mw.run(settings)
        out = tmp_path / f"out{parts}"
        released.append(read_parts(out, parts) if parts else pd.read_parquet(f"{out}.parquet"))
    moved = (released[0][["export", "tax"]] == 0) != (data[["export", "tax"]] == 0)
    assert 1 <= moved.any(axis=1).sum() <= rare
    assert all(each.equals(released[0]) for each in released[1:])


def zeros_step(number: int, *names: str) -> Step:
    """Microaggregation in clusters of five that keeps these zeros."""
    method = plugins().methods["microaggregation"]
    planning = PlanningParams(structural_zeros=list(names))
    return Step(method, method.params(k=5), variables=names, number=number, planning=planning)


def test_each_step_answers_for_the_zeros_that_it_joined() -> None:
    """Two steps that change four records each, of 200, are not held to what both change together."""
    data = dataset_from_frame(rare_zeros(4))
    names = ("home", "export", "tax")
    plan = make_plan([zeros_step(1, *names), zeros_step(2, *names)], data.variables, mw.EditSet(), data)
    zeros = zero_counts(plan, data)

    def doubts(moved: int, **joined: int) -> list[int | None]:
        by_step = {(int(step[1:]), "tax"): count for step, count in joined.items()}
        found = zero_doubts(plan, dict.fromkeys(names, (0, 0)) | {"tax": (moved, 0)}, zeros, len(data), by_step)
        return [each.step for each in found]

    assert doubts(8, _1=4, _2=4) == []
    assert doubts(9, _1=4, _2=4) == [1, 2], "one zero moved in neither"
    assert doubts(9, _1=4, _2=5) == [2], "fewer than five have rare zeros"


@pytest.mark.waived("zeros-not-kept")
def test_a_missing_cell_is_not_a_value_beside_zero() -> None:
    """Of ten in one cluster eight have 0, one 40 and one nothing: the zeros stay, and the 40 goes."""
    data = pd.DataFrame({"x": [*[0.0] * 8, 40.0, np.nan]})
    params = {"k": 9, "structural_zeros": ["x"], "missing": "available_cases", "k_guarantee": "report"}
    masked = mw.protect(data, "microaggregation", params=params, seed=1)
    assert (masked["x"].dropna() == 0).all()


def test_zeros_among_few_with_cells_missing_stay_with_available_cases() -> None:
    """The advice where the few that have a cell missing have and have not the zero, of several cells."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"bonus": np.where(rng.random(80) < 0.5, 0.0, rng.integers(1, 99, 80))})
    for place, name in enumerate(("wage", "rent", "hours")):
        data[name] = rng.normal(9, 2, 80)
        data.loc[5 * place : 5 * place + 4, "bonus"] = [0.0, 0.0, 7.0, 8.0, 9.0]
        data.loc[5 * place : 5 * place + 4, name] = np.nan
    params: dict[str, Any] = {"k": 4, "group_size": "all", "structural_zeros": ["bonus"]}
    with pytest.raises(mw.OpenDoubts, match="`missing: available_cases` clusters by the zeros alone"):
        mw.protect(data, "microaggregation", params=params, seed=1)
    masked = mw.protect(data, "microaggregation", params=params | {"missing": "available_cases"}, seed=1)
    assert ((masked["bonus"] == 0) == (data["bonus"] == 0)).all()


def test_few_zeros_are_not_drawn_by_themselves() -> None:
    """A pattern of two records joins the others, and the doubt counts the zeros that were lost or made."""
    data = firms()[["home"]]
    data["rare"] = np.where(np.arange(len(data)) < 2, 0, data["home"])
    with pytest.raises(mw.OpenDoubts, match="structural zero of rare"):
        mw.protect(data, "cart_synthesis", params={"structural_zeros": ["rare"]}, seed=5)


def test_no_rule_for_zeros_is_advised_where_there_are_none() -> None:
    """An edit that the original violates in some records leaves these nothing but 0."""
    tax = 1.0 + np.arange(100) * 7 % 100
    data = pd.DataFrame({"tax": tax, "cap": np.where(tax < 6, 0.0, 500.0)})
    rules = ["tax <= cap", "tax >= 0"]
    declared = {"cap": {"role": "other"}, "tax": {"distortion": 1}}
    with pytest.raises(mw.OpenDoubts, match="W310") as caught:
        mw.protect(
            data, "additive_noise", edits=rules, params={"structural_zeros": ["tax"]}, declared=declared, seed=1,
            variables=["tax"],
        )  # fmt: skip
    assert "no original value of tax is 0" in str(caught.value)
    assert "if ... then" not in str(caught.value)


def test_methods_without_values_refuse_them_with_the_reason() -> None:
    with pytest.raises(mw.InputError, match="'recoding' publishes categories instead of numbers"):
        mw.protect(firms(), "recoding", params={"structural_zeros": ["export"]}, variables=["export"], seed=1)


def test_parts_of_a_file_give_the_same(tmp_path: Path) -> None:
    original = survey(600)[["wages", "benefit", "number", "sex", "region"]]
    write_parts(original, tmp_path / "in", 3)
    step = {
        "method": "additive_noise", "variables": ["benefit", "wages"],
        "params": {"p": 0.3, "structural_zeros": ["benefit"]},
    }  # fmt: skip
    rules = ["benefit >= 0", "wages >= 0"]
    mw.run(pipeline(tmp_path / "in", tmp_path / "out", protect=[step], edits=rules, measure=[]))
    found = read_parts(tmp_path / "out", 3)
    whole = mw.protect(
        original, "additive_noise", params=step["params"], variables=step["variables"], edits=rules, seed=11,
        declared={name: {"role": "other"} for name in ("number", "sex", "region")},
    )  # fmt: skip
    for name in ("benefit", "wages"):
        assert found[name].tolist() == whole[name].tolist()
    assert ((found["benefit"] == 0) == (original["benefit"] == 0)).all()


def test_noise_beyond_zero_is_mirrored() -> None:
    """Small exporters stay as different as they were, and do not all get the smallest value."""
    rng = np.random.default_rng(6)
    some = rng.random(1000) < 0.6
    data = pd.DataFrame({"export": np.where(some, np.rint(rng.lognormal(7, 1.2, 1000)) + 1, 0.0)})
    params = {"p": 0.2, "structural_zeros": ["export"]}
    masked = mw.protect(data, "additive_noise", edits=["export >= 0"], params=params, seed=1)
    assert ((masked["export"] == 0) == ~some).all()
    assert (masked["export"] == 1).sum() <= 5
    assert masked["export"][some].median() == pytest.approx(data["export"][some].median(), rel=0.35)


@pytest.mark.parametrize("stated", [[], ["a >= 0"], ["a >= 0", "b >= 0", "cost >= 0"]], ids=["none", "one", "parts"])
@pytest.mark.parametrize("method", ["additive_noise", "correlated_noise"])
def test_zeros_of_sums_stay_whatever_the_signs_that_noise_gives_their_parts(method: str, stated: list[str]) -> None:
    """Where a is 0, b and the sum are on one side, also where noise has put them on both."""
    rng = np.random.default_rng(8)
    parts = {
        name: np.where(rng.random(300) < share, 0, 1 + rng.lognormal(5, 1, 300).round())
        for name, share in (("a", 0.3), ("b", 0.5), ("cost", 0.2))
    }
    data = pd.DataFrame(parts).assign(total=parts["a"] + parts["b"], profit=parts["a"] + parts["b"] - parts["cost"])
    edits = ["a + b == total", "total - cost == profit", *stated]
    declared = {name: {"decimals": 0, "distortion": 1} for name in data}
    params = {"p": 0.5, "structural_zeros": list(data)}
    masked = mw.protect(data, method, edits=edits, params=params, seed=8, declared=declared)
    assert ((masked == 0) == (data == 0)).all(axis=None)
    assert mw.validate(masked, edits).ok
    assert all((masked[rule[:-5]] >= 0).all() for rule in stated)
    assert bool((masked["a"] < 0).any()) is not bool(stated)
