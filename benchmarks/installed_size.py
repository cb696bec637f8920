"""What an installation takes: megabytes by package and in all, and the time until ``maskwright --help`` has answered.

    python benchmarks/installed_size.py                     the default installation, in a fresh environment
    python benchmarks/installed_size.py --extra figures     the same with an extra
    python benchmarks/installed_size.py --environment DIR   an environment that exists

Sizes are those of the files that each package put there, bytecode included, in millions of bytes. pip and setuptools
come with the environment and are listed apart. The time is the median of five fresh processes, after one that is not
counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROCESSES = 5
OF_THE_ENVIRONMENT = ("pip", "setuptools")
COUNT = """
import json, sysconfig
from importlib.metadata import distributions
from pathlib import Path
sizes, counted = {}, set()
for found in distributions():
    files = {Path(found.locate_file(each)).resolve() for each in found.files or ()}
    files = {path for path in files if path.is_file()} - counted
    counted |= files
    sizes[found.metadata["Name"].lower()] = sum(path.stat().st_size for path in files)
folders = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
every = {path.resolve() for folder in folders for path in Path(folder).rglob("*") if path.is_file()}
sizes["(in no package)"] = sum(path.stat().st_size for path in every - counted)
print(json.dumps(sizes))
"""


def install(environment: Path, extras: list[str]) -> None:
    """Install this folder into a new environment."""
    wanted = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([program(environment, "python"), "-m", "pip", "install", "--quiet", wanted], check=True)


def program(environment: Path, name: str) -> Path:
    """A program of an environment."""
    return environment / ("Scripts" if sys.platform == "win32" else "bin") / name


def sizes(environment: Path) -> dict[str, int]:
    """Bytes by package, the largest first."""
    # -I: what PYTHONPATH names is no part of the environment.
    told = subprocess.run(
        [program(environment, "python"), "-I", "-c", COUNT], check=True, capture_output=True, text=True
    )
    found: dict[str, int] = json.loads(told.stdout)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def seconds_of_help(environment: Path) -> tuple[float, float]:
    """Seconds and processor seconds, medians over fresh processes; the first may write bytecode and does not count."""
    taken, used = [], []
    for _ in range(1 + PROCESSES):
        start, before = time.perf_counter(), os.times()
        subprocess.run([program(environment, "maskwright"), "--help"], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        taken.append(time.perf_counter() - start)
        used.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(taken[1:]), statistics.median(used[1:])


def show(environment: Path) -> None:
    """Print the table of an environment."""
    found = sizes(environment)
    apart = sum(found.get(name, 0) for name in OF_THE_ENVIRONMENT)
    for name, size in found.items():
        if size >= 50_000 and name not in OF_THE_ENVIRONMENT:
            print(f"{name:<24}{size / 1e6:>8.1f} MB")
    total = sum(found.values()) - apart
    print(f"{'total':<24}{total / 1e6:>8.1f} MB, without pip and setuptools ({apart / 1e6:.1f} MB)")
    taken, used = seconds_of_help(environment)
    print(f"maskwright --help: {taken:.3f} s, {used:.2f} s of the processor, medians of {PROCESSES} fresh processes")


def main() -> None:
    """Parse and measure."""
    parser = argparse.ArgumentParser(description="Measure what an installation takes.")
    parser.add_argument("--extra", action="append", default=[], metavar="NAME", help="install this extra too")
    parser.add_argument("--environment", type=Path, metavar="DIR", help="measure this environment, install nothing")
    chosen = parser.parse_args()
    if chosen.environment is not None:
        show(chosen.environment)
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        install(environment, chosen.extra)
        show(environment)


if __name__ == "__main__":
    main()
