"""Comparing and tuning categorical releases: bounds on parts of a risk, and losses of the same variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from maskwright.cli.main import main
from maskwright.experiments.compare import compare
from maskwright.experiments.tune import tune

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENT = """\
maskwright: 1
data:
  source: people.csv
  variables:
    region: {type: nominal, role: quasi_identifier}
    sex: {type: nominal, role: quasi_identifier}
    age: {role: quasi_identifier, hierarchy: {widths: [10, 20, 40]}}
    work: {type: nominal, role: quasi_identifier}
edits: [if work = "child" then region = "North"]
grid:
  - {family: suppressed, method: local_suppression, vary: {k: [1, 2, 4]}}
  - {family: generalised, method: generalisation, variables: [sex, age], vary: {k: {from: 3, to: 9, step: 3}}}
  - {family: changed, method: pram, variables: [sex], vary: {retain: [0.7]}}
measure:
  - individual_risk
  - k_anonymity
  - suda
  - entropy_based_loss: {variables: [region, sex, age, work]}
map: {risk: individual_risk.share_above_0_05, loss: entropy_based_loss}
tune: {minimise: entropy_based_loss, thresholds: {individual_risk.share_above_0_05: 60, k_anonymity: 2}, trials: 2}
seed: 1
output: results
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    n = 200
    region = rng.choice(["North", "South"], n)
    work = np.where(region == "North", rng.choice(["child", "clerk", "nurse"], n), rng.choice(["clerk", "nurse"], n))
    people = {"region": region, "sex": rng.choice(["F", "M"], n), "age": rng.integers(0, 80, n), "work": work}
    pd.DataFrame(people).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def written(office: Path, *changes: tuple[str, str]) -> Path:
    text = EXPERIMENT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = office / "experiment.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_map_of_a_categorical_release(office: Path) -> None:
    compared = compare(written(office), workers=1)
    assert not compared.failed
    assert (office / "results" / "map.svg").is_file()
    points = compared.points
    assert points.loc["suppressed k=1", "entropy_based_loss"] == 0.0
    # The larger the smallest class, the less risk and the more loss.
    suppressed = points.loc[[f"suppressed k={k}" for k in (1, 2, 4)]]
    assert suppressed["individual_risk"].is_monotonic_decreasing
    assert suppressed["entropy_based_loss"].is_monotonic_increasing
    assert points.loc["suppressed k=4", "k_anonymity"] >= 4
    assert set(compared.front) & {"suppressed k=2", "suppressed k=4", "generalised k=3"}
    said = (office / "results" / "summary.txt").read_text(encoding="utf-8")
    assert "is counted in the masked file alone. Of changed retain=0.7, which draw" in said
    assert "does not look at" not in said


def test_losses_of_different_variables_are_told(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(office, ("entropy_based_loss: {variables: [region, sex, age, work]}", "entropy_based_loss"))
    assert main(["compare", str(path), "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert (
        "entropy_based_loss does not look at age in suppressed k=2, suppressed k=4; name what it uses: "
        "{entropy_based_loss: {variables: [...]}}." in said
    )
    # Known from the cache, it is told again.
    again = compare(path, workers=1, draw=False)
    assert again.computed == 0
    assert again.to_json()["leaves_out"] == {
        "entropy_based_loss": [{"variables": ["age"], "cells": ["suppressed k=2", "suppressed k=4"]}]
    }


def test_tuning_keeps_to_a_bound_on_a_part_of_a_risk(office: Path) -> None:
    tuned = tune(written(office), workers=1)
    assert tuned.compared.value(tuned.best, "individual_risk.share_above_0_05") <= 60
    assert tuned.compared.value(tuned.best, "k_anonymity") >= 2
    points = tuned.compared.points
    fits = points[(points["individual_risk.share_above_0_05"] <= 60) & (points["k_anonymity"] >= 2)]
    assert tuned.compared.value(tuned.best, "entropy_based_loss") == fits["entropy_based_loss"].min()


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (
            "individual_risk.share_above_0_5: 60",
            (
                "no part of individual_risk called 'individual_risk.share_above_0_5'; did you mean "
                "'individual_risk.share_above_0_05'?"
            ),
        ),
        ("individual_risk.largest: 60", "the bound 60 is outside the measure's range, 0 to 1"),
        ("suda: many", "expected a number"),
    ],
)
def test_a_wrong_bound_is_refused_before_anything_runs(
    office: Path, capsys: pytest.CaptureFixture[str], bound: str, said: str
) -> None:
    path = written(office, ("individual_risk.share_above_0_05: 60", bound))
    assert main(["tune", str(path), "--workers", "1"]) == 2
    assert said in capsys.readouterr().err
    assert not (office / "results").exists()
