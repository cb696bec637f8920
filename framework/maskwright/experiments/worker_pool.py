"""Running many tasks on several processes; one that dies takes only its own task with it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from maskwright.experiments.cell_runner import CellRunner
from maskwright.experiments.worker import perform

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.experiments.experiment import Experiment

# A cell is small, and there is one process for each processor: threads of its own would only be in the way.
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerPool:
    """Whoever does the tasks of an experiment; a context manager.

    Parameters
    ----------
    experiment : Experiment
    workers : int
        Processes; with 1 the tasks are done in this one.
    """

    def __init__(self, experiment: Experiment, workers: int) -> None:
        self._experiment = experiment
        self._workers = workers
        self._laboratory = CellRunner()
        self._processes: list[_Process] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.end()

    def results(self, tasks: Sequence[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Position and result of each task, as they are done."""
        if self._workers == 1 or len(tasks) <= 1:
            for position, task in enumerate(tasks):
                yield position, perform(self._laboratory, self._experiment, task)
            return
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        for position in range(len(tasks)):
            waiting.put(position)
        while len(self._processes) < min(self._workers, len(tasks)):
            self._processes.append(_Process(self._experiment))
        for process in self._processes:
            threading.Thread(target=_work, args=(process, tasks, waiting, done), daemon=True).start()
        for _ in tasks:
            yield done.get()


def _work(
    process: _Process,
    tasks: Sequence[dict[str, Any]],
    waiting: queue.SimpleQueue[int],
    done: queue.SimpleQueue[tuple[int, dict[str, Any]]],
) -> None:
    while True:
        try:
            position = waiting.get_nowait()
        except queue.Empty:
            return
        done.put((position, process.ask(tasks[position])))


class _Process:
    """One worker process, started again when it dies."""

    def __init__(self, experiment: Experiment) -> None:
        self._first = json.dumps({"experiment": str(experiment.path), "text": experiment.text})
        self._running: subprocess.Popen[str] | None = None
        self._ended = False

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        """Result of a task; one of status "failed" when the process dies over it."""
        try:
            process = self._process()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        if answer:
            found: dict[str, Any] = json.loads(answer)
            return found
        return {"status": "failed", "problem": f"its process ended{self._why()}", "seconds": 0.0}

    def end(self) -> None:
        """End the process for good."""
        self._ended = True
        self._stop()

    def _stop(self) -> int:
        """End the process and close its pipes; the code it ended with."""
        process, self._running = self._running, None
        if process is None:
            return 0
        process.kill()
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            # What is left to be written to a process that is gone cannot be.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        return code

    def _process(self) -> subprocess.Popen[str]:
        if self._running is None and not self._ended:
            self._running = subprocess.Popen(
                [sys.executable, "-m", "maskwright.experiments.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **ONE_THREAD},
                encoding="utf-8",
            )
            assert self._running.stdin is not None
            self._running.stdin.write(self._first + "\n")
        if self._running is None:
            raise OSError("ended")
        return self._running

    def _why(self) -> str:
        """Why it died, as far as the system tells; the next task gets a new process."""
        code = self._stop()
        return f" by signal {-code}: was there enough memory?" if code < 0 else f" with code {code}"
