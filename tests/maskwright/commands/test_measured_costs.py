"""Plans go by what earlier runs on the machine took; what cannot be kept is ignored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.running import measured_costs
from maskwright.commands.running.measured_costs import MachineRecord, correction_of, kernels_to_compile, note_run
from maskwright.planning.costs import Costs, StageCost

if TYPE_CHECKING:
    from pathlib import Path

COSTS = Costs(1000, (StageCost("read", 1.0, 1.0), StageCost("mask", 1.0, 3.0)))
OTHERS = Costs(1000, (StageCost("read", 1.0, 3.0), StageCost("mask", 1.0, 1.0)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(measured_costs.ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.setattr(measured_costs, "_speed", lambda: 2.0)
    monkeypatch.setattr(measured_costs, "_has_compiled", lambda: False)
    return tmp_path / "cache"


def _ran(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
    for each in seconds:
        monkeypatch.setattr(measured_costs, "processor_seconds", lambda taken=each: taken)
        note_run(COSTS, 0.0, ["mdav"])


def test_runs_of_a_kind_correct_what_is_expected_of_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (correction_of(COSTS).ratio, correction_of(COSTS).basis) == (2.0, "not yet measured on this machine")
    _ran(monkeypatch, 16.0)
    # The speed of the machine counts as one run.
    assert correction_of(COSTS).ratio == 3.0
    assert correction_of(COSTS).basis == "as 1 earlier run on this machine took"
    _ran(monkeypatch, 12.0, 12.0, 60.0)
    assert correction_of(COSTS).ratio == 3.0
    assert correction_of(COSTS).basis == "as 4 earlier runs on this machine took"
    assert correction_of(OTHERS).basis == "not yet measured on this machine"
    assert [path.suffix for path in folder.iterdir()] == [".json"]


def test_only_the_last_runs_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _ran(monkeypatch, *[4.0] * 70, *[8.0] * 25)
    (path,) = folder.iterdir()
    assert len(json.loads(path.read_text())["runs"]) == measured_costs.MOST_KEPT
    assert correction_of(COSTS).ratio == 2.0


def test_a_run_that_was_not_the_first_work_of_its_process_says_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured_costs, "processor_seconds", lambda: 100.0)
    note_run(COSTS, 90.0, [])
    assert not folder.exists()
    monkeypatch.setattr(measured_costs, "_has_compiled", lambda: True)
    note_run(COSTS, 0.0, [])
    assert not folder.exists()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"runs": 3}', '{"version": "0", "speed": "x", "runs": [], "compiled": []}',
     '{"version": "0.0", "speed": 9, "runs": [["mask", 1, 9]], "compiled": []}', "\x00", "[" * 10_000],
)  # fmt: skip
def test_a_broken_or_older_file_is_replaced(folder: Path, content: str) -> None:
    correction_of(COSTS)
    (path,) = folder.iterdir()
    path.write_text(content)
    assert correction_of(COSTS).ratio == 2.0
    assert json.loads(path.read_text())["speed"] == 2.0


def test_a_folder_that_cannot_be_made_is_no_obstacle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_text("a file")
    _ran(monkeypatch, 16.0)
    assert correction_of(COSTS).ratio == 2.0


def test_nothing_is_kept_where_the_variable_is_empty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(measured_costs.ENVIRONMENT, "")
    _ran(monkeypatch, 16.0)
    assert (correction_of(COSTS).ratio, correction_of(COSTS).basis) == (1.0, "")
    assert not folder.exists()


def test_the_file_holds_no_names_and_no_values(folder: Path, tmp_path: Path) -> None:
    pd.DataFrame({"secretive": [1000 + 7 * each % 90 for each in range(60)]}).to_csv(
        tmp_path / "hidden.csv", index=False
    )
    step = {"method": "rounding", "params": {"base": 5}, "variables": ["secretive"]}
    mw.run({
        "maskwright": 1, "data": {"source": str(tmp_path / "hidden.csv")},
        "protect": [step], "output": {"data": str(tmp_path / "out.csv")}, "seed": 1,
    })  # fmt: skip
    (path,) = folder.iterdir()
    found = json.loads(path.read_text())
    assert set(found) == set(vars(MachineRecord()))
    assert found["compiled"][-1].endswith(" 2")
    assert not any(word in path.read_text() for word in ("secretive", "hidden", str(tmp_path)))


def test_kernels_that_no_cache_has_are_named_until_a_run_used_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = [
        ("mdav", "maskwright_builtin.partitions.mdav.partition"),
        ("rounding", "maskwright_builtin.methods.rounding"),
    ]
    mw.find_partition("mdav")
    monkeypatch.setattr(measured_costs, "_is_cached", lambda source: False)
    found = kernels_to_compile(named, 1000)
    assert found.plugins == ("mdav",)
    assert 2 < found.seconds < 100
    note_run(COSTS, 0.0, ["mdav"])
    assert kernels_to_compile(named, 9999).plugins == ()
    # Many records may be searched in another way.
    assert kernels_to_compile(named, 100_000).plugins == ("mdav",)
    monkeypatch.setattr(measured_costs, "_is_cached", lambda source: True)
    assert kernels_to_compile([("refine", "maskwright_builtin.partitions.refine.partition")], 1000).seconds == 0
