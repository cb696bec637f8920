"""Files: which names are one file, names made from others, and writing that is whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import secrets
import stat
import sys
import time
import unicodedata
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Place, Problem, refuse_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


STANDARD_OUTPUT = 1

_read: ContextVar[dict[object, Path] | None] = ContextVar("files_read", default=None)


def file_identity(path: Path) -> object:
    """Identity of a file: all names of one file have the same."""
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
        message = f"standard output goes into {path}, which is to be read"
        hint = "Send it to another file; with a single '>' the shell has emptied this one already."
        raise InputError(Problem(message, hint=hint))


MOST_BYTES = 64 * 2**20
"""Of a codebook or a hierarchy: a longer file is another one that was meant."""


def read_bounded(path: Path, what: str) -> bytes:
    """Content of a file that describes data, a codebook or a hierarchy, which has to fit in memory."""
    note_read(path)
    place = Place(str(path))
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(Problem(f"there is no such {what}", place)) from None
    except OSError as error:
        raise InputError(Problem(f"the {what} cannot be read: {error.strerror}", place)) from None
    if len(content) > MOST_BYTES:
        raise InputError(Problem(f"a {what} of over {MOST_BYTES // 2**20} MB is not read", place))
    return content


def refuse_to_overwrite(outputs: Mapping[str, Path], inputs: Mapping[str, Path] | None = None) -> None:
    """Refuse to write a file that is read."""
    taken = {file_identity(path): f"{what} {path}" for what, path in (inputs or {}).items()}
    for identity, path in (_read.get() or {}).items():
        if not path.exists():
            continue  # a temporary one: another file may have its number by now
        taken.setdefault(identity, f"{path}, which this command reads")
    problems = [
        Problem(f"{what} would overwrite {other}", hint="Give it another file name.")
        for what, path in outputs.items()
        if (other := taken.get(file_identity(path))) is not None
    ]
    refuse_problems(problems)


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


PACKINGS = (".gz", ".zip", ".zst")
"""Endings of compressed text files, which stand after the ending of the format: ``survey.csv.gz``."""


def split_name(name: str) -> tuple[str, str]:
    """Name of a file without its ending, and the ending, to which that of a compression belongs; "": none.

    >>> split_name("survey.flat.csv.gz"), split_name("masked")
    (('survey.flat', '.csv.gz'), ('masked', ''))
    """
    packing = next((each for each in PACKINGS if name.lower().endswith(each)), "")
    plain = name[: len(name) - len(packing)]
    at = plain.rfind(".")
    # A name that begins with its only point is one of a hidden file, and no ending.
    at = at if at > 0 else len(plain)
    return (plain[:at], name[at:]) if plain else (name, "")


PRIVATE = 0o600
PUBLIC = 0o666
"""Before the user's mask."""
MOMENT = 10.0
"""Seconds that a process may take between making a file and locking it."""

if sys.platform == "win32":

    @contextlib.contextmanager
    def _made(path: Path) -> Iterator[None]:
        """Make a file, for its owner only; an open one could not be moved into place."""
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
        yield

    def _is_left(path: Path) -> bool:
        """Nothing says here whether someone still writes a file."""
        del path
        return False
else:
    import fcntl

    @contextlib.contextmanager
    def _made(path: Path) -> Iterator[None]:
        """Make a file, for its owner only, that is locked until it is written or the process ends."""
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE)
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(descriptor)

    def _is_left(path: Path) -> bool:
        """Whether no one writes a file any more, and whoever made it has had the time to lock it."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return time.time() - os.fstat(descriptor).st_mtime > MOMENT
        except OSError:
            return False
        finally:
            os.close(descriptor)


def write_whole(path: Path, write: Callable[[Path], None], mode: int = PUBLIC) -> None:
    """Write a file under a temporary name, for its owner only, and move it into place."""
    refuse_to_overwrite({path.name: path})
    temporary = path.with_name(f".{secrets.token_hex(4)}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _made(temporary):
            _sweep(path)
            write(temporary)
            sync_file(temporary)
            temporary.chmod(masked_mode(mode))
            temporary.replace(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path} cannot be written: {reason}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_text(path: Path, text: str, mode: int = PUBLIC) -> None:
    """Write a text file, UTF-8, as `write_whole` does."""
    write_whole(path, lambda temporary: _put(temporary, text), mode)


def masked_mode(mode: int) -> int:
    """Permissions that a new file of this mode gets under the user's mask."""
    mask = os.umask(0o077)  # the only way to ask is to set it: to what lets no one in meanwhile
    os.umask(mask)
    return mode & ~mask


def sync_file(path: Path) -> None:
    """Return when the content of a file is on the disk."""
    # Windows flushes only what may be written.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Return when the names in a folder are on the disk; systems that cannot say so of a folder are trusted."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _sweep(path: Path) -> None:
    """Remove what processes left that were killed while they wrote this file."""
    for left in path.parent.glob(f".*-{glob.escape(path.name)}"):
        is_temporary = re.fullmatch(r"\.[0-9a-f]{8}", left.name.removesuffix(f"-{path.name}")) is not None
        if is_temporary and _is_left(left):
            with contextlib.suppress(OSError):
                left.unlink()


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
