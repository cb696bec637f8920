"""Signals that end a process: they all end it alike, and none of them in the middle of a work that must be whole."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Windows has no SIGHUP."""


class Interrupted(KeyboardInterrupt):
    """A signal asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def ended_alike() -> Iterator[None]:
    """Raise `Interrupted` for all of them, so that temporaries are removed; a signal that is ignored stays so."""
    before = {}
    try:
        if _is_main_thread():
            for number in ENDING:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    before[number] = signal.getsignal(number)
                    signal.signal(number, _interrupt)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals that end the process wait until the work inside is done; they come at its end, if any came.

    A process that is killed (`SIGKILL`, a power failure) is not helped by this.
    """
    before = {}
    waiting: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        del frame
        waiting.append(number)

    try:
        if _is_main_thread():
            for number in ENDING:
                # None: a handler that was not installed from Python, which we could not put back.
                if signal.getsignal(number) not in (None, signal.SIG_IGN):
                    before[number] = signal.getsignal(number)
                    signal.signal(number, wait)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting:
            signal.raise_signal(waiting[0])


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _interrupt(number: int, frame: FrameType | None) -> None:
    del frame
    raise Interrupted(number)
