"""Writing files: one appears whole or not at all, is on the disk then, and what the disk refuses is said."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import secrets
import sys
import time
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError
from maskwright.foundation.file_identity import refuse_to_overwrite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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
        """Nothing says here whether somebody still writes a file."""
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
        """Whether nobody writes a file any more, and whoever made it has had the time to lock it."""
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
    """Write a file under a temporary name, for its owner only, and move it into place.

    `path`: its folder is made when it does not exist. `write`: told the temporary name, which keeps the ending. `mode`:
    of the file, before the user's mask.
    """
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
    """Write a text file, UTF-8, as `write_whole` does.

    `mode`: of the file, before the user's mask.
    """
    write_whole(path, lambda temporary: _put(temporary, text), mode)


def masked_mode(mode: int) -> int:
    """Permissions that a new file of this mode gets under the user's mask."""
    mask = os.umask(0o077)  # the only way to ask is to set it: to what lets nobody in meanwhile
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
