"""Progress of long work: a callable that takes the share done, and what to do with it.

Kernels and plugins receive a `Progress` and call it now and then with a number between 0 and 1; they never print.
The command line shows a bar with an estimate of the time left where standard error is a terminal, else a line now and
then.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from maskwright.foundation.findings import Notice

LOGGER = logging.getLogger("maskwright")
"""What a program configures to hear of stages (DEBUG), notices and waived doubts (INFO), and open doubts (WARNING)."""

LOGGER.addHandler(logging.NullHandler())

Progress = Callable[[float], None]
"""Called with the share of the work done, 0 to 1.

Examples
--------
>>> from maskwright import Progress
>>> def work(records: int, progress: Progress) -> None:
...     for record in range(records):
...         progress((record + 1) / records)
>>> work(2, print)
0.5
1.0
"""


class Caution(str):
    """Sentence of a `Reporter.notice` that is to be read before the release is published.

    It is about records that the release may disclose, or about masked values that cannot be true; a text like any other
    notice, which those who show notices may show first.

    Examples
    --------
    >>> from maskwright import Caution
    >>> Caution("3 records are unique on region")
    '3 records are unique on region'
    """

    __slots__ = ()


def silent(share: float) -> None:
    """Progress that is shown to no one."""


class Reporter(Protocol):
    """Who shows the stages of a run: a terminal, a log, or none."""

    def stage(self, title: str) -> Progress:
        """Start a stage called `title`; the returned callable takes the share done (1.0 ends the stage)."""
        ...

    def notice(self, text: str) -> None:
        """Say one sentence that the user should see now."""
        ...


class Logged:
    """Reporter that writes records of the logger ``maskwright``: stages of level DEBUG, notices of level INFO."""

    def stage(self, title: str) -> Progress:
        """Log the title, and how long the stage took when it ends."""
        start, has_ended = time.perf_counter(), False
        LOGGER.debug("%s", title)

        def report(share: float) -> None:
            nonlocal has_ended
            if share >= 1 and not has_ended:
                has_ended = True
                LOGGER.debug("%s: %.3f s", title, time.perf_counter() - start)

        return report

    def notice(self, text: str) -> None:
        """Log the sentence."""
        LOGGER.info("%s", text)


class Quiet:
    """Reporter that shows nothing."""

    def stage(self, title: str) -> Progress:  # noqa: ARG002 - the signature is the contract
        """Return a progress callable that does nothing."""
        return silent

    def notice(self, text: str) -> None:
        """Drop the sentence: notices are also part of the run's result."""


def part(progress: Progress, start: float, stop: float) -> Progress:
    """Progress of a piece of work that is the span `start` to `stop` of a larger one."""

    def report(share: float) -> None:
        progress(start + (stop - start) * share)

    return report


def notify(reporter: Reporter, notices: Iterable[Notice | str]) -> None:
    """Give a reporter several notices, in order: here they become sentences."""
    for notice in notices:
        text = str(notice)
        reporter.notice(Caution(text) if isinstance(notice, Notice) and notice.is_caution else text)


@contextmanager
def stage(reporter: Reporter, title: str) -> Iterator[Progress]:
    """Stage that is ended however the work inside ends."""
    progress = reporter.stage(title)
    try:
        yield progress
    finally:
        progress(1.0)
