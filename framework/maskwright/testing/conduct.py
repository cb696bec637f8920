"""What no plugin may do, whatever its kind: print, use the network, or tell values of records."""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import sys
import tempfile
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
    """Require that standard output stays empty: it belongs to ``--json`` and to whoever pipes it.

    Raises
    ------
    AssertionError
    """
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


@contextlib.contextmanager
def without_network() -> Iterator[None]:
    """No name is looked up and no connection made while the work inside runs.

    Raises
    ------
    AssertionError
        It tried.
    """

    def refuse(*arguments: object, **named: object) -> NoReturn:
        del arguments, named
        raise NetworkUsedError

    before = {name: getattr(socket, name) for name in ("getaddrinfo", "gethostbyname", "create_connection")}
    methods = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
    try:
        for name in before:
            setattr(socket, name, refuse)
        for name in methods:
            setattr(socket.socket, name, refuse)
        yield
    except NetworkUsedError:
        raise AssertionError("the network was used: everything a plugin needs is in its arguments") from None
    finally:
        for name, function in before.items():
            setattr(socket, name, function)
        for name, method in methods.items():
            setattr(socket.socket, name, method)


def telling_values(values: NDArray[np.float64]) -> set[str]:
    """The digits before the point of numbers that are so large that they do not occur in texts by chance.

    Parameters
    ----------
    values : ndarray of any shape, float64
    """
    known = values[np.isfinite(values) & (np.abs(values) >= TELLING)]
    return {text for value in known.tolist() for text in (str(int(abs(value))), f"{abs(value):.0f}")}


def tells_no_values(said: object, telling: Iterable[str], what: str) -> None:
    """Require that texts and numbers hold none of these values.

    Parameters
    ----------
    said : object
        Texts, numbers, and mappings and sequences of them.
    telling : iterable of str
        As `telling_values` gives them.
    what : str
        What says it, for the message, as the subject of a sentence in the plural.

    Raises
    ------
    AssertionError
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
