"""Ratios and products under a condition: computed where it holds, and no condition is escaped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjust import adjust
from maskwright.masking.adjusting.targets import Targets

if TYPE_CHECKING:
    from maskwright.masking.masking_result import MaskingResult


@pytest.fixture(scope="module")
def firms() -> pd.DataFrame:
    """Staff, wages and wages per head; a quarter of the firms has no staff. Some are closed."""
    rng = np.random.default_rng(11)
    staff = np.where(rng.random(300) < 0.25, 0, rng.integers(1, 60, 300))
    head = rng.integers(24_000, 40_000, 300)
    wages = staff * head
    kind = np.where(staff > 0, "open", "closed")
    return pd.DataFrame({"staff": staff, "wages": wages, "head": np.where(staff > 0, head, 0), "kind": kind})


DECLARED: dict[str, dict[str, Any]] = {name: {"decimals": 0} for name in ("staff", "wages", "head")}
OTHERS = ["if staff == 0 then head == 0", "if staff == 0 then wages == 0", "wages >= 0"]


def _masked(frame: pd.DataFrame, rules: list[Any], k: int = 3) -> MaskingResult:
    asked: dict[str, Any] = {"seed": 1, "params": {"k": k}, "declared": DECLARED}
    if "kind" in frame:
        asked |= {"variables": list(DECLARED), "declared": {**DECLARED, "kind": {"release": "as is"}}}
    return mask_request(masking_request(frame, "microaggregation", edits=rules, **asked))


@pytest.mark.parametrize(
    "rule",
    [
        "if staff > 0 then round(wages / staff, 0) == head",
        {"rule": "round(wages / staff, 0) == head", "when": "staff > 0"},
        {"rule": "wages / staff == head", "tolerance": 0.5, "when": "staff > 0"},
        {"rule": "wages == head * staff", "tolerance": 30, "when": "staff > 0"},
        "if staff > 0 then abs(wages / staff - head) <= 0.5",
        "if staff != 0 then abs(wages / staff - head) <= 0.5",
        "if staff >= 1 then abs(wages / staff - head) <= 0.5 else wages == 0",
        "if staff == 0 then wages == 0 else abs(wages / staff - head) <= 0.5",
    ],
)
def test_means_stay_and_adjusting_costs_next_to_nothing(firms: pd.DataFrame, rule: Any) -> None:
    """As without the condition; as many firms have staff as before, none a negative number."""
    frame = firms.drop(columns="kind")
    done = _masked(frame, [rule, *OTHERS])
    masked = pd.DataFrame({name: done.masked[name].values for name in frame})
    assert mw.validate(done.masked, [rule, *OTHERS]).ok
    assert ((masked.mean() - frame.mean()).abs() / frame.std()).max() < 0.02
    assert masked["staff"].sum() == pytest.approx(frame["staff"].sum(), rel=0.01)
    assert (masked["staff"] > 0).tolist() == (frame["staff"] > 0).tolist()
    assert done.cost.adjustment < 0.1 * done.cost.method
    assert [each.kind for each in done.doubts if each.kind == "adjustment-distorts"] == []


@pytest.mark.parametrize("condition", ["kind == 'open'", "staff > 0 and kind == 'open'"])
def test_a_condition_on_a_published_category(firms: pd.DataFrame, condition: str) -> None:
    """Rows are kept apart by what is published beside them as well."""
    rule = {"rule": "wages / staff == head", "tolerance": 0.5, "when": condition}
    done = _masked(firms, [rule, *OTHERS])
    assert mw.validate(done.masked, [rule, *OTHERS]).ok
    for name in ("staff", "wages", "head"):
        assert abs(done.masked[name].values.mean() - firms[name].mean()) < 0.02 * firms[name].std()


def test_a_condition_is_not_escaped(firms: pd.DataFrame) -> None:
    """Without a rule that staff is not negative, no firm gets a negative staff instead of a wage per head."""
    frame = firms.drop(columns="kind")
    rules = ["if staff > 0 then round(wages / staff, 0) == head", "if staff == 0 then head == 0"]
    done = _masked(frame, rules, k=5)
    assert mw.validate(done.masked, rules).ok
    assert done.masked["staff"].values.min() >= 0


def test_a_row_stays_on_its_side_of_the_border() -> None:
    """Also where crossing it would move the values less."""
    variables = tuple(mw.Variable(name, decimals=0) for name in ("s", "w", "q"))
    values = np.array([[2.0, 20.0, 90.0], [-1.0, 20.0, 90.0]])
    edits = mw.EditSet.parse(["if s > 0 then abs(w / s - q) <= 0.5"])
    done = adjust(values, Targets(variables, {}), edits, np.array([10.0, 1.0, 1.0]), generator(1, "side"))
    assert done.values[0, 0] > 0
    assert abs(done.values[0, 1] / done.values[0, 0] - done.values[0, 2]) <= 0.5
    assert done.values[1].tolist() == [-1.0, 20.0, 90.0]


def test_missing_cells_leave_the_rule_open(firms: pd.DataFrame) -> None:
    """A cluster without a value that the rule reads keeps its other values."""
    frame = firms.drop(columns="kind").astype(float)
    frame.loc[::10, "head"] = np.nan
    frame.loc[5::20, "staff"] = np.nan
    rule = "if staff > 0 then round(wages / staff, 0) == head"
    done = _masked(frame, [rule])
    masked = pd.DataFrame({name: done.masked[name].values for name in frame})
    assert mw.validate(done.masked, [rule]).ok
    assert masked.isna().equals(frame.isna())
    assert abs(masked["wages"].mean() - frame["wages"].mean()) < 0.02 * frame["wages"].std()


def test_a_row_crosses_the_border_only_where_nothing_else_obeys() -> None:
    """Beside rules that leave no ratio, the condition is what can still be moved."""
    rules = ["if s > 0 then abs(w / s - q) <= 0.1", "w >= 10", "q <= 0", "s <= 50"]
    names = ("s", "w", "q")
    variables = tuple(mw.Variable(name, decimals=0) for name in names)
    values = np.array([[5.0, 20.0, 3.0], [0.0, 12.0, -3.0], [40.0, 11.0, 0.0]])
    scale = np.array([10.0, 10.0, 2.0])
    done = adjust(values, Targets(variables, {}), mw.EditSet.parse(rules), scale, generator(1, "border"))
    assert not done.infeasible.any()
    assert done.values[1].tolist() == [0.0, 12.0, -3.0]
    assert (done.values[[0, 2], 0] <= 0).all()
    assert done.touched["edit-1"].tolist() == [True, False, True]


@pytest.mark.parametrize("wrong", [0, 12])
def test_validate_is_named_only_where_it_counts_something(wrong: int) -> None:
    """A doubt about what adjusting moved names `validate` where original records violate the edit."""
    frame = pd.DataFrame({"used": 10 - np.random.default_rng(2).exponential(1.0, 400).round(2)})
    frame.loc[: wrong - 1, "used"] = 10.5
    rule = "used <= 10"
    request = masking_request(frame, "additive_noise", edits=[rule], seed=1, params={"sd": 0.9})
    with pytest.raises(mw.OpenDoubts) as stopped:
        mask_request(replace(request, on_input_violation="mask"))
    said = str(stopped.value)
    assert "W309 adjustment-distorts: used" in said
    assert ("Check edit-1: `maskwright validate` counts" in said) == bool(wrong)
