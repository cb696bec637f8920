"""The same bytes by every engine, whatever happens to it: workers that are killed, runs that are resumed."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from scale_runs import CHUNK, ended, family, peak, pipeline, start, survey

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from scale_gates import Gates

MOMENTS = ("scan", "shuffle-1", "mask-0", "mask-2", "finish")
"""Stages at whose first receipt the run is killed."""


def fingerprint(folder: Path, name: str) -> str:
    """SHA-256 of all that a run released, and of its measures."""
    digest = hashlib.sha256()
    for file in sorted((folder / name).iterdir()):
        digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    digest.update(json.dumps(record["measures"], sort_keys=True).encode())
    return digest.hexdigest()


def same_bytes(gates: Gates, scratch: Path) -> None:
    """The same bytes by every engine, whatever happens to it."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        here = Path(folder)
        survey(10 * CHUNK, here / "in", CHUNK)
        survey(10 * CHUNK, here / "two", 5 * CHUNK)
        print("Same bytes and measures: 100,000 records in 10 files, blocks of 10,000")
        expected = ""
        for name, execution, happening in _cases():
            path = pipeline(here, name, {**execution, "block_size": CHUNK})
            note = happening(path)
            said = fingerprint(here, name)
            expected = expected or said
            gates.judge(f"{name}{note}", "same SHA-256", said[:16], said == expected)
        path = pipeline(here, "two-files", {"engine": "local", "workers": 1, "block_size": CHUNK}, "two")
        ended(start(path), path)
        frames = [
            pd.concat(map(pd.read_parquet, sorted((here / each).glob("*.parquet"))), ignore_index=True)
            for each in ("local-1", "two-files")
        ]
        gates.judge("values with 2 or 10 files", "equal", f"{len(frames[0]):,} records", frames[0].equals(frames[1]))


def _cases() -> Iterator[tuple[str, dict[str, object], Callable[[Path], str]]]:
    has_dask = importlib.util.find_spec("distributed") is not None
    engines = [("local", (1, 2)), ("processes", (1, 2, 4)), *([("dask", (1, 2, 4))] if has_dask else [])]
    for engine, workers in engines:
        for each in workers:
            yield f"{engine}-{each}", {"engine": engine, "workers": each}, undisturbed
    two: dict[str, object] = {"engine": "processes", "workers": 2}
    yield "generic-kernels", two, lambda path: undisturbed(path, NUMBA_CPU_NAME="generic")
    yield "killed-worker", two, killed_worker
    if has_dask:
        yield "killed-worker-dask", {"engine": "dask", "workers": 2}, killed_worker
    for moment in MOMENTS:
        yield f"resumed-{moment}", two, functools.partial(resumed, moment=moment)


def undisturbed(path: Path, **environment: str) -> str:
    """A run that nothing happens to."""
    ended(start(path, **environment), path)
    return ""


def killed_worker(path: Path) -> str:
    """A run one of whose workers is killed while it masks."""
    process = start(path)
    note = "" if _reached(process, path, "mask-0") else " (nothing to kill)"
    workers = [each for each in family(process.pid) if each != process.pid and _works(each)]
    if workers:
        os.kill(workers[-1], signal.SIGKILL)
    ended(process, path)
    return note


def _works(pid: int) -> bool:
    """Whether a process takes tasks: the last one started has no memory of its own yet, or watches others."""
    return peak(pid) > 100_000


def resumed(path: Path, moment: str) -> str:
    """A run that is killed at a stage, and resumed."""
    process = start(path)
    note = "" if _reached(process, path, moment) else " (ended before)"
    process.kill()
    process.wait()
    if not note:
        # Its workers end by themselves; the lock of the scratch folder is theirs until then.
        time.sleep(2)
        ended(start(path, "--resume"), path)
    return note


def _reached(process: subprocess.Popen[bytes], path: Path, stage: str) -> bool:
    """Wait for the first receipt of a stage."""
    while process.poll() is None:
        if any(path.parent.glob(f".scratch-maskwright-*/{stage}/*/receipt.json")):
            return True
        time.sleep(0.005)
    return False
