"""The process that copies itself: ``python -m maskwright.foundation.processes.fork_server HANDLE [BYTES]``.

It reads messages from the socket of that number, as `maskwright.foundation.processes.child_process` has them, and ends
with the other end of it. Each copy answers calls as `maskwright.foundation.processes.function_worker` does.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import socket
import sys
import time
from typing import NoReturn

from maskwright.foundation.processes.child_process import ALIVE, FORK, LARGEST, SECONDS_BETWEEN, WAIT
from maskwright.foundation.processes.function_worker import end_with, limit_memory, serve
from maskwright.foundation.processes.signals import prevent_core_dumps


def copy_until_end(channel: socket.socket, memory_limit: int | None) -> None:
    """Import what the copies need, then copy this process until the other end of the channel is closed."""
    gc.disable()
    sys.path[:], prepare = pickle.loads(channel.recv(LARGEST))  # noqa: S301 - of our own process
    # What cannot be imported here cannot be in a copy either, and is said there by whoever needs it.
    with contextlib.suppress(Exception):
        pickle.loads(prepare)()  # noqa: S301
    # The collector never looks at what is imported: nearly all of it stays, and its pages are those of all copies.
    gc.freeze()
    channel.send(ALIVE)
    copies: dict[int, int | None] = {}
    while True:
        message, handles, _, _ = socket.recv_fds(channel, LARGEST, 1)
        if not message:
            return
        if message == FORK:
            number = _copied(channel, handles[0], memory_limit)
            copies[number] = None
            channel.send(b"%d" % number)
        else:
            what, found = message.split()
            number = int(found)
            code = copies[number] = _code(number, copies[number], is_asked=what == WAIT)
            channel.send(ALIVE if code is None else b"%d" % code)


def _copied(channel: socket.socket, handle: int, memory_limit: int | None) -> int:
    """Number of a copy, which answers on the handle."""
    parent = os.getpid()
    number = os.fork()
    if number == 0:
        channel.close()
        _work(handle, parent, memory_limit)
    os.close(handle)
    return number


def _work(handle: int, parent: int, memory_limit: int | None) -> NoReturn:
    code = 1
    try:
        gc.enable()
        end_with(parent)
        if memory_limit is not None:
            limit_memory(memory_limit)
        with socket.socket(fileno=handle) as own, own.makefile("rb") as requests, own.makefile("wb") as answers:
            serve(requests, answers)
        code = 0
    finally:
        os._exit(code)


def _code(number: int, known: int | None, *, is_asked: bool) -> int | None:
    """Code of a copy, None while it lives; its number is no one else's until it was requested."""
    if known is not None:
        return known
    if not is_asked:
        os.kill(number, signal.SIGKILL)
    ended, status = os.waitpid(number, os.WNOHANG)
    while not is_asked and not ended:
        time.sleep(SECONDS_BETWEEN)
        ended, status = os.waitpid(number, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


if __name__ == "__main__":
    prevent_core_dumps()
    # Who asks ends this process; an interrupt from the keyboard is for that one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    copy_until_end(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]) if len(sys.argv) > 2 else None)
