"""Which names are one file, so that nothing that is written destroys what is read.

Files are told apart by what the operating system says of them, not by their names: links, hard links, names that differ
in case only on a disk that does not mind, and one folder mounted in two places are seen through.
"""

from __future__ import annotations

import contextlib
import os
import stat
import unicodedata
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STANDARD_OUTPUT = 1

_read: ContextVar[dict[object, Path] | None] = ContextVar("files_read", default=None)


def file_identity(path: Path) -> object:
    """Identity of a file: all names of one file have the same.

    `path`: a file that is there, or the name of one to be made: of two of those in one folder, names that differ only
    in case or in the form of accents are one, because they are on some disks.
    """
    status = _status(path)
    if status is not None:
        return status.st_dev, status.st_ino
    resolved = Path(os.path.realpath(path))
    folder = _status(resolved.parent)
    name = unicodedata.normalize("NFC", resolved.name).casefold()
    return (str(resolved.parent) if folder is None else (folder.st_dev, folder.st_ino)), name


@contextlib.contextmanager
def reads_noted() -> Iterator[None]:
    """Remember the files that a command reads, for `refuse_to_overwrite`; also a decorator."""
    token = _read.set({})
    try:
        yield
    finally:
        _read.reset(token)


def note_read(path: Path) -> None:
    """Say that a file of the user's is about to be read: microdata, rules, what they include, a pipeline."""
    noted = _read.get()
    identity = file_identity(path)
    if noted is not None:
        noted.setdefault(identity, path)
    if identity == _standard_output():
        raise InputError(
            Problem(
                f"standard output goes into {path}, which is to be read",
                hint="Send it to another file; with a single '>' the shell has emptied this one already.",
            )
        )


def refuse_to_overwrite(outputs: Mapping[str, Path], inputs: Mapping[str, Path] | None = None) -> None:
    """Refuse to write a file that is read.

    `inputs`: to be read; besides those that the command has read.
    """
    taken = {file_identity(path): f"{what} {path}" for what, path in (inputs or {}).items()}
    for identity, path in (_read.get() or {}).items():
        taken.setdefault(identity, f"{path}, which this command reads")
    problems = [
        Problem(f"{what} would overwrite {other}", hint="Give it another file name.")
        for what, path in outputs.items()
        if (other := taken.get(file_identity(path))) is not None
    ]
    if problems:
        raise InputError(problems)


def _standard_output() -> object:
    """Identity of the file that standard output goes into; None when it is a terminal, a pipe or nothing."""
    try:
        status = os.fstat(STANDARD_OUTPUT)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):
        return None
