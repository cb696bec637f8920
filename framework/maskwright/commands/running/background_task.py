"""Work in a thread while the run does other work; how far it is, is shown once it is waited for."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Generic, TypeVar

from maskwright.foundation.progress import Progress, Reporter, stage
from maskwright.plugins.guarding.call import in_this_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Found = TypeVar("Found")
SHOWN_EVERY = 0.1
"""Seconds between two looks at how far the work is, while it is waited for."""
LAST_SHOWN = 0.999
"""A share of 1 would say that the stage has ended."""


class _NoLongerWanted(BaseException):
    """Stops the work at its next progress report; no handler of errors may catch it."""


class BackgroundTask(Generic[Found]):
    """Work that goes on while the caller does other work.

    `title`: what a person sees while it is waited for.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.share = 0.0
        self.unwanted = Event()
        self.done: Future[Found] = Future()

    def report(self, share: float) -> None:
        """Keep how far the work is; end it where no one waits for it any more."""
        if self.unwanted.is_set():
            raise _NoLongerWanted
        self.share = share

    def awaited(self, reporter: Reporter) -> Found:
        """Wait for the result."""
        with stage(reporter, self.title) as progress:
            while wait([self.done], SHOWN_EVERY).not_done:
                progress(min(self.share, LAST_SHOWN))
            return self.done.result()


@contextmanager
def background_task(work: Callable[[Progress], Found], title: str) -> Iterator[BackgroundTask[Found]]:
    """Do work in a thread while the body does other work; at the end of the body the thread has ended."""
    going_on = BackgroundTask[Found](title)
    with ThreadPoolExecutor(1) as pool:
        going_on.done = pool.submit(in_this_context(work), going_on.report)
        try:
            yield going_on
        finally:
            going_on.unwanted.set()
