"""Comparing: table, front, cache, processes, pipelines to run."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.experiments import cells as cache_module
from maskwright.experiments import cells as keys_module
from maskwright.experiments.compare import compare, seed_of
from maskwright.experiments.outputs import pareto_front
from maskwright.plugins.registered import Offer
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from pathlib import Path

CELLS = ["together k=1", "together k=2", "together k=3", "together k=4", "fuzzy k=5", "fuzzy k=10"]


def test_the_table_has_a_row_for_each_run_and_agrees_with_the_public_functions(study) -> None:
    compared = mw.compare(study.experiment(), workers=1)
    table = pd.read_csv(study.folder / "results" / "table.csv")
    pd.testing.assert_frame_equal(pd.read_parquet(study.folder / "results" / "table.parquet"), compared.table)
    assert table["cell"].drop_duplicates().tolist() == CELLS
    assert table["run"].tolist() == [1, 1, 1, 1, 1, 2, 1, 2]
    assert (table["status"] == "ok").all()
    assert (table["violations"] == 0).all()
    original = mw.read(study.folder / "survey.csv")
    masked = mw.protect(
        original, "microaggregation", edits=["wage + rent == income"], seed=1, params={"k": 3, "partition": "mdav"}
    )
    found = mw.measure(original, masked, ["pil", "score"])
    row = table.set_index("cell").loc["together k=3"]
    assert row["pil"] == pytest.approx(found["pil"].value)
    assert row["score"] == pytest.approx(found["score"].value)
    assert row["k"] == 3


def test_k_of_one_is_the_identity_and_never_the_best(known) -> None:
    compared = compare(known.experiment(), workers=1, draw=False)
    assert compared.points.loc["together k=1", "pil"] == 0.0
    assert compared.points.loc["together k=1", "distance_record_linkage"] == 100.0
    assert compared.front[-1] == "together k=1"
    assert compared.best == compared.points["score"].drop("together k=1").idxmin()
    with pytest.raises(mw.InputError, match="masks nothing"):
        compared.write_pipeline("together k=1")


def test_runs_of_a_random_cell_differ_and_their_mean_is_its_point(known) -> None:
    compared = compare(known.experiment(), workers=1, draw=False)
    runs = compared.runs[compared.runs["cell"] == "fuzzy k=5"]["pil"]
    assert runs.nunique() == 2
    assert compared.points.loc["fuzzy k=5", "pil"] == pytest.approx(runs.mean())
    assert compared.points.loc["fuzzy k=5", "pil sd"] == pytest.approx(runs.std(ddof=1))


def test_processes_and_cache_do_not_change_a_byte(study) -> None:
    path = study.experiment()
    compare(path, workers=1)
    folder = study.folder / "results"
    names = ("table.csv", "table.parquet", "map.svg", "map.png", "score.svg", "summary.txt")
    before = {name: (folder / name).read_bytes() for name in names}
    again = compare(path, workers=1)
    assert (again.computed, again.cached) == (0, 8)
    assert {name: (folder / name).read_bytes() for name in names} == before
    other = compare(path, workers=2, fresh=True)
    assert (other.computed, other.cached) == (8, 0)
    assert {name: (folder / name).read_bytes() for name in names} == before


def test_without_matplotlib_there_is_no_png_and_it_is_said(known, monkeypatch, capsys) -> None:
    """Nor one of an earlier run, which would show other figures than the table beside it."""
    path = known.experiment()
    folder = known.folder / "results"
    compare(path, workers=1)
    assert (folder / "map.png").exists()
    drawn = {name: (folder / name).read_bytes() for name in ("map.svg", "score.svg")}
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    compared = compare(path, workers=1)
    said = "PNG needs matplotlib, which is not installed; pip install 'maskwright[figures]'"
    assert compared.not_drawn == said
    assert compared.to_json()["not_drawn"] == said
    assert f"The map was drawn as SVG only: {said}." in (folder / "summary.txt").read_text()
    assert not [*folder.glob("*.png")]
    assert {name: (folder / name).read_bytes() for name in drawn} == drawn
    assert set(compared.files) >= {"csv", "parquet", "map.svg", "score.svg", "summary"}
    assert main(["compare", str(path), "--workers", "1"]) == 0
    told = capsys.readouterr()
    assert f"the map was drawn as SVG only: {said}" in " ".join(told.err.split())
    assert f"The map was drawn as SVG only: {said}." in told.out


def test_a_new_measure_is_added_to_what_is_known(known) -> None:
    compare(known.experiment(), workers=1, draw=False)
    more = compare(known.experiment(("measure: [pil,", "measure: [sse, pil,")), workers=1, draw=False)
    assert more.computed == 8
    assert more.runs["sse"].notna().all()
    less = compare(known.experiment(), workers=1, draw=False)
    assert less.cached == 8


@pytest.mark.parametrize(
    ("old", "new", "computed"),
    [
        ("wage + rent == income", "wage + rent <= income + 1", 8),  # the edits
        ("source: survey.csv", "source: survey.csv, variables: {age: {role: other}}", 8),  # what is declared
        ("seed: 7", "seed: 8", 4),  # only random cells draw from it
        ("{from: 1, to: 4}", "{from: 1, to: 5}", 1),  # one more cell
        ("partition: mdav", "partition: refine", 3),  # not the identity, nor the other family
    ],
)
def test_a_result_is_computed_again_when_what_it_rests_on_has_changed(known, old: str, new: str, computed: int) -> None:
    compare(known.experiment(), workers=1, draw=False)
    assert compare(known.experiment((old, new)), workers=1, draw=False).computed == computed


def test_other_data_are_other_results(known) -> None:
    path = known.experiment()
    compare(path, workers=1, draw=False)
    data = known.folder / "survey.csv"
    lines = data.read_text().splitlines()
    data.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    assert compare(path, workers=1, draw=False).computed == 8


def test_another_version_of_a_plugin_is_another_result(known, monkeypatch: pytest.MonkeyPatch) -> None:
    path = known.experiment()
    compare(path, workers=1, draw=False)
    version = keys_module._version
    monkeypatch.setattr(
        keys_module, "_version", lambda kind, name: version(kind, name) + ("x" if name == "microaggregation" else "")
    )
    assert compare(path, workers=1, draw=False).computed == 3


def test_a_damaged_cache_file_counts_as_absent(known) -> None:
    path = known.experiment()
    compare(path, workers=1, draw=False)
    kept = sorted((known.folder / "results" / ".cache").glob("*.json"))
    kept[0].write_text('{"measures": {"a"')
    kept[1].write_text("[]")
    assert compare(path, workers=1, draw=False).computed == 2


def test_a_run_killed_twice_goes_on_where_it_stopped(study) -> None:
    path = study.experiment(("{from: 1, to: 4}", "{from: 1, to: 9}"))
    cache = study.folder / "results" / ".cache"
    command = [sys.executable, "-m", "maskwright", "compare", str(path), "--workers", "1"]
    done = 0
    for _ in range(2):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 100
        while len(list(cache.glob("[!.]*.json"))) < done + 3 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = len(list(cache.glob("[!.]*.json")))
    assert 0 < done < 13
    resumed = compare(path, workers=1, draw=False)
    assert resumed.cached == done
    assert resumed.computed == 13 - done
    assert compare(path, workers=1, draw=False, fresh=True).runs.equals(resumed.runs)


def test_a_process_that_dies_takes_only_its_cell_with_it(study, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = study.folder / "dying.py"
    plugin.write_text(
        "import os, signal\nimport maskwright_builtin.methods.microaggregation.microaggregation as m\n"
        "protect = m.MICROAGGREGATION.protect\n"
        "def dying(block, params, rng):\n"
        "    if params.k == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return protect(block, params, rng)\n"
        "object.__setattr__(m.MICROAGGREGATION, 'protect', dying)\n"
    )
    (study.folder / "sitecustomize.py").write_text("import dying\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(study.folder), *filter(None, sys.path)]))
    compared = compare(study.experiment(), workers=2, draw=False)
    failed = compared.points[compared.points["failed"] > 0]
    assert failed.index.tolist() == ["together k=3"]
    assert "signal 9" in failed["problem"].iloc[0]


def test_a_cell_that_fails_is_in_the_table_and_the_others_go_on(study, capsys: pytest.CaptureFixture[str]) -> None:
    path = study.experiment(("{from: 1, to: 4}", "[3, 61]"))
    assert main(["compare", str(path), "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (failed,) = found["failed"]
    assert failed["cell"] == "together k=61"
    assert "60" in failed["problem"]
    table = pd.read_csv(study.folder / "results" / "table.csv").set_index("cell")
    assert table.loc["together k=61", "status"] == "failed"
    assert np.isnan(table.loc["together k=61", "pil"])
    assert table.loc["together k=3", "status"] == "ok"
    assert "together k=61" in (study.folder / "results" / "summary.txt").read_text()


def test_cells_that_fail_or_do_not_keep_every_edit_are_named_on_the_screen(study, capsys) -> None:
    """Code 0 as long as some cell can be chosen; 1 when none masks and keeps every edit."""
    broken = (
        "edits: [wage + rent == income]",
        "edits: [wage + rent == income, age <= 50]",
    )
    some = (
        "    method: fuzzy_microaggregation\n",
        "    method: fuzzy_microaggregation\n    variables: [wage, rent, income]\n",
    )
    path = study.experiment(broken, some, ("to: 4", "to: 61"), ("from: 1", "from: 59"))
    assert main(["compare", str(path), "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    assert "1 cell failed:\n  together k=61: " in out
    assert "warning: 1 of 5 cells failed: together k=61" in err
    assert "2 cells without every edit kept, neither best nor on the front:\n  fuzzy k=5: " in out
    for cell, said in (("together k=61", "it failed: "), ("fuzzy k=5", "it does not keep every edit (")):
        assert main(["compare", str(path), "--workers", "1", "--choose", cell]) == 2
        out, err = capsys.readouterr()
        assert f"{cell} cannot be chosen: {said}" in err
        assert "Next" not in out
    start, stop = study.text.index("  - family: together"), study.text.index("  - family: fuzzy")
    only = study.text[:start] + study.text[stop:]
    path = study.experiment(broken, some, text=only)
    assert main(["compare", str(path), "--workers", "1", "--json"]) == 1
    out, err = capsys.readouterr()
    assert [each["cell"] for each in json.loads(out)["violating"]] == ["fuzzy k=5", "fuzzy k=10"]
    assert "no cell masks and keeps every edit: there is nothing to choose" in err


def test_a_bug_in_a_plugin_fails_its_cells_without_telling_values(study, monkeypatch: pytest.MonkeyPatch) -> None:
    from maskwright_builtin.methods.microaggregation.microaggregation import MICROAGGREGATION

    def broken(block, params, rng):
        raise ZeroDivisionError(f"secret {block.values[0, 0]}")

    bad = Offer("method", replace(MICROAGGREGATION, protect=broken), "bad", "1.2")
    monkeypatch.setitem(plugins().methods.offers, "microaggregation", bad)
    compared = compare(study.experiment(), workers=1, draw=False)
    said = compared.points.loc["together k=3", "problem"]
    assert "method 'microaggregation' of package bad 1.2 failed" in said
    assert "ZeroDivisionError" in said
    assert "secret" not in said


def test_when_every_cell_fails_it_is_an_error(study, capsys: pytest.CaptureFixture[str]) -> None:
    text = study.text.replace("{from: 1, to: 4}", "[61]").replace("vary: {k: [5, 10]}", "vary: {k: [100]}")
    assert main(["compare", str(study.experiment(text=text)), "--workers", "1"]) == 2
    assert "every cell failed" in capsys.readouterr().err


def test_the_pipeline_of_a_cell_runs_and_gives_the_figures_of_the_table(known, capsys) -> None:
    path = known.experiment()
    assert main(["compare", str(path), "--workers", "1", "--choose", "together k=4"]) == 0
    pipeline = known.folder / "results" / "pipelines" / "together-k=4.yaml"
    assert str(pipeline) in capsys.readouterr().out
    assert main(["run", str(pipeline), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    table = pd.read_csv(known.folder / "results" / "table.csv").set_index("cell")
    for label in ("pil", "score", "distance_record_linkage"):
        assert found["measures"][label]["value"] == pytest.approx(table.loc["together k=4", label])


def test_the_pipeline_of_a_cell_finds_the_codebook_hierarchies_and_population(study) -> None:
    (study.folder / "codebook.csv").write_text("variable,label\nage,Age in years\n", encoding="utf-8")
    (study.folder / "ages.csv").write_text("".join(f"{age};young;*\n" for age in range(130)), encoding="utf-8")
    (study.folder / "census.csv").write_text((study.folder / "survey.csv").read_text(encoding="utf-8"))
    described = "source: survey.csv, codebook: codebook.csv, variables: {age: {hierarchy: ages.csv}}"
    population = "measure: [{k_map: {keys: [age], population: census.csv}}, pil"
    own = "method: microaggregation\n    variables: [wage, rent, income]"
    changes = ("source: survey.csv", described), ("measure: [pil", population), ("method: microaggregation", own)
    path = study.experiment(*changes)
    compared = compare(path, workers=1, draw=False)
    text = compared.write_pipeline("together k=4").read_text(encoding="utf-8")
    for name in ("survey.csv", "codebook.csv", "ages.csv", "census.csv"):
        assert f" ../../{name}\n" in text
    assert main(["plan", str(study.folder / "results" / "pipelines" / "together-k=4.yaml")]) != 2


def test_all_cells_are_shown_where_asked_for(known, capsys) -> None:
    path = known.experiment()
    assert main(["compare", str(path), "--workers", "1"]) == 0
    short = capsys.readouterr().out
    assert main(["compare", str(path), "--workers", "1", "--all"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name}: score " in shown for name in CELLS)
    assert "The other cells:" in shown
    assert "The other cells:" not in short


def test_the_released_seed_is_none_that_was_compared(known) -> None:
    compared = compare(known.experiment(), workers=1, draw=False)
    pipeline = compared.write_pipeline("fuzzy k=5")
    result = mw.run(pipeline)
    assert result.record["seed"] not in {seed_of(7, run) for run in range(2)}
    masked = pd.read_csv(pipeline.with_name("fuzzy-k=5-masked.csv"))
    assert not masked.empty


def test_an_experiment_without_a_seed_keeps_the_one_it_drew_to_itself(study) -> None:
    path = study.experiment(("seed: 7\n", ""))
    first = compare(path, workers=1)
    second = compare(path, workers=1)
    assert second.computed == 0
    assert first.runs.equals(second.runs)
    seed = json.loads((study.folder / "results" / ".cache" / "seed.json").read_text())["seed"]
    for file in study.folder.rglob("*"):
        if file.is_file() and file.name != "seed.json":
            assert str(seed).encode() not in file.read_bytes()
            assert str(seed_of(seed, 0)).encode() not in file.read_bytes()


def test_the_cache_is_for_its_owner_only(study) -> None:
    compare(study.experiment(), workers=1, draw=False)
    cache = study.folder / "results" / ".cache"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    files = list(cache.iterdir())
    assert len(files) == 8
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_cells_with_one_masked_file_are_run_once(study, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = []
    save = cache_module.Cache.save

    def noted(self, key, found):
        saved.append(key)
        save(self, key, found)

    monkeypatch.setattr(cache_module.Cache, "save", noted)
    twin = "  - family: twin\n    method: microaggregation\n    params: {partition: mdav, k: 3}\n  - family: fuzzy"
    compared = compare(study.experiment(("  - family: fuzzy", twin)), workers=1, draw=False)
    assert len(compared.runs) == 9
    assert len(saved) == 8
    assert compared.points.loc["twin", "pil"] == compared.points.loc["together k=3", "pil"]


def test_edit_sets_are_compared(study) -> None:
    sets = "edit_sets:\n  none: []\n  total: [wage + rent == income]"
    path = study.experiment(("edits: [wage + rent == income]", sets), ("{from: 1, to: 4}", "[3]"))
    compared = compare(path, workers=1, draw=False)
    assert compared.points.index.tolist() == [
        "together k=3 [none]", "together k=3 [total]", "fuzzy k=5 [none]", "fuzzy k=10 [none]",
        "fuzzy k=5 [total]", "fuzzy k=10 [total]",
    ]  # fmt: skip
    assert (compared.points["violations"] == 0).all()
    pipeline = compared.write_pipeline("together k=3 [total]")
    assert mw.run(pipeline).ok


@pytest.mark.parametrize(
    "limited", ["cache", "table.csv", "table.parquet", "map.svg", "map.png", "summary.txt", "pipelines"]
)
def test_a_full_disk_is_said_and_leaves_no_torn_file(known, limited: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the process are limited to a few bytes while one kind of result is written."""
    from maskwright.foundation import files

    path, draw = known.experiment(), limited.startswith("map")
    compare(path, workers=1, draw=draw)
    results = known.folder / "results"
    before = {file: file.read_bytes() for file in results.rglob("*") if file.is_file()}
    real = files.write_whole

    def full(target: Path, write, mode: int = files.PUBLIC) -> None:
        chosen = limited in str(target.relative_to(known.folder))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if chosen:
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
        try:
            real(target, write, mode)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, ignored)

    for module in ("outputs", "pictures.formats"):
        monkeypatch.setattr(f"maskwright.experiments.{module}.write_whole", full)
    monkeypatch.setattr(files, "write_whole", full)
    with pytest.raises(mw.InputError, match="cannot be written: File too large"):
        compare(path, workers=1, fresh=limited == "cache", draw=draw)
    after = {file: file.read_bytes() for file in results.rglob("*") if file.is_file()}
    assert after == before


