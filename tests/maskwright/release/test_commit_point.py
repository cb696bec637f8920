"""A release is the old set or the new set, whole, whatever fails; and what is said of it is true."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maskwright.foundation.errors import InputError
from maskwright.foundation.files import note_read, reads_noted
from maskwright.foundation.release_outcomes import forget_releases, release_sentence
from maskwright.release.files import Release, writing
from maskwright.release.work_folders import hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OLD = {"record": b"old record", "report": b"the same", "data": b"old data"}
NEW = {"record": b"new record", "report": b"the same", "data": b"new data, longer"}
NEVER = 10**9

WRITES = ("open", "write", "fsync", "mkdir", "link", "replace", "chmod", "unlink", "rmdir")
"""Functions of `os` that change a disk; those of pathlib and shutil call them."""


class Disk:
    """Counts calls that write, and lets `fails` decide what happens at each."""

    def __init__(self, fails: Callable[[int], None]) -> None:
        self.calls = 0
        self._fails = fails

    def count(self, arguments: tuple[Any, ...], name: str) -> None:
        """One more call, if it writes."""
        if name != "open" or (len(arguments) > 1 and arguments[1] & os.O_CREAT):
            self.calls += 1
            self._fails(self.calls)


@contextlib.contextmanager
def disk(fails: Callable[[int], None]) -> Iterator[Disk]:
    """Put the failing layer between the program and the operating system."""
    counted = Disk(fails)
    real = {name: getattr(os, name) for name in WRITES}

    def layer(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            counted.count(arguments, name)
            # The machine that runs the tests does not fail: its disk need not be waited for.
            return None if name == "fsync" else real[name](*arguments, **named)

        return call

    try:
        for name in WRITES:
            setattr(os, name, layer(name))
        yield counted
    finally:
        for name in WRITES:
            setattr(os, name, real[name])


def raising(code: int, first: int, last: int) -> Callable[[int], None]:
    """Calls number `first` to `last` fail with the error `code`."""

    def fails(number: int) -> None:
        if first <= number <= last:
            raise OSError(code, os.strerror(code))

    return fails


def dying(number: int) -> Callable[[int], None]:
    """The process ends at the call `number`, as if it were killed."""

    def fails(now: int) -> None:
        if now == number:
            os._exit(9)

    return fails


@pytest.fixture(autouse=True)
def _nothing_released() -> Iterator[None]:
    forget_releases()
    yield
    forget_releases()


def _targets(folder: Path) -> dict[str, Path]:
    """Files of a set that lies in two folders."""
    return {"record": folder / "run.json", "report": folder / "public" / "r.html", "data": folder / "public" / "d.csv"}


def _release(folder: Path, content: dict[str, bytes] = NEW) -> None:
    with Release(_targets(folder), frozenset({"record"})) as release:
        for key, each in content.items():
            with writing(release.temporary(key)):
                descriptor = os.open(release.temporary(key), os.O_WRONLY)
                try:
                    os.write(descriptor, each)
                finally:
                    os.close(descriptor)
        release.sealed("data")
        release.publish()


def _next_run(folder: Path) -> tuple[str, ...]:
    """A run that is refused: it does nothing but end what was left."""
    with Release(_targets(folder), frozenset()) as release:
        return tuple(map(str, release.notices))


def _set(folder: Path) -> dict[str, bytes]:
    return {key: path.read_bytes() for key, path in _targets(folder).items() if path.exists()}


def _leftovers(folder: Path) -> list[Path]:
    return sorted(folder.rglob(".maskwright-*"))


def _check_private(folder: Path) -> None:
    for left in _leftovers(folder):
        assert stat.S_IMODE(left.stat().st_mode) == 0o700


def _prepare(folder: Path, old: dict[str, bytes]) -> dict[str, bytes]:
    (folder / "public").mkdir(parents=True)
    for key, content in old.items():
        _targets(folder)[key].write_bytes(content)
    return old


def _calls(folder: Path, old: dict[str, bytes]) -> int:
    _prepare(folder, old)
    with disk(lambda number: None) as counted:
        _release(folder)
    return counted.calls


BEFORE = {"nothing was there": {}, "a set was there": OLD, "a part was there": {"data": b"old data"}}


@pytest.fixture(params=BEFORE)
def old(request: pytest.FixtureRequest) -> dict[str, bytes]:
    """Content of the files that were there before."""
    return BEFORE[request.param]


@pytest.mark.parametrize(
    ("code", "lasting"), [(errno.ENOSPC, False), (errno.EIO, True)], ids=["full once", "broken from then on"]
)
def test_every_call_that_writes_may_fail(tmp_path: Path, old: dict[str, bytes], code: int, lasting: bool) -> None:
    """Old or new, whole, as the ending says; after the next run in any case, and nothing else is left."""
    calls = _calls(tmp_path / "counted", old)
    assert calls > 30
    said = set()
    for number in range(1, calls + 1):
        folder = tmp_path / str(number)
        _prepare(folder, old)
        forget_releases()
        try:
            with disk(raising(code, number, NEVER if lasting else number)):
                _release(folder)
        except InputError as error:
            message = str(error)
            said.add(message.partition(":")[0])
            if "may be of two releases" not in message:
                assert release_sentence() == "nothing was released"
                assert _set(folder) == old
            else:
                assert "may be of two releases" in release_sentence()
        else:
            assert _set(folder) == NEW
            assert "is in place" in release_sentence()
        _check_private(folder)
        _next_run(folder)
        assert _set(folder) in (old, NEW)
        assert _leftovers(folder) == []
    assert any("outputs cannot be put in place" in each for each in said)


def die_in_each(folders: list[str]) -> None:
    """Release into each folder in a copy of this process, which ends at the call of the number that it is named by."""
    for folder in map(Path, folders):
        child = os.fork()
        if child == 0:
            with disk(dying(int(folder.name))):
                _release(folder)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_the_process_may_die_at_every_call_that_writes(tmp_path: Path) -> None:
    """The next run completes the set when it was decided on, and removes what was not."""
    cases = [
        (old, tmp_path / f"case {place}" / str(number))
        for place, old in enumerate(BEFORE.values())
        for number in range(1, _calls(tmp_path / f"case {place}" / "counted", old) + 1)
    ]
    for old, folder in cases:
        _prepare(folder, old)
    # A small process is copied in less time than the one that runs the tests.
    program = "import runpy, sys; runpy.run_path(sys.argv[1])['die_in_each'](sys.argv[2:])"
    command = [sys.executable, "-c", program, __file__, *(str(folder) for _, folder in cases)]
    subprocess.run(command, check=True, timeout=120)
    completed = dict.fromkeys((folder.parent for _, folder in cases), 0)
    for old, folder in cases:
        _check_private(folder)
        mixed = _set(folder) not in (old, NEW)
        notices = _next_run(folder)
        assert _set(folder) == NEW if mixed else _set(folder) in (old, NEW)
        if notices:
            completed[folder.parent] += 1
            assert _set(folder) == NEW
            assert "an earlier run was cut off" in notices[0]
        assert _leftovers(folder) == []
        if _set(folder) == NEW:
            assert stat.S_IMODE(_targets(folder)["record"].stat().st_mode) == 0o600
    assert min(completed.values()) > 3


def test_the_old_set_comes_back_when_the_new_one_is_damaged_meanwhile(tmp_path: Path) -> None:
    """A run dies between two files; what was staged is changed before the next run."""
    _prepare(tmp_path, OLD)
    child = os.fork()
    if child == 0:
        moved = []
        real = os.replace

        def replace(source: str, target: str) -> None:
            if Path(target).name in ("run.json", "d.csv"):
                moved.append(target)
                if len(moved) == 2:
                    os._exit(9)
            real(source, target)

        os.replace = replace  # type: ignore[assignment]
        _release(tmp_path)
    os.waitpid(child, 0)
    assert _targets(tmp_path)["record"].read_bytes() == NEW["record"]
    (staged,) = tmp_path.rglob("new/d.csv")
    staged.write_bytes(b"half of i")
    (notice,) = _next_run(tmp_path)
    assert "those they were to replace are back" in notice
    assert _set(tmp_path) == OLD
    assert _leftovers(tmp_path) == []


def test_what_is_changed_after_it_was_checked_is_not_released(tmp_path: Path) -> None:
    """The manifest is compared just before the swap."""
    _prepare(tmp_path, OLD)
    with Release(_targets(tmp_path), frozenset()) as release:
        for key, each in NEW.items():
            release.temporary(key).write_bytes(each)
        release.sealed("data")
        release.temporary("data").write_bytes(b"something that nobody has checked")
        with pytest.raises(InputError, match=r"changed by another program.*nothing was released"):
            release.publish()
    assert _set(tmp_path) == OLD
    assert _leftovers(tmp_path) == []


def test_files_are_private_until_they_are_released(tmp_path: Path) -> None:
    """Then they have the modes they are to have."""
    _prepare(tmp_path, {})
    mask = os.umask(0o027)
    try:
        with Release(_targets(tmp_path), frozenset({"record"})) as release:
            for key in NEW:
                assert stat.S_IMODE(release.temporary(key).stat().st_mode) == 0o600
                assert stat.S_IMODE(release.temporary(key).parents[1].stat().st_mode) == 0o700
            release.publish()
        modes = {key: stat.S_IMODE(path.stat().st_mode) for key, path in _targets(tmp_path).items()}
    finally:
        os.umask(mask)
    assert modes == {"record": 0o600, "report": 0o640, "data": 0o640}


def test_a_second_run_on_the_same_output_is_refused(tmp_path: Path) -> None:
    """Under any name of the folder; a run on other files in it is not."""
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    with Release({"data": tmp_path / "d.csv"}, frozenset()) as first:
        with (
            pytest.raises(InputError, match="another run is at work on the same output"),
            Release({"data": tmp_path / "link" / "d.csv"}, frozenset()),
        ):
            pass
        with Release({"data": tmp_path / "other.csv"}, frozenset()) as second:
            second.temporary("data").write_bytes(b"2")
            second.publish()
        first.temporary("data").write_bytes(b"1")
        first.publish()
    assert (tmp_path / "d.csv").read_bytes() == b"1"
    assert (tmp_path / "other.csv").read_bytes() == b"2"
    assert _leftovers(tmp_path) == []


def test_a_run_that_is_putting_files_in_place_is_left_alone(tmp_path: Path) -> None:
    """Its journal is there and its lock is held."""
    staging = tmp_path / ".maskwright-01234567"
    staging.mkdir(mode=0o700)
    (staging / "journal").write_text("{}")
    held = hold(staging)
    assert held is not None
    with pytest.raises(InputError, match="another run is at work"), Release({"data": tmp_path / "d"}, frozenset()):
        pass
    held.let_go()
    with (
        pytest.raises(InputError, match=r"its journal is damaged.*\n.*remove"),
        Release({"data": tmp_path / "d"}, frozenset()),
    ):
        pass
    assert staging.is_dir()


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    """A device or a pipe under the name of an output is left alone."""
    os.mkfifo(tmp_path / "d.csv")
    with (
        pytest.raises(InputError, match="no regular file"),
        Release({"data": tmp_path / "d.csv"}, frozenset()),
    ):
        pass
    assert stat.S_ISFIFO((tmp_path / "d.csv").stat().st_mode)


def test_what_a_command_reads_is_not_written(tmp_path: Path) -> None:
    """Whatever it is called: its links are followed and its hard links known."""
    read = tmp_path / "d.csv"
    read.write_bytes(b"x\n1\n")
    (tmp_path / "link.csv").symlink_to(read)
    (tmp_path / "hard.csv").hardlink_to(read)
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "sub").mkdir()
    for name in ("d.csv", "link.csv", "hard.csv", "folder/d.csv", "sub/../d.csv"):
        with reads_noted():
            note_read(read)
            with (
                pytest.raises(InputError, match=r"output data would overwrite .*d\.csv, which this command reads"),
                Release({"data": tmp_path / name}, frozenset()),
            ):
                pass
    assert read.read_bytes() == b"x\n1\n"
    assert _leftovers(tmp_path) == []


PROGRAM = """\
import contextlib
import fcntl
import os
import sys
import types
from importlib.util import find_spec
from pathlib import Path
# Only what writes is loaded: the rest of the package takes longer than all that is tried.
package = types.ModuleType("maskwright.release")
package.__path__ = [str(Path(find_spec("maskwright").origin).with_name("release"))]
sys.modules["maskwright.release"] = package
from maskwright.foundation.errors import InputError
from maskwright.foundation.release_outcomes import release_sentence
from maskwright.release.files import Release
none = os.path.join(sys.argv[1], "none", "none")
missing = {
    "mkdir": lambda: os.mkdir(none), "link": lambda: os.link(none, none), "rename": lambda: os.replace(none, none),
    "fsync": lambda: os.fsync(9999), "chmod": lambda: os.chmod(none, 0o600), "unlink": lambda: os.unlink(none),
    "flock": lambda: fcntl.flock(9999, fcntl.LOCK_UN),
}
def release(folder, call, number):
    targets = {"record": folder / "run.json", "report": folder / "public" / "r.html",
               "data": folder / "public" / "d.csv"}
    content = {"record": b"new record", "report": b"the same", "data": b"new data, longer"}
    # So many calls are counted before that the one of this number is the one that fails.
    for _ in range(int(sys.argv[2]) - number):
        with contextlib.suppress(OSError):
            missing[call]()
    said = ""
    try:
        with Release(targets, frozenset({"record"})) as release:
            for key, each in content.items():
                release.temporary(key).write_bytes(each)
            release.publish()
    except InputError as error:
        said = f"{error}\\n"
    folder.with_suffix(".said").write_text(said + release_sentence())
