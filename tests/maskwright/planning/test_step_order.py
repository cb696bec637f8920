"""Advice on the order of steps leads out: whoever follows it has a plan, from any order."""

from __future__ import annotations

import re
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.plan import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path

MICRO = "{method: microaggregation, variables: [wages, rent], params: {k: 3%s}}"
RECODING = "{method: recoding, variables: [age], params: {bands: 4}}"
SUPPRESSION = "{method: local_suppression, variables: [age, sex], params: {k: 2%s}}"
ALL_SUPPRESSED = "{method: local_suppression, variables: [wages, rent, sex], params: {k: 2%s}}"
OVERLAPPING = "{method: microaggregation, variables: [rent, age], params: {k: 4%s}}"
RECORDS = "{method: record_suppression, params: {k: 4, keys: [age, sex]%s}}"
SAMPLING = "{method: sampling, params: {fraction: 0.5}}"
REPORT = ", k_guarantee: report"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(18, 90, 50) for name in ("age", "wages", "rent")}
    pd.DataFrame({**columns, "sex": rng.choice(["m", "f"], 50)}).to_csv(tmp_path / "d.csv", index=False)
    return tmp_path


def plan(folder: Path, steps: list[str]) -> None:
    (folder / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv, variables: {age: {role: quasi_identifier}, "
        f"sex: {{role: quasi_identifier}}}}}}\nprotect: [{', '.join(steps)}]\noutput: {{data: m.csv}}\n",
        encoding="utf-8",
    )
    plan_pipeline(folder / "p.yaml")


def advised(steps: list[str], hint: str) -> list[str]:
    """The steps as the hint has them."""
    reporting = re.search(r"in the params of ((?:step \d(?: and )?)+)", hint)
    chosen = [] if reporting is None else [int(number) for number in re.findall(r"\d", reporting[1])]
    order = [int(number) for number in re.findall(r"(\d) \(", hint.split("this order works: ")[1])]
    return [steps[number - 1] % (REPORT if number in chosen else "") if "%s" in steps[number - 1] else steps[number - 1]
            for number in order]  # fmt: skip


def plain(steps: list[str]) -> list[str]:
    return [step % "" if "%s" in step else step for step in steps]


@pytest.mark.parametrize(
    "steps",
    [
        *permutations([MICRO, RECODING, SUPPRESSION, SAMPLING]),
        *permutations([MICRO, RECODING, ALL_SUPPRESSED]),
        *permutations([RECODING, SUPPRESSION, RECORDS]),
    ],
)
def test_the_order_advised_has_a_plan(folder: Path, steps: tuple[str, ...]) -> None:
    stated = list(steps)
    try:
        plan(folder, plain(stated))
    except mw.InputError as error:
        hints = {problem.hint for problem in error.problems}
        assert len(hints) == 1
        (hint,) = hints
        assert hint is not None
        plan(folder, advised(stated, hint))


@pytest.mark.parametrize(
    "steps", [order for order in permutations([MICRO, OVERLAPPING, SUPPRESSION]) if order[-1] != SUPPRESSION]
)
def test_where_no_order_keeps_all_promises_it_says_which_to_report(folder: Path, steps: tuple[str, ...]) -> None:
    stated = list(steps)
    with pytest.raises(mw.InputError) as refused:
        plan(folder, plain(stated))
    hint = refused.value.problems[-1].hint
    assert hint is not None
    assert hint.startswith("no order keeps all promises; with 'k_guarantee: report' in the params of step ")
    plan(folder, advised(stated, hint))


@pytest.mark.parametrize("last", [MICRO, "{method: microaggregation, variables: [wages, sex], params: {k: 3}}"])
def test_records_are_left_out_before_clusters_of_other_variables_only(folder: Path, last: str) -> None:
    """By keys that are masked later nobody can be judged yet."""
    if last == MICRO:
        plan(folder, plain([RECODING, RECORDS, last]))
    else:
        with pytest.raises(mw.InputError, match=r"step 1 .* works on the values that are published"):
            plan(folder, plain([RECORDS, last]))
