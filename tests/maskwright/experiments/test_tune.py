"""Tuning: better than the grid or as good, within thresholds, and never with a seed that was searched over."""

from __future__ import annotations

import builtins
import json

import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.experiments.compare import compare, seed_of
from maskwright.experiments.tune import tune

TUNED = """\
maskwright: 1
data: {source: survey.csv}
edits: [wage + rent == income]
grid:
  - family: together
    method: microaggregation
    vary: {k: {from: 3, to: 15, step: 12}, partition: [mdav, {projection: {onto: z_scores}}]}
  - {family: noise, method: additive_noise, vary: {p: {from: 0.1, to: 0.5, step: 0.4}}}
measure: [pil, score, {distance_record_linkage: {known: 2}}]
map: {risk: distance_record_linkage, loss: pil}
seed: 7
output: results
tune: {minimise: pil, thresholds: {distance_record_linkage: 10}, trials: 12}
"""


def test_the_best_keeps_to_the_thresholds_and_beats_the_grid(study) -> None:
    path = study.experiment(text=TUNED)
    tuned = tune(path, workers=1)
    points = tuned.compared.points
    assert tuned.tried == 12
    fits = points[(points["distance_record_linkage"] <= 10) & (points["violations"] == 0)]
    assert tuned.best == fits["pil"].idxmin()
    assert tuned.grid_best is not None
    assert points.loc[tuned.best, "pil"] < points.loc[tuned.grid_best, "pil"]
    again = tune(path, workers=1)
    assert again.best == tuned.best
    assert again.compared.computed == 0


def test_the_search_starts_from_the_grid_and_does_not_depend_on_the_processes(study) -> None:
    path = study.experiment(("trials: 12", "trials: 5"), text=TUNED)
    compare(path, workers=1, draw=False)
    first = tune(path, workers=1)
    (study.folder / "results").rename(study.folder / "before")
    second = tune(path, workers=2)
    assert first.compared.runs.equals(second.compared.runs)
    assert first.to_json()["best"] == second.to_json()["best"]


def test_what_is_released_has_a_seed_that_was_not_searched_over(study, capsys) -> None:
    changes = ("minimise: pil, thresholds: {distance_record_linkage: 10}, trials: 12", "trials: 3")
    text = TUNED.replace(TUNED[TUNED.index("  - family: together") : TUNED.index("  - {family: noise")], "")
    path = study.experiment(changes, text=text)
    assert main(["tune", str(path), "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["objective"] == "score"
    assert found["best"]["settings"].keys() == {"p"}
    result = mw.run(found["pipeline"])
    assert result.record["seed"] not in {seed_of(7, run) for run in range(50)}
    assert result.record["plan"]["steps"][0]["params"]["p"] == found["best"]["settings"]["p"]


def test_thresholds_that_nothing_meets_are_a_refusal(study, capsys) -> None:
    aim = "minimise: pil, thresholds: {distance_record_linkage: 10}, trials: 12"
    path = study.experiment((aim, "thresholds: {pil: 0}, minimise: score, trials: 2"), text=TUNED)
    assert main(["tune", str(path), "--workers", "1"]) == 1
    assert "none of 8 settings keeps to the thresholds (pil <= 0)" in capsys.readouterr().err


def test_a_small_space_ends_the_search(study) -> None:
    text = TUNED.replace("step: 12}", "step: 1}").replace("from: 3, to: 15", "from: 3, to: 4")
    text = text[: text.index("  - {family: noise")] + text[text.index("measure:") :]
    tuned = tune(study.experiment(("linkage: 10", "linkage: 100"), text=text), workers=1)
    assert tuned.tried == 0
    assert tuned.best == tuned.grid_best


def test_without_the_optional_library_it_says_what_to_install(study, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments, **options):
        if name.split(".", maxsplit=1)[0] == "optuna":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(mw.InputError, match=r"maskwright\[tune\]"):
        tune(study.experiment(text=TUNED), workers=1)


def test_nothing_that_varies_is_refused(study) -> None:
    text = TUNED[: TUNED.index("grid:")] + "grid: [{method: microaggregation}]\nmeasure: [pil]\n"
    with pytest.raises(mw.InputError, match="nothing varies"):
        tune(study.experiment(text=text), workers=1)
