"""Saying that code is being compiled: the first run after an installation waits for it, and should know why."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.foundation.progress import Reporter

_told: list[bool] = []
"""Once in a process is enough."""

NOTICE = "Compiling numeric kernels that have not been used before, up to a minute; their machine code is kept."


@contextmanager
def report_compilation(reporter: Reporter) -> Iterator[None]:
    """Send one notice when Numba starts to compile inside; loading compiled code from the cache is not compiling."""
    from numba.core.event import Listener, install_listener

    class FirstCompilation(Listener):
        def on_start(self, event: Any) -> None:  # noqa: ARG002 - the signature is Numba's
            if not _told:
                _told.append(True)
                reporter.notice(NOTICE)

        def on_end(self, event: Any) -> None:
            """Nothing to say."""

    with install_listener("numba:compile", FirstCompilation()):
        yield
