"""What no plugin may do, whatever its kind: print, use the network, or tell values of records."""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from maskwright.foundation.errors import MaskwrightError
from maskwright.testing.checks import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

STANDARD_OUTPUT = 1
TELLING = 1e6
"""Numbers from here on do not occur in texts by chance."""


def prints_nothing(work: Callable[[], object]) -> None:
    """Require that standard output stays empty: it belongs to ``--json`` and to whoever pipes it."""
    told = io.StringIO()
    with _descriptor_kept() as written, contextlib.redirect_stdout(told), contextlib.suppress(MaskwrightError):
        work()
    said = len(told.getvalue()) + len(written)
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
    """The doors to the network: closed as long as somebody is inside, however many calls come at once."""

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
        """Open them again when nobody else is inside."""
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


def telling_values(values: NDArray[np.float64]) -> set[str]:
    """The digits before the point of numbers that are so large that they do not occur in texts by chance."""
    known = values[np.isfinite(values) & (np.abs(values) >= TELLING)]
    return {text for value in known.tolist() for text in (str(int(abs(value))), f"{abs(value):.0f}")}


def tells_no_values(said: object, telling: Iterable[str], what: str) -> None:
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
