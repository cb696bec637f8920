"""The engines of one machine: threads of this process, and processes of our own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from maskwright.foundation.errors import Problem
from maskwright.foundation.processes.child_process import ProcessEndedError
from maskwright.foundation.processes.function_pool import FunctionWorkers
from maskwright.foundation.processes.resources import bytes_of
from maskwright.foundation.yaml_models import MemorySize
from maskwright.plugins.engine import Engine, TaskFailed
from maskwright.plugins.task import in_order, not_enough_memory, perform, several_tries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright.foundation.no_params import NoParams
    from maskwright.foundation.progress import Progress
    from maskwright.plugins.engine import EngineTerms, Receipt, Stage


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


class ProcessesParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of the engine."""

    memory_limit: MemorySize | None = Field(
        default=None,
        description="Memory that each worker may have, such as 4GB or 500MB; a task that needs more fails, and is "
        "named. Left out: no limit. Kept on Linux only.",
    )


class _Processes:
    """Workers that are there as soon as they are needed."""

    def __init__(self, workers: int, processes: FunctionWorkers) -> None:
        self._workers = workers
        self._processes = processes

    def run(self, stage: Stage, keys: Iterable[str]) -> Iterator[Receipt]:
        """Have a task done for each key."""

        def attempt(key: str) -> Receipt:
            try:
                receipt: Receipt = self._processes.call(_perform, stage, key)
            except ProcessEndedError as ended:
                said = f"stage {stage.name}, task {key}: its process {ended}"
                hint = "Was there enough memory? Take fewer workers, or a smaller block_size."
                raise TaskFailed(Problem(said, hint=hint)) from None
            except MemoryError:  # before the task began
                raise not_enough_memory(stage, key) from None
            return receipt

        with ThreadPoolExecutor(self._workers) as waiting:
            try:
                yield from in_order(waiting, lambda key: several_tries(lambda: attempt(key)), keys, self._workers)
            except KeyboardInterrupt:
                # No one waits for what is still at work.
                self._processes.end()
                raise


def _perform(_: Progress, stage: Stage, key: str) -> Receipt:
    return perform(stage, key)


@contextmanager
def start_processes(terms: EngineTerms, params: ProcessesParams) -> Iterator[_Processes]:
    """Begin with no more threads in all workers together than there are processors."""
    limit = None if params.memory_limit is None else bytes_of(params.memory_limit)
    with FunctionWorkers(terms.environment, limit, replaced=True, prepare=terms.prepare) as processes:
        yield _Processes(terms.workers, processes)


PROCESSES = Engine(
    name="processes",
    start=start_processes,
    params=ProcessesParams,
    summary="The tasks of a large run in processes of this machine: each has memory of its own, and pure Python runs "
    "at the same time.",
)
