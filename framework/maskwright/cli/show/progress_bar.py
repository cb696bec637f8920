"""Progress on a terminal: quiet at first, then a bar with the time left, on standard error."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from maskwright.cli.show.screen import console
from maskwright.foundation.progress import Progress as Report
from maskwright.foundation.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable

QUIET_SECONDS = 2.0
STEPS = 1000


class Terminal:
    """Reporter for people at a terminal; implements `maskwright.foundation.progress.Reporter`.

    A stage gets a bar on standard error, only when that is a terminal and only after two seconds of work. Notices are
    lines on standard error wherever it goes.

    `quiet`: show neither bars nor notices.
    """

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._clock = clock
        self._console = console(stderr=True)
        self._bars: Progress | None = None
        # Blocks run on several threads, and each tells its share.
        self._lock = threading.Lock()

    def stage(self, title: str) -> Report:
        """Start a stage; the returned callable is told the share done, and 1.0 ends the stage."""
        if self._quiet or not self._console.is_terminal:
            return silent
        started = self._clock()
        bar: TaskID | None = None

        def report(share: float) -> None:
            nonlocal bar
            with self._lock:
                if share >= 1.0:
                    self._end(bar)
                    bar = None
                    return
                done = round(STEPS * share)
                if bar is not None:
                    self._shown().update(bar, completed=done)
                elif self._clock() - started >= QUIET_SECONDS:
                    bar = self._shown().add_task(title, total=STEPS, completed=done)

        return report

    def notice(self, text: str) -> None:
        """Print one sentence on standard error."""
        if not self._quiet:
            self._console.print(text, style="yellow")

    def _shown(self) -> Progress:
        if self._bars is None:
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
                # What the program prints on standard output must arrive there, bar or no bar.
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bars.start()
        return self._bars

    def _end(self, bar: TaskID | None) -> None:
        if self._bars is None or bar is None:
            return
        self._bars.remove_task(bar)
        if not self._bars.tasks:
            self._bars.stop()
            self._bars = None
