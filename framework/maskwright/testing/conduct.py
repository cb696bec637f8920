"""What no plugin may do: print, use the network, reveal values, or answer differently when called again."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import socket
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from maskwright.foundation.errors import MaskwrightError
from maskwright.testing.checks import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from numpy.typing import NDArray


STANDARD_OUTPUT = 1
RECOGNISABLE_FROM = 1e6
"""Numbers from here on do not occur in texts by chance."""


def prints_nothing(work: Callable[[], object]) -> None:
    """Require that standard output stays empty: it belongs to ``--json`` and to whoever pipes it."""
    printed = io.StringIO()
    with _descriptor_kept() as written, contextlib.redirect_stdout(printed), contextlib.suppress(MaskwrightError):
        work()
    said = len(printed.getvalue()) + len(written)
    require(said == 0, f"{said} characters were printed on standard output: return notes, or log")


@contextlib.contextmanager
def _descriptor_kept() -> Iterator[bytearray]:
    """What is written to the descriptor of standard output, as compiled code does; empty until the end."""
    written = bytearray()
    with tempfile.TemporaryFile() as file:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        try:
            before = os.dup(STANDARD_OUTPUT)
        except OSError:  # there is none
            yield written
            return
        try:
            os.dup2(file.fileno(), STANDARD_OUTPUT)
            yield written
        finally:
            os.dup2(before, STANDARD_OUTPUT)
            os.close(before)
            file.seek(0)
            written += file.read()


class NetworkUsedError(BaseException):
    """A connection was tried; no `Exception`, so that a plugin cannot pass over it."""


class _Network:
    """The doors to the network: closed as long as someone is inside, however many calls come at once."""

    doors: tuple[tuple[Any, str], ...] = (
        *((socket, name) for name in ("getaddrinfo", "gethostbyname", "create_connection")),
        *((socket.socket, name) for name in ("connect", "connect_ex", "sendto")),
    )

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._open: list[Any] = []

    def enter(self) -> None:
        """Close the doors."""
        with self._lock:
            if self._inside == 0:
                self._open = [getattr(where, name) for where, name in self.doors]
                for where, name in self.doors:
                    setattr(where, name, _refuse)
            self._inside += 1

    def leave(self) -> None:
        """Open them again when no one else is inside."""
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for (where, name), function in zip(self.doors, self._open, strict=True):
                    setattr(where, name, function)


_NETWORK = _Network()


def _refuse(*arguments: object, **named: object) -> NoReturn:
    del arguments, named
    raise NetworkUsedError


@contextlib.contextmanager
def without_network() -> Iterator[None]:
    """No name is looked up and no connection made while the work inside runs, in any thread."""
    _NETWORK.enter()
    try:
        yield
    except NetworkUsedError:
        raise AssertionError("the network was used: everything a plugin needs is in its arguments") from None
    finally:
        _NETWORK.leave()


def recognisable_values(values: NDArray[np.float64]) -> set[str]:
    """The digits before the point of numbers that are so large that they do not occur in texts by chance."""
    known = values[np.isfinite(values) & (np.abs(values) >= RECOGNISABLE_FROM)]
    return {text for value in known.tolist() for text in (str(int(abs(value))), f"{abs(value):.0f}")}


def reveals_no_values(said: object, telling: Iterable[str], what: str) -> None:
    """Require that texts and numbers hold none of these values.

    `said`: texts, numbers, and mappings and sequences of them. `what`: what says it, for the message, as the subject of
    a sentence in the plural.
    """
    known = set(telling)
    for text in _texts(said):
        digits = re.findall(r"\d+", re.sub(r"(?<=\d)[,_' ](?=\d{3})", "", text))
        require(known.isdisjoint(digits), f"{what} hold a value of a record: they go into records, reports and logs")


def _texts(said: Any) -> Iterator[str]:
    if isinstance(said, dict):
        for key, each in said.items():
            yield str(key)
            yield from _texts(each)
    elif isinstance(said, (list, tuple, set, frozenset)):
        for each in said:
            yield from _texts(each)
    elif isinstance(said, (float, np.floating)):
        yield f"{said:.0f}"
    elif said is not None:
        yield str(said)


def without_published(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Notes of a method without those that it says are to be published."""
    return {name: note for name, note in notes.items() if name != "published"}


Piece = TypeVar("Piece")

STOPS_AT_A_LINE, STOPS = 4, 300
PATIENCE, MOST_WAITS = 0.1, 5
"""Seconds that a thread waits for the others, and how often in vain: one may be in a kernel, or wait for a lock."""
THREADS = (2, 4)


