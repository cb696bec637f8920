"""Whether a function gives the same when it is called again, and when several threads call it at once.

Blocks are masked and files measured by several threads: memory that a module keeps between calls (a scratch buffer, a
cache that is filled halfway) gives other results then, now and again. Here it gives them at once: threads go through
the plugin's own code line by line together, so that each of them writes before any of them reads.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from maskwright.foundation.errors import MaskwrightError
from maskwright.testing.checks import require

if TYPE_CHECKING:
    from types import FrameType

Piece = TypeVar("Piece")

STOPS_AT_A_LINE, STOPS = 4, 300
PATIENCE, MOST_WAITS = 0.2, 10
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
