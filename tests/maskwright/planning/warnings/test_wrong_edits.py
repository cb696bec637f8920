"""Edits with a slip of the pen stop a run, which names the edit that the data obey; real errors do not."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.frames import dataset_from_frame
from maskwright.edits.suggestions.slips import meant_instead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUM, BOUND = "wages + pensions == income", "income <= 70000"


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 90, n), "wages": rng.integers(10_000, 57_000, n)})
    frame["pensions"] = rng.integers(100, 9_000, n)
    return frame.assign(income=frame["wages"] + frame["pensions"], hours=rng.integers(2, 40, n)).assign(
        pay=lambda each: each["hours"] * each["age"], thousands=lambda each: each["income"] / 1000
    )


def meant(rule: str, frame: pd.DataFrame, *others: str) -> list[str]:
    edits = mw.EditSet.parse([rule, *others])
    return [each.rule for each in meant_instead(edits["edit-1"], dataset_from_frame(frame), edits)]


def doubt(frame: pd.DataFrame, edits: list[str], **settings: object) -> str:
    with pytest.raises(mw.OpenDoubts) as caught:
        mw.protect(frame, "microaggregation", edits=edits, params={"k": 5}, seed=1, **settings)
    return str(caught.value)


def test_a_bound_with_a_digit_lost() -> None:
    said = doubt(people(), [SUM, "income <= 7000"])
    assert "W109 edit-may-be-wrong: edit-2: 200 of the 200 records to which it applies violate it (100 %)" in said
    assert "`income <= 70000` holds in all records" in said
    assert "edit-1:" not in said


def test_a_sign_beside_the_right_sum() -> None:
    said = doubt(people(), [SUM, "wages - pensions == income"])
    assert "`wages + pensions == income`, as edit 'edit-1' says, holds in all records: did you mean that?" in said


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        ("wages == pensions + income", "wages + pensions == income"),
        ("wages + pensions == thousands", "wages + pensions == 1000 * thousands"),
        ("wages + age == income", "wages + pensions == income"),
        ("wages + pensions + age == income", "wages + pensions == income"),
        ("wages == income", "wages + pensions == income"),
        ("wages >= income", "wages <= income"),
        ("hours / age == pay", "hours * age == pay"),
        ("hours * wages == pay", "hours * age == pay"),
        ("age <= 12", "age <= 120"),
        ("age >= 180", "age >= 18"),
        ("if age > 50 then income <= 7000", "if age > 50 then income <= 70000"),
    ],
)  # fmt: skip
def test_what_was_meant(rule: str, first: str) -> None:
    assert meant(rule, people())[0] == first


def test_a_bound_from_the_data_is_no_value_of_a_record() -> None:
    frame = people().assign(income=lambda each: each["income"].clip(upper=61_234))
    found = meant("income <= 31", frame)
    assert found
    assert all(not re.search(r"\b61234\b", rule) for rule in found)


@pytest.mark.parametrize("share", [0.01, 0.02, 0.03])
def test_real_errors_are_released(share: float) -> None:
    frame = people(1000)
    wrong = np.random.default_rng(2).random(1000) < share
    frame.loc[wrong, "income"] *= 10
    settings = {"params": {"k": 5, "k_guarantee": "report"}, "declared": {"income": {"decimals": 0}}}
    masked = mw.protect(frame[["wages", "pensions", "income"]], "microaggregation", edits=[SUM], seed=1, **settings)
    assert (masked["wages"] + masked["pensions"] == masked["income"]).all()


def test_wrong_edits_do_not_excuse_one_another() -> None:
    frame, rng = people(1500), np.random.default_rng(2)
    wrong = {f"x{number}": np.where(rng.random(1500) < 0.09, rng.uniform(11, 20, 1500), 5) for number in range(2)}
    never = [f"age <= {limit}" for limit in range(130, 138)]
    said = doubt(frame.assign(**wrong), [*never, "x0 <= 10", "x1 <= 10"])
    assert said.count("W109") == 2


def test_a_dirty_file_is_called_one() -> None:
    """Three edits that a third of the records violate: none is likelier to be wrong than the others."""
    frame, rng = people(600), np.random.default_rng(3)
    for name in ("income", "pay", "thousands"):
        frame.loc[rng.random(600) < 0.33, name] += 17
    said = doubt(frame, [SUM, "hours * age == pay", "wages + pensions == 1000 * thousands"])
    assert "all 3 edits are violated at a like rate" in said
    assert "did you mean" not in said


def test_a_waiver_by_name_lets_it_pass_and_the_distortion_is_another_doubt() -> None:
    waive = [{"doubt": "edit-may-be-wrong", "edit": "edit-2", "because": "a test"}]
    said = doubt(people(), [SUM, "income <= 7000"], waive=waive)
    assert "W109" not in said
    assert "W309 adjustment-distorts: income: adjusting and rounding moved its mean by -" in said
    assert "to keep edit-2 (100 % of its moves)" in said


def test_a_few_violations_in_a_small_file_are_no_doubt() -> None:
    frame = people(20)
    frame.loc[:2, "income"] += 5
    edits = mw.EditSet.parse([SUM])
    from maskwright.edits.evaluation.check_data import check_dataset
    from maskwright.planning.warnings.wrong_edits import wrong_edit_doubts

    data = dataset_from_frame(frame)
    assert not list(wrong_edit_doubts(check_dataset(data, edits).edits, edits, data))


def test_a_bound_that_cuts_the_tail_is_in_doubt() -> None:
    """Beyond 5 % by its share, below because the values go on beyond it."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"wages": np.rint(rng.lognormal(10, 0.8, 600)), "age": rng.integers(18, 90, 600)})
    for share, why in ((0.92, "more than data errors explain"), (0.97, "go on beyond the bound")):
        bound = float(np.rint(frame["wages"].quantile(share)))
        assert why in doubt(frame, [f"wages <= {bound:.0f}"])


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ("abs(price * quantity - value) <= 0.05", "abs(price * quantity - value) <= 0.5"),
        ("abs(price / quantity - value) <= 0.5", "abs(price * quantity - value) <= 0.5"),
        ("round(price * weeks, 0) == value", "abs(price * quantity - value) <= 0.5"),
        ("abs(price * quantity - cents) <= 0.5", "abs(100 * (price * quantity) - cents) <= 0.5"),
        ("abs(net * (1 - rate) - gross) <= 0.01", "abs(net + net * rate - gross) <= 0.01"),
    ],
)
def test_a_product_with_a_tolerance_that_is_one_slip_away_is_named(rule: str, meant: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"price": np.round(rng.lognormal(3, 0.5, 300), 2), "quantity": rng.integers(1, 90, 300)})
    frame["net"], frame["rate"] = np.round(rng.lognormal(5, 0.5, 300), 2), rng.choice([0.07, 0.19], 300)
    frame["weeks"], frame["value"] = rng.integers(1, 52, 300), np.rint(frame["price"] * frame["quantity"])
    frame["gross"] = np.round(frame["net"] * (1 + frame["rate"]), 2)
    frame["cents"] = np.rint(frame["price"] * frame["quantity"] * 100)
    frame.to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(mw.OpenDoubts, match="W109") as caught:
        mw.protect(mw.read(tmp_path / "d.csv"), "microaggregation", params={"k": 5}, edits=[rule], seed=1)
    assert f"`{meant}` holds in all records" in str(caught.value)


