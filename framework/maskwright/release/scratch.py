"""The folder that the tasks of a large run write into on the way: for its owner only, and gone when the run is.

It holds confidential records. What ends the run in the middle leaves it there for ``--resume`` where that can help: a
killed process, lost workers, a full disk, a signal where ``--resume`` was given from the first. A lock says whether a
run is at work in it, whichever way that run ends::

    .scratch-maskwright-6c1f0a52-1f0c6a52d3e4b5a6/   0700: of an output, and of all that the results depend on
        lock
        seed.json                                    what the first run of them drew
        protect/block-0003/                          what the tasks of stages write
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.processes.ending_signals import Interrupted
from maskwright.foundation.whole_files import PRIVATE, write_text
from maskwright.plugins.engine import EngineLost, MemoryFull, ScratchFull, TaskFailed
from maskwright.release.staging import hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from maskwright.foundation.progress import Reporter
    from maskwright.release.staging import Staging

PREFIX = ".scratch-maskwright-"

KEPT_AFTER = (TaskFailed, EngineLost, ScratchFull, MemoryFull)
"""Ends of a run after which another one may go on from what is finished."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Of a disk, or of what one may have of it."""


@dataclass(frozen=True)
class Scratch:
    """A scratch folder that this run holds."""

    path: Path

    def remember(self, name: str, make: Callable[[], Any]) -> Any:
        """What the first run made, in that one and in those that resume it; a seed that was drawn.

        `name`: a name of a file, without ending. `make`: returns plain data of JSON.
        """
        file = self.path / f"{name}.json"
        if not file.exists():
            write_text(file, json.dumps(make()), PRIVATE)
        return json.loads(file.read_text(encoding="utf-8"))


@contextmanager
def scratch_folder(parent: Path, output: Path, identity: str, *, resume: bool, reporter: Reporter) -> Iterator[Scratch]:
    """Folder for the temporary files of one run; engines start inside, and end before it is removed.

    What earlier runs of the same output left is removed, or used where it is of the same identity and `resume` says so.

    `parent`: folder in which it is made; it is made too, for its owner only, where it is missing. `output`: Absolute;
    what the run is to release. `identity`: all that its results depend on: the pipeline, hashes of its inputs,
    versions; a seed only where it is given. `resume`: a run that is to be resumed keeps what is finished when a signal
    ends it, too. `reporter`: told of what is removed, used or kept.
    """
    of_output = f"{PREFIX}{_short(str(output), 8)}-"
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
        raise _busy(output)
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
    """Folder for what the tasks of a plan write, which is gone with whatever was made for it.

    `parent`: folder in which it is made; where it is missing it is made too.
    """
    made = [each for each in (parent, *parent.parents) if not each.exists()]
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
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
            raise _busy(path)
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


def _busy(path: Path) -> InputError:
    hint = "Wait until it has ended, or write to other files."
    return InputError(Problem(f"another run is at work on the same output ({path})", hint=hint))


def _unmade(folder: Path, error: OSError) -> InputError:
    reason = error.strerror or type(error).__name__
    return InputError(f"the scratch folder {folder} cannot be made: {reason}")


def _short(text: str, characters: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:characters]
