"""Works of small stages that the kit tries engines with: in a module that worker processes import quickly."""

from __future__ import annotations

import errno
import hashlib
import os
import time
import uuid
from typing import TYPE_CHECKING, NoReturn

from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

MESSAGE = "income 123456"
"""What a work raises, which no message may quote."""

POISONED = "task-05"


def write(folder: Path, key: str) -> dict[str, object]:
    """Write what depends on the key alone; the first one is the slowest."""
    if key.endswith("00"):
        time.sleep(0.3)
    (folder / "more").mkdir()
    (folder / "more" / "bytes.bin").write_bytes(hashlib.sha256(key.encode()).digest() * 1000)
    return {"key": key, "exact": 3**60}


def write_anew(folder: Path, key: str) -> dict[str, object]:
    """Write something else each time: two results are one only where it was done once."""
    (folder / "random.txt").write_text(uuid.uuid4().hex, encoding="ascii")
    return {"key": key}


def fail(folder: Path, key: str) -> dict[str, object]:
    """Fail for one key."""
    if key == POISONED:
        raise ValueError(MESSAGE)
    return write_anew(folder, key)


def refuse(_: Path, key: str) -> NoReturn:
    """Raise an error for people."""
    raise InputError(f"{key}: this is refused")


def find_no_room(_: Path, __: str) -> NoReturn:
    """Fail as on a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