def with_rounding(share: float = 0.3) -> pd.DataFrame:
    frame, rng = people(400), np.random.default_rng(5)
    off = rng.random(400) < share
    frame.loc[off, "income"] += rng.choice([-1, 1], int(off.sum()))
    return frame[["age", "wages", "pensions", "income"]]


def test_the_least_tolerance_that_rounding_explains_is_proposed() -> None:
    said = doubt(with_rounding(), [SUM])
    assert "all of these are within what rounding explains: `wages + pensions == income, tolerance: 1` holds" in said
    frame = with_rounding()
    frame.loc[:3, "income"] += 5000
    assert "`wages + pensions == income, tolerance: 1` holds in 99 % of them: did you mean that?" in doubt(frame, [SUM])


def test_a_wrong_sign_of_a_rounded_sum_is_named_with_its_tolerance() -> None:
    assert meant("wages - pensions == income", with_rounding()) == ["wages + pensions == income, tolerance: 1"]


def test_a_rule_is_proposed_once() -> None:
    frame = people().assign(staff=lambda each: each["hours"].clip(lower=1))
    assert len(found := meant("staff >= 20", frame)) == len(set(found))


def test_halves_that_are_rounded_to_even_are_roundings() -> None:
    frame = pd.DataFrame({"wages": np.arange(1, 401), "staff": 4})
    frame["head"] = (frame["wages"] / 4).round(1)
    (found,) = meant("round(wages / staff, 1) == head", frame)
    assert found == "abs(wages / staff - head) <= 0.05"
    assert mw.validate(frame, [found]).ok


