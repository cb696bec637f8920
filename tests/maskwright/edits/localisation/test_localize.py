"""Error localisation against brute force over all fields and values, and cases made by hand."""

from __future__ import annotations

import itertools
from fractions import Fraction

import ending_search
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.localisation import search
from maskwright.edits.localisation.localize import localize
from maskwright.edits.localisation.search import Covering, places

SEX = ["M", "F", "X"]
TOP = 4


def dataset(frame, **declared):
    return dataset_from_frame(frame, {name: VariableDeclaration(**each) for name, each in declared.items()})


def fields(rules, weights=None, **cells):
    found = localize(
        dataset(pd.DataFrame({name: [value] for name, value in cells.items()})), EditSet.parse(rules), weights
    )
    assert len(found.found) == 1, "the record violates an edit"
    return found.found[0].fields


@pytest.mark.parametrize(
    ("rules", "cells", "expected"),
    [
        (["a + b == c", "c == d"], {"a": 1, "b": 2, "c": 4, "d": 4}, ("a",)),
        (["a + b == c", "c == d", "a <= 1", "b >= 0"], {"a": 1, "b": 2, "c": 4, "d": 4}, ("b",)),
        (["a + b == c", "a >= 0", "b >= 0"], {"a": 5, "b": 2, "c": 4}, ("a",)),
        (["a + b == c", "a >= 0", "b >= 0"], {"a": 5, "b": 5, "c": 4}, ("c",)),
        (["if a < 5 then b <= c"], {"a": 1, "b": 3, "c": 2}, ("a",)),
        (["if a < 5 then b <= c", "a in {1, 2}"], {"a": 1, "b": 3, "c": 2}, ("b",)),
        (["a * b == c", "a in [1, 9]"], {"a": 2, "b": 4, "c": 12}, ("a",)),
        (["a * b == c", "a in [1, 9]"], {"a": 3, "b": 7, "c": 11}, ("c",)),
        (["a ^ 2 == b"], {"a": 3, "b": 10}, ("b",)),
        (["a ^ 2 == b"], {"a": 3, "b": 16}, ("a",)),
        (["2 * a == b", "b == c"], {"a": 3, "b": 7, "c": 7}, ("b", "c")),
        (["sex in {M, F}", "if sex == 'M' then births == 0"], {"sex": "Z", "births": 2}, ("sex",)),
        (["if sex == 'M' then births == 0", "if sex != 'M' then age < 50"],
         {"sex": "M", "births": 2, "age": 70}, ("births",)),
        (["code in {1, 3}", "code <= x"], {"code": 2, "x": 0}, ("code", "x")),
        (["abs(a - b) <= 1"], {"a": 4, "b": 2}, ("a",)),
        (["abs(a * b - c) <= 1"], {"a": 2, "b": 4, "c": 10}, ("b",)),
        (["abs(a * b - c) <= 1", "a <= b"], {"a": 5, "b": 7, "c": 12}, ("c",)),
        (["abs(a * b - c) <= 1", "a >= 3", "b >= 4"], {"a": 3, "b": 4, "c": 10}, ("c",)),
        (["abs(a * b - c) <= 1", "b == d", "c == e"], {"a": 5, "b": 7, "c": 90, "d": 7, "e": 90}, ("a",)),
        (["abs(a * b - c) <= 1", "b == d", "c == e"], {"a": 5, "b": 7, "c": 95, "d": 7, "e": 95}, ("b", "d")),
        (["round(a / b) == c", "a == d"], {"a": 7, "b": 2, "c": 3, "d": 7}, ("c",)),
        (["round(a / b) == c", "a == d"], {"a": 9, "b": 2, "c": 3, "d": 9}, ("b",)),
        (["round(a / b) == c", "a == d", "b == e"], {"a": 7, "b": 2, "c": 3, "d": 7, "e": 2}, ("c",)),
        (["a * (1 + r) == c", "a == d"], {"a": 100, "r": 2, "c": 310, "d": 100}, ("c",)),
    ],
)  # fmt: skip
def test_cases_by_hand(rules, cells, expected):
    assert fields(rules, **cells) == expected


def test_weights_choose():
    rules = ["a + b == c"]
    assert fields(rules, {"a": 3, "b": 2}, a=1, b=1, c=3) == ("c",)
    assert fields(rules, {"a": 3, "c": 2.5, "b": 2}, a=1, b=1, c=3) == ("b",)
    assert fields(["a + b == c", "c == d + e"], {"c": 2.5}, a=1, b=1, c=3, d=1, e=1) == ("a", "d")
    assert fields(["a + b == c", "c == d + e"], {"c": 1.5}, a=1, b=1, c=3, d=1, e=1) == ("c",)


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_weights_must_be_positive(weight):
    with pytest.raises(mw.InputError, match="positive"):
        fields(["a <= b"], {"a": weight}, a=1, b=0)
    with pytest.raises(mw.InputError, match="did you mean 'income'"):
        fields(["income <= 3"], {"incme": 2}, income=4)


