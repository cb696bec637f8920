"""Endings that are true: interrupts, signals, full disks, closed pipes, bugs; before a release and after it."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maskwright.cli.main import main
from maskwright.commands.running.background_task import BackgroundTask
from maskwright.foundation.processes.signals import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Callable

PIPELINE = """\
maskwright: 1
data: {source: data.csv}
protect: [{method: microaggregation, params: {k: 3}}]
output: {data: masked.csv, record: run.json}
seed: 1
"""
SIGNALS = [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)]
VALUE = "31337"


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """A small file and a pipeline for it."""
    (tmp_path / "data.csv").write_text("x,y\n" + "".join(f"{i},{3 * i}\n" for i in range(12)))
    path = tmp_path / "pipeline.yaml"
    path.write_text(PIPELINE)
    return path


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _sending(monkeypatch: pytest.MonkeyPatch, name: str, number: int, after: threading.Event | None = None) -> None:
    module, _, function = name.rpartition(".")
    real = getattr(__import__(module, fromlist=[function]), function)

    def sends(*arguments: object, **named: object) -> object:
        assert after is None or after.wait(60)
        assert signal.getsignal(number) not in (signal.SIG_DFL, None)
        signal.raise_signal(number)
        return real(*arguments, **named)

    monkeypatch.setattr(name, sends)


@pytest.mark.parametrize(("name", "code"), SIGNALS)
def test_a_signal_before_the_release_leaves_nothing(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, code: int
) -> None:
    """INT, TERM and HUP alike: the masked data are written and not released; they are removed."""
    # It comes while the validation in the other thread is waited for. In the middle of a call of `open` Python itself
    # would lose the file that is just opened, with a ResourceWarning.
    waited_for, awaited = threading.Event(), BackgroundTask.awaited

    def waits(task: BackgroundTask[Any], reporter: Any) -> Any:
        waited_for.set()
        return awaited(task, reporter)

    monkeypatch.setattr(BackgroundTask, "awaited", waits)
    _sending(monkeypatch, "maskwright.commands.running.stages.check_file", getattr(signal, name), waited_for)
    assert main(["run", str(pipeline)]) == code
    assert capsys.readouterr().err.endswith("interrupted; nothing was released\n")
    assert _names(pipeline.parent) == ["data.csv", "pipeline.yaml"]


@pytest.mark.parametrize(("name", "code"), SIGNALS)
@pytest.mark.parametrize(
    "where", ["maskwright.release.files.write_journal", "maskwright.cli.show.results.print_result"]
)
def test_a_signal_in_the_release_or_after_it_does_not_deny_it(
    pipeline: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    where: str,
    name: str,
    code: int,
) -> None:
    """Nothing ends in the middle of it, and what is in place is said to be."""
    _sending(monkeypatch, where, getattr(signal, name))
    assert main(["run", str(pipeline)]) == code
    said = capsys.readouterr().err
    assert f"interrupted; what was to be released is in place: {pipeline.with_name('run.json')}" in said
    assert "nothing was released" not in said
    assert _names(pipeline.parent) == ["data.csv", "masked.csv", "pipeline.yaml", "run.json"]


def test_signals_wait_and_are_not_forgotten() -> None:
    """Those that are ignored stay ignored."""
    done = []

    def works() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        works()
    assert done
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with uninterrupted():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("options", "code"), [([], 4), (["--json"], 4), (["--quiet"], 0)])
def test_standard_output_on_a_full_disk_after_a_release(
    pipeline: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
) -> None:
    """It is no bug; the release is told, and what was lost; with --quiet nothing was."""
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["run", str(pipeline), *options]) == code
    said = capsys.readouterr().err
    assert "bug" not in said
    assert (pipeline.parent / "masked.csv").exists()
    if code:
        assert "what was to be released is in place" in said
        assert "could not be written to standard output: No space left on device" in said


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [(["run", "pipeline.yaml"], 0, "is in place"), (["validate", "data.csv", "--edits", "rules.yaml"], 1, "")],
)
def test_a_reader_that_has_gone_does_not_change_what_the_work_comes_to(
    pipeline: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    code: int,
    told: str,
) -> None:
    """The exit code is that of the work: also 1 for data that violate an edit."""
    monkeypatch.chdir(pipeline.parent)
    Path("rules.yaml").write_text("- x <= 5\n")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        assert main(command) == code
    said = capsys.readouterr().err
    assert told in said
    assert "bug" not in said


def test_messages_that_cannot_be_written_stop_nothing(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose notices nobody reads is made."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as broken:
        monkeypatch.setattr(sys, "stderr", broken)
        assert main(["run", str(pipeline)]) == 0
    assert (pipeline.parent / "masked.csv").exists()


def _has_a_bug(*arguments: object, **named: object) -> None:
    raise RuntimeError(f"record 5 has x = {VALUE}")


def test_a_bug_without_a_folder_for_temporary_files(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log goes to standard error, and holds no value."""

    def no_folder(*arguments: object, **named: object) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("maskwright.commands.run.planned_run", _has_a_bug)
    monkeypatch.setattr(tempfile, "mkstemp", no_folder)
    assert main(["run", str(pipeline)]) == 3
    said = capsys.readouterr().err
    assert "RuntimeError" in said
    assert "in _has_a_bug" in said
    assert VALUE not in said


