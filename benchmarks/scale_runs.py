"""A survey in parts, pipelines that mask it, and runs whose time and memory are watched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

GROUPS = [["wages", "tax", "gross"], ["rent", "other", "cost"], ["age", "hours", "debt", "wealth"]]
EDITS = [
    "wages + tax == gross", "rent + other == cost", "age in [0, 120]", "hours in [0, 90]", "debt in [0, 1000000000]",
]  # fmt: skip
CHUNK = 10_000
"""Records that are drawn at once: a file holds several, so that the data are the same in any number of files."""

PART = 50_000
BLOCK = 50_000


@dataclass(frozen=True)
class Cost:
    """Of one run: seconds, megabytes, and what its record says."""

    wall: float
    cpu: float
    leader: float
    worker: float
    record: dict[str, Any]

    @property
    def sse(self) -> float:
        """Loss."""
        return float(self.record["measures"]["sse"]["value"])

    @property
    def largest(self) -> int:
        """Records of the largest part or block."""
        groups = (self.record.get("cut") or {}).get("groups", [])
        return max(PART, *(int(each["largest"]) for each in groups))


def chunk(number: int) -> pd.DataFrame:
    """Records number * CHUNK and following of the survey."""
    rng = np.random.default_rng([1, number])
    wages, tax = np.rint(rng.lognormal(8, 1, CHUNK)), np.rint(rng.lognormal(6, 1, CHUNK))
    rent, other = np.rint(rng.lognormal(6, 1, CHUNK)), np.rint(rng.lognormal(5, 1, CHUNK))
    columns = {
        "wages": wages, "tax": tax, "gross": wages + tax, "rent": rent, "other": other, "cost": rent + other,
        "age": rng.integers(0, 100, CHUNK), "hours": rng.integers(0, 80, CHUNK),
        "debt": np.rint(rng.lognormal(7, 1.5, CHUNK)), "wealth": np.rint(rng.lognormal(9, 1.5, CHUNK)),
    }  # fmt: skip
    return pd.DataFrame({name: np.asarray(values, dtype=np.int64) for name, values in columns.items()})


def survey(records: int, folder: Path, part: int = PART, first: int = 0) -> None:
    """Write files of equal size, of the chunks from `first` on; one is held at a time."""
    folder.mkdir()
    of_file = part // CHUNK
    for number in range(-(-records // part)):
        chunks = range(number * of_file, min((number + 1) * of_file, -(-records // CHUNK)))
        frame = pd.concat([chunk(first + each) for each in chunks], ignore_index=True)
        frame = frame.head(records - number * part)
        frame.to_parquet(folder / f"part-{number:05}.parquet", index=False)


def pipeline(folder: Path, name: str, execution: dict[str, object], source: str = "in", k: int = 5) -> Path:
    """A pipeline that writes `name`."""
    settings = {
        "maskwright": 1, "data": {"source": source}, "edits": EDITS,
        "protect": [{"method": "microaggregation", "params": {"k": k, "partition": "mdav"}, "groups": GROUPS}],
        "measure": ["sse", "il1s", "higher_moments", *_over_parts("pil")],
        "output": {"data": f"{name}/", "record": f"{name}.json"},
        "execution": execution, "seed": 1,
    }  # fmt: skip
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


def _over_parts(name: str) -> list[str]:
    from maskwright.plugins.registry import plugins

    return [name] if plugins().measures[name].merging is not None else []


def start(path: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """A run in a process of its own, which keeps compiled modules as an installed package does."""
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "maskwright-pyc")}
    command = [sys.executable, "-m", "maskwright", "run", str(path), "--quiet", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **kept, **environment})


def cost_of(path: Path) -> Cost:
    """Run a pipeline, and watch its memory and that of its workers."""
    begin, before = time.perf_counter(), os.times()
    leader = start(path)
    peaks: dict[int, int] = {}
    while leader.poll() is None:
        for pid in family(leader.pid):
            peaks[pid] = max(peaks.get(pid, 0), peak(pid))
        time.sleep(0.2)
    ended(leader, path)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    workers = [each for pid, each in peaks.items() if pid != leader.pid]
    record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    found = Cost(
        time.perf_counter() - begin, cpu, peaks[leader.pid] * 1024e-6, max(workers, default=0) * 1024e-6, record
    )  # fmt: skip
    print(f"  {path.stem:10} CPU {found.cpu:8.1f} s  wall {found.wall:8.1f} s  leader {found.leader:6.0f} MB  "
          f"worker {found.worker:6.0f} MB  sse {found.sse:.5f}", flush=True)  # fmt: skip
    return found


def ended(process: subprocess.Popen[bytes], path: Path) -> None:
    """Wait for a run that has to end well."""
    if process.wait():
        raise SystemExit(f"the run {path.stem} ended with {process.returncode}")


def family(pid: int) -> list[int]:
    """A process and what it has started."""
    found = [pid]
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return found
    for child in {int(each) for task in tasks for each in _children(task)}:
        found += family(child)
    return found


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text(encoding="ascii").split()
    except OSError:
        return []


def peak(pid: int) -> int:
    """Largest resident memory so far, in units of 1024 bytes given as kB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