def test_large_values_and_last_digits():
    """A floating-point MILP with a big M takes these for satisfied, or cannot tell the fields apart."""
    huge = 10**14
    assert fields(["a + b == c", "a <= 10", "b == 7"], a=5, b=7, c=huge) == ("c",)
    assert fields(["a + b == c", "a == d", "b == e"], a=huge, b=1, c=huge + 2, d=huge, e=1) == ("c",)
    frame = pd.DataFrame({"a": [12345678.01], "b": [0.01], "c": [12345678.01]})
    found = localize(dataset(frame, **{n: {"decimals": 2} for n in "abc"}), EditSet.parse(["a + b == c", "b > 0"]))
    assert found.found[0].fields == ("a",)
    found = localize(
        dataset(frame, **{n: {"decimals": 2} for n in "abc"}),
        EditSet.parse(["a + b == c", "b > 0", "a >= 12345678.005"]),
    )
    assert found.found[0].fields == ("c",)


def test_near_a_tolerance():
    rule = "abs(a + b - c) <= 0.5"
    declared = {name: {"decimals": 1} for name in "abc"}
    for total, count in ((30000000.5, 0), (30000000.6, 1)):
        frame = pd.DataFrame({"a": [10000000.0], "b": [20000000.0], "c": [total]})
        assert len(localize(dataset(frame, **declared), EditSet.parse([rule])).found) == count


def test_binary_columns_are_equal_up_to_rounding():
    frame = pd.DataFrame({"a": [0.1], "b": [0.2], "c": [0.1 + 0.2], "d": [0.3], "e": [5.0]})
    rules = EditSet.parse(["a + b == c", "c == d", "a + b == d", "e <= 4"])
    assert localize(dataset_from_frame(frame, {}), rules).found[0].fields == ("e",)


def test_missing_cells_are_free():
    frame = pd.DataFrame({"a": [1.0, np.nan, 1.0], "b": [5.0, 5.0, np.nan], "c": [3.0, 3.0, 3.0], "d": [9.0, 9.0, 9.0]})
    declared = {name: {"decimals": 0} for name in "abcd"}
    rules = EditSet.parse(["a + b == c", "d <= 4", "a >= 0", "b >= 0"])
    found = localize(dataset(frame, **declared), rules)
    assert [each.fields for each in found.found] == [("b", "d"), ("b", "d"), ("d",)]


def test_edits_that_are_only_evaluated():
    rules = EditSet.parse(["floor(a / b) == 3", "c <= 2"])
    frame = pd.DataFrame({"a": [7, 1, 6], "b": [2, 1, 2], "c": [3, 2, 3]})
    found = localize(dataset(frame), rules)
    assert found.found[0].fields == ("c",)
    assert found.found[0].proven
    assert [each.fields for each in found.found[1:]] == [None, ("c",)]
    assert found.obstacles == {"not decided because of 'edit-1'": (1, (2,))}


def test_nothing_does():
    found = localize(dataset(pd.DataFrame({"a": [1]})), EditSet.parse(["a >= 3", "a <= 2"]))
    assert found.located == 0
    assert "no values satisfy all edits" in next(iter(found.obstacles))


def test_counts_and_plain_data():
    frame = pd.DataFrame({"a": [1, 1, 9], "b": [2, 2, 2], "c": [3, 4, 3]})
    found = localize(dataset(frame), EditSet.parse(["a + b == c", "a <= 5"]))
    assert found.to_json() == {
        "records": 3,
        "violating": 2,
        "localised": 2,
        "unproven": 0,
        "variables": {"a": 2},
        "not_localised": [],
        "fields": [
            {"record": 2, "variables": ["a"], "proven": True},
            {"record": 3, "variables": ["a"], "proven": True},
        ],
    }
    assert found.fields.to_dict("list") == {"record": [2, 3], "variable": ["a", "a"]}
    assert repr(found) == "Localisation(2 of 3 records violate an edit, 2 localised)"


rule = st.sampled_from(
    [
        "a + b == c", "a <= b", "2 * a + c >= 3", "a - b < c", "a + c == 2 * b", "a * b == c", "a * b <= 4",
        "if a > 2 then b <= c", "if sex == 'M' then c == 0", "if sex == 'F' then a + b >= 3 else c <= 1",
        "sex in {M, F}", "a in {0, 2, 4}", "b in [1, 3)", "if a == 1 then sex == 'M'", "c == 2 or a > b",
        "if b > 1 and c > 1 then a == b", "a ^ 2 == b", "abs(a - c) <= 1", "3 * b == a + c + 1",
    ]
)  # fmt: skip
record = st.tuples(*[st.integers(-1, 6)] * 3, st.sampled_from(SEX))


