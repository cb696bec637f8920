"""A module of ours run as a process of its own, which is asked and answers in lines of JSON."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

SECONDS_TO_END = 5.0
"""How long a process that answers no more has for ending by itself, so that its code is its own."""


class ProcessEndedError(Exception):
    """A process ended over a request, or its answer was none.

    `code`: code it ended with, negative for a signal; None when it was ended because its answer was no JSON.
    """

    def __init__(self, code: int | None) -> None:
        how = "gave an answer that is no JSON" if code is None else f"ended with code {code}"
        super().__init__(f"ended by signal {-code}" if code is not None and code < 0 else how)
        self.code = code


class ChildProcess:
    """A Python module at work in a process; a context manager that ends it.

    `module`: run as ``python -m module``: reads lines of JSON on standard input until it ends, writes one line for each
    that is to be answered. What it writes to standard error is lost. `environment`: the whole environment of the
    process.
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
        """Answer to a message; a process that fails to give one is ended.

        `seconds`: for sending the message and waiting for the answer; as long as it takes when left out.
        """
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
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            # What is left to be written to a process that is gone cannot be.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        return code
