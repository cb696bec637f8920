"""What finished runs on this machine took, and what was expected of them: plans are corrected by the ratio.

One small file a machine in the user's cache folder holds it: kinds of work and seconds, and plugins whose kernels are
compiled; no data, and no names of files or variables. What cannot be read or written is ignored.
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha1, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from maskwright import __version__
from maskwright.foundation.errors import InputError
from maskwright.foundation.files import PRIVATE, write_text
from maskwright.foundation.progress import LOGGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright.planning.costs import Costs


ENVIRONMENT = "MASKWRIGHT_CACHE"
"""Folder of the file; empty: nothing is measured or kept, and expectations are those of the reference machine."""

MOST_KEPT, MOST_USED = 60, 20
"""Runs in the file, and the last ones of a kind that a plan goes by."""

REFERENCE = 0.0073
"""Processor seconds of the timed work on the machine that the rates were measured on."""

LARGEST = 20.0
"""Factor by which no machine differs from it."""

LATEST_START = 10.0
"""Processor seconds of a process after which a run is not its first work, and says nothing of one."""

SECONDS_A_LINE = 0.02
"""Processor seconds in which a line of a kernel is compiled."""

_KERNEL = re.compile(r"^@(?:\w*compiled\w*|\w*inlined\w*|kernel_cache)\b", re.MULTILINE)
_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\b", re.MULTILINE)


@dataclass(frozen=True)
class MachineRecord:
    """What is known of this machine.

    `speed`: seconds for one of the reference machine; 0: not measured. `runs`: kind, seconds expected at the reference
    machine, and taken. `compiled`: plugins that have run, each with the number of digits of the records.
    """

    version: str = __version__
    speed: float = 0.0
    runs: tuple[tuple[str, float, float], ...] = ()
    compiled: tuple[str, ...] = ()

    def ratios(self, kind: str) -> list[float]:
        """Of the last runs of a kind: seconds taken for one expected."""
        return [taken / expected for of, expected, taken in self.runs if of == kind][-MOST_USED:]


@dataclass(frozen=True)
class Correction:
    """By what expected seconds are multiplied, and on what that rests, in words; "": on the rates alone."""

    ratio: float = 1.0
    basis: str = ""


@dataclass(frozen=True)
class Kernels:
    """Plugins whose kernels are not compiled yet, and the seconds that it takes on the reference machine."""

    plugins: tuple[str, ...] = field(default=())
    seconds: float = 0.0


def correction_of(costs: Costs) -> Correction:
    """Correction by the runs whose longest stage is the one expected here, or by the speed of the machine alone."""
    path = _path()
    if path is None:
        return Correction()
    known = _read(path)
    if not known.speed:
        known = replace(known, speed=_speed())
        _write(path, known)
    ratios = known.ratios(costs.kind)
    # The speed counts as one run: of the first ones, one that waited for its disk must not decide.
    ratio = statistics.median([known.speed, *ratios])
    runs = f"{len(ratios)} earlier run{'s' if len(ratios) > 1 else ''}"
    return Correction(ratio, f"as {runs} on this machine took" if ratios else "not yet measured on this machine")


def note_run(costs: Costs, began: float, plugins: Iterable[str]) -> None:
    """Keep what a finished run took, where it was the first work of its process and compiled nothing.

    `began`: processor seconds of the process when it began. `plugins`: that it used.
    """
    path = _path()
    if path is None:
        return
    known, taken = _read(path), processor_seconds()
    runs = known.runs
    if began < LATEST_START and not _has_compiled():
        runs = (*runs, (costs.kind, round(costs.seconds, 3), round(taken, 3)))[-MOST_KEPT:]
    compiled = tuple(sorted({*known.compiled, *(_use(each, costs.records) for each in plugins)}))
    if (runs, compiled) != (known.runs, known.compiled):
        _write(path, replace(known, runs=runs, compiled=compiled))


def processor_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _use(plugin: str, records: int) -> str:
    """A plugin and the number of digits of the records: kernels that many of them need, few may not."""
    return f"{plugin} {len(str(records))}"


def kernels_to_compile(modules: Iterable[tuple[str, str]], records: int) -> Kernels:
    """Kernels that plugins import and that no cache has. `modules`: names of plugins, and of their modules."""
    path = _path()
    if path is None:
        return Kernels()
    known, lines = _read(path).compiled, dict[Path, int]()
    names = []
    for name, module in modules:
        own = {} if _use(name, records) in known else dict(_uncompiled(module))
        names += [name] if own else []
        lines |= own
    return Kernels(tuple(dict.fromkeys(names)), SECONDS_A_LINE * sum(lines.values()))


def _uncompiled(module: str) -> Iterator[tuple[Path, int]]:
    """Sources of kernels that a module imports from its own package, directly or not, and that no cache has."""
    seen, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name in seen or name.partition(".")[0] != module.partition(".")[0]:
            continue
        seen.add(name)
        source = getattr(sys.modules.get(name), "__file__", None)
        if source is None:
            spec = find_spec(name) if name.rpartition(".")[0] in sys.modules else None
            source = None if spec is None else spec.origin
        if source is None or not source.endswith(".py"):
            continue
        text = Path(source).read_text(encoding="utf-8", errors="replace")
        waiting += _IMPORT.findall(text)
        if _KERNEL.search(text) and not _is_cached(Path(source)):
            yield Path(source), text.count("\n")


def _is_cached(source: Path) -> bool:
    """Whether machine code of a file, or of others of its folder, is where Numba keeps it.

    Kernels of a folder are compiled together when the package is installed, those that most runs need.
    """
    subfolder = f"{source.parent.name}_{sha1(str(source.parent).encode(), usedforsecurity=False).hexdigest()}"
    folders = [source.parent / "__pycache__", _user_cache() / "numba" / subfolder]
    if os.environ.get("NUMBA_CACHE_DIR"):
        folders.append(Path(os.environ["NUMBA_CACHE_DIR"]) / subfolder)
    return any(next(folder.glob("*.nbi"), None) is not None for folder in folders)


def _has_compiled() -> bool:
    from maskwright.masking.protecting.processes import has_compiled

    return has_compiled()


def _user_cache() -> Path:
    """The folder of the user's for what can be made again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _path() -> Path | None:
    """The file of this machine; None where nothing is kept."""
    stated = os.environ.get(ENVIRONMENT)
    if stated == "":
        return None
    try:
        folder = Path(stated) if stated else _user_cache() / "maskwright"
    except RuntimeError:  # no one knows the user's folder
        return None
    # A home folder may be that of several machines.
    machine = sha256(f"{platform.node()} {platform.machine()} {os.cpu_count()}".encode()).hexdigest()[:12]
    return folder / f"runs-{machine}.json"


