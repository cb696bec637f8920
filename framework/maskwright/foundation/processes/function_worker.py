"""A process that calls functions for another one: ``python -m maskwright.foundation.processes.function_worker``.

It reads pickles on standard input: first the paths where modules are looked for, then, for each call, the bytes of a
function and its arguments. It writes `Answer`s, and ends when its input does; when the process that asks is gone, also
in the middle of a call. An argument is how many bytes of memory it may have.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from typing import IO

from maskwright.foundation.processes.function_pool import Answer, sendable
from maskwright.foundation.processes.signals import prevent_core_dumps

SECONDS_BETWEEN = 0.2
"""At least so long between two shares of the work that are reported: a function may report thousands."""


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each call of `requests`, until they end."""

    def say(answer: Answer) -> None:
        message = pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
        answers.write(message)
        answers.flush()

    sys.path[:] = pickle.load(requests)  # noqa: S301 - of our own process
    while True:
        try:
            request: bytes = pickle.load(requests)  # noqa: S301
        except EOFError:
            return
        reported = 0.0

        def report(share: float) -> None:
            nonlocal reported
            if time.monotonic() - reported >= SECONDS_BETWEEN:
                reported = time.monotonic()
                say(("progress", float(share)))

        try:
            function, arguments = pickle.loads(request)  # noqa: S301
            say(("done", function(report, *arguments)))
        except BaseException as error:  # noqa: BLE001 - raised again where it was requested
            say(("raised", sendable(error)))


def limit_memory(most: int) -> None:
    """Let this process have so many bytes of its own: data, not files that are mapped or the code of libraries."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def end_with(parent: int) -> None:
    """End this process soon after the one that has started it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    prevent_core_dumps()
    end_with(os.getppid())
    if len(sys.argv) > 1:
        limit_memory(int(sys.argv[1]))
    # Who asks ends this process; an interrupt from the keyboard is for that one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a plugin prints must not be taken for an answer.
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, channel)
