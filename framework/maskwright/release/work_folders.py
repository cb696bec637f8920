"""Private folders of a run: staging inside the output folder, and scratch for the tasks of a large run."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.files import PRIVATE, write_text
from maskwright.foundation.processes.signals import Interrupted
from maskwright.plugins.engine import EngineLost, MemoryFull, ScratchFull, TaskFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from maskwright.foundation.progress import Reporter


STAGING_PREFIX = ".maskwright-"
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
    path = folder / f"{STAGING_PREFIX}{token}"
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
        raise _staging_in_use(folder)
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
    for path in sorted(folder.glob(f"{STAGING_PREFIX}*")):
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if path == own.path or not stat.S_ISDIR(status.st_mode):
                continue
            if status.st_uid != own.path.lstat().st_uid:
                hint = f"When no run of theirs is at work any more, they remove {path}."
                raise InputError(Problem(f"another user is releasing files into {folder}, or was cut off", hint=hint))
            yield path


def refuse_live(path: Path, names: set[str]) -> None:
    """Refuse to release what another live run is about to release."""
    # Each run makes its own files before it looks for others', so that of two at least one sees the other.
    if (path / JOURNAL).exists() or any((path / "new" / name).exists() for name in names):
        raise _staging_in_use(path.parent)


def _staging_in_use(folder: Path) -> InputError:
    hint = "Wait until it has ended, or write to other files."
    return InputError(Problem(f"another run is at work on the same output in {folder}", hint=hint))


SCRATCH_PREFIX = ".scratch-maskwright-"

KEPT_AFTER = (TaskFailed, EngineLost, ScratchFull, MemoryFull)
"""Ends of a run after which another one may go on from what is finished."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Of a disk, or of what one may have of it."""


@dataclass(frozen=True)
class Scratch:
    """A scratch folder that this run holds."""

    path: Path

    def remember(self, name: str, make: Callable[[], Any]) -> Any:
        """What the first run made, in that one and in those that resume it; a seed that was drawn."""
        file = self.path / f"{name}.json"
        if not file.exists():
            write_text(file, json.dumps(make()), PRIVATE)
        return json.loads(file.read_text(encoding="utf-8"))


@contextmanager
def scratch_folder(parent: Path, output: Path, identity: str, *, resume: bool, reporter: Reporter) -> Iterator[Scratch]:
    """Folder for the temporary files of one run; engines start inside, and end before it is removed.

    What earlier runs of the same output left is removed, or used where it is of the same identity and `resume` says so.
    """
    of_output = f"{SCRATCH_PREFIX}{_short(str(output), 8)}-"
    own = parent / f"{of_output}{_short(identity, 16)}"
    try:
        # A name that was mistyped is a folder on another disk than was meant.
        if not parent.exists() and not output.is_relative_to(parent):
            reporter.notice(f"there was no folder {parent}: it is made for what the tasks write on the way")
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = _left(parent, of_output, own, resume=resume, reporter=reporter)
        if held is None:
            if resume:
                reporter.notice("there is nothing to resume: the run begins anew")
            own.mkdir(mode=0o700)
            held = hold(own)
    except OSError as error:
        raise _unmade(own, error) from None
    if held is None:
        raise _scratch_in_use(output)
    try:
        yield Scratch(own)
    except BaseException as error:
        if not _is_kept(error, resume=resume):
            _remove(held)
            raise
        held.let_go()
        reporter.notice(f"what is finished is kept in {own}, which holds confidential data; --resume uses it")
        raise
    _remove(held)


def _is_kept(error: BaseException, *, resume: bool) -> bool:
    """Whether another run may go on from what this one has finished."""
    if isinstance(error, Interrupted):
        return resume
    return isinstance(error, KEPT_AFTER) or getattr(error.__cause__, "errno", None) in FULL


@contextmanager
def passing_scratch_folder(parent: Path) -> Iterator[Path]:
    """Folder for what the tasks of a plan write, which is removed with whatever was made for it."""
    made = [each for each in (parent, *parent.parents) if not each.exists()]
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=parent))
    except OSError as error:
        raise _unmade(parent, error) from None
    try:
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)
        for each in made:
            with suppress(OSError):
                each.rmdir()


def _left(parent: Path, of_output: str, own: Path, *, resume: bool, reporter: Reporter) -> Staging | None:
    """Folder of an earlier run that is resumed; the others of the same output are removed."""
    found = None
    own_user = getattr(os, "getuid", int)()  # Windows has none, and says 0 of all files
    for path in sorted(parent.glob(f"{of_output}*")):
        if path.is_symlink() or not path.is_dir() or path.stat().st_uid != own_user:
            continue
        held = hold(path)
        if held is None:
            raise _scratch_in_use(path)
        if path == own and resume:
            reporter.notice(f"resuming from {path}")
            found = held
        else:
            why = "--resume would have used it" if path == own else "it was of another pipeline, seed or input"
            reporter.notice(f"removed {path}, which a run that was cut off had left: {why}")
            _remove(held)
    return found


def _remove(held: Staging) -> None:
    """Remove a folder, its lock last."""
    with suppress(OSError):
        for path in held.path.iterdir():
            if path.name == "lock":
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    held.let_go()
    shutil.rmtree(held.path, ignore_errors=True)


def _scratch_in_use(path: Path) -> InputError:
    hint = "Wait until it has ended, or write to other files."
    return InputError(Problem(f"another run is at work on the same output ({path})", hint=hint))


def _unmade(folder: Path, error: OSError) -> InputError:
    reason = error.strerror or type(error).__name__
    return InputError(f"the scratch folder {folder} cannot be made: {reason}")


def _short(text: str, characters: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:characters]
