"""One guarded call of a plugin: its failures, its time limit, and what it prints."""

from __future__ import annotations

import functools
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from maskwright.foundation.counts import plural
from maskwright.foundation.errors import MaskwrightError, PluginFailed, Problem
from maskwright.foundation.progress import LOGGER
from maskwright.plugins.guarding.origin import Origin, step_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType


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

    def end(self) -> None:
        """Let the thread end once it has done what it was given."""
        self._tasks.put(None)

    def __del__(self) -> None:
        self.end()


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
        # Whoever keeps the error, for a log, keeps this frame.
        companion.end()
        raise TimeoutError
    if task.error is not None:
        raise task.error
    return task.result


_LOCK = threading.Lock()


class _Apart:
    """Standard output in the place of the program's own, as long as any plugin runs."""

    def __init__(self, own: IO[str]) -> None:
        self.own = own
        self.depth = 0
        self._owners = {thread.ident for thread in threading.enumerate()}
        self._lines: dict[int, int] = {}

    def enter(self) -> int:
        """Count what this thread prints from here on; returns what it has printed in calls around this one."""
        thread = threading.get_ident()
        around = self._lines.get(thread, -1)
        self._lines[thread] = 0
        self.depth += 1
        return around

    def leave(self, around: int) -> int:
        """Return the lines that were printed since `enter`; `around` is what that returned."""
        thread = threading.get_ident()
        lines = self._lines.pop(thread)
        if around >= 0:
            self._lines[thread] = around
        self.depth -= 1
        return lines

    def write(self, text: str) -> int:
        """Take what a plugin prints, and pass on what another thread does."""
        thread = threading.get_ident()
        if thread in self._owners and thread not in self._lines:
            return self.own.write(text)
        if thread in self._lines:
            self._lines[thread] += text.count("\n")
        if show_prints.on:
            sys.stderr.write(text)
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Take each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.own, name)


class _ShowPrints:
    """Whether what plugins print is shown on standard error; it may hold values of records."""

    on = False


show_prints = _ShowPrints()


@contextmanager
def output_apart(origin: Origin) -> Iterator[None]:
    """Keep what is printed inside away from standard output; the log has the number of lines, and nothing of them."""
    with _LOCK:
        stream = sys.stdout
        apart = stream if isinstance(stream, _Apart) else _Apart(stream)
        sys.stdout = apart
        around = apart.enter()
    try:
        yield
    finally:
        with _LOCK:
            lines = apart.leave(around)
            if not apart.depth and sys.stdout is apart:
                sys.stdout = apart.own
        if lines:
            LOGGER.info("%s printed %s, not shown", origin, plural(lines, "line"))


_OWN = str(Path(__file__).parent)

_RUNNING: ContextVar[list[Origin] | None] = ContextVar("maskwright_running_plugins", default=None)
"""Plugins whose calls this one is inside of, the innermost last."""

_END = object()


