"""A pipeline given as a mapping: what the file that says the same does, with the same mistakes told."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.commands.plan import plan_pipeline

SETTINGS = {
    "maskwright": 1,
    "data": {"source": "ages.csv"},
    "edits": ["age in [0, 120]", {"rule": "age >= 5", "name": "adult"}],
    "protect": [{"method": "microaggregation", "params": {"k": 4}}],
    "measure": ["pil", {"sse": {"as": "squares"}}],
    "output": {"data": "masked.csv"},
    "seed": 1,
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]}).to_csv("ages.csv", index=False)


def test_a_mapping_runs_as_the_file_that_says_the_same(tmp_path) -> None:
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(SETTINGS), encoding="utf-8")
    from_file = mw.run("pipeline.yaml").record
    written = (tmp_path / "masked.csv").read_bytes()
    given = copy.deepcopy(SETTINGS)
    from_mapping = mw.run(given).record
    assert given == SETTINGS
    assert (tmp_path / "masked.csv").read_bytes() == written
    for name in ("plan", "measures", "edits", "variables", "k", "doubts"):
        assert from_mapping[name] == from_file[name]
    assert yaml.safe_load(from_mapping["pipeline"]["text"]) == from_mapping["pipeline"]["settings"] == SETTINGS
    assert from_mapping["pipeline"]["file"] == "settings of a program"
    assert [each["role"] for each in from_mapping["inputs"]] == ["data"]


def test_settings_of_other_types_and_overrides(tmp_path) -> None:
    settings = SETTINGS | {"data": {"source": tmp_path / "ages.csv"}, "seed": np.int64(1)}
    masked = mw.run(settings, {"protect.0.params.k": np.int32(5)}).record
    assert masked["plan"]["steps"][0]["params"]["k"] == 5
    plan = plan_pipeline(settings)
    assert plan["steps"][0]["params"]["k"] == 4


MISTAKES = [
    {"maskwright": 2},
    {"maskwrigt": 1},
    {"data": {"source": "no.csv"}},
    {"data": {"source": "ages.csv", "delimter": ";"}},
    {"data": {"source": "ages.csv", "variables": {"aeg": {"role": "weight"}}}},
    {"protect": [{"method": "microagregation"}, {"method": "rounding", "params": {"bsae": 5}}]},
    {"protect": {"method": "microaggregation"}},
    {"protect": []},
    {"edits": ["age >=", "agee > 0", {"rule": "age > 0", "nmae": "x"}]},
    {"measure": [{"pil": {"bandwith": 1}}, "sse", "sse"]},
    {"thresholds": {"pli": 3}},
    {"waive": [{"doubt": "no-such-doubt", "because": "it is"}]},
    {"output": {"data": "ages.csv"}},
    {"output": {"data": "masked.csv", "reprot": "r.html"}},
    {"execution": {"workers": 0}},
    {"seed": -1},
    {"seed": "one"},
]


@pytest.mark.parametrize("wrong", MISTAKES)
def test_mistakes_are_told_in_the_words_of_the_file(tmp_path, wrong) -> None:
    settings = SETTINGS | wrong
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    with pytest.raises(mw.InputError) as from_file:
        mw.run("pipeline.yaml")
    with pytest.raises(mw.InputError) as from_mapping:
        mw.run(settings)
    told = {problem.message for problem in from_mapping.value.problems}
    assert told == {problem.message for problem in from_file.value.problems}
    places = [str(problem.place) for problem in from_mapping.value.problems]
    assert all(place.startswith(("setting ", "the pipeline")) for place in places)
    assert "pipeline file" not in str(from_mapping.value)


def test_every_mistake_at_once_with_its_place() -> None:
    with pytest.raises(mw.InputError) as refused:
        mw.run(SETTINGS | {"seed": object(), "protect": [{"method": "microaggregation", "params": {"k": "five"}}]})
    places = {str(problem.place) for problem in refused.value.problems}
    assert {"setting seed", "setting protect.0.params.k"} <= places
