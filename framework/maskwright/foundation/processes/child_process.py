"""Child processes: a module of ours that answers in lines of JSON, and copies of a forking server."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from maskwright.foundation.errors import MaskwrightError
from maskwright.foundation.exit_codes import EXIT_BUG

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType


SECONDS_TO_END = 5.0
"""How long a process that answers no more has for ending by itself, so that its code is its own."""


class ProcessEndedError(Exception):
    """A process ended over a request with this code (negative: a signal), or its answer was no JSON (None)."""

    def __init__(self, code: int | None) -> None:
        how = "gave an answer that is no JSON" if code is None else f"ended with code {code}"
        super().__init__(f"ended by signal {-code}" if code is not None and code < 0 else how)
        self.code = code


class ChildProcess:
    """A Python module at work in a process; a context manager that ends it.

    ``python -m module`` reads lines of JSON on standard input until that ends, and writes a line for each that is
    answered.
    """

    def __init__(self, module: str, *arguments: str, environment: Mapping[str, str]) -> None:
        # Our own interpreter and module, no shell.
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            encoding="utf-8",
        )

    def tell(self, message: object) -> None:
        """Send a message that is not answered."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # ValueError: `end` has closed the pipe
            raise ProcessEndedError(self._end(SECONDS_TO_END)) from None

    def ask(self, message: object, seconds: float | None = None) -> Any:
        """Answer to a message, within `seconds` where they are given; a process that fails to give one is ended."""
        late = threading.Event()
        if seconds is None:
            return self._answer(message)
        timer = threading.Timer(seconds, self._stop, (late,))
        timer.start()
        answer, ended = None, None
        try:
            answer = self._answer(message)
        except ProcessEndedError as error:
            ended = error
        finally:
            timer.cancel()
        if late.is_set():
            self.end()
            raise TimeoutError
        if ended is not None:
            raise ended
        return answer

    def end(self) -> None:
        """End the process and close its pipes; may be called again, and while another thread waits for an answer."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def _answer(self, message: object) -> Any:
        self.tell(message)
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
            if line.endswith("\n"):  # else it ended in the middle of it
                return json.loads(line)
        except ValueError:  # no JSON, no UTF-8, or `end` has closed the pipe
            self.end()
            raise ProcessEndedError(None) from None
        raise ProcessEndedError(self._end(SECONDS_TO_END))

    def _stop(self, late: threading.Event) -> None:
        # Its pipes break with it, so that whoever reads or writes goes on.
        late.set()
        self._process.kill()

    def _end(self, patience: float = 0.0) -> int:
        code = code_of_ended(self._process, patience)
        close_pipes(self._process)
        return code


def code_of_ended(process: subprocess.Popen[Any] | ForkedProcess, patience: float = SECONDS_TO_END) -> int:
    """Code of a process that has so many seconds for ending by itself, and is killed then."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def close_pipes(process: subprocess.Popen[Any] | ForkedProcess) -> None:
    """Close the pipes of a process that has ended: what is left to be written to it cannot be."""
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()


LARGEST = 1 << 16
"""Bytes of a message to the process, and from it."""

FORK, KILL, WAIT = b"fork", b"kill", b"wait"
"""What it is sent: `KILL` and `WAIT` are followed by the number of a copy."""

ALIVE = b"alive"
"""Its answer to `WAIT` where there is no code yet."""

SECONDS_BETWEEN = 0.02


class ForkServer:
    """A process that copies itself; calls may come from several threads.

    `memory_limit`: bytes of each copy. `prepare`: imports what the copies need; what fails in it is passed over.
    """

    def __init__(self, environment: Mapping[str, str], memory_limit: int | None, prepare: Callable[[], object]) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = Lock()
        limit = [] if memory_limit is None else [str(memory_limit)]
        with theirs:
            # Our own interpreter and module, no shell.
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "maskwright.foundation.processes.fork_server", str(theirs.fileno()), *limit],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(environment),
                pass_fds=[theirs.fileno()],
            )
        self._prepared = pickle.dumps((list(sys.path), pickle.dumps(prepare)))

    def fork(self) -> ForkedProcess:
        """Have a copy made."""
        ours, theirs = socket.socketpair()
        # What is read and written keeps its own hold of the socket.
        with ours, theirs, self._lock:
            if self._prepared:
                self._request(self._prepared)
                self._prepared = b""
            number = int(self._request(FORK, theirs.fileno()))
            return ForkedProcess(self, number, ours)

    def end(self) -> None:
        """End the process; its copies end soon after it."""
        self._process.kill()
        self._process.wait()
        self._channel.close()

    def tell(self, what: bytes, number: int) -> bytes:
        """What the process answers about one of its copies."""
        with self._lock:
            return self._request(what + b" %d" % number)

    def _request(self, message: bytes, *handles: int) -> bytes:
        try:
            socket.send_fds(self._channel, [message], handles)
            answer = self._channel.recv(LARGEST)
        except OSError:
            answer = b""
        if not answer:
            raise ProcessEndedError(self._process.wait())
        return answer


class ForkedProcess:
    """One of the copies, which is spoken to as `subprocess.Popen` is. `channel`: what the copy reads and writes."""

    def __init__(self, server: ForkServer, number: int, channel: socket.socket) -> None:
        self._server, self._number = server, number
        self._code: int | None = None
        self.stdin, self.stdout = channel.makefile("wb"), channel.makefile("rb")

    def kill(self) -> None:
        """End it, unless it has ended."""
        self._request(KILL)

    def wait(self, timeout: float | None = None) -> int:
        """Code that it has ended with."""
        late = None if timeout is None else time.monotonic() + timeout
        while self._code is None:
            self._request(WAIT)
            if self._code is None:
                if late is not None and time.monotonic() > late:
                    raise subprocess.TimeoutExpired(str(self._number), timeout or 0.0)
                time.sleep(SECONDS_BETWEEN)
        return self._code

    def _request(self, what: bytes) -> None:
        if self._code is not None:
            return
        try:
            answer = self._server.tell(what, self._number)
        except ProcessEndedError as ended:
            # A copy ends with the process it was copied from.
            self._code = ended.code
            return
        self._code = None if answer == ALIVE else int(answer)


def can_fork() -> bool:
    """Whether processes are copied here: elsewhere the libraries of the system do not all bear it."""
    return sys.platform == "linux" and hasattr(os, "fork")


class WorkerEnded(MaskwrightError):  # noqa: N818 - the state by its name
    """A process at work for a command was ended from outside; nothing was published (exit code 3)."""

    exit_code = EXIT_BUG
