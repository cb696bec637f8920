"""Relations that hold up to rounding or noise: which are found, with which tolerance, and none where there are none."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.edits.suggestions.rounding import nice, tolerance_for

EQUALITIES = ("equality", "product", "proportion")


def read(frame, tmp_path):
    frame.to_csv(tmp_path / "d.csv", index=False)
    return mw.read(tmp_path / "d.csv")


def equalities(frame, tmp_path, **more):
    return [each for each in mw.suggest(read(frame, tmp_path), **more).found if each.kind in EQUALITIES]


def amounts(rng, n, low=4.0, high=8.0):
    return np.exp(rng.normal(rng.uniform(low, high), rng.uniform(0.5, 1.0), n))


def unrelated(rng, n):
    """A column of one of the kinds that files have."""
    return (
        lambda: np.round(amounts(rng, n), rng.integers(0, 3)),
        lambda: rng.integers(0, rng.integers(5, 200), n).astype(float),
        lambda: np.round(rng.normal(50, 10, n), 1),
        lambda: np.rint(amounts(rng, n)) * (rng.random(n) < rng.uniform(0.1, 0.9)),
        lambda: np.round(rng.uniform(0, 1, n), 2),
        lambda: rng.poisson(rng.uniform(0.2, 6), n).astype(float),
        lambda: amounts(rng, n),
    )[rng.integers(0, 7)]()


def planted(kind, rng, n, places):
    """Columns with one relation between rounded numbers; the last one is computed; and how to round them still."""
    people, rate = rng.integers(1, 60, n).astype(float), rng.choice([0.04, 0.06, 0.1, 0.21], n)
    amount = np.round(amounts(rng, n, 6) + 1, places)
    if kind == "sum":
        parts = {f"part{each}": amounts(rng, n) * (rng.random(n) < 0.8) for each in range(4)}
        found = {**parts, "total": sum(parts.values())}
    elif kind == "difference":
        tax = amount * rng.uniform(0, 0.6, n)
        found = {"gross": amount, "tax": tax, "net": amount - tax}
    elif kind == "product":
        quantity, price = rng.integers(1, 500, n).astype(float), np.round(amounts(rng, n, 1, 4) + 0.01, 2)
        found = {"quantity": quantity, "price": price, "sales": np.round(quantity * price, places)}
    elif kind == "ratio":
        found = {"people": people, "turnover": amount, "mean": np.round(amount / people, places)}
    elif kind == "percentage":
        some = np.round(amount * rng.uniform(0.02, 0.98, n), places)
        found = {"whole": amount, "some": some, "percent": np.round(100 * some / amount, 1)}
    elif kind == "shares":
        shares = rng.gamma(1, 1, (n, 4)) + 0.01
        found = {f"share{each}": 100 * shares[:, each] / shares.sum(axis=1) for each in range(4)}
    else:
        found = {"net": amount, "rate": rate, "gross": np.round(amount * (1 + rate), places)}
    return found, places if kind in ("sum", "difference", "shares") else None


@pytest.mark.parametrize("kind", ["sum", "difference", "product", "ratio", "percentage", "shares", "rate"])
@pytest.mark.parametrize("places", [0, 2, "noise"])
def test_one_planted_relation_is_found_and_no_other(kind, places, tmp_path) -> None:
    """Rounded to 0 or 2 decimals, or with noise in the seventh digit; 4 % of the records are broken."""
    rng = np.random.default_rng([len(kind), 7 if places == "noise" else places])
    n = 500
    columns, grid = planted(kind, rng, n, 2 if places == "noise" else places)
    frame = pd.DataFrame(columns)
    if grid is not None:
        frame = frame.round(grid)
    names, last = set(frame), frame.columns[-1]
    if places == "noise":
        frame[last] *= 1 + 1e-7 * rng.standard_normal(n)
    bad = rng.choice(n, n // 25, replace=False)
    frame.loc[bad, last] = (frame.loc[bad, last] * 1.3 + 20).round(grid or 0)
    for each in range(3):
        frame[f"other{each}"] = unrelated(rng, n)
    (found,) = equalities(frame, tmp_path)
    data = mw.read(tmp_path / "d.csv")
    assert {name for name in frame if name in found.rule} == names
    assert len(bad) <= found.violations + 3 <= len(bad) + 0.01 * n + 4
    assert mw.validate(data, [found.statement]).edits[0].violations == found.violations
    assert 0 <= found.tolerance <= 0.01 * frame[list(names)].abs().to_numpy().max()


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_found_where_nothing_is(seed, tmp_path) -> None:
    rng = np.random.default_rng([1, seed])
    n = int(rng.integers(100, 1500))
    frame = pd.DataFrame({f"v{each}": unrelated(rng, n) for each in range(int(rng.integers(4, 14)))})
    assert equalities(frame, tmp_path, limit=0) == []


def test_what_nearly_holds_is_no_equality(tmp_path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": amounts(rng, 900), "b": amounts(rng, 900), "q": rng.integers(1, 300, 900)})
    error = np.exp(rng.normal(0, 0.01, (3, 900)))
    frame["ab"] = (frame["a"] + frame["b"]) * error[0]
    frame["pay"], frame["tax"] = frame["a"] * frame["q"] * error[1], 0.21 * frame["a"] * error[2]
    assert equalities(frame.round(1), tmp_path, limit=0) == []


def test_the_tolerance_of_a_rounded_product_and_of_rounded_totals(tmp_path) -> None:
    rng = np.random.default_rng(3)
    area, per_area = rng.integers(20, 700, 400), amounts(rng, 400, 6, 8).round(4)
    shops = pd.DataFrame({"turnover": np.rint(area * per_area), "per_area": per_area, "area": area})
    (found,) = equalities(shops, tmp_path)
    assert found.statement == {"rule": "per_area * area == turnover", "tolerance": 0.5}
    parts = pd.DataFrame({name: amounts(rng, 2000) for name in "abc"})
    totals = parts.assign(total=parts.sum(axis=1)).round(2)
    (found,) = equalities(totals, tmp_path)
    assert found.statement == {"rule": "a + b + c == total", "tolerance": 0.01}
    misses = (totals[list("abc")].sum(axis=1) - totals["total"]).abs()
    assert found.violations == int((misses > 0.011).sum()) <= 20
    (whole,) = equalities(totals, tmp_path, share=1.0)
    assert whole.violations == 0
    assert whole.tolerance == (0.02 if misses.max() > 0.011 else 0.01)


def test_a_pipeline_to_start_from_has_the_tolerance(tmp_path, capsys) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"quantity": rng.integers(1, 2000, 300), "price": amounts(rng, 300, 1, 3).round(2)})
    frame["turnover"] = np.rint(frame["quantity"] * frame["price"])
    frame.to_csv(tmp_path / "trade.csv", index=False)
    main(["init", str(tmp_path / "trade.csv"), "--to", str(tmp_path / "p.yaml")])
    settings = yaml.safe_load((tmp_path / "p.yaml").read_text(encoding="utf-8"))
    assert settings["edits"] == [{"rule": "quantity * price == turnover", "tolerance": 0.5}]
    assert main(["edits", "--data", str(tmp_path / "trade.csv"), "--suggest"]) == 0
    assert "  - {rule: quantity * price == turnover, tolerance: 0.5}  # 300 of 300" in capsys.readouterr().out
    (found,) = [each for each in mw.suggest(mw.read(tmp_path / "trade.csv")).found if each.tolerance]
    assert found.as_one_rule == "abs(quantity * price - turnover) <= 0.5"


@given(st.floats(1e-9, 1e9))
@settings(max_examples=60)
def test_nice_numbers(value) -> None:
    found = nice(value)
    power = Fraction(10) ** math.floor(math.log10(float(found)) + 1e-9)
    assert found / power in (1, 2, 5)
    assert value * (1 - 1e-8) <= found < 2.6 * value


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=60), st.sampled_from([0.5, 1.5, 2.5]),
    st.sampled_from([0.9, 1.0]),
)  # fmt: skip
@settings(max_examples=60)
def test_a_tolerance_covers_those_that_obey(misses, bound, share) -> None:
    numbers = np.array(misses) / 100
    found = tolerance_for(numbers, np.full(len(numbers), bound), np.zeros(len(numbers)), 0.0, share)
    obey = numbers[numbers <= bound]
    needed = min(len(obey), max(math.ceil(0.99 * len(obey)), math.ceil(share * len(numbers))))
    assert np.count_nonzero(obey <= found + 1e-12) >= needed
    steps = [step * Fraction(10) ** power for power in range(-3, 2) for step in (1, 2, 5)]
    lower = max((each for each in [Fraction(0), *steps] if each < found), default=None)
    assert lower is None or np.count_nonzero(obey <= float(lower) + 1e-12) < needed


def test_a_ratio_is_written_as_it_was_computed(tmp_path) -> None:
    """Wages per head to the cent give the staff within a half, and not the other way round; thousands stay 1,000."""
    rng = np.random.default_rng(5)
    staff = rng.integers(1, 400, 600)
    wages = np.rint(staff * amounts(rng, 600, 10, 11))
    frame = pd.DataFrame({"staff": staff, "wages": wages, "wage_head": (wages / staff).round(2)})
    (found,) = equalities(frame, tmp_path)
    assert found.statement == {"rule": "wages / staff == wage_head", "tolerance": 0.005}
    (found,) = equalities(frame.assign(wages=wages / 1000), tmp_path)
    assert found.statement == {"rule": "1000 * wages / staff == wage_head", "tolerance": 0.005}


@pytest.mark.parametrize(("places", "tolerance"), [(0, 0.5), (1, 0.05), (2, 0.0)])
def test_a_product_of_three_factors_is_suggested(places, tolerance, tmp_path):
    """Hours, wage and weeks; beside them what has nothing to do with the pay."""
    rng = np.random.default_rng(places)
    frame = pd.DataFrame({"hours": rng.integers(5, 60, 400), "wage": np.round(rng.lognormal(3, 0.4, 400), 2)})
    frame["weeks"], frame["age"] = rng.integers(1, 52, 400), rng.integers(18, 66, 400)
    frame["pay"] = np.round(frame["hours"] * frame["wage"] * frame["weeks"], places)
    (found,) = equalities(frame, tmp_path)
    assert (found.rule, found.tolerance) == ("hours * wage * weeks == pay", tolerance)
    frame["pay"] = rng.permutation(frame["pay"])
    assert equalities(frame, tmp_path) == []


@pytest.mark.parametrize("rate", ["0.25", "0.19", "2"])
def test_a_sum_with_a_multiple_of_one_of_its_variables_is_suggested_as_it_was_made(rate, tmp_path) -> None:
    """And the multiple too; a pipeline to start from holds what no record violates."""
    rng, unit = np.random.default_rng(5), Fraction(rate)
    wages = rng.integers(0, 10**7, 400) * (rng.random(400) < 0.7)
    social = np.array([int(unit * int(each) + Fraction(1, 2)) for each in wages])
    rent, other = rng.integers(0, 10**6, 400) * (rng.random(400) < 0.6), rng.integers(100, 10**6, 400)
    frame = pd.DataFrame({"wages": wages, "social": social, "rent": rent, "other": other})
    frame["costs"] = frame.sum(axis=1)
    frame.loc[:3, "costs"] += 700
    frame /= 100
    found = {each.rule: each for each in equalities(frame, tmp_path)}
    (proportion,) = set(found) - {"wages + social + rent + other == costs"}
    assert len(found) == 2
    assert set(re.findall("[a-z]+", proportion)) == {"wages", "social"}
    assert found["wages + social + rent + other == costs"].records == 396
    assert main(["init", str(tmp_path / "d.csv"), "--to", str(tmp_path / "p.yaml")]) == 0
    text = (tmp_path / "p.yaml").read_text(encoding="utf-8")
    stated = yaml.safe_load(text)["edits"]
    assert proportion in [each if isinstance(each, str) else each["rule"] for each in stated]
    assert "# - wages + social + rent + other == costs  # holds in 396 of 400 records" in text
