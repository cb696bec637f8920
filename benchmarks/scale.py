"""Runs over parts: ``python benchmarks/scale.py [--records 300000] [--engine processes] [--workers 2]``.

A survey of 10 numbers with 2 totals and 3 ranges, k = 5, MDAV, three variable groups, blocks of 50,000, in Parquet
files of 50,000 records: n and 3 n over parts, n in memory. Prints processor seconds, the largest memory of a
worker and of the process that leads, the exponent of growth, and ratios to the run in memory. Linux only: memory is
read from ``/proc``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

GROUPS = [["wages", "tax", "gross"], ["rent", "other", "cost"], ["age", "hours", "debt", "wealth"]]
EDITS = [
    "wages + tax == gross", "rent + other == cost", "age in [0, 120]", "hours in [0, 90]", "debt in [0, 1000000000]",
]  # fmt: skip
PART = 50_000


@dataclass(frozen=True)
class Cost:
    """Of one run: seconds, megabytes, and the loss."""

    wall: float
    cpu: float
    leader: float
    worker: float
    sse: float


def survey(records: int, folder: Path) -> None:
    """Write parts of equal size; each is drawn by itself."""
    folder.mkdir()
    for number in range(math.ceil(records / PART)):
        rng = np.random.default_rng([1, number])
        n = min(PART, records - number * PART)
        wages, tax = np.rint(rng.lognormal(8, 1, n)), np.rint(rng.lognormal(6, 1, n))
        rent, other = np.rint(rng.lognormal(6, 1, n)), np.rint(rng.lognormal(5, 1, n))
        columns = {
            "wages": wages, "tax": tax, "gross": wages + tax, "rent": rent, "other": other, "cost": rent + other,
            "age": rng.integers(0, 100, n), "hours": rng.integers(0, 80, n),
            "debt": np.rint(rng.lognormal(7, 1.5, n)), "wealth": np.rint(rng.lognormal(9, 1.5, n)),
        }  # fmt: skip
        frame = pd.DataFrame({name: np.asarray(values, dtype=np.int64) for name, values in columns.items()})
        frame.to_parquet(folder / f"part-{number}.parquet", index=False)


def run(folder: Path, name: str, execution: dict[str, object]) -> Cost:
    """Run the pipeline in a process of its own, and watch its memory and that of its workers."""
    settings = {
        "maskwright": 1, "data": {"source": "in"}, "edits": EDITS,
        "protect": [{"method": "microaggregation", "params": {"k": 5, "partition": "mdav"}, "groups": GROUPS}],
        "measure": ["sse", "il1s", "higher_moments"], "output": {"data": f"{name}/", "record": f"{name}.json"},
        "execution": execution, "seed": 1,
    }  # fmt: skip
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    start, before = time.perf_counter(), os.times()
    leader = subprocess.Popen(
        [sys.executable, "-m", "maskwright", "run", str(folder / f"{name}.yaml"), "--quiet"], stdout=subprocess.DEVNULL
    )
    peaks: dict[int, int] = {}
    while leader.poll() is None:
        for pid in _family(leader.pid):
            peaks[pid] = max(peaks.get(pid, 0), _peak(pid))
        time.sleep(0.2)
    if leader.returncode:
        raise SystemExit(f"the run {name} ended with {leader.returncode}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    workers = [peak for pid, peak in peaks.items() if pid != leader.pid]
    record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return Cost(
        time.perf_counter() - start, cpu, peaks[leader.pid] / 1024, max(workers, default=0) / 1024,
        record["measures"]["sse"]["value"],
    )  # fmt: skip


def _family(pid: int) -> list[int]:
    """A process and what it has started."""
    found = [pid]
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        tasks = [int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in _children(task)]
    except OSError:
        return found
    for child in {*map(int, children), *tasks}:
        found += _family(child)
    return found


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text(encoding="ascii").split()
    except OSError:
        return []


def _peak(pid: int) -> int:
    """Largest resident memory so far, in kB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--engine", default="processes")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    over_parts = {"engine": options.engine, "workers": options.workers, "block_size": 50_000}
    found: dict[str, Cost] = {}
    for factor in (1, 3):
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            survey(options.records * factor, here / "in")
            if factor == 1:
                found["in memory"] = run(here, "memory", {"workers": options.workers, "block_size": 50_000})
            found[f"{factor} n"] = run(here, "parts", dict(over_parts))
    for name, cost in found.items():
        print(
            f"{name:10}  wall {cost.wall:7.1f} s  CPU {cost.cpu:7.1f} s  leader {cost.leader:5.0f} MB  "
            f"worker {cost.worker:5.0f} MB  sse {cost.sse:.5f}"
        )
    one, three = found["1 n"], found["3 n"]
    print(f"CPU against in memory: {one.cpu / found['in memory'].cpu:.2f}")
    print(f"exponent of CPU: {math.log(three.cpu / one.cpu, 3):.2f}; of a worker's memory: "
          f"{math.log(three.worker / max(one.worker, 1), 3) if one.worker else math.nan:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