@given(st.lists(rule, min_size=2, max_size=6, unique=True), st.lists(record, min_size=1, max_size=4), st.integers(0, 3))
def test_agrees_with_brute_force(rules, records, heavy):
    names = ["a", "b", "c", "sex"]
    bounds = [f"{name} in [0, {TOP}]" for name in names[:3]]
    every = pd.DataFrame(list(itertools.product(*[range(TOP + 1)] * 3, SEX)), columns=names)
    frame = pd.DataFrame(records, columns=names)
    assert_cheapest([*rules, *bounds], frame, every, names[heavy], {"sex": {"type": "nominal", "categories": SEX}})


near = st.sampled_from(
    [
        "abs(a * b - c) <= 1", {"rule": "a * b == c", "tolerance": 2}, "abs(a / b - c) <= 0.5", "round(a / b) == c",
        "round(a * b / 2) == c", "c == round(a * b / 4)", "abs(a * b - c * d) <= 2", "abs(100 * a / b - c) <= 10",
        "if d > 1 then abs(a * b - c) <= 1", "round(a * b / 10, 1) == c", "abs(a * (b + d) - c) <= 1",
        "round(a / b, 1) == d", "round(a / 4, 1) == b", "d == round(a * 0.3, 1)", "abs(a ^ 2 * b - c) <= 1",
    ]
)  # fmt: skip
other = st.sampled_from(["a + d <= 5", "c <= b", "a == d", "d >= 2", "if a > 2 then b <= c", "c in {0, 2, 4}"])
four = st.tuples(st.integers(-1, 8), st.integers(1, 8), st.integers(-1, 8), st.integers(-1, 8))


@given(
    st.lists(near, min_size=1, max_size=2, unique_by=str), st.lists(other, max_size=2, unique=True),
    st.lists(four, min_size=1, max_size=4), st.integers(0, 3), st.sampled_from([0, 1]),
)  # fmt: skip
def test_products_with_a_tolerance_agree_with_brute_force(rules, others, records, heavy, places):
    """Whole numbers, or tenths of the same: what is rounded to whole numbers keeps its rule."""
    names, step = ["a", "b", "c", "d"], 10**-places
    low = {name: 0 if name == "c" else 1 for name in names}
    bounds = [f"{name} in [{low[name] * step:.1f}, {6 * step:.1f}]" for name in names]
    every = pd.DataFrame(list(itertools.product(*[range(low[name], 7) for name in names])), columns=names)
    frame = pd.DataFrame(records, columns=names)
    declared = {name: {"decimals": places} for name in names}
    if places:
        every, frame = (every * step).round(1), (frame * step).round(1)
    assert_cheapest([*rules, *others, *bounds], frame, every, names[heavy], declared)


