"""The private folder that a run keeps inside an output folder: what is not yet released, and a lock that says it lives.

It lies beside the files to be, since only within one file system can a file be moved into place in a single step::

    .maskwright-1f0c6a52/      0700
        lock                   locked by the run as long as it lives, whichever way it ends
        new/masked.csv         0600, under its final name: what formats are told by, and messages speak of
        old/masked.csv         what the release replaces, until the whole set is in place
        journal                the decision to release; see `maskwright.release.swap`
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.whole_files import PRIVATE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PREFIX = ".maskwright-"
JOURNAL = "journal"
UNFINISHED = "journal.unfinished"

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@dataclass(frozen=True)
class Staging:
    """A staging folder whose lock this process holds."""

    path: Path
    lock: int

    @property
    def new(self) -> Path:
        """Folder of the files to be released."""
        return self.path / "new"

    @property
    def old(self) -> Path:
        """Folder of the files they replace."""
        return self.path / "old"

    @property
    def journal(self) -> Path:
        """File that is there from the decision to release until the release is made."""
        return self.path / JOURNAL

    @property
    def unfinished_journal(self) -> Path:
        """What becomes the journal when it is on the disk."""
        return self.path / UNFINISHED

    def let_go(self) -> None:
        """Leave the folder as it is, and let go of its lock."""
        os.close(self.lock)

    def remove(self) -> None:
        """Remove the folder with all that is in it; what the disk does not let go of is left to the next run."""
        shutil.rmtree(self.new, ignore_errors=True)
        shutil.rmtree(self.old, ignore_errors=True)
        for path in (self.journal, self.unfinished_journal):
            with contextlib.suppress(OSError):
                path.unlink()
        self.let_go()
        with contextlib.suppress(OSError):
            (self.path / "lock").unlink()
            self.path.rmdir()


def make_staging(folder: Path, token: str) -> Staging:
    """Make the staging folder of a run."""
    path = folder / f"{PREFIX}{token}"
    path.mkdir(mode=0o700)
    found = None
    try:
        found = hold(path)
        if found is not None:
            found.new.mkdir(mode=0o700)
            found.old.mkdir(mode=0o700)
    except BaseException:
        if found is not None:
            found.let_go()
        shutil.rmtree(path, ignore_errors=True)
        raise
    if found is None:  # another run, which has just begun, took it for what a dead one left
        raise _busy(folder)
    return found


def hold(path: Path) -> Staging | None:
    """Staging folder under its lock; None where another process holds it, or has just removed it."""
    try:
        descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT, PRIVATE)
    except FileNotFoundError:
        return None
    try:
        _lock(descriptor)
        # Whoever removed the folder before it was our turn has removed this very file.
        if os.path.samestat(os.fstat(descriptor), (path / "lock").stat()):
            return Staging(path, descriptor)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            os.close(descriptor)
            message = f"the folder {path.parent} is on a file system without locks: other runs could not be kept out"
            raise InputError(Problem(message, hint="Release into another folder, and copy the files.")) from error
    os.close(descriptor)
    return None


def others(own: Staging) -> Iterator[Path]:
    """Staging folders of other runs, dead or alive, beside one's own."""
    folder = own.path.parent
    for path in sorted(folder.glob(f"{PREFIX}*")):
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if path == own.path or not stat.S_ISDIR(status.st_mode):
                continue
            if status.st_uid != own.path.lstat().st_uid:
                hint = f"When no run of theirs is at work any more, they remove {path}."
                raise InputError(Problem(f"another user is releasing files into {folder}, or was cut off", hint=hint))
            yield path


def refuse_live(path: Path, names: set[str]) -> None:
    """Refuse to release what another live run is about to release.

    `path`: staging folder of the other. `names`: files that are to be released beside it.
    """
    # Each run makes its own files before it looks for others', so that of two at least one sees the other.
    if (path / JOURNAL).exists() or any((path / "new" / name).exists() for name in names):
        raise _busy(path.parent)


def _busy(folder: Path) -> InputError:
    hint = "Wait until it has ended, or write to other files."
    return InputError(Problem(f"another run is at work on the same output in {folder}", hint=hint))