class _EngineFailed(BaseException):
    """What the engine raised while a plugin asked it for more: it is none of the plugin's mistakes."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Guarded:
    """A plugin's function, every call of which is guarded.

    `passes`: that the caller of this function explains itself. `given`: ``arguments -> arguments``: what the function
    gets in the place of what it is called with. `check`: ``(arguments, result) -> result``: holds the result to the
    contract, with `broke_contract`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        origin: Origin,
        passes: tuple[type[Exception], ...] = (),
        given: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None,
        check: Callable[[tuple[Any, ...], Any], Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.origin = origin
        self._passes = passes
        self._given = given
        self._check = check

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call it; arguments that are given by name come in the order of the contract."""
        given = (*arguments, *named.values())
        given = given if self._given is None else self._given(given)
        result = guarded_call(self.origin, self.function, *given, passes=self._passes)
        if self._check is None:
            return result
        try:
            return self._check(given, result)
        except (TypeError, AttributeError, ValueError) as error:
            # Something inside of it is of another type than the contract says: it cannot even be looked at.
            what = f"returned a {type(result).__name__} that holds something else than it should"
            raise broke_contract(self.origin, f"{what} ({type(error).__name__})") from None

    def __eq__(self, other: object) -> bool:
        """Whether both guard the same function of the same plugin."""
        return isinstance(other, Guarded) and (self.function, self.origin) == (other.function, other.origin)

    def __hash__(self) -> int:
        return hash((self.function, self.origin))


def guarded_call(
    origin: Origin,
    function: Callable[..., Any],
    *arguments: Any,
    passes: tuple[type[Exception], ...] = (),
    named: dict[str, Any] | None = None,
) -> Any:
    """Call a plugin's function.

    `passes`: that the caller explains itself.
    """
    around = _RUNNING.get()
    seconds = seconds_allowed()
    running: list[Origin] = [] if around is None else around

    def work() -> Any:
        token = _RUNNING.set(running)
        running.append(origin)
        try:
            with output_apart(origin):
                return function(*arguments, **(named or {}))
        except _EngineFailed as failed:
            raise failed.error from None
        except (MaskwrightError, MemoryError, KeyboardInterrupt, GeneratorExit):
            raise
        except passes:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may fail in any way
            if isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt):
                raise error.__cause__ from None  # a signal that came while compiled code was at work
            # Not chained: the message of what it raised may hold values of records.
            raise _failed(origin, error) from None
        finally:
            running.pop()
            _RUNNING.reset(token)

    if around is not None or seconds is None:
        return work()
    try:
        return finished_within(seconds, work)
    except TimeoutError:
        raise took_too_long(running[-1] if running else origin, seconds) from None


def took_too_long(origin: Origin, seconds: float) -> PluginFailed:
    """Error of a plugin that was not waited for any longer."""
    return PluginFailed(
        Problem(
            f"{origin} took longer than {seconds:g} seconds{step_label()}",
            hint="execution: {plugin_seconds: N} in the pipeline says how long one call of a plugin may take",
        )
    )


def guarded_iterator(origin: Origin, iterable: Iterable[Any]) -> Iterator[Any]:
    """Go through what a plugin yields; it is closed at the end, however much of it was requested."""
    items = guarded_call(origin, iter, iterable)
    try:
        while (item := guarded_call(origin, next, items, _END)) is not _END:
            yield item
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            guarded_call(origin, close)


def engine_iterator(items: Iterable[Any]) -> Iterator[Any]:
    """What the engine yields to a plugin, which can neither hide its errors nor be blamed for them."""
    try:
        yield from items
    except Exception as error:  # noqa: BLE001 - raised again outside of the plugin
        raise _EngineFailed(error) from None


def broke_contract(origin: Origin, what: str) -> PluginFailed:
    """Error of a plugin whose result is not what its contract says.

    `what`: what it did, as the rest of a sentence after its name; no value of a record.
    """
    return PluginFailed(Problem(f"{origin}{step_label()} {what}", hint=_where_to_report(origin)))


def in_this_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let calls in other threads know what calls here do: the step, and the time limit."""
    here = copy_context()

    def known(*arguments: Any) -> Any:
        return here.copy().run(function, *arguments)

    return known


def _failed(origin: Origin, error: BaseException) -> PluginFailed:
    how = "failed"
    if isinstance(error, (ValueError, TypeError, AttributeError)) and "read-only" in str(error):
        how = "tried to change what it was given, which is read-only,"
    said = f"{origin} {how}{step_label()}: {type(error).__name__}{_place(origin, error)}"
    return PluginFailed(Problem(said, hint=_where_to_report(origin)), error)


def _where_to_report(origin: Origin) -> str | None:
    if origin.is_built_in:
        return "This is a bug in Maskwright; please report it."
    if not origin.distribution:
        return None
    return f"This is a mistake of the package {origin.distribution}; please report it there."


def _place(origin: Origin, error: BaseException) -> str:
    """Where it was raised, as far as that is in the package of the plugin: `` at file.py:21``."""
    inside: tuple[FrameType, int] | None = None
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        if not frame.f_code.co_filename.startswith(_OWN) and (
            inside is None or _package(frame) == origin.module or _package(inside[0]) != origin.module
        ):
            inside = frame, step.tb_lineno
        step = step.tb_next
    return "" if inside is None else f" at {Path(inside[0].f_code.co_filename).name}:{inside[1]}"


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__") or "").partition(".")[0]
