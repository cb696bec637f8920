"""Endings of a process: signals, never inside work that must be whole, and no core dumps of microdata."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    Handler = Callable[[int, FrameType | None], None]


ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Windows has no SIGHUP."""


class Interrupted(KeyboardInterrupt):
    """A signal asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def _handled(handler: Handler, is_replaced: Callable[[Any], bool]) -> Iterator[None]:
    """Have a handler for these signals, in place of those that are to be replaced, until the work inside is done."""
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                if is_replaced(signal.getsignal(number)):
                    before[number] = signal.getsignal(number)
                    signal.signal(number, handler)
        yield
    finally:
        for number, own in before.items():
            signal.signal(number, own)


@contextlib.contextmanager
def signals_handled() -> Iterator[None]:
    """Raise `Interrupted` for all of them, so that temporaries are removed; a signal that is ignored stays so."""
    with _handled(_interrupt, lambda own: own in (signal.SIG_DFL, signal.default_int_handler)):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals that end the process wait until the work inside is done; `SIGKILL` cannot wait."""
    waiting: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        del frame
        waiting.append(number)

    try:
        # None: a handler that was not installed from Python, which we could not put back.
        with _handled(wait, lambda own: own not in (None, signal.SIG_IGN)):
            yield
    finally:
        if waiting:
            signal.raise_signal(waiting[0])


def _interrupt(number: int, frame: FrameType | None) -> None:
    del frame
    raise Interrupted(number)


def prevent_core_dumps() -> None:
    """Forbid core dumps of this process and of those it starts.

    The limit is one byte where it may be: Linux then writes no file (less than a page), and starts no program that
    collects dumps either, which a limit of zero would not prevent. Windows has no such limit.
    """
    if sys.platform != "win32":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        limit = 1 if hard == resource.RLIM_INFINITY else min(1, hard)
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