def halved(seed: int = 1) -> pd.DataFrame:
    """Halves of whole numbers, rounded to even as numpy does, up, and down; and a tenth of a price."""
    x = np.random.default_rng(seed).integers(1, 2000, 400)
    frame = pd.DataFrame({"x": x, "even": np.round(x / 2), "up": (x + 1) // 2, "down": x // 2})
    return frame.assign(net=x / 50, gross=np.round(x / 50 * 1.25, 1))


@pytest.mark.parametrize(
    ("rule", "where", "written"),
    [
        ("round(x * 0.5, 0) == even", "to even", "abs(0.5 * x - even) <= 0.5"),
        ("even == round(x * 0.5)", "to even", "abs(0.5 * x - even) <= 0.5"),
        ("round(x * 0.5, 0) == down", "down", "abs(0.5 * x - down) <= 0.5"),
        ("round(net * 1.25, 1) == gross", "to even", "abs(1.25 * net - gross) <= 0.05"),
        ("if x > 1000 then round(x * 0.5, 0) == even", "to even", "if x > 1000 then abs(0.5 * x - even) <= 0.5"),
    ],
)
def test_halves_that_the_data_do_not_round_up_are_said_with_what_to_write(rule: str, where: str, written: str) -> None:
    frame = halved()[[name for name in ("x", "net", "even", "down", "gross") if name in rule]]
    assert (
        "in all of these the value to round ends in a half, which the edit rounds up and the data round "
        f"{where}: write `{written}`, which holds in all records"
    ) in doubt(frame, [rule])
    masked = mw.protect(frame, "microaggregation", edits=[written], params={"k": 5}, seed=1)
    assert mw.validate(masked, [written]).ok


def test_halves_in_a_file_with_errors_are_most_of_it() -> None:
    frame = halved()[["x", "even"]]
    frame.loc[:9, "even"] += 700
    said = doubt(frame, ["round(x * 0.5, 0) == even"])
    assert "in most of these the value to round ends in a half" in said
    assert "write `abs(0.5 * x - even) <= 0.5`, which holds in 97.5 % of the records" in said
    frame = halved()[["x", "up"]]
    frame.loc[:39, "up"] += 700
    assert "half" not in doubt(frame, ["round(x * 0.5, 0) == up"])


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        ("round(x * 0.7, 0) == even", "abs(0.5 * x - even) <= 0.5"),
        ("round(x * 5, 0) == up", "abs(0.5 * x - up) <= 0.5"),
        ("round(net * 1.2, 1) == gross", "abs(1.25 * net - gross) <= 0.05"),
        ("x * 0.4 == up", "0.5 * x == up, tolerance: 0.5"),
        ("net * 40 == x", "50 * net == x"),
    ],
)
def test_a_wrong_factor_is_named_with_the_right_one(rule: str, first: str) -> None:
    columns = [name for name in ("x", "net", "even", "up", "gross") if name in rule]
    assert meant(rule, halved()[columns])[0] == first


def test_nothing_is_proposed_that_says_nothing_of_what_is_rounded() -> None:
    frame = halved()[["x"]].assign(other=np.random.default_rng(2).integers(3000, 9000, 400))
    assert meant("round(x * 0.5, 0) == other", frame) == []


