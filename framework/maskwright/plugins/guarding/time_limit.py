"""How long one call of a plugin may take, where the pipeline says so.

Nothing can end a thread from outside, least of all compiled code. So calls that are timed are made in a thread of their
own, and one that takes too long is left behind: whoever waits for it goes on, throws away what is half written, and
the program ends. Code that keeps the interpreter's lock without ever giving it back cannot even be waited for.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS: ContextVar[float | None] = ContextVar("maskwright_plugin_seconds", default=None)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Let no call of a plugin inside take longer than so many seconds; None: each takes what it takes."""
    token = _SECONDS.set(seconds)
    try:
        yield
    finally:
        _SECONDS.reset(token)


def seconds_allowed() -> float | None:
    """Return what one call of a plugin may take; None: it takes what it takes."""
    return _SECONDS.get()


@dataclass(eq=False)
class _Task:
    """A call, and what came of it."""

    work: Callable[[], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None

    def run(self) -> None:
        """Make the call."""
        try:
            self.result = self.work()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self.error = error
        self.done.set()


class _Companion:
    """The thread in which another one has its timed calls made; one, as a file may be bound to who has opened it."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        name = f"{threading.current_thread().name}: plugins"
        threading.Thread(target=_work_off, args=(self._tasks,), name=name, daemon=True).start()

    def begin(self, task: _Task) -> None:
        """Let it be done."""
        self._tasks.put(task)

    def __del__(self) -> None:
        self._tasks.put(None)


def _work_off(tasks: SimpleQueue[_Task | None]) -> None:
    while (task := tasks.get()) is not None:
        task.run()


_OF_THREAD = threading.local()


def finished_within(seconds: float, work: Callable[[], Any]) -> Any:
    """Result of a call that takes no longer.

    `work`: made in a thread of its own, the same for all calls of this thread, which knows the context of this one.
    """
    companion: _Companion = getattr(_OF_THREAD, "companion", None) or _Companion()
    _OF_THREAD.companion = companion
    here = copy_context()
    task = _Task(lambda: here.run(work))
    companion.begin(task)
    if not task.done.wait(seconds):
        del _OF_THREAD.companion
        raise TimeoutError
    if task.error is not None:
        raise task.error
    return task.result
