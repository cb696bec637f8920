"""A pool of processes that call functions; work and results go through pipes."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from queue import Empty, SimpleQueue
from threading import Event, Lock, Timer
from typing import TYPE_CHECKING, Any, Literal, Self

from maskwright.foundation.errors import MaskwrightError, made_again
from maskwright.foundation.processes.child_process import (
    ForkServer,
    ProcessEndedError,
    can_fork,
    close_pipes,
    code_of_ended,
)
from maskwright.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright.foundation.processes.child_process import ForkedProcess


Answer = tuple[Literal["progress", "done", "raised"], Any]
"""What a process says: the share that is done, the result, or what was raised, as `sendable` makes it."""


class FunctionWorkers:
    """Processes that call functions; a context manager that ends them. Calls may come from several threads.

    Each call that waits has a process of its own, which is started when needed, and kept. `memory_limit`: bytes of each
    (Linux). `replaced`: calls go on when a process was ended from outside. `prepare`: imports what the calls need;
    where processes can be copied, all are copies of one that has called it.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        memory_limit: int | None = None,
        *,
        replaced: bool = False,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self._memory_limit = memory_limit
        self._replaced = replaced
        self._prepare = prepare if can_fork() else None
        self._copied: ForkServer | None = None
        self._ended = False
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._started: list[_Worker] = []
        self._lock = Lock()
        self._lost: ProcessEndedError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Progress = silent,
        seconds: float | None = None,
    ) -> Any:
        """Result of ``function(progress, *arguments)``. `seconds`: after which the process is killed."""
        request = pickle.dumps((function, arguments), protocol=pickle.HIGHEST_PROTOCOL)
        worker = self._worker()
        late = Event()
        clock = None if seconds is None else Timer(seconds, _kill_late, (worker, late))
        try:
            if clock is not None:
                clock.daemon = True
                clock.start()
            kind, found = worker.ask(request, progress)
        except ProcessEndedError as ended:
            if self._replaced:
                with self._lock:
                    self._started.remove(worker)
                worker.end()
                raise
            with self._lock:
                self._lost = self._lost or ended
            self.end()
            if late.is_set():
                raise TimeoutError from None
            raise self._lost from None
        finally:
            if clock is not None:
                clock.cancel()
        self._idle.put(worker)
        if kind == "raised":
            raise made_again(*found)
        return found

    def end(self) -> None:
        """End all processes."""
        with self._lock:
            self._ended = True
            for worker in self._started:
                worker.end()
            if self._copied is not None:
                self._copied.end()

    def _worker(self) -> _Worker:
        with contextlib.suppress(Empty):
            return self._idle.get_nowait()
        with self._lock:
            if self._lost is not None:
                raise self._lost
            if self._ended:
                raise ProcessEndedError(0)
            self._started.append(_Worker(self._process()))
            return self._started[-1]

    def _process(self) -> subprocess.Popen[bytes] | ForkedProcess:
        if self._prepare is None:
            limit = [] if self._memory_limit is None else [str(self._memory_limit)]
            # Our own interpreter and module, no shell.
            return subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "maskwright.foundation.processes.function_worker", *limit],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment,
            )
        if self._copied is None:
            self._copied = ForkServer(self._environment, self._memory_limit, self._prepare)
        try:
            return self._copied.fork()
        except ProcessEndedError:
            self._copied.end()
            self._copied = None
            raise


class _Worker:
    """One process, at work for one thread at a time."""

    def __init__(self, process: subprocess.Popen[bytes] | ForkedProcess) -> None:
        self._process = process
        with contextlib.suppress(OSError):  # whoever asks will see it
            self._send(sys.path)

    def ask(self, request: bytes, progress: Progress) -> Answer:
        """Last answer to what was asked; the others are shares of the work."""
        assert self._process.stdout is not None
        try:
            self._send(request)
            while True:
                answer: Answer = pickle.load(self._process.stdout)  # noqa: S301 - of our own process
                if answer[0] != "progress":
                    return answer
                progress(answer[1])
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):  # ValueError: `end` has closed the pipe
            raise ProcessEndedError(code_of_ended(self._process)) from None

    def end(self) -> None:
        """End the process, also while another thread waits for its answer."""
        self.kill()
        code_of_ended(self._process)
        close_pipes(self._process)

    def kill(self) -> None:
        """Have it end, without waiting until it has."""
        self._process.kill()

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()


def _kill_late(worker: _Worker, late: Event) -> None:
    late.set()
    worker.kill()


def sendable(error: BaseException) -> tuple[type[BaseException], tuple[Any, ...], dict[str, Any]]:
    """What an exception is made of, without what cannot be sent to another process."""
    kind = type(error) if _is_sendable(type(error)) else RuntimeError
    if not isinstance(error, MaskwrightError) and not _is_sendable(error.args):
        return kind, (type(error).__name__,), {}
    return kind, error.args, {name: each if _is_sendable(each) else None for name, each in vars(error).items()}


def _is_sendable(value: object) -> bool:
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 - what was pickled in this line
    except Exception:  # noqa: BLE001 - a value of a plugin may fail in any way
        return False
    return True
