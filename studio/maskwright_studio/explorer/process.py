"""The process that calculates for the explorer: one question at a time, in lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from typing import Any

from maskwright_studio.jobs import LONGEST_LINE
from maskwright_studio.refusal import Refusal


@dataclass(eq=False)
class ExplorerProcess:
    """The child; it is started at the first question, and after it was lost."""

    _process: asyncio.subprocess.Process | None = None
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, **request: object) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        async with self._asking:
            process = await self._alive()
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(OSError, RuntimeError):
                process.stdin.write(json.dumps(request).encode() + b"\n")
            line = await process.stdout.readline()
        if not line:
            raise Refusal("the process that calculates was ended from outside", "Run it again from the beginning.")
        told: dict[str, Any] = json.loads(line)
        if "problem" in told:
            raise Refusal(*told["problem"])
        return told

    async def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    async def _alive(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None or _is_at_end(self._process):
            await self.close()
            try:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", "maskwright_studio.explorer.worker", stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=LONGEST_LINE,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise Refusal(f"no process could be started: {error.strerror}") from None
        return self._process


def _is_at_end(process: asyncio.subprocess.Process) -> bool:
    return process.stdout is None or process.stdout.at_eof()
