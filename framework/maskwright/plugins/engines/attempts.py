"""Having many tasks done at once: receipts in the order of the keys, and several tries for each task."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from maskwright.foundation.errors import Problem
from maskwright.plugins.engine import TRIES, TaskFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

    from maskwright.plugins.engine import Receipt

AHEAD = 8
"""Tasks that are given out ahead of the receipt that is waited for, for each worker: a slow one holds nobody up."""


def in_order(
    executor: Executor, task: Callable[[str], Receipt], keys: Iterable[str], workers: int
) -> Iterator[Receipt]:
    """Receipts in the order of the keys; few are held at a time, and none is begun after one has failed.

    `task`: what is done for a key. `workers`: tasks that are done at once.
    """
    waiting: deque[Future[Receipt]] = deque()
    try:
        for key in keys:
            waiting.append(executor.submit(task, key))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for each in waiting:
            each.cancel()


def several_tries(attempt: Callable[[], Receipt]) -> Receipt:
    """Receipt of a task that may fail, and end its worker, but not each time.

    Parameters
    ----------
    attempt : callable
        Raises TaskFailed.

    Raises
    ------
    TaskFailed
        Each attempt did; it says of the last one what happened.

    Examples
    --------
    >>> from maskwright import Receipt, several_tries
    >>> several_tries(lambda: Receipt("count", "abc", {}, {})).key
    'abc'
    """
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except TaskFailed:
            continue
    try:
        return attempt()
    except TaskFailed as failed:
        last = failed.problems[0]
        hint = f"{last.hint or 'Nothing is released.'} What is finished is kept: --resume goes on from there."
        raise TaskFailed(Problem(f"{last.message}; it was tried {TRIES} times", hint=hint)) from None