def test_right_edits_of_a_dirty_file_are_no_doubt() -> None:
    """Each of three edits is violated by some 15 % of the records, and nothing else is moved."""
    frame, rng = people(1000).astype(float), np.random.default_rng(4)
    edits = [SUM, "hours * age == pay", "wages + pensions == 1000 * thousands"]
    frame["thousands"] = frame["income"] / 1000
    for name in ("income", "pay", "thousands"):
        frame.loc[rng.random(1000) < 0.15, name] *= 3
    shares = [each.violations / 1000 for each in mw.validate(frame, edits).edits]
    assert 0.12 < min(shares) <= max(shares) < 0.18
    declared = {name: {"decimals": 3 if name == "thousands" else 0} for name in frame}
    masked = mw.protect(
        frame, "microaggregation", edits=edits, params={"k": 5, "k_guarantee": "report"}, seed=1, declared=declared
    )
    assert mw.validate(masked, edits).ok
    said = doubt(frame, [*edits, "age <= 40"], declared=declared)
    assert re.findall(r"W109 edit-may-be-wrong: (edit-\d)", said) == ["edit-4"]


@pytest.mark.parametrize(
    ("share", "errors", "is_doubt"), [(0.03, False, True), (0.03, True, False), (0.005, False, False)]
)
def test_a_bound_that_cuts_a_tail_is_a_doubt_and_errors_beyond_one_are_not(
    share: float, errors: bool, is_doubt: bool
) -> None:
    """Values go on beyond the bound as they do before it; amounts in another unit lie anywhere."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        wages = rng.lognormal(10, 0.5, 2000).round()
        bound = np.ceil(wages.max() if errors else np.quantile(wages, 1 - share))
        if errors:
            wages[:60] *= rng.choice([10, 1000], 60)
        plan = mw.plan(
            pd.DataFrame({"wages": wages}), "microaggregation", params={"k": 3}, edits=[f"wages <= {bound:.0f}"]
        )
        found = [each for each in plan.doubts if each.kind == "edit-may-be-wrong"]
        assert len(found) == is_doubt, seed
        assert not found or "go on beyond the bound" in found[0].message


@pytest.mark.parametrize("form", [
    "age >= 0 and wages <= {}", "if age >= 18 then wages <= {}", "if age < 18 then wages < 0 else wages <= {}",
    "if age >= 18 then age <= 120 and wages <= {}",
])  # fmt: skip
@pytest.mark.parametrize("cuts", [True, False])
def test_a_bound_that_cuts_a_tail_is_found_in_any_part_of_a_rule(form: str, cuts: bool) -> None:
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"wages": np.rint(rng.lognormal(10, 0.8, 600)), "age": rng.integers(18, 90, 600)})
    bound = frame["wages"].quantile(0.97) if cuts else frame["wages"].max()
    if not cuts:
        frame.loc[:17, "wages"] *= 1000
    plan = mw.plan(frame, "microaggregation", params={"k": 3}, edits=[form.format(round(bound))])
    found = [each.message for each in plan.doubts if each.kind == "edit-may-be-wrong"]
    assert ["go on beyond the bound" in each for each in found] == [True] * cuts


@pytest.mark.parametrize("rule", ["exports <= 0.2 * value", "exports <= other", "exports >= value"])
def test_an_inequality_that_records_disobey_by_chance_comes_before_one_that_holds_by_size(rule: str) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"value": rng.lognormal(8, 1.6, 600).round(2), "other": rng.lognormal(7, 1.2, 600).round(2)})
    frame["exports"] = np.where(rng.random(600) < 0.5, 0, (frame["value"] * rng.uniform(0, 0.9, 600)).round(2))
    assert meant(rule, frame) == ["exports <= value"]


@pytest.mark.parametrize("rule", ["income <= -70000", "wages + pensions <= -70000", "wages + pensions <= 0"])
def test_what_follows_from_signs_is_no_hint(rule: str) -> None:
    assert not [each for each in meant(rule, people()) if ">=" in each]


@pytest.mark.parametrize(("bound", "values"), [
    (100, lambda rng, n: np.where(rng.random(n) < 0.06, 100, (100 * rng.beta(4, 2, n)).round())),
    (40, lambda rng, n: np.where(rng.random(n) < 0.12, 40, np.minimum(rng.normal(30, 6, n).round(), 40))),
    (6, lambda rng, n: np.minimum(rng.poisson(1.2, n), 6)),
])  # fmt: skip
def test_a_bound_on_which_values_are_heaped_cuts_no_tail(
    bound: int, values: Callable[[np.random.Generator, int], np.ndarray]
) -> None:
    """Three in a hundred lie beyond it: errors as near as they come."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": values(rng, 1000), "wages": rng.lognormal(8, 1, 1000).round()})
    frame.loc[:29, "x"] = bound + rng.integers(1, 10, 30)
    declared = {name: {"distortion": 5, "unchanged": 100} for name in frame}
    masked = mw.protect(
        frame, "microaggregation", edits=[f"x <= {bound}"], seed=1, declared=declared, params={"k": 5}
    )  # fmt: skip
    assert masked["x"].max() <= bound


