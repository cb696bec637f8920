"""An edit keeps the name that its author gave it, word for word, and a step its number, wherever they are named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("step 2 of 3", "household.step 1", "edit 'step 1' on step 2")
TOTAL = {"method": "microaggregation", "variables": ["total", "rent"], "params": {"k": 3, "k_guarantee": "report"}}
INCOME = {"method": "additive_noise", "variables": ["income"], "params": {"sd": 300, "correction": "none"}}
LATER = {"method": "microaggregation", "variables": ["rent"], "params": {"k": 4, "k_guarantee": "report"}}
FORMS = ("one level", "parts", "flat", "linked", "nested")


def rules(form: str) -> list[dict[str, Any]]:
    """Each is adjusted for, cannot be mended where nothing moves, or fires nowhere: all that is said of edits."""
    group = "income <= 2500" if form in ("one level", "parts") else "sum(person.income) == total"
    texts = (group, "if rent > 400 then total >= 100", "if rent > 90000 then income >= 0")
    stated = [{"name": name, "rule": rule} for name, rule in zip(NAMES, texts, strict=True)]
    return stated if form in ("one level", "parts") else [*stated[:2], {"name": NAMES[2], "rule": "income <= 2500"}]


def survey(folder: Path) -> None:
    random = np.random.default_rng(3)
    upper, lower, nested = [], [], []
    for household in range(1, 61):
        incomes = random.integers(100, 2500, 1 + household % 4)
        rent = int(random.integers(100, 900))
        upper.append({"hid": household, "rent": rent, "total": incomes.sum()})
        persons = list(enumerate(incomes, 1))
        lower += [{"hid": household, "pno": place, "income": income} for place, income in persons]
        below = "".join(f"<P><pno>{place}</pno><income>{income}</income></P>" for place, income in persons)
        nested.append(f"<H><hid>{household}</hid><rent>{rent}</rent><total>{incomes.sum()}</total>{below}</H>")
    whole = pd.DataFrame(lower).merge(pd.DataFrame(upper))
    pd.DataFrame(upper).to_csv(folder / "households.csv", index=False)
    pd.DataFrame(lower).to_csv(folder / "persons.csv", index=False)
    whole.to_csv(folder / "flat.csv", index=False)
    (folder / "parts").mkdir()
    for number in range(2):
        whole[number::2].to_csv(folder / "parts" / f"part-{number}.csv", index=False)
    (folder / "nested.xml").write_text(f"<S>{''.join(nested)}</S>", encoding="utf-8")


def pipeline(folder: Path, form: str, steps: list[dict[str, Any]]) -> Path:
    survey(folder)
    household: dict[str, Any] = {"key": "hid"}
    person: dict[str, Any] = {"key": "pno", "in": "household"}
    levels = {"levels": {"household": household, "person": person}}
    keys = {"variables": {"hid": {"role": "identifier"}, "pno": {"role": "identifier"}}}
    output = {"data": {"household": "h.csv", "person": "p.csv"}} if form == "linked" else {"data": "masked.csv"}
    more: dict[str, Any] = {}
    if form == "one level":
        data: dict[str, Any] = {"source": "flat.csv", **keys}
    elif form == "parts":
        data, output = {"source": "parts/*.csv", **keys}, {"data": "masked/"}
        more = {"execution": {"engine": "local", "block_size": 50}}
    elif form == "linked":
        household["source"], person["source"], data = "households.csv", "persons.csv", levels
    elif form == "flat":
        household["variables"] = ["rent", "total"]
        data = {"source": "flat.csv", **levels}
    else:
        household["record"], person["record"], data = "H", "P", {"source": "nested.xml", **levels}
        output = {"data": "masked.xml"}
    waive = [{"doubt": "adjustment-distorts", "variable": name, "because": "a test"} for name in ("income", "total")]
    stated = {
        "maskwright": 1, "data": data, "edits": rules(form), "protect": steps, "measure": ["pil"], "waive": waive,
        "output": output | {"record": "run.json", "report": "report.html"}, "seed": 1, **more,
    }  # fmt: skip
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(stated), encoding="utf-8")
    return path


def recorded(path: Path) -> dict[str, Any]:
    """Record of a run, whether or not it released anything."""
    try:
        return dict(mw.run(path).record)
    except mw.ReleaseRefused as refused:
        return dict(refused.record or {})


def texts_in(content: object) -> list[str]:
    """Every text in plain data."""
    if isinstance(content, dict):
        return [text for key, value in content.items() for text in (str(key), *texts_in(value))]
    if isinstance(content, list):
        return [text for value in content for text in texts_in(value)]
    return [content] if isinstance(content, str) else []


def fragments(text: str) -> list[str]:
    """What stands around `step` and `of 3` in a text once the names that were given are taken out of it."""
    for name in NAMES:
        text = text.replace(name, "")
    return [word for word in ("of 3", "household.step", "edit 'step") if word in text]


@pytest.mark.parametrize("form", FORMS)
def test_names_of_edits_are_those_that_were_given(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pipeline(tmp_path, form, [INCOME, TOTAL, LATER])
    assert main(["plan", "--json", str(path)]) in (0, 1)
    plan = json.loads(capsys.readouterr().out)
    main(["plan", str(path)])
    shown = " ".join(capsys.readouterr().out.split())
    assert main(["run", "--json", str(path)]) in (0, 1)
    out, told = capsys.readouterr()
    printed, record = json.loads(out), recorded(path)
    assert (printed["notices"], printed["doubts"]) == (record["notices"], record["doubts"])
    assert set(NAMES) <= {each["name"] for each in plan["edits"]} | {each["name"] for each in record["edits"]}
    assert {each["name"] for each in record["edits"]} >= set(NAMES)
    for text in (shown, " ".join(told.split()), *texts_in(plan), *texts_in(record)):
        assert not fragments(text), text
    for each in (*plan["warnings"], *plan["notices"], *record["notices"]):
        assert each.get("edit", NAMES[0]) in {edit["name"] for edit in record["edits"]}


@pytest.mark.parametrize("form", ["flat", "linked", "nested"])
def test_steps_have_the_numbers_of_the_pipeline(form: str, tmp_path: Path) -> None:
    """The second level has the first step, and the first level the two others."""
    steps = [INCOME, TOTAL, LATER]
    path = pipeline(tmp_path, form, steps)
    record = recorded(path)
    methods = {number: step["method"] for number, step in enumerate(steps, 1)}
    assert {each["step"]: each["method"] for each in record["plan"]["steps"]} == methods
    numbers = {name: number for number, step in enumerate(steps, 1) for name in step["variables"]}
    assert {each["step"] for each in record["methods"]} <= set(methods)
    for each in record["methods"]:
        assert set(each["variables"]) <= set(steps[each["step"] - 1]["variables"])
    masked = {each["name"]: each["masked_by"] for each in record["variables"] if each["masked_by"] is not None}
    assert masked == {name: numbers[name] for name in masked}
    for each in record["k"]["groups"]:
        assert set(each["variables"]) <= set(steps[each["step"] - 1]["variables"])
    for each in (*record["notices"], *record["doubts"]):
        if "step" in each and "variable" in each:
            assert each["variable"] in steps[each["step"] - 1]["variables"]


def test_what_is_found_on_a_level_says_so(tmp_path: Path) -> None:
    path = pipeline(tmp_path, "linked", [INCOME, TOTAL, LATER])
    record = recorded(path)
    on = {each["kind"]: each.get("level") for each in record["notices"]}
    assert on["groups-unlike-others"] == "household"
    assert on["may-become-negative"] == "person"
    assert on["below-zero"] is None  # counted over all levels
    said = [each["message"] for each in record["notices"]]
    assert len(said) == len(set(said))


def test_a_mistake_in_a_step_says_of_which(tmp_path: Path) -> None:
    path = pipeline(tmp_path, "linked", [INCOME, TOTAL | {"variables": ["total", "hid"]}])
    with pytest.raises(mw.InputError) as refused:
        mw.run(path)
    (problem,) = refused.value.problems
    assert problem.step == 2
    assert problem.sentence == "step 2: 'hid' is a key or a pointer: it is not masked"
    assert "step" not in problem.message
