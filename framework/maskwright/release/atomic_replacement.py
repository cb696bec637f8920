"""A set of files put in place as a whole, all new or all old, and recovery of what dead runs left behind."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.files import PRIVATE, sync_folder
from maskwright.foundation.findings import Notice
from maskwright.release.data_file import file_facts
from maskwright.release.work_folders import JOURNAL, UNFINISHED, Staging, hold, others, refuse_live

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Entry:
    """One file of a set.

    `staging`: staging folder in the output folder of the file. `mode`: permissions it is to have.
    """

    staging: Path
    name: str
    sha256: str
    bytes: int
    mode: int

    @property
    def new(self) -> Path:
        """The file before it is released."""
        return self.staging / "new" / self.name

    @property
    def old(self) -> Path:
        """What it replaces, kept aside."""
        return self.staging / "old" / self.name

    @property
    def target(self) -> Path:
        """Its place."""
        return self.staging.parent / self.name

    def is_staged(self) -> bool:
        """Whether it still waits, as it was decided on."""
        return self._is_as_decided(self.new)

    def is_placed(self) -> bool:
        """Whether it is in its place."""
        return self._is_as_decided(self.target)

    def _is_as_decided(self, path: Path) -> bool:
        try:
            # No link: it would be moved, and not what it names.
            return not path.is_symlink() and file_facts(path) == {"sha256": self.sha256, "bytes": self.bytes}
        except FileNotFoundError:
            return False


def complete(entries: Sequence[Entry]) -> None:
    """Put every file that still waits in its place, in order; when this returns, the set is on the disk."""
    for entry in entries:
        if os.path.lexists(entry.new):
            if os.path.lexists(entry.target) and not os.path.lexists(entry.old):
                _second_name(entry.target, entry.old)
            entry.new.chmod(entry.mode)
            entry.new.replace(entry.target)
    _sync(entries)


def undo(entries: Sequence[Entry]) -> None:
    """Put back what was replaced, and stage again what replaced it; when this returns, the old set is on the disk."""
    for entry in reversed(entries):
        if not os.path.lexists(entry.new) and os.path.lexists(entry.target):
            # Staged again, so that whoever finds the journal still there can complete the set, or undo it once more.
            _second_name(entry.target, entry.new) if os.path.lexists(entry.old) else entry.target.replace(entry.new)
        if os.path.lexists(entry.old):
            entry.old.replace(entry.target)
    _sync(entries)


def settle(entries: Sequence[Entry]) -> bool:
    """Complete or undo a swap that was cut off."""
    if all(entry.is_staged() or entry.is_placed() for entry in entries):
        complete(entries)
        return True
    if all(os.path.lexists(entry.old) or os.path.lexists(entry.new) or entry.is_placed() for entry in entries):
        undo(entries)
        return False
    raise FileNotFoundError(errno.ENOENT, "one of them is damaged, and what it replaced is not there any more")


def write_journal(entries: Sequence[Entry], home: Path) -> None:
    """Decide: from here on the set is completed, whoever does it."""
    for staging in {entry.staging: None for entry in entries}:
        if staging != home:
            _write(staging, {"home": _from(staging, home)})
    files = [asdict(entry) | {"staging": _from(home, entry.staging)} for entry in entries]
    _write(home, {"files": files})


def read_journal(staging: Path) -> tuple[Path, tuple[Entry, ...]] | None:
    """Staging folder that holds the journal, and the files of the set; None when no release was decided."""
    if not (staging / JOURNAL).exists():
        return None
    content = json.loads((staging / JOURNAL).read_text(encoding="utf-8"))
    if "home" in content:
        home = _at(staging, content["home"])
        if not home.parent.is_dir():
            raise FileNotFoundError(home.parent)
        # Without a journal there, nothing was decided yet, or all was done.
        return read_journal(home) if home.parent != staging.parent else None
    return staging, tuple(
        Entry(_at(staging, each["staging"]), Path(each["name"]).name, each["sha256"], each["bytes"], each["mode"])
        for each in content["files"]
    )


def end_journal(home: Path) -> None:
    """Say that the set is whole, new or old, so that no one completes it once more."""
    (home / JOURNAL).unlink(missing_ok=True)
    sync_folder(home)


def _second_name(path: Path, other: Path) -> None:
    """Give a file another name; where the file system has no links, it loses the first one."""
    try:
        os.link(path, other)
    except OSError:
        path.replace(other)


def _sync(entries: Sequence[Entry]) -> None:
    for folder in {entry.staging.parent: None for entry in entries}:
        sync_folder(folder)


def _write(staging: Path, content: object) -> None:
    unfinished = staging / UNFINISHED
    descriptor = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, PRIVATE)
    try:
        left = memoryview(json.dumps(content).encode())
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unfinished.replace(staging / JOURNAL)
    sync_folder(staging)


def _from(staging: Path, other: Path) -> str:
    """Name of another staging folder, so that all may be moved or be mounted elsewhere together."""
    try:
        return os.path.relpath(other.parent, staging.parent)
    except ValueError:  # on another drive
        return str(other.parent)


def _at(staging: Path, folder: str) -> Path:
    """Staging folder of the same run in another output folder."""
    return Path(os.path.normpath(staging.parent / folder)) / staging.name


def sweep(own: Staging, names: set[str]) -> tuple[Notice, ...]:
    """Refuse to work beside a live run on the same files, and end what dead ones left."""
    notices: list[Notice] = []
    for path in others(own):
        found = hold(path)
        if found is not None:
            notices.extend(_end(found))
        elif path.exists():
            refuse_live(path, names)
    return tuple(notices)


def _end(dead: Staging) -> tuple[Notice, ...]:
    """End what a dead run left, here and in the other folders of its set."""
    with contextlib.ExitStack() as locks:
        locks.callback(dead.let_go)
        held = [dead]
        home, entries = _decided(dead.path)
        for path in dict.fromkeys((home, *(entry.staging for entry in entries))):
            if path != dead.path and path.exists():
                held.append(_held(path, entries))
                locks.callback(held[-1].let_go)
        # What was read before it was locked may have been ended by another run meanwhile.
        home, entries = _decided(dead.path)
        try:
            completed = settle(entries)
            end_journal(home)
        except OSError as error:
            raise _cut_off(dead.path, error.strerror or type(error).__name__, entries) from error
        locks.pop_all()
    for staging in held:
        staging.remove()
    if not entries:
        return ()
    done = "they are all in place now" if completed else "those they were to replace are back"
    names = ", ".join(str(entry.target) for entry in entries)
    message = f"an earlier run was cut off while it put its files in place; {done}: {names}"
    return (Notice("earlier-run-ended", "", message, len(entries)),)


def _held(path: Path, entries: Sequence[Entry]) -> Staging:
    found = hold(path)
    if found is None:
        raise _cut_off(path, "another run is just looking after them", entries)
    return found


def _decided(staging: Path) -> tuple[Path, tuple[Entry, ...]]:
    """Where the journal is and the files of the set; none when no release was decided."""
    try:
        return read_journal(staging) or (staging, ())
    except OSError as error:
        raise _cut_off(staging, f"its journal: {error.strerror}", ()) from error
    except (ValueError, KeyError, TypeError) as error:
        raise _cut_off(staging, "its journal is damaged", ()) from error


def _cut_off(staging: Path, reason: str, entries: Sequence[Entry]) -> InputError:
    files = ", ".join(str(entry.target) for entry in entries) or f"files in {staging.parent}"
    return InputError(
        Problem(
            f"an earlier run was cut off while it put its files in place, and that cannot be ended ({reason}): {files} "
            "may be of two releases",
            hint=f"Try again; if it stays so, look after these files yourself, and remove {staging}.",
        )
    )