def regions() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"region": rng.choice(["North", "South", "East", "Zone 1"], 300)})
    frame["wages"] = rng.lognormal(8, 1, 300).round()
    return frame.assign(grant=np.where(frame["region"] == "North", rng.integers(1, 500, 300), 0))


@pytest.mark.parametrize(("condition", "meant"), [
    ('region == "Nort"', "North"), ('region == "Noth"', "North"), ('region == "north"', "North"),
    ('region in {"Suoth", "North"}', "South"), ('region == "Sputh"', "South"),
])  # fmt: skip
def test_a_misspelt_category_is_in_doubt(condition: str, meant: str) -> None:
    edits = [f"if {condition} then grant >= 0", "wages >= 0"]
    with pytest.raises(
        mw.OpenDoubts, match=f"W109 edit-may-be-wrong: edit-1: region is .* in no record, and '{meant}'"
    ):
        mw.protect(regions(), "microaggregation", edits=edits, seed=1, declared=CATEGORY, params=ZEROS)


CATEGORY = {"region": {"role": "other"}}
ZEROS = {"k": 5, "structural_zeros": ["grant"]}


@pytest.mark.parametrize(("text", "categories"), [("Centre", []), ("Zone 2", []), ("Nort", ["Nort"]), ("West", [])])
def test_a_category_that_no_record_happens_to_have_is_none(text: str, categories: list[str]) -> None:
    frame = regions()
    declared = {"region": {"role": "other"}}
    if categories:
        declared["region"]["categories"] = [*frame["region"].unique(), *categories]
    edits = [f'if region == "{text}" then grant >= 0', "wages >= 0"]
    masked = mw.protect(frame, "microaggregation", edits=edits, seed=1, declared=declared, params=ZEROS)
    assert len(masked) == len(frame)


@pytest.mark.parametrize("waived", [False, True])
@pytest.mark.parametrize(("rule", "violated"), [("if age >= 12 then income <= 7000", "mask"), (BOUND[:-1], "fail")])
def test_a_wrong_edit_is_said_before_what_follows_from_it(
    tmp_path: Path, rule: str, violated: str, waived: bool
) -> None:
    """Not only a border of bands; and what to do with the records only where the edit is said to be right."""
    frame = people(400)
    frame.to_csv(tmp_path / "people.csv", index=False)
    variables = {name: {"role": "other", "release": "as is"} for name in frame}
    waive = [{"doubt": "W109", "edit": "edit-1", "because": "a test"}] if waived else []
    stated = {
        "maskwright": 1, "data": {"source": "people.csv", "variables": variables}, "edits": [rule],
        "protect": [{"method": "recoding", "params": {"recode": {"age": [30, 60]}}}], "waive": waive,
        "on_input_violation": violated, "output": {"data": "masked.csv"},
    }  # fmt: skip
    (tmp_path / "pipeline.yaml").write_text(json.dumps(stated), encoding="utf-8")
    with pytest.raises((mw.InputError, mw.EditViolation)) as caught:
        mw.run(tmp_path / "pipeline.yaml")
    *first, last = caught.value.problems
    assert ["edit-1: 400 of the 400 records" in each.message for each in first] == [True] * (not waived)
    assert all("income <= 70000` holds in all records" in each.message for each in first)
    assert "W109" not in last.message
    assert ("'drop'" in str(last.hint)) == (waived and violated == "fail")


def test_categories_that_are_numbers_are_compared_as_the_edit_compares_them() -> None:
    frame = people().assign(members=np.random.default_rng(2).integers(1, 6, 200))
    frame["size"] = frame["members"].astype("str").astype("category")
    assert meant("members <= size - 1", frame) == ["members <= size"]
