"""The studio at growing numbers of records: seconds until each page shows something, and until it shows all.

    python benchmarks/studio.py [--records 100000 300000 1000000]

No browser: the studio is started as a user starts it, and asked over HTTP as its script asks. The data are the example
survey, and the masked file is a copy of them. The last size is judged: first paint of each page at most 1 s once the
data are read, counts of a new rule within 1.5 s. Walls say little on a machine with other work: processor seconds of
all processes of the studio stand beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from maskwright.commands.demo.files import write_demo

PAGES: dict[str, list[str]] = {
    "/open": [], "/variables": ["variables/every"], "/variables?name=age": ["variables/one?name=age"],
    "/rules": ["rules/every"], "/pipeline": [], "/plan": ["plan/plan"], "/run": ["run/progress"], "/map": [],
    "/before-and-after": ["before-and-after/every"],
    "/before-and-after?name=age": ["before-and-after/one?name=age", "before-and-after/correlations"],
    "/risk": [], "/report": [], "/explorer": [],
}  # fmt: skip
RULES = ("age in [0, 120]", "wages >= 0", "if employed == 0 then wages == 0", "region in original")
PAINT, RULE = 1.0, 1.5
TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Studio:
    """A studio that listens."""

    process: subprocess.Popen[str]
    address: str
    key: str
    shown: dict[str, str] = field(default_factory=dict)
    """What the page that was asked for last shows: sent with all that it asks for."""

    def ask(self, path: str, form: object = None) -> str:
        """Body of one answer."""
        with contextlib.closing(http.client.HTTPConnection(self.address, timeout=600)) as connection:
            headers = {"Authorization": f"Studio {self.key}", "Origin": f"http://{self.address}",
                       "Sec-Fetch-Site": "same-origin", **self.shown}  # fmt: skip
            body = None if form is None else json.dumps(form)
            connection.request("GET" if form is None else "POST", path, body, headers)
            response = connection.getresponse()
            answer = response.read().decode()
            if response.status != HTTPStatus.OK or 'role="alert"' in answer:
                sys.exit(f"{path}: {response.status} {answer[:500]}")
            if path.startswith("/view/"):
                self.shown = json.loads(answer)["shown"]
            return answer

    def whole(self, part: str) -> str:
        """A part of a page, once it no longer says how far it is."""
        while "data-again" in (shown := self.ask(f"/part/{part}")):
            time.sleep(0.05)
        return shown

    def processes(self) -> dict[str, int]:
        """Process numbers of the server and what it started, by what they do."""
        found = {"server": self.process.pid}
        for each in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = (each / "stat").read_text().rsplit(")", 1)[1].split()[1]
                module = re.search(rb"maskwright_studio\.(\w+)", (each / "cmdline").read_bytes())
                if int(parent) == self.process.pid and module:
                    found[module[1].decode()] = int(each.name)
        return found

    def cpu(self) -> float:
        """Processor seconds of all of them."""
        return sum(_ticks(each) for each in self.processes().values()) / TICK


def main() -> None:
    """Print a table for each size, and the gates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    passed = True
    for records in parser.parse_args().records:
        with tempfile.TemporaryDirectory() as folder:
            files = write_demo(Path(folder), records)
            shutil.copyfile(Path(folder) / "survey.xml", Path(folder) / "masked.xml")
            passed = _measured(records, files.pipeline)
    sys.exit(0 if passed else 1)


def _measured(records: int, pipeline: Path) -> bool:
    with _started(pipeline) as studio:
        print(f"\n{records:,} records; load {os.getloadavg()[0]:.1f}\n{'':32}{'wall s':>8}{'CPU s':>8}")
        studio.ask("/view/variables")
        _timed("first: all variables, with reading", studio, lambda: studio.whole("variables/every"))
        _say_memory("memory with the data", studio)
        _timed("before and after, with reading", studio, lambda: studio.whole("before-and-after/every"))
        slowest = 0.0
        for page, parts in PAGES.items():
            slowest = max(slowest, _timed(f"{page}: first paint", studio, lambda page=page: studio.ask(f"/view{page}")))
            for part in parts:
                _timed(f"{page}: {part.split('?')[0]}", studio, lambda part=part: studio.whole(part))
        counted = max(
            _timed(f"new rule: {rule}", studio, lambda rule=rule: _counted(studio, rule)) for rule in RULES
        )  # fmt: skip
        _say_memory("memory with the masked data too", studio)
        gates = {f"first paint {slowest:.2f} s <= {PAINT} s": slowest <= PAINT,
                 f"counts of a new rule {counted:.2f} s <= {RULE} s": counted <= RULE}  # fmt: skip
        for said, holds in gates.items():
            print(f"{'passed' if holds else 'MISSED'}: {said}")
        return all(gates.values())


def _say_memory(when: str, studio: Studio) -> None:
    memory = {name: _memory(number) for name, number in studio.processes().items()}
    said = (f"{name} {now:.0f} MB (at most {most:.0f})" for name, (now, most) in memory.items())
    print(f"{when}: {', '.join(said)}")


def _counted(studio: Studio, rule: str) -> None:
    if "records to which it applies" not in studio.ask("/act/rules/count", {"rule": rule}):
        sys.exit(f"{rule} was not counted")


def _timed(what: str, studio: Studio, work: Any) -> float:
    cpu, wall = studio.cpu(), time.perf_counter()
    work()
    wall, cpu = time.perf_counter() - wall, studio.cpu() - cpu
    print(f"{what:<40}{wall:>8.3f}{cpu:>8.2f}", flush=True)
    return wall


@contextlib.contextmanager
def _started(pipeline: Path) -> Any:
    process = subprocess.Popen(
        [sys.executable, "-m", "maskwright", "studio", str(pipeline), "--no-browser"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"http://([\d.:]+)/#key=(\S+)", line):
                yield Studio(process, found[1], found[2])
                return
        sys.exit("the studio did not start")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def _ticks(process: int) -> int:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    return 0


def _memory(process: int) -> tuple[float, float]:
    """Megabytes that a process holds, and held at most."""
    said = dict(re.findall(r"(VmRSS|VmHWM):\s+(\d+)", Path(f"/proc/{process}/status").read_text()))
    return int(said["VmRSS"]) / 1024, int(said["VmHWM"]) / 1024


if __name__ == "__main__":
    main()
