"""What a notebook shows of results, and what a program hears of a run: names and counts, never a value of a record."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lxml import html

import maskwright as mw

WAGE = 48_151  # no constant of any rule
DECLARED = {"region<i>": {"role": "other"}}
CHAIN = [
    {"method": "pram", "variables": ["region<i>"]},
    {"method": "microaggregation", "params": {"k": 3}},
]
RULES = [{"rule": "wages <= income", "name": "<script>alert(1)</script>"}, "wages >= 0", "income in [0, 30000]"]


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"wages": rng.integers(100, 20_000, 60), "region<i>": ["Ebro", "Segre"] * 30})
    data["income"] = data["wages"] + rng.integers(0, 9_000, 60)
    data.loc[7, ["wages", "income"]] = WAGE
    return data


def shown(result: Any) -> html.HtmlElement:
    text = result._repr_html_()
    assert "<script" not in text
    assert "<i>" not in text
    for value in (str(WAGE), f"{WAGE:,}", "Ebro", "Segre"):
        assert value not in text
    return html.fromstring(text)


def cells(page: html.HtmlElement) -> list[list[str]]:
    return [[cell.text_content() for cell in row.iter("td")] for row in page.iter("tr") if row.find("td") is not None]


def test_edits() -> None:
    page = shown(mw.EditSet.parse(RULES))
    assert page.xpath("string(.//strong)") == "3 edits"
    assert cells(page)[0] == ["<script>alert(1)</script>", "linear", "wages <= income", "error"]


def test_outcomes() -> None:
    outcome = mw.validate(frame(), RULES)
    page = shown(outcome)
    assert page.xpath("string(.//strong)") == "not ok: 1 violation in 60 records"
    assert cells(page)[2][:5] == ["edit-3", "range", "60", "1", "0"]
    assert repr(outcome) == "Outcome(ok=False, records=60, violations=1)"


def test_measurements() -> None:
    data = frame()
    masked = mw.protect(data, "microaggregation", params={"k": 3}, declared=DECLARED, seed=1)
    found = mw.measure(data, masked, ["pil"])["pil"]
    assert dict(cells(shown(found)))["value"] == f"{found.value:,.6g}"
    nothing = mw.Measurement(float("nan"), per_record=np.array([float(WAGE)]), interval=(1, 2), notes=("no <i>pairs",))
    assert cells(shown(nothing)) == [["value", "undefined"]]


def test_plans() -> None:
    plan = mw.plan(frame(), "microaggregation", params={"k": 3}, edits=RULES, declared=DECLARED)
    page = shown(plan)
    assert page.xpath("string(.//strong)") == "Plan for 60 records"
    assert cells(page)[0] == ["1", "microaggregation", "wages, income", "<script>alert(1)</script>, edit-2, edit-3"]
    assert "region<i>" in page.text_content()
    assert repr(plan) == "Plan(microaggregation: 2 of 3 variables, 3 edits)"
    chained = mw.plan(frame(), steps=CHAIN, declared=DECLARED)
    assert [group.step for group in chained.groups] == [1, 2]


def run(**more):
    settings = {
        "maskwright": 1, "data": {"source": "data.csv", "variables": DECLARED}, "edits": RULES, "measure": ["pil"],
        "protect": [{"method": "microaggregation", "params": {"k": 3}}], "output": {"data": "masked.csv"},
    }  # fmt: skip
    return mw.run(settings | {"seed": 987654321} | more)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame().to_csv("data.csv", index=False)


@pytest.mark.usefixtures("folder")
def test_runs() -> None:
    result = run()
    page = shown(result)
    assert page.xpath("string(.//strong)").startswith("Released: all 3 edits hold in 60 masked records")
    assert ["edit-3", "1", "0", "adjustment"] in cells(page)
    assert "987654321" not in result._repr_html_()


def test_a_long_table_is_cut() -> None:
    page = shown(mw.EditSet.parse([f"wages >= {-each}" for each in range(230)]))
    assert len(cells(page)) == 200
    assert page.text_content().endswith("and 30 more")


@pytest.mark.usefixtures("folder")
def test_stages_notices_and_doubts_are_log_records_without_values(caplog) -> None:
    caplog.set_level(logging.DEBUG, logger="maskwright")
    run(waive=[{"doubt": "published-undeclared", "variable": "region<i>", "because": "it is public"}],
        data={"source": "data.csv"})  # fmt: skip
    with pytest.raises(mw.OpenDoubts):
        run(data={"source": "data.csv"})
    with pytest.raises(mw.OpenDoubts):
        mw.protect(frame(), "microaggregation", params={"k": 3}, edits=RULES)
    told = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    assert {name for name, _, _ in told} == {"maskwright"}
    assert any(level == "DEBUG" and text.startswith("Masking, step 1") for _, level, text in told)
    assert any(level == "INFO" and "(waived, because: it is public)" in text for _, level, text in told)
    assert sum(level == "WARNING" and "published-undeclared: region<i>" in text for _, level, text in told) == 2
    for _, _, text in told:
        assert str(WAGE) not in text
        assert "Segre" not in text


SILENT = """
import pandas as pd, maskwright as mw
try:
    mw.protect(pd.DataFrame({"a": range(9), "b": ["x", "y", "z"] * 3}), "microaggregation", params={"k": 3})
except mw.OpenDoubts:
    print("refused")
"""


def test_nothing_is_printed_unless_the_program_listens() -> None:
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("refused\n", "")


@pytest.mark.usefixtures("folder")
def test_the_command_line_tells_a_doubt_once(capsys) -> None:
    from maskwright.cli.main import main

    with open("pipeline.yaml", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("{maskwright: 1, data: {source: data.csv}, protect: [{method: microaggregation, params: {k: 3}}], "
                   "output: {data: masked.csv}}")  # fmt: skip
    assert main(["run", "pipeline.yaml"]) == 1
    assert capsys.readouterr().err.count("published-undeclared: region<i>") == 1


def test_a_chain_of_steps_is_what_a_pipeline_does() -> None:
    data = frame()
    masked = mw.protect(data, steps=CHAIN, seed=5, declared=DECLARED, edits=RULES)
    assert mw.validate(masked, RULES).ok
    assert not masked["region<i>"].equals(data["region<i>"])
    assert masked["wages"].value_counts().min() >= 3
    one = mw.protect(data, steps=CHAIN[1:], seed=5, declared=DECLARED)
    same = mw.protect(data, "microaggregation", params=CHAIN[1]["params"], seed=5, declared=DECLARED)
    pd.testing.assert_frame_equal(one, same)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "argument method: nothing says how to mask"),
        ({"steps": []}, "step"),
        ({"steps": {"method": "rounding"}}, "expected a list"),
        ({"steps": [{"method": "roundin"}]}, r"argument steps, item 1: no method called 'roundin'; did you mean"),
        ({"steps": [{"method": "rounding", "params": {"bas": 2}}]}, "argument steps, item 1: .*'bas'.*did you mean"),
        ({"steps": [{"method": "rounding"}], "params": {"k": 3}}, "argument params: `steps` says it all"),
        ({"steps": [{"method": "rounding"}], "method": "pram"}, "argument method: `steps` says it all"),
    ],
)
def test_mistakes_in_a_chain(arguments, message: str) -> None:
    for call in (mw.protect, mw.plan):
        with pytest.raises(mw.InputError, match=message):
            call(frame(), **arguments)
