"""Writing results: a file appears whole or not at all, and what the disk refuses is said."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PRIVATE = 0o600
PUBLIC = 0o666
"""Before the user's mask."""


def write_whole(path: Path, write: Callable[[Path], None], mode: int = PUBLIC) -> None:
    """Write a file under a temporary name and move it into place.

    Parameters
    ----------
    path : Path
        Its folder is made when it does not exist.
    write : callable
        Told the temporary name, which keeps the ending.
    mode : int
        Of the file, before the user's mask.

    Raises
    ------
    InputError
        The disk is full, the folder cannot be written, ...; the file that was there before is left as it is.
    """
    temporary = path.with_name(f".{secrets.token_hex(4)}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path} cannot be written: {reason}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, mode: int = PUBLIC) -> None:
    """Write a text file, UTF-8, as `write_whole` does.

    Parameters
    ----------
    path : Path
    text : str
    mode : int
        Of the file, before the user's mask.
    """
    write_whole(path, lambda temporary: _put(temporary, text), mode)


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
