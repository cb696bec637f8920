"""Price times quantity, rounded: one variable is computed, means and totals stay as the method left them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request

if TYPE_CHECKING:
    from maskwright.masking.masking_result import MaskingResult


@pytest.fixture(scope="module")
def shops() -> pd.DataFrame:
    """Sales per square metre, size, and turnover to the unit."""
    rng = np.random.default_rng(5)
    size = np.rint(np.exp(rng.normal(4.5, 0.7, 400))) + 10
    turnover = np.rint(np.exp(rng.normal(8.2, 0.6, 400)) * size)
    return pd.DataFrame({"sales": np.round(turnover / size, 2), "size": size, "turnover": turnover})


DECIMALS = {"sales": {"decimals": 2}, "size": {"decimals": 0}, "turnover": {"decimals": 0}}


def _masked(frame: pd.DataFrame, rule: dict[str, Any] | str, **params: Any) -> MaskingResult:
    asked = {"seed": 1, "params": {"k": 5, **params}, "declared": DECIMALS}
    return mask_request(masking_request(frame, "microaggregation", edits=[rule], **asked))


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "sales * size == turnover", "tolerance": 5},
        {"rule": "turnover / size == sales", "tolerance": 0.005},
        "abs(turnover - size * sales) <= 5",
        "round(turnover / size, 2) == sales",
    ],
)
def test_means_and_spread_stay_and_adjusting_costs_next_to_nothing(shops: pd.DataFrame, rule: Any) -> None:
    """Moments as the method left them; the total of a product and the amounts of a ratio keep their sums."""
    done = _masked(shops, rule)
    masked = pd.DataFrame({name: done.masked[name].values for name in shops})
    assert mw.validate(done.masked, [rule]).ok
    assert done.cost.adjustment + done.cost.rounding < 0.1 * done.cost.method
    assert (masked.var() / shops.var()).min() > 0.65
    assert ((masked.mean() - shops.mean()).abs() / shops.std()).max() < 0.02
    assert masked["turnover"].sum() == pytest.approx(shops["turnover"].sum(), rel=1e-3)


def _computed(frame: pd.DataFrame, rule: Any, **params: Any) -> list[str]:
    return [name for unit in _masked(frame, rule, **params).adjustment for name in unit["dependents"]]


def test_which_variable_is_computed(shops: pd.DataFrame) -> None:
    """The ratio of a rule that divides; else a factor with a fine grid, unless the pipeline wants others to stay."""
    product = {"rule": "sales * size == turnover", "tolerance": 5}
    assert _computed(shops, {"rule": "turnover / size == sales", "tolerance": 0.005}) == ["sales"]
    assert _computed(shops, product, adjustment_weights={"sales": 0.1}) == ["sales"]
    assert _computed(shops, product, adjustment_weights={"size": 0.1}) == ["size"]
    few = shops.assign(size=shops["size"] // 10, turnover=np.rint(shops["size"] // 10 * shops["sales"]))
    assert _computed(few, {"rule": "sales * size == turnover", "tolerance": 1}) == ["sales"]


def test_a_factor_that_is_listed_is_not_computed() -> None:
    """Rates of a tax keep to their list: the total is computed."""
    rng = np.random.default_rng(2)
    net, rate = np.round(np.exp(rng.normal(5, 1, 200)), 2), rng.choice([0, 0.07, 0.19], 200)
    frame = pd.DataFrame({"net": net, "rate": rate, "gross": np.round(net * (1 + rate), 2)})
    edits = [{"rule": "net * (1 + rate) == gross", "tolerance": 0.01}, "rate in {0, 0.07, 0.19}"]
    declared = {"rate": {"unchanged": 100}}
    done = mask_request(
        masking_request(frame, "microaggregation", edits=edits, seed=1, params={"k": 5}, declared=declared)
    )
    assert mw.validate(done.masked, edits).ok
    assert done.cost.adjustment + done.cost.rounding < 0.1 * done.cost.method


def test_a_price_that_is_published_stays() -> None:
    """Quantity and value are masked, the price is not: both are moved onto the product, within the tolerance."""
    rng = np.random.default_rng(3)
    price, quantity = np.round(np.exp(rng.normal(2, 0.3, 150)), 2), rng.integers(5, 90, 150).astype(float)
    frame = pd.DataFrame({"price": price, "quantity": quantity, "value": np.rint(price * quantity)})
    rule = {"rule": "price * quantity == value", "tolerance": 1}
    declared = {"price": {"role": "other"}}
    done = mask_request(masking_request(frame, "additive_noise", edits=[rule], seed=1, declared=declared))
    assert mw.validate(done.masked, [rule]).ok


@pytest.mark.parametrize(("method", "params"), [("microaggregation", {"k": 5}), ("additive_noise", {})])
def test_a_chain_of_products_and_a_total_is_computed_along(method: str, params: dict[str, int]) -> None:
    """Net price to gross price to turnover to total: each rule is kept, at next to no cost."""
    rng = np.random.default_rng(4)
    net, vat = np.round(np.exp(rng.normal(3, 0.5, 200)), 2), np.round(rng.uniform(0.05, 0.25, 200), 3)
    gross, sold = np.round(net * (1 + vat), 2), rng.integers(1, 200, 200).astype(float)
    turnover, other = np.rint(gross * sold), np.rint(np.exp(rng.normal(7, 1, 200)))
    frame = pd.DataFrame({"net": net, "vat": vat, "gross": gross, "sold": sold, "turnover": turnover, "other": other})
    frame["total"] = turnover + other
    rules: list[Any] = [
        {"rule": "net * (1 + vat) == gross", "tolerance": 0.01},
        {"rule": "gross * sold == turnover", "tolerance": 1},
        "turnover + other == total",
    ]
    decimals = {"net": 2, "vat": 3, "gross": 2, "sold": 0, "turnover": 0, "other": 0, "total": 0}
    declared = {name: {"decimals": places} for name, places in decimals.items()}
    done = mask_request(masking_request(frame, method, edits=rules, seed=1, params=params, declared=declared))
    masked = pd.DataFrame({name: done.masked[name].values for name in frame})
    assert mw.validate(done.masked, rules).ok
    assert done.cost.adjustment + done.cost.rounding < 0.01 * done.cost.method
    assert ((masked.mean() - frame.mean()).abs() / frame.std()).max() < 0.02


@pytest.mark.parametrize("decimals", [0, None])
def test_totals_up_to_rounding_are_moved_to_their_sum_not_to_the_edge(decimals: int | None) -> None:
    """Noise moves parts and total apart: where they are brought together, nothing of the tolerance is used up."""
    rng = np.random.default_rng(6)
    parts = rng.lognormal(5, 0.6, (300, 3))
    frame = pd.DataFrame(np.rint(parts), columns=["a", "b", "c"]).assign(total=np.rint(parts.sum(axis=1)))
    rule = "abs(a + b + c - total) <= 2"
    declared = {name: {"decimals": decimals} for name in frame} if decimals is not None else None
    done = mask_request(masking_request(frame, "additive_noise", edits=[rule], seed=1, declared=declared))
    masked = pd.DataFrame({name: done.masked[name].values for name in frame})
    residual = (masked["a"] + masked["b"] + masked["c"] - masked["total"]).abs()
    assert mw.validate(done.masked, [rule]).ok
    assert (residual > 1.8).mean() < 0.1
    assert residual.mean() < 0.9


def test_a_large_tolerance_is_used() -> None:
    """Income and expenses may differ by 400: who is within that stays, others move no farther than they have to."""
    rng = np.random.default_rng(6)
    income = np.rint(rng.normal(2000, 500, 300))
    frame = pd.DataFrame({"income": income, "expenses": np.rint(income + rng.uniform(-400, 400, 300))})
    rule = "abs(income - expenses) <= 400"
    declared = {name: {"decimals": 0} for name in frame}
    done = mask_request(masking_request(frame, "additive_noise", edits=[rule], seed=1, declared=declared))
    masked = {name: done.masked[name].values for name in frame}
    assert mw.validate(done.masked, [rule]).ok
    assert np.std(masked["income"] - masked["expenses"]) > 0.9 * np.std(frame["income"] - frame["expenses"])


@pytest.mark.parametrize("method", ["microaggregation", "correlated_noise"])
@pytest.mark.parametrize(("factor", "places"), [("1.19", 2), ("0.5", 1), ("1.25", 1), ("0.005", 2)])
@pytest.mark.parametrize("declared", [None, {"x": {"decimals": 2}}])
def test_a_rounded_multiple_keeps_its_spread(method: str, factor: str, places: int, declared: Any) -> None:
    """Halves are rounded up; numbers of a frame have the decimals to which the edit rounds them."""
    x = np.random.default_rng(3).lognormal(4, 1, 400).round(2)
    exact = [Decimal(repr(each)) * Decimal(factor) for each in x.tolist()]
    rounded = [float(each.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)) for each in exact]
    frame = pd.DataFrame({"x": x, "t": rounded})
    rule, params = f"round(x * {factor}, {places}) == t", {"k": 5} if method == "microaggregation" else {"p": 0.2}
    masked = mw.protect(frame, method, params=params, edits=[rule], declared=declared, seed=1)
    assert mw.validate(masked, [rule]).ok
    assert (masked["t"] == masked["t"].round(places)).all()
    assert (masked.std() / frame.std()).between(0.85, 1.15).all()


@pytest.mark.parametrize("places", [2, 3])
def test_a_rounded_ratio_that_falls_on_a_half_is_computed_as_the_rule_rounds_it(places: int) -> None:
    """Wages of groups of 8, or of 400, are often halves of the last decimal: no representative has to be moved."""
    wages = np.rint(np.random.default_rng(4).lognormal(6, 1, 400))
    staff = 8 if places == 2 else 400
    exact = [Decimal(int(each)) / staff for each in wages.tolist()]
    wage = [float(each.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)) for each in exact]
    frame = pd.DataFrame({"wages": wages, "staff": staff, "wage": wage})
    declared = {"wages": {"decimals": 0}, "staff": {"decimals": 0, "unchanged": 100}, "wage": {"decimals": places}}
    rule = f"round(wages / staff, {places}) == wage"
    done = mask_request(
        masking_request(frame, "microaggregation", edits=[rule], declared=declared, params={"k": 4}, seed=1)
    )
    assert mw.validate(done.masked, [rule]).ok
    assert [unit["moved"] for unit in done.adjustment] == [0]


@pytest.mark.parametrize("method", ["microaggregation", "correlated_noise"])
def test_a_chain_of_rounded_edits_costs_next_to_nothing(method: str) -> None:
    """Price times quantity, its tax, and their sum: each is computed from what comes before it."""
    rng = np.random.default_rng(2)
    price, quantity = rng.lognormal(2, 0.7, 600).round(2), rng.integers(5, 400, 600)
    value = (price * quantity).round(2)
    exact = [Decimal(repr(each)) * Decimal("0.19") for each in value.tolist()]
    tax = [float(each.quantize(Decimal("0.01"), ROUND_HALF_UP)) for each in exact]
    frame = pd.DataFrame({"price": price, "quantity": quantity, "value": value, "tax": tax})
    frame["gross"] = (frame["value"] + frame["tax"]).round(2)
    rules = ["round(price * quantity, 2) == value", "round(value * 0.19, 2) == tax", "value + tax == gross"]
    declared = {name: {"decimals": 0 if name == "quantity" else 2} for name in frame}
    params = {"k": 3} if method == "microaggregation" else {"p": 0.1}
    asked = masking_request(frame, method, edits=rules, declared=declared, params=params, seed=1)
    done = mask_request(asked)
    masked = pd.DataFrame({name: done.masked[name].values for name in frame})
    assert mw.validate(done.masked, rules).ok
    assert (masked["quantity"] % 1 == 0).all()
    if method == "microaggregation":
        assert done.cost.adjustment + done.cost.rounding < 0.1 * done.cost.method
        assert ((masked.mean() - frame.mean()).abs() / frame.std()).max() < 0.02
