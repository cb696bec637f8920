"""What the first run after an installation waits for: ``python benchmarks/cold_start.py [--repeats 3] [--each]``.

Each run of the demo is a fresh process on a fresh copy of the packages. Three states: nothing kept; all kept; and after
what building a wheel compiles. Beside them stand the import of the libraries,
which no run is faster than, and what compiling costs while a wheel is built. ``--each`` lists the functions that are
compiled with nothing kept, with their seconds and kinds of arguments.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIBRARIES = "import numba, pandas, scipy, pyarrow, lxml.etree, pydantic"

COUNTING = """
import atexit, json, sys, time
from numba.core.event import Listener, register
open_calls, done = [], {}
class Seconds(Listener):
    def on_start(self, event):
        open_calls.append([time.process_time(), 0.0])
    def on_end(self, event):
        began, inside = open_calls.pop()
        spent = time.process_time() - began
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        seconds, kinds = done.get(name, (0.0, 0))
        done[name] = (seconds + spent - inside, kinds + 1)
        if open_calls:
            open_calls[-1][1] += spent
register("numba:compile", Seconds())
to = sys.argv.pop(1)
atexit.register(lambda: open(to, "w").write(json.dumps(done)))
"""
DEMO = "from maskwright.cli.main import command_line; sys.argv[:] = ['maskwright', 'demo', sys.argv[1]]; command_line()"
PART = "import runpy; script = sys.argv.pop(1); runpy.run_path(script, run_name='__main__')"


def copied(folder: Path) -> Path:
    """The packages without machine code, in a new folder."""
    for name in ("maskwright", "maskwright_builtin"):
        (source,) = importlib.import_module(name).__path__
        shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def spent(code: str, *arguments: str, packages: Path) -> tuple[float, float]:
    """Wall and processor seconds of a process that uses a copy of the packages."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])
    before, began = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, env=environment)
    wall, after = time.perf_counter() - began, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def counted(work: str, folder: Path, *arguments: str, packages: Path) -> tuple[float, float, dict[str, Any]]:
    """Wall and processor seconds of a process, and what it compiled: seconds and kinds of arguments by function."""
    told = folder / "compiled.json"
    wall, cpu = spent(COUNTING + work, str(told), *arguments, packages=packages)
    return wall, cpu, json.loads(told.read_text(encoding="utf-8"))


def main() -> None:
    """Print one line for each state."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--each", action="store_true", help="list the functions that are compiled")
    chosen = parser.parse_args()
    script = str(Path(__file__).parents[1] / "packaging" / "kernels.py")
    found: dict[str, list[tuple[float, float, int]]] = {}
    functions: dict[str, Any] = {}

    def note(state: str, wall: float, cpu: float, compiled: dict[str, Any]) -> None:
        found.setdefault(state, []).append((wall, cpu, len(compiled)))

    for _ in range(chosen.repeats):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            fresh, built = copied(folder / "fresh"), copied(folder / "built")
            note("the libraries alone", *spent(LIBRARIES, packages=fresh), {})
            wall, cpu, functions = counted(DEMO, folder, str(folder / "cold"), packages=fresh)
            note("the demo, nothing kept", wall, cpu, functions)
            note("the demo, all kept", *counted(DEMO, folder, str(folder / "again"), packages=fresh))
            parts = [counted(PART, folder, script, part, packages=built) for part in ("mdav", "refine", "others")]
            together = {name: seen for _, _, compiled in parts for name, seen in compiled.items()}
            note(
                "what a build compiles, one after another", sum(p[0] for p in parts), sum(p[1] for p in parts), together
            )
            note("the demo after it", *counted(DEMO, folder, str(folder / "after"), packages=built))
    print(f"{'median of ' + str(chosen.repeats):44} {'wall s':>8} {'cpu s':>8} {'to libraries':>13} {'compiled':>9}")
    floor = statistics.median(cpu for _, cpu, _ in found["the libraries alone"])
    for state, runs in found.items():
        wall, cpu, compiled = (statistics.median(column) for column in zip(*runs, strict=True))
        print(f"{state:44} {wall:8.1f} {cpu:8.2f} {cpu / floor:12.1f}x {compiled:9.0f}")
    if chosen.each:
        for name, (seconds, kinds) in sorted(functions.items(), key=lambda item: -item[1][0]):
            print(f"{seconds:8.2f} s  {kinds}  {name}")


if __name__ == "__main__":
    main()