def test_a_bug_after_the_release_does_not_deny_it(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both are said."""
    monkeypatch.setattr("maskwright.cli.show.results.print_result", _has_a_bug)
    assert main(["run", str(pipeline)]) == 3
    said = capsys.readouterr().err
    assert "This is a bug" in said
    assert "what was to be released is in place" in said
    assert VALUE not in said


def test_no_core_is_dumped(pipeline: Path) -> None:
    """The limit holds for the command and for what it starts."""
    resource = pytest.importorskip("resource")
    program = (
        "import resource, subprocess, sys; from maskwright.cli.main import main; main(['completion', 'bash']); "
        "print('limits', *resource.getrlimit(resource.RLIMIT_CORE), file=sys.stderr); "
        "subprocess.run([sys.executable, '-c', 'import resource, sys; "
        'print("limits", *resource.getrlimit(resource.RLIMIT_CORE), file=sys.stderr)\'])'
    )
    del resource
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr
    limits = [line.split()[1:] for line in said.splitlines() if line.startswith("limits")]
    assert len(limits) == 2
    assert all(int(limit) in (0, 1) for each in limits for limit in each)


READER_LEFT_OPEN = """\
import sys
from pathlib import Path
from maskwright.cli.exit_handling import leave
from maskwright.foundation.progress import silent
from maskwright.plugins.registry import find_source
file = Path(sys.argv[1])
source = find_source(file)
batches = iter(source.open(file, source.params(), silent).batches())
next(batches)
print("released")
leave(0)
"""


def test_a_reader_that_is_still_at_work_does_not_abort_the_end(tmp_path: Path) -> None:
    """Its threads call Python, which must not be taken down under them."""
    file = tmp_path / "large.csv"
    file.write_text("a,b,c\n" + "1.25,2.5,a text of some length\n" * 400_000)
    for _ in range(3):
        ended = subprocess.run(
            [sys.executable, "-c", READER_LEFT_OPEN, str(file)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "released\n", "")


def _at_the_last_file(fails: Callable[[], object]) -> Callable[[str, str], None]:
    """`os.replace` that fails at the third call: the first makes the journal, the second moves the record."""
    real, calls = os.replace, itertools.count(1)

    def replace(source: str, target: str) -> None:
        if next(calls) == 3:
            fails()
        real(source, target)

    return replace


def _input_output_error() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.fixture
def released(pipeline: Path) -> tuple[list[Path], list[bytes]]:
    """Files of a first run and their content."""
    assert main(["run", str(pipeline), "--quiet"]) == 0
    outputs = [pipeline.with_name(name) for name in ("run.json", "masked.csv")]
    return outputs, [path.read_bytes() for path in outputs]


OTHER_K = ["--quiet", "--set", "protect.0.params.k=4"]


def test_a_whole_run_that_cannot_move_the_last_file(
    pipeline: Path,
    released: tuple[list[Path], list[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What was there is kept, whole, and said to be."""
    outputs, old = released
    monkeypatch.setattr(os, "replace", _at_the_last_file(_input_output_error))
    assert main(["run", str(pipeline), *OTHER_K]) == 2
    assert "nothing was released, what was there before is kept" in capsys.readouterr().err
    assert [path.read_bytes() for path in outputs] == old
    assert not list(pipeline.parent.glob(".maskwright-*"))


KILLED_AT_THE_LAST_FILE = """\
import itertools, os, signal, sys
from maskwright.cli.main import main
real, calls = os.replace, itertools.count(1)
def replace(source, target):
    if next(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    real(source, target)
os.replace = replace
main(sys.argv[1:])
"""


def test_a_whole_run_that_is_killed_at_the_last_file(
    pipeline: Path, released: tuple[list[Path], list[bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The next run says so, and all files are of the new release."""
    outputs, old = released
    command = [sys.executable, "-c", KILLED_AT_THE_LAST_FILE, "run", str(pipeline), *OTHER_K]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL
    now = [path.read_bytes() for path in outputs]
    assert (now[0] != old[0], now[1]) == (True, old[1])
    assert main(["run", str(pipeline), *OTHER_K[1:]]) == 0
    assert "an earlier run was cut off while it put its files in place; they are all in place now" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not list(pipeline.parent.glob(".maskwright-*"))