def test_a_folder_that_cannot_be_made_is_said(study) -> None:
    (study.folder / "results").write_text("a file is in the way")
    with pytest.raises(mw.InputError, match="cannot be made"):
        compare(study.experiment(), workers=1)


# The first draw of a process gathers constants of every module, which takes a while on a busy machine.
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan])] * 2), max_size=10))
def test_the_front_holds_what_nothing_beats(points: list[tuple[float, float]]) -> None:
    found = pareto_front(np.array([risk for risk, _ in points]), np.array([loss for _, loss in points]))
    known = [point for point in points if not np.isnan(point).any()]
    for point, on_front in zip(points, found, strict=True):
        beaten = any(other[0] <= point[0] and other[1] <= point[1] and other != point for other in known)
        assert on_front == (not beaten and not np.isnan(point).any())


def test_a_cell_that_fails_says_what_to_do_and_no_value(tmp_path: Path) -> None:
    rows = "".join(f"{20 + number % 50},{100 * number}\n" for number in range(60))
    (tmp_path / "people.csv").write_text("age,gross\n" + rows, encoding="utf-8")
    (tmp_path / "experiment.yaml").write_text(
        """
        maskwright: 1
        data: {source: people.csv, variables: {age: {role: quasi_identifier}}}
        edits: [{name: minors, rule: if age < 41 then gross >= 0}]
        grid:
          - {family: means, method: microaggregation, vary: {k: [3]}}
          - {family: bands, protect: [{method: mondrian, params: {keys: [age]}}], vary: {k: [20]}}
        measure: [sse]
        seed: 1
        output: results
        """,
        encoding="utf-8",
    )
    compared = compare(tmp_path / "experiment.yaml", workers=1, draw=False)
    said = compared.failed["bands k=20"]
    assert "What to do: publish age in bands that you set, with a border at 41; or let it " in said
    assert re.search(r"\d to \d", said) is None
    assert said in (tmp_path / "results" / "summary.txt").read_text("utf-8")
