"""The engine in this process: compiled work of several tasks is done at the same time, in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context
from typing import TYPE_CHECKING

from maskwright.plugins.engine import Engine
from maskwright.plugins.engines.attempts import in_order, several_tries
from maskwright.plugins.task import perform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright.plugins.engine import EngineTerms, Receipt, Stage
    from maskwright.plugins.partition import NoParams


class _Threads:
    """One process; with one worker nothing is done but what is waited for."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(self, stage: Stage, keys: Iterable[str]) -> Iterator[Receipt]:
        """Have a task done for each key."""

        def task(key: str) -> Receipt:
            # As in another process: nothing is known of what this one is about.
            return several_tries(lambda: Context().run(perform, stage, key))

        if self._workers == 1:
            yield from map(task, keys)
            return
        with ThreadPoolExecutor(self._workers) as threads:
            yield from in_order(threads, task, keys, self._workers)


@contextmanager
def start(terms: EngineTerms, _: NoParams) -> Iterator[_Threads]:
    """Begin with as many threads as there are workers."""
    yield _Threads(terms.workers)


LOCAL = Engine(
    name="local",
    start=start,
    summary="The tasks of a large run in this process: in threads, where there is more than one worker.",
)
