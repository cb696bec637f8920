"""Processes give the same bytes as threads; one that is killed, or a method that cannot be sent, is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maskwright.cli.main import main

sys.path.insert(0, str(Path(__file__).parents[1] / "plugins"))
from installing import in_folder

# Pipes to processes that are killed are left to the collector of what nobody needs.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PLUGIN = '''
"""Methods in pure Python."""
import os, signal, sys
import numpy as np
from pydantic import BaseModel
import maskwright as mw

CONTRACT = 2


class Refused(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def noisy(block, params, rng):
    """Moves every cell, one by one, tells how far it is, and prints."""
    values = block.values.copy()
    for row in range(block.n):
        block.progress(row / block.n)
        for column in range(block.p):
            values[row, column] += rng.normal() * block.scale[column]
    print("a line on standard output")
    return mw.Masked(values, block.missing.copy(), notes={"process": 0 * os.getpid(), "calls": 1})


def dies(block, params, rng):
    if block.values[0, 0] > 0 and os.getpid() != int(os.environ["TESTS"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return mw.Masked(block.values, block.missing)


def refuses(block, params, rng):
    raise mw.InputError("this block is not for me")


def writes(block, params, rng):
    block.values[0, 0] = 0.0
    return mw.Masked(block.values, block.missing)


def fails(block, params, rng):
    raise Refused("secret 4711", 2)


def counts(block, params, rng):
    path = os.environ["SEEN"]
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\\n")
    return noisy(block, params, rng)


@mw.hookimpl
def register_methods():
    found = [mw.Method(name=f.__name__, protect=f) for f in (noisy, dies, refuses, writes, fails, counts)]
    closure = lambda block, params, rng: mw.Masked(block.values, block.missing)
    return [*found, mw.Method(name="closure", protect=closure)]
'''

PIPELINE = """
maskwright: 1
data: {{source: data.csv}}
protect:
  - method: {method}
output: {{data: masked.csv}}
seed: 3
execution: {{{execution}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    pd.DataFrame(rng.normal(size=(240, 3)).round(3), columns=["a", "b", "c"]).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "slowly.py").write_text(PLUGIN)
    info = tmp_path / "slowly-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slowly\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[maskwright]\nslowly = slowly\n")
    return tmp_path


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    returncode: int
    stderr: str


Run = Callable[[str, str], Done]


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Function that runs a pipeline as the command does; the masked file of an earlier run is gone."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SEEN", str(folder / "seen.txt"))
    monkeypatch.setenv("TESTS", str(os.getpid()))

    def ran(method: str, execution: str) -> Done:
        (folder / "masked.csv").unlink(missing_ok=True)
        (folder / "pipeline.yaml").write_text(PIPELINE.format(method=method, execution=execution))
        capsys.readouterr()
        with in_folder(monkeypatch, folder):
            code = main(["run", "pipeline.yaml", "--quiet"])
        return Done(code, capsys.readouterr().err)

    return ran


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"__pycache__"}


WAYS = ("block_size: 40", "block_size: 40, workers: 3", "block_size: 40, workers: 2, processes: true")
MORE_WAYS = ("block_size: 40", "block_size: 40, processes: true", "block_size: 40, workers: 5, processes: true")


@pytest.mark.parametrize("ways", [WAYS, pytest.param(MORE_WAYS, marks=pytest.mark.slow)], ids=["few", "more"])
def test_threads_and_processes_give_the_same_bytes(folder: Path, run: Run, ways: tuple[str, ...]) -> None:
    found = set()
    for execution in ways:
        done = run("noisy", execution)
        assert done.returncode == 0, done.stderr
        found.add((folder / "masked.csv").read_bytes())
    assert len(found) == 1


def test_the_blocks_are_masked_in_processes_of_their_own(folder: Path, run: Run) -> None:
    done = run("counts", "block_size: 40, workers: 2, processes: true")
    assert done.returncode == 0, done.stderr
    seen = (folder / "seen.txt").read_text().split()
    assert len(seen) >= 6
    assert len(set(seen)) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by a signal")
def test_a_killed_worker_names_its_step_and_leaves_nothing(folder: Path, run: Run) -> None:
    before = left(folder)
    done = run("dies", "block_size: 40, workers: 2, processes: true")
    assert done.returncode == 3
    assert "step 1 (dies): a process that masked a block ended by signal 9, and nothing is released" in done.stderr
    assert left(folder) == before | {"pipeline.yaml"}


def test_what_a_method_raises_is_raised_here(folder: Path, run: Run) -> None:
    done = run("refuses", "block_size: 40, workers: 2, processes: true")
    assert done.returncode == 2
    assert "step 1 (refuses): this block is not for me" in done.stderr
    done = run("writes", "block_size: 40, workers: 2, processes: true")
    assert done.returncode != 0
    assert "read-only" in done.stderr
    done = run("fails", "block_size: 40, workers: 2, processes: true")
    assert done.returncode == 3
    assert "4711" not in done.stderr


def test_a_method_that_cannot_be_sent_is_refused_by_name(folder: Path, run: Run) -> None:
    done = run("closure", "block_size: 40, workers: 2, processes: true")
    assert done.returncode == 2
    assert "step 1: method 'closure' of package slowly 1.2 cannot be run in processes: it cannot be pickled" in (
        " ".join(done.stderr.split())
    )
    assert run("closure", "block_size: 40, workers: 2").returncode != 2
