"""Gates of runs over parts: ``python benchmarks/scale.py [--records 1500000] [--engine processes] [--workers 2]``.

A survey of 10 numbers with 2 totals and 3 ranges, k = 5, MDAV, three variable groups, blocks of 50,000, in Parquet
files of 50,000 records, drawn file by file: N records and N / 3 over parts, N / 3 in memory. Then 100,000 records
by every engine, with workers that are killed, and resumed after the run itself was. Prints each gate with its figure
and whether it is passed. Linux only: memory is read from ``/proc``.

``--only bytes`` or ``--only cost`` runs one half; ``--scratch DIR`` names a folder with room for four times the data.
``--only large --records 20000000`` runs so many records and a twentieth of them, k = 3, and prints what both cost.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib.util
import json
import math
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GROUPS = [["wages", "tax", "gross"], ["rent", "other", "cost"], ["age", "hours", "debt", "wealth"]]
EDITS = [
    "wages + tax == gross", "rent + other == cost", "age in [0, 120]", "hours in [0, 90]", "debt in [0, 1000000000]",
]  # fmt: skip
CHUNK = 10_000
"""Records that are drawn at once: a file holds several, so that the data are the same in any number of files."""

PART = 50_000
BLOCK = 50_000
MOMENTS = ("scan", "shuffle-1", "mask-0", "mask-2", "finish")
"""Stages at whose first receipt the run is killed."""

QUIET = 0.7
"""Load from which on walls say nothing."""


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


@dataclass
class Gates:
    """Gates as they are judged."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def judge(self, title: str, gate: str, figure: str, passed: bool | None) -> None:
        """Print a gate; None is one that could not be judged here."""
        verdict = {True: "passed", False: "MISSED", None: "not judged"}[passed]
        self.rows.append((title, gate, figure, verdict))
        print(f"  {title:44} {gate:24} {figure:34} {verdict}", flush=True)


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


