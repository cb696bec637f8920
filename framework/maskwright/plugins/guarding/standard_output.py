"""Standard output while a plugin runs: it is the program's, so what a plugin prints is counted and goes nowhere.

What other threads print meanwhile that were there before is theirs, and passes.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from maskwright.foundation.progress import LOGGER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.plugins.guarding.origin import Origin

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
            LOGGER.info("%s printed %d line(s), which are not shown", origin, lines)
