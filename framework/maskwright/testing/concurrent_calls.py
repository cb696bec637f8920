"""Whether a function gives the same when it is called again, and when several threads call it at once.

Blocks are masked and files measured by several threads: memory that a module keeps between calls (a scratch buffer, a
cache that is filled halfway) gives other results then, now and again. Here it gives them at once: threads stop between
the lines of the plugin's own code, so that each of them runs while the others are in the middle of it.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import time
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

STOPS_AT_A_LINE, STOPS, SECONDS = 4, 300, 2e-5
THREADS = (2, 4)


def fingerprint(value: object) -> str:
    """Hash of all that a plugin returned: arrays bit by bit.

    Parameters
    ----------
    value : object
        Numbers, texts, arrays; dataclasses, mappings and sequences of them.
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

    Parameters
    ----------
    function : callable
        The plugin's: threads stop between the lines of its package.
    work : callable
        Calls it on a piece.
    pieces : sequence
        Different from each other.

    Raises
    ------
    AssertionError
    """
    alone = [fingerprint(_outcome(work, piece)) for piece in pieces]
    kept = [_outcome(work, piece) for piece in pieces]
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
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for start in range(0, len(pieces), count):
            numbers = range(start, min(start + count, len(pieces)))
            together = threading.Barrier(len(numbers))
            threads = [
                threading.Thread(target=_call, args=(work, pieces, number, found, together, package))
                for number in numbers
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    return found


def _call(
    work: Callable[[Piece], object],
    pieces: Sequence[Piece],
    number: int,
    found: list[str],
    together: threading.Barrier,
    package: str,
) -> None:
    together.wait()
    sys.settrace(_Stops(package).trace)
    try:
        result = _outcome(work, pieces[number])
    except Exception as error:  # noqa: BLE001 - a plugin may fail in any way, and does not when it is called alone
        found[number] = f"{type(error).__name__}: {error}"
        return
    finally:
        sys.settrace(None)
    found[number] = fingerprint(result)


class _Stops:
    """Lets the other threads run between the lines of a package, a limited number of times."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._stops: Counter[tuple[str, int]] = Counter()

    def trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        del event, argument
        name = str(frame.f_globals.get("__name__", ""))
        return self._line if name.partition(".")[0] == self._package else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        del argument
        place = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and self._stops[place] < STOPS_AT_A_LINE and self._stops.total() < STOPS:
            self._stops[place] += 1
            time.sleep(SECONDS)
        return self._line
