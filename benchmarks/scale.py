"""Gates of runs over parts: ``python benchmarks/scale.py [--records 1500000] [--engine processes] [--workers 2]``.

A survey of 10 numbers with 2 totals and 3 ranges, k = 5, MDAV, three variable groups, blocks of 50,000, in Parquet
files of 50,000 records, drawn file by file: N records and N / 3 over parts, N / 3 in memory. Then 100,000 records
by every engine, with workers that are killed, and resumed after the run itself was. Prints each gate with its figure
and whether it is passed. Linux only: memory is read from ``/proc``.

``--only bytes`` or ``--only cost`` runs one half; ``--scratch DIR`` names a folder with room for four times the data.
``--only large --records 20000000`` runs so many records and a twentieth of them, k = 3, and prints what both cost.
``--only loss`` masks eight surveys of 400,000 records both ways, and compares their squared errors.
``--only intervals`` masks 50 surveys of 20,000 records, and counts the intervals of sampled linkage that hold.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import tempfile
from pathlib import Path

import pandas as pd
import yaml
from scale_bytes import same_bytes
from scale_gates import Gates
from scale_intervals import intervals
from scale_loss import losses
from scale_runs import BLOCK, CHUNK, GROUPS, PART, Cost, cost_of, pipeline, survey

QUIET = 0.7
"""Load from which on walls say nothing."""


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
    print(f"  sse against the exact cut {loss:+.1%}, of this one survey; --only loss judges several")
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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_500_000, help="of the largest run")
    parser.add_argument("--engine", default="processes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=("cost", "bytes", "large", "intervals", "loss"))
    parser.add_argument("--scratch", type=Path, help="folder for data and results")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    over_parts = {"engine": options.engine, "workers": options.workers, "block_size": BLOCK}
    gates = Gates()
    if options.only == "large":
        large(gates, options.records, over_parts, options.scratch)
    if options.only in (None, "cost"):
        costs(gates, options.records, over_parts, options.scratch)
    if options.only == "intervals":
        intervals(gates, options.scratch)
    if options.only in (None, "loss"):
        losses(gates, over_parts, options.scratch)
    if options.only in (None, "bytes"):
        same_bytes(gates, options.scratch)
    missed = [title for title, _, _, verdict in gates.rows if verdict == "MISSED"]
    print(f"{len(gates.rows)} gates, {len(missed)} missed{': ' if missed else ''}{', '.join(missed)}")


if __name__ == "__main__":
    main()
