"""Functions that the tests of copied processes call there."""

from __future__ import annotations

import os
import signal
import time
import uuid

MADE: list[str] = []


def prepare() -> None:
    """Make something that no two processes make alike."""
    MADE.append(uuid.uuid4().hex)


def fail() -> None:
    """Fail, as the import of a library that is not there does."""
    raise ImportError("no such library")


def told(_: object, seconds: float = 0.0) -> tuple[int, int, list[str]]:
    """Numbers of the process and of the one it was copied from, and what was prepared."""
    time.sleep(seconds)
    return os.getpid(), os.getppid(), MADE


def kill(_: object) -> None:
    """Be killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def fill(_: object) -> int:
    """Need a gigabyte."""
    return len(bytearray(1 << 30))