def _read(path: Path) -> MachineRecord:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        runs = tuple((str(kind), float(expected), float(taken)) for kind, expected, taken in found["runs"])
        known = MachineRecord(
            str(found["version"]), speed if 1 / LARGEST <= (speed := float(found["speed"])) <= LARGEST else 0.0,
            tuple(each for each in runs if each[1] > 0 and 1 / LARGEST < each[2] / each[1] < LARGEST),
            tuple(map(str, found["compiled"])),
        )  # fmt: skip
    except FileNotFoundError:
        return MachineRecord()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        LOGGER.debug("%s is not used: %s", path, type(error).__name__)
        return MachineRecord()
    # Other rates gave other expectations.
    return known if known.version == __version__ else MachineRecord()


def _write(path: Path, known: MachineRecord) -> None:
    try:
        write_text(path, json.dumps(asdict(known)), PRIVATE)
    except (OSError, InputError) as error:
        LOGGER.debug("%s is not written: %s", path, error)


def _speed() -> float:
    """Seconds that numbers and loops take for one of the reference machine; some 50 ms."""
    values, best = np.random.default_rng(1).normal(size=100_000), float("inf")
    for _ in range(4):
        start = time.process_time()
        np.cumsum(np.sort(values) * values)
        sum(each % 7 for each in range(100_000))
        best = min(best, time.process_time() - start)
    return _bounded(best / REFERENCE)


def _bounded(speed: float) -> float:
    return min(max(speed, 1 / LARGEST), LARGEST) if speed > 0 else 0.0
