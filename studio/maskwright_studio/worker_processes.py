"""Workers of the studio: processes that take and give lines of JSON, and how they are started and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys

from maskwright_studio.refusal import Refusal

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of one line of a worker: a result is one line."""


async def start_worker(module: str) -> asyncio.subprocess.Process:
    """Start a module of the studio in a process group of its own."""
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", f"maskwright_studio.{module}", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=LONGEST_LINE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise not_started(error) from None


def not_started(error: OSError) -> Refusal:
    """Refusal where the system starts no process."""
    return Refusal(f"no process could be started: {error.strerror}")


def send(process: asyncio.subprocess.Process, message: object) -> None:
    """Write a line to a worker; whoever reads its lines finds out that one has just ended."""
    assert process.stdin is not None
    with contextlib.suppress(OSError, RuntimeError):
        process.stdin.write(json.dumps(message).encode() + b"\n")


def signal_group(process: asyncio.subprocess.Process, number: signal.Signals = signal.SIGKILL) -> None:
    """Signal a process and those that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
