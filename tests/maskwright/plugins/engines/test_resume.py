"""A run that is killed with all its processes is resumed from what is finished, and ends with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_local_engines import files_in
from toy_run import KEYS

HERE = Path(__file__).parent
pytestmark = pytest.mark.usefixtures("no_sockets_of_dask")


def begin(folder, name, workers, *more):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(HERE / "toy_run.py"), str(folder), name, str(workers), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment)


def lines(folder):
    log = folder / "log"
    return log.read_text().split() if log.exists() else []


def killed_after(folder, name, workers, tasks):
    """A run that is killed with all its processes while so many tasks have left a line: it waits for that."""
    (folder / "halt").write_text(str(tasks))
    process = begin(folder, name, workers)
    end = time.monotonic() + 120
    while len(lines(folder)) < tasks and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (folder / "halt").unlink()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    process = begin(folder, "local", 1)
    assert process.communicate()[0] == ""
    assert process.returncode == 0
    return files_in(folder / "out")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(
    ("name", "workers", "tasks"),
    [("processes", 2, 1), ("processes", 2, 23), ("local", 2, 7), ("dask", 2, 9)],
)
def test_a_killed_run_is_resumed(tmp_path, undisturbed, name, workers, tasks):
    if name == "dask":
        pytest.importorskip("distributed")
    killed_after(tmp_path, name, workers, tasks)
    assert not (tmp_path / "out").exists()
    time.sleep(0.5)  # workers that are left notice that nobody asks any more
    done = sum(path.parent.name[0] != "." for path in tmp_path.glob(".scratch-*/*/*/receipt.json"))
    before = len(lines(tmp_path))
    process = begin(tmp_path, name, workers, "--resume")
    said = process.communicate()[0]
    assert process.returncode == 0
    assert "resuming from" in said
    assert files_in(tmp_path / "out") == undisturbed
    assert len(lines(tmp_path)) - before == 2 * len(KEYS) - done
    assert not list(tmp_path.glob(".scratch-*"))


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_without_resume_what_is_left_is_removed_with_a_notice(tmp_path, undisturbed):
    killed_after(tmp_path, "local", 1, 5)
    (left,) = tmp_path.glob(".scratch-*")
    before = len(lines(tmp_path))
    process = begin(tmp_path, "local", 1)
    assert f"removed {left}" in process.communicate()[0]
    assert files_in(tmp_path / "out") == undisturbed
    assert len(lines(tmp_path)) - before == 2 * len(KEYS)
    assert not list(tmp_path.glob(".scratch-*"))


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_workers_end_with_the_process_that_started_them(tmp_path):
    process = begin(tmp_path, "processes", 2)
    while not lines(tmp_path):
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("only Linux lists the children of a process")
    workers = [
        pid for task in Path(f"/proc/{process.pid}/task").iterdir() for pid in (task / "children").read_text().split()
    ]
    assert workers
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [
        pid for pid in workers if Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