def fingerprint(value: object) -> str:
    """Hash of all that a plugin returned: arrays bit by bit.

    `value`: numbers, texts, arrays; dataclasses, mappings and sequences of them.
    """
    found = hashlib.sha256()
    _feed(found, value)
    return found.hexdigest()


def _feed(found: Any, value: object) -> None:
    if isinstance(value, np.ndarray):
        found.update(f"{value.dtype}{value.shape}".encode())
        found.update(value.tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            found.update(field.name.encode())
            _feed(found, getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, each in value.items():
            found.update(repr(key).encode())
            _feed(found, each)
    elif isinstance(value, (list, tuple)):
        found.update(str(len(value)).encode())
        for each in value:
            _feed(found, each)
    else:
        found.update(repr(sorted(value) if isinstance(value, (set, frozenset)) else value).encode())


def check_calls(function: Callable[..., Any], work: Callable[[Piece], object], pieces: Sequence[Piece]) -> None:
    """Require that calls know nothing of each other, one after the other and at once.

    `function`: the plugin's: threads stop between the lines of its package. `work`: calls it on a piece.
    """
    kept, alone = [], []
    for piece in pieces:
        kept.append(_outcome(work, piece))
        alone.append(fingerprint(kept[-1]))
    require(
        [fingerprint(each) for each in kept] == alone,
        "what one call returned is changed by the next: return memory that the module does not keep",
    )
    package = str(getattr(function, "__module__", "")).partition(".")[0]
    for count in THREADS:
        found = _at_once(work, pieces, count, package)
        require(
            found == alone,
            f"{count} calls at once give other results than one after the other: keep nothing in the module between "
            "or during calls (no buffer, no cache, no global generator)",
        )


def _outcome(work: Callable[[Piece], object], piece: Piece) -> object:
    """What a call returns, or what it refuses."""
    try:
        return work(piece)
    except MaskwrightError as error:
        return f"refused: {error}"


def _at_once(work: Callable[[Piece], object], pieces: Sequence[Piece], count: int, package: str) -> list[str]:
    """Fingerprints of the results, in the order of the pieces, of so many calls at a time."""
    found = [""] * len(pieces)
    for start in range(0, len(pieces), count):
        numbers = range(start, min(start + count, len(pieces)))
        together = _Together(len(numbers))
        threads = [
            threading.Thread(target=_call, args=(work, pieces, number, found, together, package)) for number in numbers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return found


def _call(
    work: Callable[[Piece], object],
    pieces: Sequence[Piece],
    number: int,
    found: list[str],
    together: _Together,
    package: str,
) -> None:
    steps = _Steps(package, together)
    together.step()
    sys.settrace(steps.trace)
    try:
        result = _outcome(work, pieces[number])
    except Exception as error:  # noqa: BLE001 - a plugin may fail in any way, and does not when it is called alone
        found[number] = f"{type(error).__name__}: {error}"
        return
    finally:
        sys.settrace(None)
        steps.end()
    found[number] = fingerprint(result)


class _Together:
    """Threads that go on when all of them have come to their next step."""

    def __init__(self, threads: int) -> None:
        self._condition = threading.Condition()
        self._threads, self._arrived, self._step, self._waited = threads, 0, 0, 0

    def step(self) -> None:
        """Wait for the others, but not for ever."""
        with self._condition:
            if self._waited >= MOST_WAITS:
                return
            self._arrived += 1
            step = self._step
            if self._arrived >= self._threads:
                self._go_on()
            elif not self._condition.wait_for(lambda: self._step != step, PATIENCE):
                self._waited += 1
                self._go_on()

    def leave(self) -> None:
        """Be waited for no more."""
        with self._condition:
            self._threads -= 1
            if self._arrived >= self._threads:
                self._go_on()

    def _go_on(self) -> None:
        self._arrived = 0
        self._step += 1
        self._condition.notify_all()


class _Steps:
    """Makes a step of each line of a package, a limited number of times."""

    def __init__(self, package: str, together: _Together) -> None:
        self._package, self._together = package, together
        self._stops: Counter[tuple[str, int]] = Counter()
        self._left = STOPS

    def trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        """Trace the lines of functions of the package, as `sys.settrace` has it."""
        del event, argument
        name = str(frame.f_globals.get("__name__", ""))
        return self._line if name.partition(".")[0] == self._package else None

    def end(self) -> None:
        """Make no more steps."""
        if self._left:
            self._left = 0
            self._together.leave()

    def _line(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        del argument
        place = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and self._left and self._stops[place] < STOPS_AT_A_LINE:
            self._stops[place] += 1
            self._together.step()
            if self._left == 1:
                self.end()
                sys.settrace(None)  # what is left of the call runs as fast as ever
            else:
                self._left -= 1
        return self._line if self._left else None
