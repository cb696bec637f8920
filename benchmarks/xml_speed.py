"""How fast XML is read and written beside expat and the disk: ``python benchmarks/xml_speed.py [--records 1000000]``.

The example survey. Reading beside expat (pyexpat) parsing the same file, with handlers that do nothing and without any:
processor seconds of all threads. Writing beside the disk, which is given the same bytes in blocks of 4 MB; both end
with fsync: seconds by the clock, best of the repeats, in turns. The goal is a ratio of 0.5: half of their speed.

`cells` is the text of every cell, in columns; `read` is `mw.read`: numbers, types and doubts as well. `texts` writes
cells whose text is there already; `data` makes the text from the numbers, one batch ahead in a thread. On a machine
with other work the clock says little of it: then see its processor seconds, which two processors share.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

import maskwright as mw
from maskwright.commands.demo.files import write_demo
from maskwright.data.published import published_batches
from maskwright.foundation.progress import silent
from maskwright.plugins.registry import find_source

if TYPE_CHECKING:
    from collections.abc import Callable

RECORD = "Household"
BLOCK = 1 << 22
GOAL = 0.5


def parsed(path: Path, *, with_handlers: bool) -> None:
    """Parse a file with expat, to no purpose."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    if with_handlers:
        parser.StartElementHandler = lambda name, attributes: None
        parser.EndElementHandler = lambda name: None
        parser.CharacterDataHandler = lambda text: None
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            parser.Parse(block, False)
    parser.Parse(b"", True)


def cells(path: Path) -> int:
    """Read the cells of a file as texts; the number of records."""
    source = find_source("xml")
    reading = source.open(path, source.params(record=RECORD), silent)
    return sum(batch.num_rows for batch in reading.batches())


def synced(path: Path) -> None:
    """Wait until a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def copied(content: memoryview, path: Path) -> None:
    """Write bytes as fast as the disk takes them."""
    with path.open("wb") as file:
        for start in range(0, len(content), BLOCK):
            file.write(content[start : start + BLOCK])
        file.flush()
        os.fsync(file.fileno())


def seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds that something takes."""
    start = clock()
    work()
    return clock() - start


def compare(title: str, ours: dict[str, float], theirs: dict[str, float], megabytes: float) -> None:
    """Print a line for each, with the ratios of the speeds."""
    for name, spent in theirs.items():
        print(f"{title:<8} {name:<24} {spent:>8.2f} s {megabytes / spent:>8.0f} MB/s")
    for name, spent in ours.items():
        ratios = ", ".join(f"{other / spent:.2f} of {peer}" for peer, other in theirs.items())
        print(f"{title:<8} maskwright, {name:<12} {spent:>8.2f} s {megabytes / spent:>8.0f} MB/s  {ratios}", flush=True)


def main() -> None:
    """Print the figures of both directions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm = write_demo(folder / "small", 90_000).data  # long enough for the compiled pass
        cells(warm)
        small = mw.read(warm, record=RECORD)
        find_source("xml").write(folder / "warm.xml", published_batches(small, True), small.variables, small.layout)
        path = write_demo(folder / "large", chosen.records).data
        megabytes = path.stat().st_size / 1e6
        print(f"{os.cpu_count()} cores, load {load}; {chosen.records:,} records, {megabytes:.0f} MB")
        reading: dict[str, Callable[[], object]] = {
            "expat, empty handlers": lambda: parsed(path, with_handlers=True),
            "expat, no handlers": lambda: parsed(path, with_handlers=False),
            "cells": lambda: cells(path),
            "read": lambda: mw.read(path, record=RECORD),
        }
        spent = {
            key: min(each)
            for key, each in zip(
                reading,
                zip(*([seconds(work, time.process_time) for work in reading.values()] for _ in range(chosen.repeats)),
                    strict=True),
                strict=True,
            )
        }  # fmt: skip
        theirs = {key: each for key, each in spent.items() if key.startswith("expat")}
        compare("in", {key: each for key, each in spent.items() if key not in theirs}, theirs, megabytes)
        ratio_in = theirs["expat, empty handlers"] / spent["cells"]

        data = mw.read(path, record=RECORD)
        source, written = find_source("xml"), folder / "written.xml"
        texts = list(published_batches(data, True))

        def write(batches: object) -> None:
            source.write(written, batches, data.variables, data.layout)
            synced(written)

        write(texts)
        content = memoryview(written.read_bytes())
        megabytes = len(content) / 1e6
        found: dict[str, list[float]] = {"disk": [], "texts": [], "data": []}
        for _ in range(chosen.repeats):
            found["disk"].append(seconds(lambda: copied(content, folder / "copy"), time.perf_counter))
            found["texts"].append(seconds(lambda: write(texts), time.perf_counter))
            found["data"].append(seconds(lambda: write(published_batches(data, True)), time.perf_counter))
        best = {key: min(each) for key, each in found.items()}
        spent_out = min(seconds(lambda: write(published_batches(data, True)), time.process_time) for _ in range(3))
        print(f"out      data: {spent_out:.2f} s of the processor, {megabytes / spent_out:.0f} MB/s")
        compare("out", {"texts": best["texts"], "data": best["data"]}, {"disk": best["disk"]}, megabytes)
        ratio_out = best["disk"] / best["data"]
    for title, ratio in (("in, beside expat with empty handlers", ratio_in), ("out, beside the disk", ratio_out)):
        print(f"{title}: {ratio:.2f} of the speed; the goal is {GOAL}: {'met' if ratio >= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
