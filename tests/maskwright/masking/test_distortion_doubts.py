"""What a doubt about a distorted variable says is so, and each way out that it names leads out."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.masking.distortion_doubts import computes_another

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from maskwright.foundation.errors import Problem

EDITS = [
    {"name": "turnover", "rule": "round(price * quantity, 2) == value"},
    {"name": "vat", "rule": "round(0.2 * value, 2) == vat"},
    {"name": "social", "rule": "0.25 * wages == social", "tolerance": 0.005},
    {"name": "sum", "rule": "wages + social + materials + rent + other == costs"},
    {"name": "nobody", "rule": "if employees == 0 then wages == 0"},
    {"name": "somebody", "rule": "if employees > 0 then wages > 0"},
    {"name": "expo", "rule": "exports <= value"},
    {"name": "mat", "rule": "materials <= value"},
    {"name": "nonneg", "rule": "exports >= 0 and materials >= 0 and rent >= 0 and other >= 0"},
]
ZEROS = ["employees", "wages", "social", "materials", "rent", "exports"]
NUMBERS = ["employees", "price", "quantity", "value", "vat", "wages", "social", "materials", "rent", "other", "costs",
           "exports"]  # fmt: skip


def cents(value: float | Decimal) -> float:
    return float(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP))


@pytest.fixture(scope="module")
def firms() -> pd.DataFrame:
    """Firms with a product, shares and a sum, which six records violate."""
    rng, n = np.random.default_rng(5), 600
    alone = rng.random(n) < 0.35
    employees = np.where(alone, 0, np.maximum(1, np.round(rng.lognormal(2, 1.2, n)))).astype(int)
    rng.choice(5, n, p=[0.35, 0.3, 0.2, 0.14, 0.01])
    rng.choice(6, n, p=[0.25, 0.2, 0.3, 0.14, 0.1, 0.01])
    price = np.round(rng.lognormal(3, 1, n), 2)
    quantity = np.round(rng.lognormal(5, 1.3, n)).astype(int) + 1
    value = np.array([cents(Decimal(str(p)) * int(q)) for p, q in zip(price, quantity, strict=True)])
    vat = np.array([cents(Decimal(str(each)) * Decimal("0.2")) for each in value])
    wages = np.where(employees == 0, 0, np.round(employees * rng.lognormal(7.5, 0.4, n), 2))
    social = np.array([cents(Decimal(str(each)) * Decimal("0.25")) for each in wages])
    materials = np.where(rng.random(n) < 0.3, 0, np.round(value * rng.uniform(0.1, 0.6, n), 2))
    rent = np.where(rng.random(n) < 0.45, 0, np.round(rng.lognormal(8, 1, n), 2))
    other = np.round(rng.lognormal(7, 1.2, n), 2)
    costs = wages + social + materials + rent + other
    exports = np.where(rng.random(n) < 0.5, 0, np.round(value * rng.uniform(0, 0.9, n), 2))
    columns = (employees, price, quantity, value, vat, wages, social, materials, rent, other, costs, exports)
    frame = pd.DataFrame(dict(zip(NUMBERS, columns, strict=True)))
    wrong = rng.choice(n, 6, replace=False)
    frame.loc[wrong, "costs"] = frame.loc[wrong, "costs"] * 1.1 + 7
    return frame


def step(method: str, variables: Sequence[str], **params: Any) -> dict[str, Any]:
    return {"method": method, "variables": list(variables), "params": params}


def clustered(variables: Sequence[str] = NUMBERS, **params: Any) -> dict[str, Any]:
    zeros = [name for name in ZEROS if name in variables]
    return step("microaggregation", variables, k=5, structural_zeros=zeros, **params)


def swapped(variables: Sequence[str]) -> dict[str, Any]:
    return step("rank_swapping", variables, p=8, structural_zeros=[name for name in ZEROS if name in variables])


def settings(frame: pd.DataFrame, folder: Path, steps: Sequence[Mapping[str, Any]], **changes: Any) -> dict[str, Any]:
    frame.to_csv(folder / "d.csv", index=False)
    masked = [name for name in frame.columns if any(name in each["variables"] for each in steps)]
    roles = {"confidential": masked, "other": [name for name in frame.columns if name not in masked]}
    return {
        "maskwright": 1, "data": {"source": str(folder / "d.csv"), "roles": roles, **changes.pop("data", {})},
        "edits": EDITS, "protect": list(steps), "output": {"data": str(folder / "m.csv")}, "seed": 3, **changes,
    }  # fmt: skip


def run(
    frame: pd.DataFrame, folder: Path, steps: Sequence[Mapping[str, Any]], **changes: Any
) -> tuple[dict[str, Problem], list[Mapping[str, Any]]]:
    """Doubts about distorted variables, and notices."""
    described = settings(frame, folder, steps, **changes)
    try:
        return {}, mw.run(described).record["notices"]
    except mw.OpenDoubts as error:
        found = {each.finding.subject: each for each in error.problems
                 if each.finding is not None and each.finding.kind == "adjustment-distorts"}  # fmt: skip
        return found, (error.record or {})["notices"]


def test_what_computing_moved_is_said_of_the_edit_it_is_computed_by(firms: pd.DataFrame, tmp_path: Path) -> None:
    """The quotient of two means is no mean of quotients; sums and shares of wages never read the quantity."""
    found, notices = run(firms, tmp_path, [clustered()])
    assert list(found) == ["quantity"]
    assert "to keep turnover (100 % of its moves): quantity is computed from price, value" in found["quantity"].message
    assert not re.search(r"\b(sum|social|mat|expo)\b", f"{found['quantity'].message} {found['quantity'].hint}")
    assert "`adjustment_weights: {quantity: 2}`" in str(found["quantity"].hint)
    # The six records that violate the sum, and those averaged with them, did not do it.
    assert not [each for each in notices if each["kind"] == "mended-violations"]


def test_another_variable_that_is_computed_leads_out(firms: pd.DataFrame, tmp_path: Path) -> None:
    assert run(firms, tmp_path, [clustered(adjustment_weights={"quantity": 2})])[0] == {}


def test_it_is_not_advised_where_the_total_is_computed_all_the_same() -> None:
    frame = pd.DataFrame({"a": range(2, 40), "b": range(3, 41), "d": 1})
    frame["c"] = frame["a"] * frame["b"] + frame["d"]
    plan = mw.plan(frame, "microaggregation", edits=["a * b + d == c"])
    assert [group.computed for group in plan.groups] == [("c",)]
    assert not computes_another(plan, "c", 2.0)


@pytest.mark.parametrize(("bound", "stopped"), [(0.09, True), (0.11, False)])
def test_a_declared_bound_is_of_mean_and_standard_deviation(
    firms: pd.DataFrame, tmp_path: Path, *, bound: float, stopped: bool
) -> None:
    """The standard deviation moved by 0.10, and a decile by 0.16."""
    found, _ = run(firms, tmp_path, [clustered()], data={"variables": {"quantity": {"distortion": bound}}})
    assert bool(found) is stopped
    assert all("deciles, which have no bound, one by -0.16" in each.message for each in found.values())


def test_variables_that_are_to_be_masked_together_can_be(firms: pd.DataFrame, tmp_path: Path) -> None:
    found, _ = run(firms, tmp_path, [swapped(NUMBERS)])
    assert {"value", "vat", "wages"} <= set(found)
    (names,) = {
        each for problem in found.values() for each in re.findall(r"[Mm]ask (.*) in one step", problem.hint or "")
    }
    advised = names.split(", ")
    assert len(run(firms, tmp_path, [clustered(advised)])[0]) < len(found)
    # Said once, and referred to.
    assert "o what is advised for value" in str(found["vat"].hint)
    assert "`vat: {distortion: " in str(found["vat"].hint)


def test_what_the_plan_refuses_is_not_advised(firms: pd.DataFrame, tmp_path: Path) -> None:
    """Exports are bounded by a value that is published as it is: no cluster of exports alone keeps that."""
    found, _ = run(firms, tmp_path, [swapped(["exports"])], edits=EDITS[6:7])
    assert "mask " not in str(found["exports"].hint).lower()
    with pytest.raises(mw.InputError, match="outside one variable group"):
        mw.plan(firms, "microaggregation", variables=["exports"], edits=["exports <= value"], params={"k": 5})


def test_a_cluster_with_an_error_is_mended_as_a_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"wages": rng.integers(500, 2000, 600), "rent": rng.integers(100, 900, 600)})
    frame.loc[[5, 205, 405, 590], "rent"] = 100_000
    found, notices = run(frame, tmp_path, [clustered(["wages", "rent"])], edits=["rent <= 1000"])
    assert found == {}
    (said,) = [each["message"] for each in notices if each["kind"] == "mended-violations"]
    assert "100 % of that in records that violate an edit in the original, or are averaged with one" in said


def test_a_method_that_keeps_a_bound_leads_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.exponential(size=400).round(3) for name in "ab"})
    edits = ["a >= 0", "b >= 0"]
    found, _ = run(frame, tmp_path, [step("ipso", ["a", "b"])], edits=edits)
    assert "Mask a by a method that keeps its edits, such as microaggregation" in str(found["a"].hint)
    assert run(frame, tmp_path, [clustered(["a", "b"])], edits=edits)[0] == {}


@pytest.mark.parametrize(("decimals", "stopped"), [(0, True), (2, False)])
def test_more_decimals_lead_out(tmp_path: Path, *, decimals: int, stopped: bool) -> None:
    frame = pd.DataFrame({"a": np.random.default_rng(1).exponential(0.3, 600).round(3)})
    data = {"variables": {"a": {"decimals": decimals}}}
    found, _ = run(frame, tmp_path, [step("additive_noise", ["a"], sd=0.1)], edits=[], data=data)
    assert bool(found) is stopped
    assert all(str(each.hint).startswith("Publish more decimals") for each in found.values())


def test_top_codes_that_clusters_average_are_no_news(firms: pd.DataFrame, tmp_path: Path) -> None:
    coding = step("top_and_bottom_coding", ["other", "rent"], top_share=0.03)
    _, notices = run(firms, tmp_path, [coding, clustered()])
    assert notices
    assert not [each for each in notices if each["kind"] == "limit-left"]
