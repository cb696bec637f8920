"""Processes that are copies of one: what it has imported, none of them imports again, nor holds for itself. Linux only.

The process is a fresh one of our own, which does nothing but import and copy itself: no thread of this one, and no lock
that it holds, can be in the copies.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import time
from threading import Lock
from typing import TYPE_CHECKING

from maskwright.foundation.processes.child_process import ProcessEndedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LARGEST = 1 << 16
"""Bytes of a message to the process, and from it."""

FORK, KILL, WAIT = b"fork", b"kill", b"wait"
"""What it is told: `KILL` and `WAIT` are followed by the number of a copy."""

ALIVE = b"alive"
"""Its answer to `WAIT` where there is no code yet."""

SECONDS_BETWEEN = 0.02


class ForkServer:
    """A process that copies itself. Calls may come from several threads.

    `environment`: the whole environment of all of them. `memory_limit`: bytes that each copy may have. `prepare`: of a
    module, without arguments: imports what the copies will need. What fails in it is passed over.
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
        self._told = pickle.dumps((list(sys.path), pickle.dumps(prepare)))

    def fork(self) -> ForkedProcess:
        """Have a copy made."""
        ours, theirs = socket.socketpair()
        # What is read and written keeps its own hold of the socket.
        with ours, theirs, self._lock:
            if self._told:
                self._asked(self._told)
                self._told = b""
            number = int(self._asked(FORK, theirs.fileno()))
            return ForkedProcess(self, number, ours)

    def end(self) -> None:
        """End the process; its copies end soon after it."""
        self._process.kill()
        self._process.wait()
        self._channel.close()

    def tell(self, what: bytes, number: int) -> bytes:
        """What the process answers about one of its copies."""
        with self._lock:
            return self._asked(what + b" %d" % number)

    def _asked(self, message: bytes, *handles: int) -> bytes:
        try:
            socket.send_fds(self._channel, [message], handles)
            answer = self._channel.recv(LARGEST)
        except OSError:
            answer = b""
        if not answer:
            raise ProcessEndedError(self._process.wait())
        return answer


class ForkedProcess:
    """One of the copies, which is spoken to as `subprocess.Popen` is.

    `channel`: what the copy reads and writes.
    """

    def __init__(self, server: ForkServer, number: int, channel: socket.socket) -> None:
        self._server, self._number = server, number
        self._code: int | None = None
        self.stdin, self.stdout = channel.makefile("wb"), channel.makefile("rb")

    def kill(self) -> None:
        """End it, unless it has ended."""
        self._asked(KILL)

    def wait(self, timeout: float | None = None) -> int:
        """Code that it has ended with."""
        late = None if timeout is None else time.monotonic() + timeout
        while self._code is None:
            self._asked(WAIT)
            if self._code is None:
                if late is not None and time.monotonic() > late:
                    raise subprocess.TimeoutExpired(str(self._number), timeout or 0.0)
                time.sleep(SECONDS_BETWEEN)
        return self._code

    def _asked(self, what: bytes) -> None:
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
