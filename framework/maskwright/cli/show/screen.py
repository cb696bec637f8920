"""Layout on the terminal: width, tables, paragraphs, and the progress bar on standard error."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from maskwright.foundation.progress import Progress as Report
from maskwright.foundation.progress import silent
from maskwright.release.number_formats import duration
from maskwright.release.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


WIDTH = 100
MOST_NOTICES = 6


class _Screen(Console):
    """Console that leaves a reader who has gone (``| head``) to the command line, which is not at fault."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise  # noqa: PLE0704 - rich calls this while it handles the BrokenPipeError


def console(stderr: bool = False) -> Console:
    """Console on standard output (or error) that never exceeds 100 columns."""
    stream = sys.stderr if stderr else sys.stdout
    found = Console(file=stream, highlight=False, soft_wrap=False, emoji=False, markup=False)
    width = min(found.width, WIDTH) if found.is_terminal else WIDTH
    return _Screen(file=stream, width=width, highlight=False, emoji=False, markup=False)


def print_notices(out: Console, notices: Sequence[str], noun: str) -> None:
    """Print the first notices, and how many more there are."""
    if not notices:
        return
    out.print()
    for notice in notices[:MOST_NOTICES]:
        item(out, f"{noun}: ", notice)
    if len(notices) > MOST_NOTICES:
        out.print(f"and {plural(len(notices) - MOST_NOTICES, f'more {noun}')}")


def show(out: Console, table: Table) -> None:
    """Print a table; into a file or pipe without the spaces that fill its last column."""
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.print(line.rstrip(), soft_wrap=True)


def listed(out: Console, title: str, text: str) -> None:
    """Print an indented line with a title, unless there is nothing to say."""
    if text:
        item(out, f"  {title}: ", text)


def item(out: Console, lead: str, text: str) -> None:
    """Print a line whose continuation lines are indented by the width of `lead`."""
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(lead), Text(text))
    show(out, grid)


def paragraph(out: Console, text: Text) -> None:
    """Print a text over as many lines as it needs."""
    grid = Table.grid(padding=0)
    grid.add_row(text)
    show(out, grid)


def heading(out: Console, text: str) -> None:
    """Print a line that stands out."""
    out.print(Text(text, style="bold"), soft_wrap=True)


def table_of(*columns: str) -> Table:
    """Table with these headings and no rows yet."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", vertical="top")
    return table


def without_column(table: Table, index: int) -> Table:
    """Copy of a table without one column."""
    columns = [column for number, column in enumerate(table.columns) if number != index]
    slim = table_of(*(str(column.header) for column in columns))
    for new, old in zip(slim.columns, columns, strict=True):
        new.justify = old.justify
    for row in zip(*(list(column.cells) for column in columns), strict=True):
        slim.add_row(*row)
    return slim


QUIET_SECONDS = 2.0
STEPS = 1000
FIRST_LINE, LONGEST_WAIT = 30.0, 600.0
"""Seconds until a stage has its first line in a log; the next come after twice the time, and after ten minutes."""


class Terminal:
    """Reporter for people at a terminal; implements `maskwright.foundation.progress.Reporter`.

    A stage gets a bar on standard error after two seconds of work; where that is no terminal, a line after half a
    minute and now and then. Notices are lines on standard error wherever it goes.

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
        """Start a stage; the returned callable takes the share done, and 1.0 ends the stage."""
        if self._quiet:
            return silent
        if not self._console.is_terminal:
            return self._lines(title)
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

    def _lines(self, title: str) -> Report:
        """Progress in lines, as a log takes them."""
        started = self._clock()
        due = started + FIRST_LINE

        def report(share: float) -> None:
            nonlocal due
            now = self._clock()
            with self._lock:
                if now < due or not 0.0 < share < 1.0:
                    return
                due = now + min(now - started, LONGEST_WAIT)
                left = duration((now - started) * (1.0 - share) / share)
                self._console.print(f"{title}: {share:.0%} done, about {left} left", soft_wrap=True, highlight=False)

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
