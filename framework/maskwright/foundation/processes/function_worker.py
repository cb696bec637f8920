"""A process that calls functions for another one: ``python -m maskwright.foundation.processes.function_worker``.

It reads pickles on standard input: first the paths where modules are looked for, then, for each call, the bytes of a
function and its arguments. It writes `Answer`s, and ends when its input does, also when the process that asks is gone.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from typing import IO

from maskwright.foundation.processes.core_dumps import prevent_core_dumps
from maskwright.foundation.processes.function_workers import Answer, sendable

SECONDS_BETWEEN = 0.2
"""At least so long between two shares of the work that are told: a function may tell thousands."""


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each call of `requests`, until they end."""

    def say(answer: Answer) -> None:
        said = pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
        answers.write(said)
        answers.flush()

    sys.path[:] = pickle.load(requests)  # noqa: S301 - of our own process
    while True:
        try:
            asked: bytes = pickle.load(requests)  # noqa: S301
        except EOFError:
            return
        told = 0.0

        def report(share: float) -> None:
            nonlocal told
            if time.monotonic() - told >= SECONDS_BETWEEN:
                told = time.monotonic()
                say(("progress", float(share)))

        try:
            function, arguments = pickle.loads(asked)  # noqa: S301
            say(("done", function(report, *arguments)))
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            say(("raised", sendable(error)))


if __name__ == "__main__":
    prevent_core_dumps()
    # Who asks ends this process; an interrupt from the keyboard is for that one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a plugin prints must not be taken for an answer.
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, channel)
