"""Products with a factor that is not masked: base and tax move onto the rate, and nothing else of the record does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

RATES = {"coarse": [0.05, 0.1, 0.2], "fine": [0.07, 0.19, 0.125], "above one": [1.5, 3.75, 12.0]}
OTHERS = ["wages", "other", "costs"]


def _frame(rates: list[float], n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rate = rng.choice(rates, n)
    base = rng.lognormal(9, 1, n).round() * 10
    frame = pd.DataFrame({"rate": rate, "base": base, "tax": (rate * base).round(2)})
    frame["wages"], frame["other"] = (rng.lognormal(8, 1, n).round(2) for _ in range(2))
    frame["costs"] = (frame["wages"] + frame["other"]).round(2)
    return frame


def _units(column: pd.Series, places: int) -> np.ndarray:
    """Whole multiples of the last decimal."""
    return np.rint(column.to_numpy(np.float64) * 10**places).astype(np.int64)


@pytest.mark.parametrize("kind", RATES)
def test_nothing_but_base_and_tax_is_moved(kind: str) -> None:
    """All else keeps its k, as if there were no product; base and tax are moved by less than the spread of either."""
    frame = _frame(RATES[kind])
    places = {"rate": 3, "base": 2, "tax": 2, "wages": 2, "other": 2, "costs": 2}
    declared: dict[str, Any] = {name: {"decimals": each} for name, each in places.items()}
    declared["rate"]["role"] = "other"
    masked = mw.protect(
        frame, "microaggregation", edits=["rate * base == tax", "wages + other == costs"], seed=1, declared=declared,
        params={"k": 5, "k_guarantee": "report"}, variables=["base", "tax", *OTHERS],
    )  # fmt: skip
    product = _units(masked["rate"], 3) * _units(masked["base"], 2)
    np.testing.assert_array_equal(product, 1_000 * _units(masked["tax"], 2))
    np.testing.assert_array_equal(_units(masked["wages"], 2) + _units(masked["other"], 2), _units(masked["costs"], 2))
    assert masked.groupby(OTHERS).size().min() >= 5
    for name in ("base", "tax"):
        assert masked[name].max() <= frame[name].max()


def _firms(folder: Path) -> Path:
    rng = np.random.default_rng(8)
    firms, plants = [], []
    for firm in range(60):
        sales = [int(rng.lognormal(11, 1)) for _ in range(1 + firm % 3)]
        turnover, rate = sum(sales), float(rng.choice([0.05, 0.1, 0.2]))
        base = turnover // 5 // 100 * 100
        firms.append(f"{firm + 1},{turnover / 100:.2f},{base / 100:.2f},{rate:.2f},{base * rate / 100:.2f}")
        for plant, own in enumerate(sales):
            costs = int(own * rng.uniform(0.5, 1))
            plants.append(f"{firm + 1},{plant + 1},{own / 100:.2f},{costs / 100:.2f},{(own - costs) / 100:.2f}")
    for name, head, lines in (
        ("firms", "firm,turnover,base,rate,tax", firms),
        ("plants", "firm,plant,sales,costs,profit", plants),
    ):
        (folder / f"{name}.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    path = folder / "run.yaml"
    path.write_text(
        """
maskwright: 1
data:
  levels:
    firm: {source: firms.csv, key: firm}
    plant: {source: plants.csv, key: plant, in: firm}
  variables: {rate: {role: other}}
edits:
  - {name: turnover, rule: sum(plant.sales) == turnover}
  - {name: tax, rule: rate * base == tax}
  - {name: base-max, rule: base <= turnover}
  - {name: profit, rule: sales - costs == profit}
  - {name: signs, rule: base >= 0 and tax >= 0}
protect:
  - method: microaggregation
    variables: [turnover, base, tax, sales, costs, profit]
    unit: firm
    params: {k: 5, rare: drop, k_guarantee: report}
measure: [sse]
output: {data: {firm: f.csv, plant: p.csv}, record: r.json}
seed: 3
""",
        encoding="utf-8",
    )
    return path


def test_plants_are_left_alone_where_a_firm_is_moved_onto_its_rate(tmp_path: Path) -> None:
    record = dict(mw.run(_firms(tmp_path)).record)
    before, after = (pd.read_csv(tmp_path / name) for name in ("plants.csv", "p.csv"))
    firms = pd.read_csv(tmp_path / "f.csv")
    own = ["sales", "costs", "profit"]
    assert after.groupby(own).size().min() >= 5
    assert firms.groupby("turnover").size().min() >= 5
    for name in own:
        assert after[name].between(before[name].min(), before[name].max()).all()
    product = _units(firms["rate"], 2) * _units(firms["base"], 2)
    np.testing.assert_array_equal(product, 100 * _units(firms["tax"], 2))
    adjusted = {each["name"]: each["adjusted"] for each in record["edits"]}
    assert adjusted["tax"] > 0
    assert adjusted["turnover"] == adjusted["profit"] == adjusted["base-max"] == 0


def test_a_bound_that_is_one_number_in_each_stratum_is_kept_with_k() -> None:
    """A limit of each year: clusters of one year share it. Where it differs within years, moving records breaks k."""
    rng = np.random.default_rng(1)
    year = rng.choice([2021, 2022, 2023], 300)
    cap = np.select([year == 2021, year == 2022], [60.0, 90.0], 150.0)
    value = np.round(np.minimum(rng.lognormal(4, 0.5, 300), cap), 1)
    frame = pd.DataFrame({"year": year.astype(str), "cap": cap, "value": value, "other": rng.lognormal(3, 1, 300)})
    declared = {"year": {"role": "other"}, "cap": {"role": "other"}, "value": {"decimals": 1}}
    asked = {
        "params": {"k": 5}, "edits": ["value <= cap"], "within": "year", "variables": ["value", "other"],
        "declared": declared, "seed": 1,
    }  # fmt: skip
    masked = mw.protect(frame, "microaggregation", **asked)
    assert mw.validate(masked, ["value <= cap"]).ok
    assert masked.groupby(["year", "value", "other"]).size().min() >= 5
    with pytest.raises(mw.InputError, match="breaks k"):
        mw.protect(frame.assign(cap=cap + rng.integers(0, 2, 300)), "microaggregation", **asked)
