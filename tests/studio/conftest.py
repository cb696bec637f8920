"""A studio that runs as a user's does, and a browser that looks at it."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from maskwright.cli.main import main

AT_MOST = 1200
"""Seconds that a test of this folder may take: it may wait for several things, and for what was never compiled."""

ALONE = {"MASKWRIGHT_THREADS": "1"}
"""Cells of experiments are computed by the job itself: how processes share them is no matter of the pages."""


def pytest_collection_modifyitems(items):
    """Let tests of this folder wait as long as they say that they do, also on a busy machine."""
    for each in items:
        if Path(__file__).parent in each.path.parents:
            each.add_marker(pytest.mark.timeout(AT_MOST))


@dataclass
class Running:
    """A studio that listens."""

    process: subprocess.Popen
    folder: Path
    address: str
    key: str

    @property
    def entrance(self) -> str:
        return f"http://{self.address}/#key={self.key}"

    def at(self, path: str) -> str:
        """Address of a page, for a tab that has the key."""
        return f"http://{self.address}{path}"

    def ask(self, path, form=None, *, method=None, **headers):
        """Status, headers and body of one request; `headers` replace those of the page, None leaves one out.

        What is asked as a page asks it comes from one that was loaded just now, unless `headers` say what it shows.
        """
        sent = (self.shown() if path.startswith(("/act/", "/part/")) else {}) | {
            "Host": self.address, "Origin": f"http://{self.address}", "Sec-Fetch-Site": "same-origin",
            "Authorization": f"Studio {self.key}",
        } | {name.replace("_", "-"): value for name, value in headers.items()}  # fmt: skip
        with contextlib.closing(http.client.HTTPConnection(self.address, timeout=120)) as connection:
            connection.putrequest(method or ("GET" if form is None else "POST"), path, skip_host=True)
            for name, value in sent.items():
                for each in value if isinstance(value, list) else [] if value is None else [value]:
                    connection.putheader(name, each)
            body = None if form is None else json.dumps(form).encode()
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            with connection.getresponse() as response:
                return response.status, dict(response.getheaders()), response.read().decode()

    def shown(self):
        """What a page that is loaded now shows, as it names it with all that it asks for."""
        return json.loads(self.ask("/view/plan")[2])["shown"]

    def view(self, path):
        return json.loads(self.ask(f"/view{path}")[2])["html"]

    def settled(self, path):
        """A part of a page once it no longer says how far the work is, asked for as often as the page itself does."""
        end = time.monotonic() + AT_MOST / 2
        while again := re.search(r'data-again="(\d+)"', shown := self.ask(path)[2]):
            assert time.monotonic() < end
            time.sleep(int(again[1]) / 1000)
        return shown

    def act(self, path, **form):
        return json.loads(self.ask(f"/act{path}", form)[2])

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(120)
        return self.process.stderr.read()


def started_on(folder, *words):
    """A studio that has just begun to listen."""
    process = subprocess.Popen(
        [sys.executable, "-m", "maskwright", "studio", str(folder), *(words or ["--no-browser"])],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=os.environ | ALONE,
    )  # fmt: skip
    for line in process.stderr:
        if found := re.search(r"http://([\d.:]+)/#key=(\S+)", line):
            process.stderr.readline()
            return Running(process, Path(folder), found[1], found[2])
    raise AssertionError(process.wait())


def end_all(started):
    for each in started:
        if each.process.poll() is None:
            each.end()
        each.process.stderr.close()


@pytest.fixture(scope="module")
def studio():
    """Start studios; each is ended after the tests of its module."""
    started = []

    def start(folder, *words):
        started.append(started_on(folder, *words))
        return started[-1]

    yield start
    end_all(started)


@pytest.fixture(scope="session")
def fresh(state, tmp_path_factory):
    """Function that returns a studio on a folder with these files alone, where nothing was done yet.

    It is started once for all modules: what a test leaves behind is taken away, the process and its data stay. Only
    where an earlier test has run something, which a studio remembers, it is started again; ``may_have_run=True`` is for
    tests of results, to which other runs are no matter.
    """
    folder = tmp_path_factory.mktemp("shared")
    started = []

    def with_files(files, *, may_have_run=False):
        for each in folder.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
            elif each.name not in files:
                each.unlink()
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or path.read_bytes() != content:
                path.write_bytes(content)
        for each in (state / "maskwright" / "studio").glob("*.json"):
            each.unlink()
        if started and started[-1].process.poll() is None:
            assert started[-1].act("/open/choose", pipeline="pipeline.yaml")["opened"]
            if may_have_run or "Nothing was run yet" in started[-1].view("/run"):
                return started[-1]
            started[-1].end()
        started.append(started_on(folder / "pipeline.yaml"))
        return started[-1]

    yield with_files
    end_all(started)


@pytest.fixture(scope="session")
def command():
    """Function that runs a command in a folder, as in a process of its own: its exit code, and what it prints."""

    def run(folder, *words):
        printed = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            code = main(words)
        return code, printed.getvalue()

    return run


@pytest.fixture(scope="session")
def office_files():
    """A small file, and a pipeline with a rule, by name."""
    numbers = [row * 37 % 60 for row in range(60)]
    rows = "".join(f"{20 + each % 50},{100 * each},{10 * each},{90 * each}\n" for each in numbers)
    return {"people.csv": f"age,gross,tax,net\n{rows}".encode(), "pipeline.yaml": PIPELINE.encode()}


@pytest.fixture(scope="module")
def office(tmp_path_factory, office_files):
    """Folder with these files; a module whose studio is that of all modules has a fixture of this name."""
    folder = tmp_path_factory.mktemp("work") / "office [2026]"
    folder.mkdir()
    for name, content in office_files.items():
        (folder / name).write_bytes(content)
    return folder


PIPELINE = """\
maskwright: 1          # the format
data:
  source: people.csv
  variables:
    age: {role: quasi_identifier}
edits:
  - gross == net + tax
protect:
  - method: microaggregation
    params: {k: 5}     # at least
measure: [sse]
output:
  data: masked.csv
  report: report.html
seed: 7
"""


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory):
    """Folder of what studios keep for the user: the user's own stays as it is."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder
