"""Many tasks on several processes, each ``python -m maskwright.experiments.worker_pool``; one that dies loses its task.

The first line that a process gets is ``{"experiment": file, "text": its text}`` and is not answered. Each further line
is a task, answered by the result of `CellRunner.run`. The process ends when its input does, also when the process that
started it was killed.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from maskwright.experiments.cells import CellRunner, one_line
from maskwright.experiments.experiment import Experiment, experiment_of
from maskwright.foundation.errors import MaskwrightError
from maskwright.foundation.processes.child_process import ChildProcess, ProcessEndedError
from maskwright.foundation.processes.signals import prevent_core_dumps
from maskwright.foundation.yaml_document import from_python

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def task_of(index: int, edits: str, values: dict[str, Any], seed: int, labels: list[str]) -> dict[str, Any]:
    """One run of a cell, as plain data."""
    return {"family": index, "edits": edits, "values": values, "seed": seed, "measures": labels}


def perform(runner: CellRunner, experiment: Experiment, task: dict[str, Any]) -> dict[str, Any]:
    """Do one task."""
    place = experiment.family_node(task["family"]).place
    values = {name: from_python(value, place) for name, value in task["values"].items()}
    cell = experiment.cell(task["family"], task["edits"], values)
    measures = [request for request in experiment.measures if request.label in task["measures"]]
    return runner.run(cell, task["seed"], measures)


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer each line of `requests` with one line, until they end."""
    runner = CellRunner()
    first = json.loads(requests.readline())
    experiment = experiment_of(Path(first["experiment"]), first["text"])
    for line in requests:
        try:
            found = perform(runner, experiment, json.loads(line))
        except MaskwrightError as error:
            found = {"status": "failed", "problem": one_line(error), "seconds": 0.0}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


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
            self._process = ChildProcess("maskwright.experiments.worker_pool", environment=environment)
            self._process.tell(self._first)
        return self._process


if __name__ == "__main__":
    prevent_core_dumps()
    # Whatever a plugin prints must not be taken for an answer.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, channel)
