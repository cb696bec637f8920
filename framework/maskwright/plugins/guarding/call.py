"""One guarded call: whatever a plugin's function does, the run ends with a sentence that names it, or goes on."""

from __future__ import annotations

import functools
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import MaskwrightError, PluginFailed, Problem
from maskwright.plugins.guarding.origin import Origin, step_said
from maskwright.plugins.guarding.standard_output import output_apart
from maskwright.plugins.guarding.time_limit import finished_within, seconds_allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

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
            f"{origin} took longer than {seconds:g} seconds{step_said()}",
            hint="execution: {plugin_seconds: N} in the pipeline says how long one call of a plugin may take",
        )
    )


def guarded_iterator(origin: Origin, iterable: Iterable[Any]) -> Iterator[Any]:
    """Go through what a plugin yields; it is closed at the end, however much of it was asked for."""
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
    return PluginFailed(Problem(f"{origin}{step_said()} {what}", hint=_whom_to_tell(origin)))


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
    said = f"{origin} {how}{step_said()}: {type(error).__name__}{_place(origin, error)}"
    return PluginFailed(Problem(said, hint=_whom_to_tell(origin)), error)


def _whom_to_tell(origin: Origin) -> str | None:
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
