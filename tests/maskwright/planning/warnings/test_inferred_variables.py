"""What is published as it is must not give away what is masked, whether an edit says so or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.plan import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path

N = 400


def _people() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    nace = rng.choice(["01", "47", "62", "86"], N)
    tax, net = rng.integers(1, 900, N), rng.integers(100, 9000, N)
    born = rng.integers(1940, 2005, N)
    return pd.DataFrame(
        {
            "nace": nace, "label": pd.Series(nace).map({"01": "farm", "47": "shop", "62": "code", "86": "cure"}),
            "net": net, "tax": tax, "gross": net + tax, "age": 2025 - born - rng.integers(0, 2, N),
            "birth": [f"{year}-0{rng.integers(1, 10)}-11" for year in born], "legal": rng.choice(["a", "b"], N),
        }
    )  # fmt: skip


def _doubted(frame: pd.DataFrame, method: str, **arguments: object) -> str:
    declared = {name: {"release": "as is"} for name in frame}
    declared |= {name: {"role": "confidential"} for name in arguments["variables"]}  # type: ignore[attr-defined]
    if "nace" in frame:
        declared |= {"nace": {"type": "nominal", "role": "confidential"}}
    with pytest.raises(mw.OpenDoubts) as caught:
        mw.protect(frame, method, seed=1, declared=declared, **arguments)  # type: ignore[arg-type, misc, type-var]
    return " ".join(problem.message for problem in caught.value.problems)


def test_a_code_is_inferred_from_its_label() -> None:
    said = _doubted(_people().drop(columns=["birth", "age"]), "pram", variables=["nace"])
    assert "W206 follows-from-published: nace: it can be inferred from label, published as it is" in said


@pytest.mark.parametrize("is_told", [True, False])
def test_a_category_is_inferred_from_the_last_letter_of_a_code(is_told: bool) -> None:
    rng = np.random.default_rng(2)
    frame = _people()[["nace", "net"]]
    letters = frame["nace"].map({"01": "F", "47": "S", "62": "C", "86": "H"})
    letters = letters if is_told else rng.permutation(letters)
    frame["case"] = [f"{number}{letter}" for number, letter in zip(rng.permutation(N), letters, strict=True)]
    if is_told:
        said = _doubted(frame, "pram", variables=["nace"])
        assert (
            "W206 follows-from-published: nace: it can be inferred from the last character of case, published" in said
        )
        return
    declared = {name: {"release": "as is"} for name in ("net", "case")} | {"nace": {"type": "nominal"}}
    assert len(mw.protect(frame, "pram", variables=["nace"], seed=1, declared=declared)) == N


def test_a_total_and_its_other_part_give_a_number_away() -> None:
    said = _doubted(_people(), "microaggregation", variables=["net"], params={"k": 3})
    assert "net: it can be inferred from tax and gross" in said


def test_a_key_of_households_with_new_values_tells_no_region_that_is_recoded(tmp_path: Path) -> None:
    """Members share the region; the new key says who they are, and the region is coarser in all their rows."""
    rows = [f"{home},{'abcd'[home % 4]},{20 + home * 7 % 60}" for home in range(100) for _ in range(3)]
    (tmp_path / "in.csv").write_text("\n".join(["home,region,age", *rows]), encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata:\n  source: in.csv\n  cluster: home\n  variables:\n"
        "    home: {role: identifier, release: new}\n    region: {role: quasi_identifier}\n    age: {role: other}\n"
        "protect: [{method: recoding, variables: [region], params: {recode: {region: {N: [a, b], S: [c, d]}}}}]\n"
        "output: {data: out.csv}\n",
        encoding="utf-8",
    )
    found = plan_pipeline(tmp_path / "p.yaml")["doubts"]
    assert not [each for each in found if each["doubt"] == "follows-from-published" and "home" in each["message"]]


def test_an_age_is_inferred_from_a_date_of_birth() -> None:
    said = _doubted(_people(), "microaggregation", variables=["age"], params={"k": 3})
    assert "age: it can be inferred from the year of birth" in said


def test_what_has_nothing_to_do_with_others_is_no_doubt() -> None:
    frame = _people()[["net", "tax", "legal", "age"]]
    declared = {name: {"role": "other"} for name in ("legal", "tax")}
    masked = mw.protect(frame, "microaggregation", seed=1, declared=declared, params={"k": 3})
    assert len(masked) == N


@pytest.mark.parametrize(("code", "found"), [(-9, True), (-3.5, False), (99_999, True)])
def test_a_number_that_stands_apart_may_be_a_missing_code(code: float, found: bool) -> None:
    frame = _people()[["net", "tax"]].astype(float)
    frame.loc[:11, "net"] = code
    if not found:
        assert len(mw.protect(frame, "microaggregation", seed=1, params={"k": 3})) == N
        return
    with pytest.raises(mw.OpenDoubts, match="W104 may-be-a-missing-code: net: 12 cells hold"):
        mw.protect(frame, "microaggregation", seed=1, params={"k": 3})
    declared = {"net": {"missing": [f"{code:g}"]}}
    masked = mw.protect(frame, "microaggregation", seed=1, params={"k": 3}, declared=declared)
    assert (masked["net"] == code).sum() == 12


def test_a_variable_that_a_step_names_in_vain_is_a_doubt() -> None:
    frame = _people()[["label", "legal"]]
    declared = {"legal": {"role": "quasi_identifier"}, "label": {"role": "confidential"}}
    with pytest.raises(mw.OpenDoubts, match="W301 step-changed-nothing: label: step 1"):
        mw.protect(frame, "local_suppression", variables=["label", "legal"], params={"k": 2}, declared=declared, seed=1)


def test_a_step_without_variables_leaves_what_is_released_as_it_is() -> None:
    frame = _people()[["net", "tax"]]
    masked = mw.protect(frame, "microaggregation", seed=1, params={"k": 3}, declared={"tax": {"release": "as is"}})
    assert (masked["tax"] == frame["tax"]).all()
    assert (masked["net"] != frame["net"]).mean() > 0.5


def test_cells_that_hold_lists_are_refused() -> None:
    frame = _people()[["net"]].assign(several=pd.Series([[1, 2]] * N, dtype=object))
    with pytest.raises(mw.InputError, match="variable 'several': 400 of 400 cells hold several values"):
        mw.protect(frame, "microaggregation", seed=1, params={"k": 3})


def test_a_code_of_two_values_cannot_be_inferred_from_dates_of_one_year() -> None:
    frame = _people()[["net"]].assign(
        sex=1 + (np.arange(N) % 5 > 1), seen=[f"2020-01-{1 + row % 28}x" for row in range(N)]
    )
    declared = {"seen": {"role": "other"}, "sex": {"type": "nominal", "role": "quasi_identifier"}}
    params = {"k": 3, "keys": ["sex"]}
    masked = mw.protect(
        frame, "local_suppression", seed=1, declared=declared | {"net": {"release": "as is"}}, params=params
    )
    assert len(masked) == N


def test_new_random_values_of_a_household_tell_nothing_of_where_it_was() -> None:
    rng = np.random.default_rng(3)
    home = np.repeat(np.arange(N // 2), 2)
    town = rng.choice(list("abcdef"), N // 2)[home]
    frame = pd.DataFrame({"home": home, "town": town, "age": rng.integers(20, 80, N)})
    declared = {
        "home": {"role": "identifier", "release": "new"}, "town": {"type": "nominal", "role": "quasi_identifier"},
        "age": {"release": "as is"},
    }  # fmt: skip
    params = {"recode": {"town": {"abc": ["a", "b", "c"], "def": ["d", "e", "f"]}}}
    masked = mw.protect(frame, "recoding", declared=declared, params=params, cluster="home", seed=1, variables=["town"])
    assert set(masked["town"].astype(str)) == {"abc", "def"}


def _firms() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    net, rest, third = (np.round(rng.lognormal(7, 0.8, N), 2) for _ in range(3))
    count, price = rng.integers(1, 9, N), np.round(rng.uniform(4, 30, N), 2)
    firms = pd.DataFrame({"net": net, "rest": rest, "third": third, "count": count, "price": price})
    growth, rate = rng.normal(3, 8, N).round(1), rng.choice([2.6, 3.8, 8.1, 19.0], N)
    return firms.assign(growth=growth, rate=rate, country=rng.choice([*RATES], N, p=[0.4, 0.3, 0.2, 0.1]))


RATES = {"CH": 1.05, "DE": 1.0, "UK": 0.86, "US": 1.09}

TOLD = {
    "rounded": (lambda firms: firms["net"].round(-1), ["rounded"]),
    "thousands": (lambda firms: (firms["net"] / 1000).round(2), ["thousands"]),
    "taxed": (lambda firms: (firms["net"] * 1.081).round(), ["taxed"]),
    "tariff": (lambda firms: 100 + 0.2 * firms["net"], ["tariff"]),
    "logarithm": (lambda firms: np.log(firms["net"]).round(3), ["logarithm"]),
    "place": (lambda firms: firms["net"].rank(ascending=False), ["place"]),
    "a_head": (lambda firms: (firms["net"] / firms["count"]).round(), ["a_head", "count"]),
    "value": (lambda firms: (firms["net"] * firms["price"]).round(), ["value", "price"]),
    "percentile": (lambda firms: (firms["net"].rank(pct=True) * 99.9).astype(int), ["percentile"]),
    "before": (lambda firms: (firms["net"] / (1 + firms["growth"] / 100)).round(), ["before", "growth"]),
    "later": (lambda firms: (firms["net"] * (1 + firms["growth"] / 100)).round(), ["later", "growth"]),
    "taken": (lambda firms: (firms["net"] * (1 - firms["rate"] / 100)).round(2), ["rate", "taken"]),
    "local": (lambda firms: (firms["net"] * firms["country"].map(RATES)).round(), ["local", "country"]),
    "degrees": (
        lambda firms: firms["net"].where(firms["country"] != "US", firms["net"] * 1.8 + 32),
        ["country", "degrees"],
    ),
    "total": (lambda firms: (firms["net"] + firms["rest"] + firms["third"]).round(), ["rest", "third", "total"]),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_number_is_told_nearly_exactly_by_others(name: str) -> None:
    made, beside = TOLD[name]
    firms = _firms()
    frame = firms.assign(**{name: made(firms)})[["net", *{*beside, name}]]
    said = _doubted(frame, "microaggregation", variables=["net"], params={"k": 3})
    (told,) = re.findall(r"net: it can be inferred from (.*?), published as it is", said)
    assert sorted(told.split(" and ")) == sorted(beside)


RELATED = {
    "taxed": ["taxed"], "later": ["growth", "later"], "local": ["country", "local"], "value": ["price", "value"],
    "total": ["rest", "third", "total"],
}  # fmt: skip


@pytest.mark.parametrize("share", [0.04, 0.15, 0.6])
@pytest.mark.parametrize("name", RELATED)
def test_missing_cells_do_not_hide_a_number_that_the_other_records_disclose(name: str, share: float) -> None:
    """Each of the numbers has missing cells of its own; records that have all of them show the relation."""
    firms, rng = pd.concat([_firms()] * 10, ignore_index=True), np.random.default_rng(7)
    firms["net"] = np.round(rng.lognormal(7, 0.8, len(firms)), 2)
    frame = firms.assign(**{name: TOLD[name][0](firms)})[["net", *RELATED[name]]]
    for each in frame.columns.drop(["net", "country"], errors="ignore"):
        frame[each] = frame[each].astype(float).mask(rng.random(len(frame)) < share)
    said = _doubted(frame, "microaggregation", variables=["net"], params={"k": 3})
    (found,) = re.findall(r"net: it can be inferred from (.*?), published as it is", said)
    assert sorted(found.split(" and ")) == RELATED[name]


def test_a_sum_is_found_among_numbers_of_other_records() -> None:
    """Exporters have two further numbers, and the other firms two of their own."""
    firms, rng = pd.concat([_firms()] * 5, ignore_index=True), np.random.default_rng(7)
    firms["net"], abroad = np.round(rng.lognormal(7, 0.8, len(firms)), 2), rng.random(len(firms)) < 0.3
    total = (firms["net"] + 2 * firms["rest"] + 3 * firms["third"]).round()
    frame = firms[["net"]].assign(
        rest=firms["rest"].where(abroad), third=firms["third"].where(abroad), total=total.where(abroad),
        stock=firms["price"].where(~abroad), staff=firms["count"].where(~abroad),
    )  # fmt: skip
    said = _doubted(frame, "microaggregation", variables=["net"], params={"k": 3})
    assert re.search(r"net: it can be inferred from (rest|third|total)( and (rest|third|total)){2}, published", said)


WRITTEN = {
    "unit behind": lambda values: [f"{each:.2f} EUR" for each in values],
    "decimal comma": lambda values: [f"EUR {each:,.2f}".translate({44: " ", 46: ","}) for each in values],
    "German thousands": lambda values: [f"{each:,.2f} €".translate({44: ".", 46: ","}) for each in values],
    "Swiss thousands": lambda values: [f"CHF {each:,.2f}".replace(",", "’") for each in values],
    "share": lambda values: [f"{each / 1000:.4f} %" for each in values],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_an_amount_in_a_text_with_its_unit_is_a_number(name: str) -> None:
    frame = _firms()[["net"]]
    frame["text"] = WRITTEN[name](1.05 * frame["net"])
    said = _doubted(frame, "microaggregation", variables=["net"], params={"k": 3})
    assert "W206 follows-from-published: net: it can be inferred from text, published as it is" in said


@pytest.mark.parametrize(("years", "rows"), [(5, 10), (40, 10)])
def test_a_factor_for_each_currency_and_year_is_found(years: int, rows: int) -> None:
    firms, rng = pd.concat([_firms()] * rows, ignore_index=True), np.random.default_rng(5)
    net, year = np.round(rng.lognormal(7, 0.8, len(firms)), 2), rng.integers(0, years, len(firms))
    factors = np.array([*RATES.values()])[:, None] * rng.lognormal(0, 0.2, (len(RATES), years))
    local = (net * factors[firms["country"].map({name: place for place, name in enumerate(RATES)}), year]).round()
    frame = pd.DataFrame({"net": net, "local": local, "country": firms["country"], "year": 1980 + year})
    said = _doubted(frame, "microaggregation", variables=["net"], params={"k": 3})
    (found,) = re.findall(r"net: it can be inferred from (.*?), published as it is", said)
    assert sorted(found.split(" and ")) == ["country", "local", "year"]


@pytest.mark.parametrize("categories", [60, 400])
def test_a_factor_of_each_of_many_categories_is_found(categories: int) -> None:
    rng = np.random.default_rng(5)
    net, day = np.round(rng.lognormal(7, 0.8, 4000), 2), rng.integers(0, categories, 4000)
    local = (net * rng.lognormal(0, 0.4, categories)[day]).round()
    frame = pd.DataFrame({"net": net, "local": local, "day": [f"d{each}" for each in day]})
    said = _doubted(frame, "microaggregation", variables=["net"], params={"k": 3})
    assert "net: it can be inferred from local and day, published as it is" in said


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_a_part_of_which_most_firms_have_none_is_told_by_its_share(decimals: int) -> None:
    """Zeros, and shares that are rounded to few places, do not hide that the others can be computed."""
    firms, rng = _firms(), np.random.default_rng(6)
    exports = np.where(rng.random(N) < 0.4, firms["net"] * rng.beta(1.5, 4, N), 0).round()
    frame = pd.DataFrame(
        {"exports": exports, "net": firms["net"], "share": (100 * exports / firms["net"]).round(decimals)}
    )
    said = _doubted(frame, "rank_swapping", variables=["exports"], params={"p": 15})
    assert "W206 follows-from-published: exports: it can be inferred from net and share, published as it is" in said


@pytest.mark.parametrize("order", ["kept", "by year", "mixed"])
@pytest.mark.parametrize("is_opening", [True, False])
def test_a_number_is_told_by_the_differences_of_its_running_total(order: str, is_opening: bool) -> None:
    firms = _firms()[["net"]].assign(year=np.repeat(np.arange(10), N // 10))
    total = (firms.groupby("year") if order == "by year" else firms)["net"].cumsum()
    frame = firms.assign(total=(total - firms["net"] * is_opening).round(1)).drop(columns="year")
    frame = frame.sample(frac=1, random_state=1) if order == "mixed" else frame
    said = _doubted(frame.reset_index(drop=True), "rank_swapping", variables=["net"], params={"p": 15})
    assert f"net: it can be inferred from the {'next ' * is_opening}differences of total, published as it is" in said


def test_numbers_that_look_like_formulas_and_tell_no_value_are_no_doubt() -> None:
    """Size classes, employees that go along with turnover, rates of something else, a country without a factor."""
    firms, rng = _firms(), np.random.default_rng(9)
    frame = firms[["net", "growth", "rate", "country"]].assign(
        size=pd.cut(firms["net"], [0, 400, 800, 1500, 3000, np.inf], labels=False),
        employees=np.maximum(1, (firms["net"] / 200) ** 0.8 * rng.lognormal(0, 0.3, N)).round(),
        before=(firms["net"] * rng.lognormal(0, 0.15, N)).round(),
        local=(firms["net"] * firms["country"].map(RATES) * rng.lognormal(0, 0.1, N)).round(),
        stock=np.sort(rng.lognormal(9, 1, N)).round(),
    )
    declared = {name: {"release": "as is"} for name in frame.columns if name != "net"}
    masked = mw.protect(frame, "rank_swapping", variables=["net"], seed=1, declared=declared, params={"p": 15})
    assert not np.array_equal(masked["net"], frame["net"])


@pytest.mark.parametrize("off", [0.05, 0.2])
def test_numbers_that_go_along_and_tell_no_value_are_no_doubt(off: float) -> None:
    """Turnover and wages go along, and neither tells the other to a few in a hundred."""
    firms = _firms()
    rng = np.random.default_rng(4)
    near = (firms["net"] + firms["rest"]) * rng.lognormal(0, off, N)
    frame = firms.assign(near=near, alike=firms["net"] * rng.lognormal(0, off, N))
    declared = {name: {"release": "as is"} for name in frame.columns if name != "net"}
    masked = mw.protect(frame, "microaggregation", variables=["net"], seed=1, declared=declared, params={"k": 3})
    assert not np.array_equal(masked["net"], frame["net"])


def test_years_that_are_near_each_other_tell_no_year() -> None:
    """Half of one in a hundred of a year is ten years."""
    rng = np.random.default_rng(5)
    entry = rng.integers(1990, 2015, N)
    frame = pd.DataFrame({"entry": entry, "leave": entry + rng.integers(0, 9, N)})
    declared = {"leave": {"release": "as is"}}
    masked = mw.protect(frame, "microaggregation", variables=["entry"], seed=1, declared=declared, params={"k": 60})
    assert not np.array_equal(masked["entry"], frame["entry"])


def _households(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(200), rng.integers(1, 6, 200))
    rows = len(home)
    return pd.DataFrame({"home": home, "age": rng.integers(0, 90, rows), "other": rng.integers(0, 9, rows)})


@pytest.mark.parametrize(("values", "order", "is_told"), [
    (100_000, "random", True), (100_000, "kept", True), (200, "kept", True), (40, "random", False), (4, "kept", False),
])  # fmt: skip
def test_a_household_key_that_is_left_out_is_told_by_a_weight_of_its_own(
    values: int, order: str, is_told: bool
) -> None:
    """A weight that several households share tells them where they follow each other, and no other ones."""
    frame = _households(1)
    weights = np.random.default_rng(2).integers(0, values, 200) + 1
    frame["w"] = weights[frame["home"]]
    declared = {"home": {"role": "identifier"}, "w": {"role": "weight"}, "other": {"role": "other"}}
    try:
        mw.protect(
            frame, "microaggregation", variables=["age"], params={"k": 3}, declared=declared, cluster="home",
            release={"order": order}, seed=1,
        )  # fmt: skip
        said = ""
    except mw.OpenDoubts as caught:
        said = " ".join(problem.message for problem in caught.problems)
    assert ("home: home is left out, and members of one home can be found by w" in said) == is_told
