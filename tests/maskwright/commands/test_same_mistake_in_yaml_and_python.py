"""One way in: a mistake in a pipeline file and the same mistake in a Python call are told in the same words."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STEP = {"method": "microaggregation", "params": {"k": 5}}

# Each adds to, or replaces in, a pipeline that is right: data, edits, one step, measures, execution, seed.
MISTAKES: dict[str, dict[str, Any]] = {
    "unknown method": {"protect": [{**STEP, "method": "microagregation"}]},
    "no method": {"protect": [{**STEP, "method": 3}]},
    "unknown parameter": {"protect": [{"method": "microaggregation", "params": {"kk": 3}}]},
    "parameter of another method": {"protect": [{"method": "microaggregation", "params": {"p": 3}}]},
    "k too small": {"protect": [{"method": "microaggregation", "params": {"k": 1}}]},
    "k in quotes": {"protect": [{"method": "microaggregation", "params": {"k": "5"}}]},
    "k not whole": {"protect": [{"method": "microaggregation", "params": {"k": 2.5}}]},
    "k nothing": {"protect": [{"method": "microaggregation", "params": {"k": None}}]},
    "k a list": {"protect": [{"method": "microaggregation", "params": {"k": [5]}}]},
    "k larger than the file": {"protect": [{"method": "microaggregation", "params": {"k": 31}}]},
    "group size 0": {"protect": [{**STEP, "params": {"k": 5, "group_size": 0}}]},
    "group size in quotes": {"protect": [{**STEP, "params": {"k": 5, "group_size": "2"}}]},
    "group size misspelt": {"protect": [{**STEP, "params": {"k": 5, "group_size": "al"}}]},
    "grouping misspelt": {"protect": [{**STEP, "params": {"k": 5, "grouping": "equality"}}]},
    "guarantee misspelt": {"protect": [{**STEP, "params": {"k": 5, "k_guarantee": "reports"}}]},
    "missing misspelt": {"protect": [{**STEP, "params": {"k": 5, "missing": "own_patern"}}]},
    "truth value as text": {"protect": [{**STEP, "params": {"k": 5, "allow_original_values": "maybe"}}]},
    "unknown partition": {"protect": [{**STEP, "params": {"k": 5, "partition": "mdva"}}]},
    "parameter of a partition": {"protect": [{**STEP, "params": {"k": 5, "partition": {"refine": {"kick": 3}}}}]},
    "partition a number": {"protect": [{**STEP, "params": {"k": 5, "partition": 3}}]},
    "two partitions": {"protect": [{**STEP, "params": {"k": 5, "partition": {"mdav": {}, "refine": {}}}}]},
    "zeros of an unknown variable": {"protect": [{**STEP, "params": {"k": 5, "structural_zeros": ["q"]}}]},
    "strata of an unknown variable": {"protect": [{**STEP, "within": "q"}]},
    "unknown way with small strata": {"protect": [{**STEP, "within": "town", "params": {"k": 5, "small_strata": "x"}}]},
    "zeros a number": {"protect": [{**STEP, "params": {"k": 5, "structural_zeros": 3}}]},
    "weight of an unknown variable": {"protect": [{**STEP, "params": {"k": 5, "adjustment_weights": {"z": 2}}}]},
    "negative weight": {"protect": [{**STEP, "params": {"k": 5, "adjustment_weights": {"a": -1}}}]},
    "weight no number": {"protect": [{**STEP, "params": {"k": 5, "adjustment_weights": {"a": "x"}}}]},
    "release_edits misspelt": {"protect": [{**STEP, "params": {"k": 5, "release_edits": {"drp": ["a"]}}}]},
    "release_edits without recoding": {"protect": [{**STEP, "params": {"k": 5, "release_edits": {"drop": ["a"]}}}]},
    "unknown variable in a step": {"protect": [{**STEP, "variables": ["aa"]}]},
    "variable twice": {"protect": [{**STEP, "variables": ["a", "a"]}]},
    "no variables": {"protect": [{**STEP, "variables": []}]},
    "variable a number": {"protect": [{**STEP, "variables": [3]}]},
    "variable in two groups": {"protect": [{**STEP, "groups": [["a", "b"], ["b"]]}]},
    "group of an unknown variable": {"protect": [{**STEP, "groups": [["q"]]}]},
    "group outside the variables": {"protect": [{**STEP, "variables": ["a"], "groups": [["b"]]}]},
    "method that cannot": {"protect": [{"method": "pram", "variables": ["a"]}]},
    "unknown independent variable": {
        "protect": [{"method": "ipso", "params": {"dependent": ["a"], "independent": ["hours"]}}]
    },
    "unknown name in a rule": {"edits": ["a + bb = t"]},
    "unfinished rule": {"edits": ["a + b = "]},
    "unclosed bracket": {"edits": ["c in [0.5, 300"]},
    "empty rule": {"edits": [""]},
    "rule a number": {"edits": [3]},
    "unknown key of a rule": {"edits": [{"rule": "a >= 0", "nme": "x"}]},
    "unknown severity": {"edits": [{"rule": "a >= 0", "severity": "fatal"}]},
    "negative tolerance": {"edits": [{"rule": "a + b = t", "tolerance": -1}]},
    "name taken": {"edits": [{"rule": "a >= 0", "name": "x"}, {"rule": "b >= 0", "name": "x"}]},
    "file name as a rule": {"edits": ["rules.sch"]},
    "unknown rule language": {"edits": [{"schematrn": "rules.sch"}]},
    "contradicting rules": {"edits": ["a >= 100", "a <= 1"]},
    "rule on a key with new values": {
        "edits": ["c >= 0"], "data": {"variables": {"c": {"role": "identifier", "release": "new"}}},
    },
    "arithmetic on text": {"edits": ["town + a >= 0"]},
    "unknown declared variable": {"data": {"variables": {"aa": {"role": "weight"}}}},
    "unknown key of a declaration": {"data": {"variables": {"a": {"roles": "weight"}}}},
    "unknown role": {"data": {"variables": {"a": {"role": "wieght"}}}},
    "unknown type": {"data": {"variables": {"a": {"type": "int"}}}},
    "too many decimals": {"data": {"variables": {"a": {"decimals": 20}}}},
    "decimals in quotes": {"data": {"variables": {"a": {"decimals": "2"}}}},
    "min above max": {"data": {"variables": {"a": {"min": 3, "max": 1}}}},
    "category twice": {"data": {"variables": {"town": {"categories": ["Ter", "Ter"]}}}},
    "declaration a text": {"data": {"variables": {"a": "weight"}}},
    "unknown household": {"data": {"cluster": "homes"}},
    "household of a method that counts records": {
        "data": {"cluster": "hh"}, "protect": [{"method": "individual_ranking", "params": {"k": 3}}]
    },
    "no workers": {"execution": {"workers": 0}},
    "workers in quotes": {"execution": {"workers": "2"}},
    "block of one": {"execution": {"block_size": 1}},
    "block smaller than two groups": {"execution": {"block_size": 3}},
    "negative seed": {"seed": -1},
    "seed a text": {"seed": "today"},
    "unknown measure": {"measure": ["pill"]},
    "measure a number": {"measure": [3]},
    "two measures in one": {"measure": [{"pil": {}, "sse": {}}]},
    "unknown parameter of a measure": {"measure": [{"pil": {"bandwith": 1}}]},
    "parameter of a measure out of range": {"measure": [{"distance_record_linkage": {"known": 0}}]},
    "label twice": {"measure": ["sse", {"pil": {"as": "sse"}}]},
    "label a number": {"measure": [{"pil": {"as": 3}}]},
    "several at once": {
        "protect": [{"method": "microaggregation", "params": {"kk": 3}, "variables": ["aa"]}],
        "edits": ["a + bb = t", "a <"], "data": {"variables": {"a": {"roles": "weight"}}}, "execution": {"workers": 0},
    },
}  # fmt: skip


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 90, (2, 30))
    town = rng.choice(["Ebro", "Ter"], 30)
    return pd.DataFrame(
        {"hh": np.arange(30) * 7 % 30 // 2, "a": a, "b": b, "t": a + b, "c": rng.integers(0, 9, 30), "town": town}
    )


def _through_yaml(settings: Mapping[str, Any], folder: Path) -> mw.InputError:
    _frame().to_csv(folder / "d.csv", index=False)
    whole = {
        "maskwright": 1, "protect": [STEP], **settings, "data": {"source": "d.csv", **settings.get("data", {})},
        "output": {"data": "masked.csv"},
    }  # fmt: skip
    (folder / "p.yaml").write_text(yaml.safe_dump(whole, sort_keys=False), encoding="utf-8")
    with pytest.raises(mw.InputError) as caught:
        mw.run(folder / "p.yaml")
    return caught.value


def _through_python(settings: Mapping[str, Any]) -> mw.InputError:
    (step,) = settings.get("protect", [STEP])
    declared = settings.get("data", {})
    if "measure" in settings:
        call = partial(mw.measure, _frame(), _frame(), settings["measure"])
    else:
        call = partial(
            mw.protect, _frame(), step["method"], params=step.get("params"), variables=step.get("variables"),
            groups=step.get("groups", ()), within=step.get("within", ()), edits=settings.get("edits"),
            declared=declared.get("variables"),
            cluster=declared.get("cluster"), seed=settings.get("seed"), **settings.get("execution", {}),
        )  # fmt: skip
    with pytest.raises(mw.InputError) as caught:
        call()
    return caught.value


HINTS_ON_WRITING = ("Start each", "Numbers are written", "If it is text", "If this is one rule", "Parameters go inside")


@pytest.mark.parametrize("name", MISTAKES)
def test_the_same_mistake_is_told_in_the_same_words(name, tmp_path) -> None:
    settings = MISTAKES[name]
    yaml_door, python_door = _through_yaml(settings, tmp_path), _through_python(settings)

    def said(error: mw.InputError) -> list[tuple[str, str | None]]:
        # Where the other rule of a name stands is said by its place.
        return sorted((re.sub(r"another rule \(.*", "", each.message), hint_of(each)) for each in error.problems)

    def hint_of(problem: mw.Problem) -> str:
        # How a file is written is no advice on a call.
        hint = problem.hint or ""
        in_file = problem.place is not None and problem.place.line is not None
        return "" if in_file and hint.startswith(HINTS_ON_WRITING) else hint

    assert said(yaml_door) == said(python_door)
    # A file has a line; a call names the argument, or nothing where only the data tell.
    placed = [each.place for each in python_door.problems if each.place is not None]
    assert all(str(place).startswith(("argument ", "edit", "rule")) or str(place) == "" for place in placed)


def test_numbers_of_numpy_paths_and_sets_are_settings_too(tmp_path) -> None:
    masked = mw.protect(
        _frame(),
        "microaggregation",
        params={"k": np.int64(5), "structural_zeros": {"a"}},
        seed=np.int64(3),
        edits=[],
        declared={"town": {"role": "other"}},
    )
    assert len(masked) == 30
    _frame().to_csv(tmp_path / "d.csv", index=False, sep=";")
    assert mw.read(tmp_path / "d.csv", delimiter=";").names == tuple(_frame())


def test_an_option_of_another_format_is_told(tmp_path) -> None:
    _frame().to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(mw.InputError, match="argument record: 'record' is an option of xml files, and this is csv"):
        mw.read(tmp_path / "d.csv", record="R")
    with pytest.raises(mw.InputError, match="did you mean 'encoding'"):
        mw.read(tmp_path / "d.csv", encodin="latin-1")


def test_nothing_more_can_be_declared_of_a_dataset(tmp_path) -> None:
    _frame().to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(mw.InputError, match="was declared when it was made"):
        mw.protect(mw.read(tmp_path / "d.csv"), "microaggregation", declared={"a": {"role": "weight"}})


@pytest.mark.parametrize("data", ["persons.csv", None, [1, 2]])
def test_what_is_no_data_is_told(data) -> None:
    calls = (
        lambda: mw.protect(data, "microaggregation"),
        lambda: mw.validate(data, ["a >= 0"]),
        lambda: mw.localize(data, ["a >= 0"]),
        lambda: mw.suggest(data),
        lambda: mw.measure(data, _frame()),
        lambda: mw.measure(_frame(), data),
    )
    for call in calls:
        with pytest.raises(mw.InputError, match=r"argument \w+: expected a Dataset or a data frame: .*; not "):
            call()


def test_what_is_declared_of_the_original_holds_for_the_masked_file() -> None:
    """Identifiers are gone there; a misspelt variable is a mistake everywhere, a misspelt identifier where it masks."""
    declared = {"c": {"role": "identifier"}, "a": {"decimals": 0}, "town": {"role": "other"}}
    frame = _frame()
    masked = mw.protect(frame, "microaggregation", params={"k": 3}, declared=declared, seed=1)
    assert "c" not in masked
    assert mw.validate(masked, ["a >= 0"], original=frame, declared=declared).ok
    assert "pil" in mw.measure(frame, masked, declared=declared)
    with pytest.raises(mw.InputError, match="argument declared: no variable called 'aa'; did you mean 'a'"):
        mw.validate(masked, ["a >= 0"], declared={"aa": {"role": "weight"}})
    with pytest.raises(mw.InputError, match="no variable called 'cc'"):
        mw.protect(frame, "microaggregation", params={"k": 3}, declared={"cc": {"role": "identifier"}})


def test_a_call_names_its_argument_once_and_gives_no_advice_on_files() -> None:
    data = pd.DataFrame({"x": range(8)})
    with pytest.raises(mw.InputError) as refused:
        mw.protect(data, "microaggregation", block_size="a", params=[4])  # type: ignore[arg-type]
    assert str(refused.value) == (
        "argument block_size: expected a whole number, not the text 'a'\n"
        "argument params: expected a mapping of keys, not a list of 1"
    )
    with pytest.raises(mw.InputError) as refused:
        mw.measure(data, data, "pil")
    assert str(refused.value) == "argument measures: expected a list of measures, not the text 'pil'"


def test_all_edits_of_a_contradiction_are_placed() -> None:
    with pytest.raises(mw.EditError) as refused:
        mw.protect(pd.DataFrame({"x": range(8)}), "microaggregation", edits=["x >= 5", "x >= 0", "x <= 3"])
    places = [str(problem.place) for problem in refused.value.problems]
    assert places == ["argument edits, item 1", "argument edits, item 3"]


def test_k_beyond_the_number_of_households_is_told_by_the_plan() -> None:
    data = pd.DataFrame({"household": [1, 1, 2, 2, 3, 3], "x": range(6)})
    with pytest.raises(mw.InputError, match="k = 5 is larger than the number of households, 3"):
        mw.protect(data, "microaggregation", params={"k": 5}, cluster="household")


def test_a_rule_on_the_original_file_says_how_to_name_it() -> None:
    with pytest.raises(mw.InputError, match="--original FILE"):
        mw.validate(pd.DataFrame({"x": range(6)}), ["x in original"])


def test_edits_bind_what_two_steps_mask_and_are_named(tmp_path) -> None:
    a = np.arange(20) * 7 % 20
    pd.DataFrame({"a": a, "b": a, "c": 2 * a}).to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv, variables: {a: {min: 0}}}\nedits: [a + b == c]\n"
        "protect:\n  - {method: microaggregation, params: {k: 3, group_size: all}}\n  - {method: additive_noise}\n"
        "output: {data: m.csv}\n",
        encoding="utf-8",
    )
    with pytest.raises(mw.InputError) as refused:
        mw.run(tmp_path / "p.yaml")
    assert "edits 'edit-1', 'bounds of a' read them" in str(refused.value)
