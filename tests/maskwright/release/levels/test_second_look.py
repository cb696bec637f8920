"""The second evaluation of edits across levels: it agrees with the first, and catches a broken one."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo
from maskwright.commands.levels import running
from maskwright.commands.levels.loading import linked_as
from maskwright.commands.options import ReadingOptions, pipeline_levels
from maskwright.commands.reading import load
from maskwright.edits.levels import column_values
from maskwright.planning.levels.bound_edits import edits_of_levels, outcomes
from maskwright.release.levels.reference_validation import WrittenTable, validate_levels_by_reference

sys.path.insert(0, str(Path(__file__).parents[2] / "levels"))
from random_survey import RULES, WRITTEN_ONLY, survey

if TYPE_CHECKING:
    from collections.abc import Callable

FURTHER = (
    "max(person.age) - min(person.age) <= 40",
    "unique(person.rel where sex == 'F')",
    "any(person where mother.age > 30)",
    "count(person where previous.sex == sex) < 2",
    "sum(person.income where household.region == 'N') < total",
    "one(person where spouse.pno is not missing)",
)


def looked(folder: Path, rules: tuple[str, ...]) -> tuple[str, ...]:
    """Judge a survey twice; rules without a second opinion."""
    levels = pipeline_levels(ReadingOptions(pipeline=folder / "linked.yaml"), ())
    assert levels is not None
    files = {name: load(source, identifiers=True, may_lack="anything") for name, source in levels.sources.items()}
    linked = linked_as(levels, files)
    edits = mw.EditSet.parse([{"rule": rule, "name": rule} for rule in rules])
    bound = edits_of_levels(edits, linked)
    tables = {name: WrittenTable(each.path, each.source, files[name]) for name, each in levels.sources.items()}
    return validate_levels_by_reference(tables, linked, bound, outcomes(linked, bound), linked)


@pytest.mark.covering(3)
@pytest.mark.parametrize("seed", range(15))
def test_both_evaluations_agree_on_random_surveys(tmp_path: Path, seed: int) -> None:
    survey(random.Random(seed), tmp_path, most=60)
    assert looked(tmp_path, (*RULES, *WRITTEN_ONLY, *FURTHER)) == ()


def one_less(broken: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda *arguments: np.maximum(broken(*arguments) - 1, 0)


def no_neighbours(level: mw.Level, step: int) -> np.ndarray:
    return np.full(len(level), -1, dtype=np.int64)


@pytest.mark.parametrize(
    ("name", "broken", "rule"),
    [
        ("_sums", lambda groups, values, decimals, count: np.zeros(count), "sum(person.income) + extra == total"),
        ("_counted", lambda column, groups, *_: (np.ones(groups.max() + 1), np.zeros(groups.max() + 1, dtype=bool)),
         "count(person) == size"),
        ("_neighbours", no_neighbours, "previous.age >= age"),
        ("_firsts", lambda level, groups, meant, unknown, count: np.zeros(count, dtype=np.int64),
         "first(person.age) >= 18"),
    ],
)  # fmt: skip
def test_a_broken_first_evaluation_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., object], rule: str
) -> None:
    survey(random.Random(3), tmp_path, most=60)
    monkeypatch.setattr(column_values, name, broken)
    with pytest.raises(mw.EvaluationsDisagree, match="the two evaluations of the written files disagree"):
        looked(tmp_path, (rule,))


IN_SCHEMATRON = "- schematron: {file: survey.sch, phase: released}"
IN_YAML = "- {rule: sum(person.income) + child_benefit + capital == total, name: total-sum}"


@pytest.mark.parametrize("form", ["flat", "linked", "nested"])
def test_a_run_whose_first_evaluation_sees_nothing_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    write_levels_demo(tmp_path, 200)
    pipeline = tmp_path / f"{form}.yaml"
    text = pipeline.read_text(encoding="utf-8").replace("linkage: 50", "linkage: 100")
    pipeline.write_text(text.replace(IN_SCHEMATRON, IN_YAML), encoding="utf-8")
    arranged_levels = vars(running)["arranged_levels"]

    def with_a_wrong_total(*arguments: object) -> object:
        arranged = arranged_levels(*arguments)
        top = arranged.linked.levels[0]
        total = top.data["total"]
        wrong = total.changed(total.values + (np.arange(len(top)) == 3), total.missing)
        changed = arranged.linked.with_data({top.name: top.data.with_columns({"total": wrong})})
        return replace(arranged, linked=changed)

    monkeypatch.setattr(running, "arranged_levels", with_a_wrong_total)
    monkeypatch.setattr(running, "outcomes", blind(vars(running)["outcomes"]))
    assert main(["run", str(pipeline)]) == 3
    said = capsys.readouterr().err
    assert "total-sum" in said
    assert "0 violations, and 1 the second time" in said
    assert not list(tmp_path.glob("*masked*"))


def blind(outcomes_of: Callable[..., dict]) -> Callable[..., dict]:
    """An evaluation that finds nothing."""

    def found(*arguments: object) -> dict:
        return {
            name: replace(
                outcome,
                edits=tuple(replace(each, violations=0, listed=np.array([], dtype=np.int64)) for each in outcome.edits),
            )
            for name, outcome in outcomes_of(*arguments).items()
        }

    return found


def test_households_are_read_of_their_first_rows_when_only_the_last_has_two_members(tmp_path: Path) -> None:
    rows = [(1, 1, 100, 7), (2, 1, 200, 8), (3, 1, 300, 9), (4, 1, 400, 10), (4, 2, 400, 11)]
    frame = pd.DataFrame(rows, columns=["hhid", "pno", "rent", "wage"])
    frame.to_csv(tmp_path / "flat.csv", index=False)
    levels = {"household": {"key": "hhid", "variables": ["rent"]}, "person": {"key": "pno", "in": "household"}}
    settings = {
        "maskwright": 1, "data": {"source": str(tmp_path / "flat.csv"), "levels": levels},
        "edits": ["2 * rent + 1 <= 900"], "output": {"data": str(tmp_path / "masked.csv")}, "seed": 1,
        "protect": [
            {"method": "microaggregation", "variables": [each], "params": {"k": 2}} for each in ("rent", "wage")
        ],
    }  # fmt: skip
    assert mw.run(settings).ok
