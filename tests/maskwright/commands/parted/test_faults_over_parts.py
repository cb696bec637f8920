"""Faults in every stage of a run over parts, and bad parts: the same bytes in the end, or nothing released."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from parted_world import pipeline, survey, write_parts

import maskwright as mw
from maskwright.plugins import task
from maskwright.plugins.engines import local

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from maskwright import Receipt, Stage

pytestmark = pytest.mark.usefixtures("no_sockets_of_dask")

STAGES = ("scan", "strata", "shuffle-1", "mask-0", "mask-1", "mask-2", "finish", "classes")
RECORDS = 900
EXECUTION = {"engine": "local", "block_size": 300}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("faults")
    write_parts(survey(RECORDS), found / "in", 3)
    return found


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> dict[str, str]:
    mw.run(pipeline(folder / "in", folder / "expected", execution=EXECUTION))
    return hashes(folder / "expected")


def hashes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.parquet"))}


@dataclass
class Disturbed:
    """Doing a task, with trouble the first time in each stage, or in one stage each time."""

    trouble: Callable[[Stage, str, Path], None]
    only: str = ""
    seen: list[str] = field(default_factory=list)
    original: Callable[..., Receipt] = task._worked

    def __call__(self, stage: Stage, key: str, attempt: Path) -> Receipt:
        done = self.original(stage, key, attempt)
        if stage.name == self.only or (not self.only and stage.name not in self.seen):
            self.seen.append(stage.name)
            self.trouble(stage, key, attempt)
        return done


def leave_half_behind(stage: Stage, key: str, attempt: Path) -> None:
    """What is there when a worker is killed before its work is moved into place: the engine is told of its end."""
    shutil.copytree(attempt, attempt.with_name(f"{attempt.name}-killed"))
    raise mw.TaskFailed(f"stage {stage.name}, task {key}: its process ended by signal 9")


def test_workers_that_end_in_the_middle_of_each_stage_change_nothing(
    folder: Path, tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    disturbed = Disturbed(leave_half_behind)
    monkeypatch.setattr(task, "_worked", disturbed)
    mw.run(pipeline(folder / "in", tmp_path / "out", execution=EXECUTION))
    assert set(disturbed.seen) >= set(STAGES)
    assert hashes(tmp_path / "out") == undisturbed
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "out.json"]


def twice_at_once(stage: Stage, key: str) -> Receipt:
    with ThreadPoolExecutor(2) as both:
        one, other = both.map(lambda _: task.perform(stage, key), range(2))
    assert one == other
    return one


def test_tasks_that_are_run_twice_at_once_change_nothing(
    folder: Path, tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "perform", twice_at_once)
    mw.run(pipeline(folder / "in", tmp_path / "out", execution=EXECUTION))
    assert hashes(tmp_path / "out") == undisturbed


def poison(stage: Stage, key: str, attempt: Path) -> None:
    raise ValueError("income 123456")


def fill(stage: Stage, key: str, attempt: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def exhaust(stage: Stage, key: str, attempt: Path) -> None:
    raise MemoryError


@pytest.mark.parametrize(
    ("trouble", "stages", "kind", "said"),
    [
        (poison, STAGES, mw.TaskFailed, "ValueError at test_faults_over_parts.py:[0-9]+; it was tried 3 times"),
        (fill, ["shuffle-1"], mw.ScratchFull, "no room is left on"),
        (exhaust, ["mask-1"], mw.MemoryFull, "there is not enough memory"),
    ],
)
def test_a_task_that_fails_each_time_is_named_in_any_stage_and_nothing_released(
    folder: Path, tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[Stage, str, Path], None], stages: Sequence[str], kind: type[mw.MaskwrightError], said: str,
) -> None:  # fmt: skip
    """One stage after the other; each run goes on from what the one before has finished."""
    settings = pipeline(folder / "in", tmp_path / "out", execution=EXECUTION)
    for name in stages:
        with monkeypatch.context() as patched:
            patched.setattr(task, "_worked", Disturbed(trouble, name))
            with pytest.raises(kind, match=rf"(?s)stage {name}, task [0-9-]+: {said}") as caught:
                mw.run(settings, resume=True)
        assert "123456" not in str(caught.value)
        (kept,) = tmp_path.iterdir()
        assert kept.name.startswith(".scratch-maskwright-")
    mw.run(settings | {"execution": EXECUTION | {"workers": 2}}, resume=True)
    assert hashes(tmp_path / "out") == undisturbed
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "out.json"]


@pytest.mark.parametrize("damage", ["receipt", "file"])
def test_what_is_damaged_in_any_stage_is_done_again_when_a_run_is_resumed(
    folder: Path, tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    settings = pipeline(folder / "in", tmp_path / "out", execution=EXECUTION)
    with monkeypatch.context() as patched:
        patched.setattr(task, "_worked", Disturbed(poison, STAGES[-1]))
        with pytest.raises(mw.TaskFailed):
            mw.run(settings)
    (scratch,) = tmp_path.iterdir()
    for name in STAGES[:-1]:
        done = next(each for each in sorted((scratch / name).iterdir()) if (each / "receipt.json").exists())
        others = [each for each in sorted(done.rglob("*")) if each.is_file() and each.name != "receipt.json"]
        hit = done / "receipt.json" if damage == "receipt" or not others else others[0]
        hit.write_bytes(hit.read_bytes()[:-3] + b"xxx")
    again = Disturbed(lambda *_: None)
    monkeypatch.setattr(task, "_worked", again)
    mw.run(settings, resume=True)
    assert set(again.seen) >= set(STAGES)
    assert hashes(tmp_path / "out") == undisturbed


def refused(tmp_path: Path, **changes: Any) -> str:
    """What is said of bad parts; nothing is written."""
    before = sorted(each.name for each in tmp_path.iterdir())
    with pytest.raises(mw.InputError) as caught:
        mw.run(pipeline(tmp_path / "in", tmp_path / "out", execution=EXECUTION) | changes)
    assert sorted(each.name for each in tmp_path.iterdir()) == before
    return str(caught.value)


def test_parts_of_different_schema_are_refused_with_the_column_and_both_types(tmp_path: Path) -> None:
    folder = write_parts(survey(30), tmp_path / "in", 3)
    survey(10).astype({"wages": "float64"}).to_parquet(folder / "part-1.parquet", index=False)
    said = refused(tmp_path)
    assert "part-1.parquet" in said
    assert "wages" in said
    assert "double" in said
    assert "int64" in said


@pytest.mark.parametrize("declared", [{}, {"wages": {"type": "continuous"}}])
def test_a_value_of_another_type_is_refused_with_its_part_and_row(tmp_path: Path, declared: dict[str, Any]) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        frame = survey(30, seed=number).astype({"wages": object})
        if number == 1:
            frame.loc[16, "wages"] = "plenty"
        frame.to_csv(tmp_path / "in" / f"part-{number}.csv", index=False)
    others = {name: {"role": "other"} for name in ("number", "sex", "region")}
    said = refused(tmp_path, data={"source": str(tmp_path / "in"), "variables": others | declared})
    assert "part-1.csv" in said
    assert "wages" in said
    assert "plenty" not in said


def test_a_cluster_that_does_not_answer_ends_the_run_with_nothing_written(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    write_parts(survey(30), tmp_path / "in", 2)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{found.getsockname()[1]}"
    execution = {"engine": "dask", "address": address, "connect_seconds": 0.5}
    assert f"no Dask scheduler answers at {address}" in refused(tmp_path, execution=execution)