for folder in map(Path, sys.argv[3:]):
    child = os.fork()
    if child == 0:
        release(folder, *(kind(part) for kind, part in zip((str, int), folder.name.split("-"))))
        os._exit(0)
    print(folder.name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Release into each of the folders, all in copies of one process; each is called after the call that fails there."""

CALLS = {
    "mkdir": ("mkdir,mkdirat", 2), "link": ("link,linkat", 1), "rename": ("rename,renameat,renameat2", 5),
    "fsync": ("fsync,fdatasync", 4), "chmod": ("chmod,fchmodat", 2), "unlink": ("unlink,unlinkat", 2),
    "flock": ("flock", 1),
}  # fmt: skip
"""System calls of each function, and how many of them are to fail, one after the other."""

FAILS_AT = 50
"""Which call fails in a process; more than any release makes."""


def _strace() -> str:
    program = shutil.which("strace")
    if program is None:
        pytest.skip("strace is not installed; the failing layer above does the same in the process")
    tried = subprocess.run(
        [program, "-f", "--seccomp-bpf", "-e", "trace=mkdir", "-o", os.devnull, "true"],
        capture_output=True,
        check=False,
    )
    if tried.returncode != 0:
        pytest.skip("strace may not trace processes here")
    return program


@pytest.mark.parametrize("fault", ["error=EIO", "signal=KILL"])
def test_system_calls_that_fail(tmp_path: Path, fault: str) -> None:
    """The same with faults in the kernel's answers, and with a real kill at each of the calls."""
    killed = fault == "signal=KILL"
    folders = [tmp_path / f"{name}-{number}" for name, (_, most) in CALLS.items() for number in range(1, most + 1)]
    for folder in folders:
        _prepare(folder, OLD)
    # It stops at these calls alone, which is faster; signals that are injected there get lost.
    command = [_strace(), "-f", *([] if killed else ["--seccomp-bpf"]), "-o", os.devnull]
    command += ["-e", f"trace={','.join(calls for calls, _ in CALLS.values())}"]
    for calls, _ in CALLS.values():
        command += ["-e", f"inject={calls}:{fault}:when={FAILS_AT}"]
    command += [sys.executable, "-B", "-c", PROGRAM, str(tmp_path), str(FAILS_AT), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    code = -signal.SIGKILL if killed else 0
    assert done.stdout.splitlines() == [f"{folder.name} {code}" for folder in folders]
    for folder in folders:
        _check_private(folder)
        if not killed:
            said = folder.with_suffix(".said").read_text()
            if "may be of two releases" not in said:
                assert _set(folder) == (OLD if "nothing was released" in said else NEW), said
                assert ("nothing was released" in said) != ("is in place" in said)
        _next_run(folder)
        assert _set(folder) in (OLD, NEW)
        assert _leftovers(folder) == []


def test_the_journal_names_no_file_outside_its_folders(tmp_path: Path) -> None:
    """A journal that somebody made up moves nothing elsewhere."""
    (tmp_path / "out").mkdir()
    (tmp_path / "precious").write_bytes(b"precious")
    staging = tmp_path / "out" / ".maskwright-01234567"
    (staging / "new").mkdir(parents=True)
    staging.chmod(0o700)
    entry = {"staging": "..", "name": "../precious", "sha256": "0" * 64, "bytes": 1, "mode": 0o600}
    (staging / "journal").write_text(json.dumps({"files": [entry]}))
    with (
        pytest.raises(InputError, match="cannot be ended"),
        Release({"data": tmp_path / "out" / "d.csv"}, frozenset()),
    ):
        pass
    assert (tmp_path / "precious").read_bytes() == b"precious"