def test_products_of_amounts_have_their_decimals():
    """Of 40 records one field is wrong: where another could be meant as well, the one that comes first is named."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"price": np.round(rng.uniform(2, 60, 40), 2), "quantity": rng.integers(20, 900, 40)})
    frame["sales"] = np.round(frame["price"] * frame["quantity"])
    frame["vat"] = np.round(frame["sales"] * 0.2, 2)
    frame.loc[::2, "sales"] += 500
    frame.loc[1::2, "quantity"] = 5
    declared = {"price": {"decimals": 2}, "quantity": {"decimals": 0}, "sales": {"decimals": 0}, "vat": {"decimals": 2}}
    rules = [{"rule": "price * quantity == sales", "tolerance": 1}, "round(sales * 0.2, 2) == vat", "quantity >= 20"]
    found = localize(dataset(frame, **declared), EditSet.parse(rules))
    assert found.located == 40
    assert found.unproven == 0
    assert {each.fields for each in found.found[::2]} == {("sales",)}
    assert {each.fields for each in found.found[1::2]} == {("quantity",)}


def assert_cheapest(rules, frame, every, heavy, declared):
    """Of all records that obey the rules, none differs from a located one in a cheaper set of fields."""
    names = list(frame.columns)
    edits = EditSet.parse(rules)
    data = dataset(frame, **declared)
    weights = {heavy: 1.5}
    found = localize(data, edits, weights)
    good = every[_all_hold(dataset(every, **declared), edits)]
    assert list(found.numbers) == list(1 + np.flatnonzero(~_all_hold(data, edits)))
    for number, each in zip(found.numbers, found.found, strict=True):
        changed = good[names].to_numpy() != frame.loc[number - 1, names].to_numpy()
        if not len(good):
            assert each.fields is None
            continue
        costs = changed @ np.array([weights.get(name, 1.0) for name in names])
        cheapest = {
            tuple(np.array(names)[row]) for row, cost in zip(changed, costs, strict=True) if cost == costs.min()
        }
        assert each.proven
        assert each.fields == min(cheapest, key=lambda chosen: [name not in chosen for name in names])
        mended = dict(frame.loc[number - 1]) | {
            name: value if isinstance(value, str) else float(value) for name, value in each.values.items()
        }
        assert _all_hold(dataset(pd.DataFrame([mended], columns=names), **declared), edits)[0]


def _all_hold(data, edits):
    outcome = check_dataset(data, edits, Domain.from_dataset(data, domain_tuples(edits)))
    broken = np.zeros(len(data), dtype=bool)
    for each in outcome.edits:
        broken[each.listed - 1] = True
    return ~broken


@given(
    st.lists(st.integers(1, 127), min_size=1, max_size=7),
    st.lists(st.sampled_from([1, 2, Fraction(3, 2)]), min_size=7, max_size=7),
)
@settings(max_examples=200)
def test_cheapest_covers(sets, weights):
    costs = [Fraction(weight) for weight in weights]
    covers = [mask for mask in range(128) if all(mask & one for one in sets)]
    least = min(sum(costs[place] for place in places(mask)) for mask in covers)
    best = [mask for mask in covers if sum(costs[place] for place in places(mask)) == least]
    expected = min(best, key=lambda mask: [not mask >> place & 1 for place in range(7)])
    assert Covering(costs).cheapest(frozenset(sets)) == expected


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ("if econ == 5 then inc == 0", 'if econ == "5" then inc == 0'),
        ("if econ != 3 then inc == 0", 'if econ != "3" then inc == 0'),
        ("if econ >= 4 then inc == 0", 'if econ in {"5"} then inc == 0'),
        ("econ in {3, 4}", 'econ in {"3", "4"}'),
    ],
)
def test_codes_compared_with_numbers_are_located_as_texts_are(numbers, texts):
    frame = pd.DataFrame({"econ": ["5", "3", "5", "x", "4"], "inc": [10, 10, 0, 1, 0]})
    found = [localize(dataset(frame, econ={"type": "nominal"}), EditSet.parse([rule])) for rule in (numbers, texts)]
    for each in found:
        assert each.obstacles == {}
    # A text is no number: whether "x" is 5 is unknown to the rule on numbers.
    located = [[entry for entry in each.to_json()["fields"] if entry["record"] != 4] for each in found]
    assert located[0] == located[1] != []


OF_EVERY_KIND = [
    "a + b == c", "a * b <= 900", "if sex == 'M' then births == 0", "sex in {M, F}", "floor(a / 7) <= 3", "a >= 0",
    "region in original",
]  # fmt: skip


def wrong_records(n):
    """Records with errors of every kind, missing cells among them; one is beyond help."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.integers(-3, 40, n), "b": rng.integers(0, 40, n)})
    frame["c"] = frame["a"] + frame["b"] + rng.integers(0, 2, n)
    frame["sex"], frame["births"] = rng.choice(["M", "F", "Z"], n), rng.integers(0, 3, n)
    frame["region"] = rng.choice(["north", "south", "nowhere"], n)
    return frame.astype({"births": float}).mask(rng.random((n, 6)) < 0.02)


@pytest.mark.parametrize("workers", [2, 3])
def test_the_fields_are_those_of_one_process(monkeypatch, workers):
    monkeypatch.setattr(search, "WORTH_PROCESSES", 50)
    monkeypatch.setattr(search, "RECORDS_AT_ONCE", 40)
    data = wrong_records(90)
    original = data.assign(region=data["region"].replace("nowhere", "south"))
    declared = {name: {"decimals": 0} for name in ("a", "b", "c", "births")}
    alone = mw.localize(data, OF_EVERY_KIND, original=original, declared=declared, workers=1)
    assert 40 < alone.located < len(alone.found)
    # The search is not made in this process.
    monkeypatch.setattr(search, "Search", None)
    beside = mw.localize(data, OF_EVERY_KIND, original=original, declared=declared, workers=workers)
    assert [vars(each) for each in beside.found] == [vars(each) for each in alone.found]
    assert beside.to_json() == alone.to_json()


def test_a_process_that_is_ended_is_no_answer(monkeypatch):
    monkeypatch.setattr(search, "WORTH_PROCESSES", 2)
    monkeypatch.setattr(search, "RECORDS_AT_ONCE", 1)
    monkeypatch.setattr(search, "_located", ending_search.end)
    with pytest.raises(mw.MaskwrightError, match="a process that located errors ended with code 3") as ended:
        mw.localize(pd.DataFrame({"a": [1, 2, 3]}), ["a <= 0"], workers=2)
    assert ended.value.exit_code == 3


@pytest.mark.parametrize("workers", [0, -2])
def test_workers_are_counted_from_one(workers):
    with pytest.raises(mw.InputError, match=f"workers must be at least 1, not {workers}"):
        mw.localize(pd.DataFrame({"a": [1]}), ["a <= 0"], workers=workers)
