"""Running many tasks on several processes; one that dies takes only its own task with it."""

from __future__ import annotations

import os
import queue
import threading
from typing import TYPE_CHECKING, Any, Self

from maskwright.experiments.cells import CellRunner
from maskwright.experiments.worker import perform
from maskwright.foundation.processes.child_process import ChildProcess, ProcessEndedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.experiments.experiment import Experiment

# A cell is small, and there is one process for each processor: threads of its own would only be in the way.
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerPool:
    """Whoever does the tasks of an experiment; a context manager.

    `workers`: Processes; with 1 the tasks are done in this one.
    """

    def __init__(self, experiment: Experiment, workers: int) -> None:
        self._experiment = experiment
        self._workers = workers
        self._runner = CellRunner()
        self._started: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End all processes."""
        for worker in self._started:
            worker.end()

    def results(self, tasks: Sequence[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Position and result of each task, as they are done."""
        if self._workers == 1 or len(tasks) <= 1:
            for position, task in enumerate(tasks):
                yield position, perform(self._runner, self._experiment, task)
            return
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        for position in range(len(tasks)):
            waiting.put(position)
        while len(self._started) < min(self._workers, len(tasks)):
            self._started.append(_Worker(self._experiment))
        for worker in self._started:
            threading.Thread(target=_work, args=(worker, tasks, waiting, done), daemon=True).start()
        for _ in tasks:
            yield done.get()


def _work(
    worker: _Worker,
    tasks: Sequence[dict[str, Any]],
    waiting: queue.SimpleQueue[int],
    done: queue.SimpleQueue[tuple[int, dict[str, Any]]],
) -> None:
    while True:
        try:
            position = waiting.get_nowait()
        except queue.Empty:
            return
        done.put((position, worker.ask(tasks[position])))


class _Worker:
    """One worker process, started again for the next task when it dies."""

    def __init__(self, experiment: Experiment) -> None:
        self._first = {"experiment": str(experiment.path), "text": experiment.text}
        self._process: ChildProcess | None = None
        self._ended = False

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        """Result of a task; one of status "failed" when the process dies over it."""
        try:
            found: dict[str, Any] = self._started().ask(task)
        except ProcessEndedError as ended:
            self._process = None
            doubt = ": was there enough memory?" if ended.code is not None and ended.code < 0 else ""
            return {"status": "failed", "problem": f"its process {ended}{doubt}", "seconds": 0.0}
        return found

    def end(self) -> None:
        """End the process for good."""
        self._ended = True
        if self._process is not None:
            self._process.end()

    def _started(self) -> ChildProcess:
        if self._ended:
            raise ProcessEndedError(0)
        if self._process is None:
            environment = {**os.environ, **ONE_THREAD}
            self._process = ChildProcess("maskwright.experiments.worker", environment=environment)
            self._process.tell(self._first)
        return self._process