def survey(records: int, folder: Path, part: int = PART) -> None:
    """Write files of equal size; one is held at a time."""
    folder.mkdir()
    of_file = part // CHUNK
    for number in range(-(-records // part)):
        chunks = range(number * of_file, min((number + 1) * of_file, -(-records // CHUNK)))
        frame = pd.concat([chunk(each) for each in chunks], ignore_index=True)
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


def costs(gates: Gates, records: int, over_parts: dict[str, object], scratch: Path) -> None:
    """Time, memory and loss."""
    found: dict[str, Cost] = {}
    load = os.getloadavg()[0]
    third = max(PART, records // 3 // PART * PART)
    in_memory = {"workers": over_parts["workers"], "block_size": BLOCK}
    agrees, started = math.nan, [0.0, 0.0]
    for name, n in (("third", third), ("all", 3 * third)):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            here = Path(folder)
            survey(n, here / "in")
            print(f"{n:,} records", flush=True)
            if name == "third":
                started = [_start_of(here, "few", in_memory), _start_of(here, "few-parts", over_parts)]
                found["memory"] = cost_of(pipeline(here, "memory", dict(in_memory)))
            found[name] = cost_of(pipeline(here, "parts", dict(over_parts)))
            if name == "third":
                agrees = _agreement(here, found[name])
    one, three, memory = found["third"], found["all"], found["memory"]
    said = "" if load < QUIET else f" (load {load:.0f})"
    print(f"Costs; CPU seconds are what counts{said}")
    ratio = one.cpu / memory.cpu
    gates.judge("CPU against the run in memory", "<= 1.15", f"{ratio:.2f}{said}", ratio <= 1.15)
    apart = (one.cpu - started[1]) / (memory.cpu - started[0])
    print(f"  apart from starting, {started[1]:.1f} s over parts and {started[0]:.1f} s in memory: {apart:.2f}")
    exponent = math.log(three.cpu / one.cpu, 3)
    gates.judge("exponent of CPU", "<= 1.10", f"{exponent:.2f}{said}", exponent <= 1.10)
    busy = three.cpu / three.wall
    is_free = load < QUIET and int(str(over_parts["workers"])) == 2
    gates.judge("CPU / wall, 2 workers on free cores", ">= 1.6", f"{busy:.2f}{said}", busy >= 1.6 if is_free else None)
    limit = 300 + 0.7 * three.largest / 1000
    most = three.worker or three.leader
    gates.judge("peak of a worker", f"<= {limit:.0f} MB", f"{most:.0f} MB", most <= limit)
    growth = most / (one.worker or one.leader) - 1
    gates.judge("growth of the peak, n x 3", "<= 10 %", f"{growth:+.1%}", growth <= 0.10)
    loss = one.sse / memory.sse - 1
    gates.judge("sse against the exact cut", "<= +5 %", f"{loss:+.1%}", loss <= 0.05)
    gates.judge("measures against the same file in memory", "<= 1e-9", f"{agrees:.1e}", agrees <= 1e-9)
    print(f"  leader: {one.leader:.0f} MB, with three times the records {three.leader:.0f} MB")


def _start_of(here: Path, name: str, execution: dict[str, object]) -> float:
    """Processor seconds of a run of next to no records, once all is compiled."""
    if not (here / "few-in").exists():
        survey(CHUNK // 10, here / "few-in")
    for again in ("compiling", name):
        found = cost_of(pipeline(here, again, dict(execution), "few-in"))
    return found.cpu


def _agreement(here: Path, found: Cost) -> float:
    """Largest relative difference between measures over parts and those of the same files in memory."""
    import maskwright as mw

    names = [name for group in GROUPS for name in group]
    labels = list(found.record["measures"])
    original, masked = (pd.concat(map(pd.read_parquet, sorted((here / each).glob("*.parquet")))) for each in
                        ("in", "parts"))  # fmt: skip
    asked = [name for name in ("sse", "il1s", "higher_moments", "pil") if name in labels]
    expected = mw.measure(original[names].reset_index(drop=True), masked[names].reset_index(drop=True), asked)
    differences = [
        abs(found.record["measures"][name]["value"] - each.value) / max(abs(each.value), 1e-300)
        for name, each in expected.items()
        if each.value is not None
    ]
    if "pil" not in asked:
        print("  pil is not measured over parts")
    return float(max(differences))


def large(gates: Gates, records: int, over_parts: dict[str, object], scratch: Path) -> None:
    """Time and memory of a file that is too large for the memory of many machines, and of a twentieth of it."""
    found = []
    for n in (max(PART, records // 20 // PART * PART), records):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            here = Path(folder)
            survey(n, here / "in")
            print(f"{n:,} records", flush=True)
            path = pipeline(here, "parts", over_parts, k=3)
            settings = yaml.safe_load(path.read_text(encoding="utf-8"))
            settings["measure"] = ["sse", "il1s", "pil"]
            path.write_text(yaml.safe_dump(settings), encoding="utf-8")
            found.append((n, cost_of(path)))
            print(f"  {found[-1][1].record['seconds']}", flush=True)
    (few, one), (many, other) = found
    times = many / few
    most, before = other.worker or other.leader, one.worker or one.leader
    exponent, memory = math.log(other.cpu / one.cpu, times), math.log(most / before, times)
    gates.judge("peak of a worker", "<= 800 MB", f"{most:.0f} MB", most <= 800)
    gates.judge("exponent of CPU", "<= 1.05", f"{exponent:.2f}", exponent <= 1.05)
    gates.judge("exponent of the peak of a worker", "<= 0.1", f"{memory:.2f}", memory <= 0.1)
    print(f"  leader: {one.leader:.0f} MB, with {times:.0f} times the records {other.leader:.0f} MB")


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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_500_000, help="of the largest run")
    parser.add_argument("--engine", default="processes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=("cost", "bytes", "large"))
    parser.add_argument("--scratch", type=Path, help="folder for data and results")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    over_parts = {"engine": options.engine, "workers": options.workers, "block_size": BLOCK}
    gates = Gates()
    if options.only == "large":
        large(gates, options.records, over_parts, options.scratch)
    if options.only in (None, "cost"):
        costs(gates, options.records, over_parts, options.scratch)
    if options.only in (None, "bytes"):
        same_bytes(gates, options.scratch)
    missed = [title for title, _, _, verdict in gates.rows if verdict == "MISSED"]
    print(f"{len(gates.rows)} gates, {len(missed)} missed{': ' if missed else ''}{', '.join(missed)}")


if __name__ == "__main__":
    main()
