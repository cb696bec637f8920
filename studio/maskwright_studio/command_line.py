"""Commands of Maskwright for files that no pipeline names yet, each in a process of its own, answered in JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright_studio.data_process import PATIENCE, NotYet
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from pathlib import Path

SAYS_MORE = "The command line may tell more, with --traceback."


@dataclass(eq=False)
class CommandLine:
    """Commands at work, and what those that ended said.

    `folder`: that they are started in.
    """

    folder: Path
    _asked: dict[object, asyncio.Task[Any]] = field(default_factory=dict)
    _processes: set[asyncio.subprocess.Process] = field(default_factory=set)

    async def look(self, file: Path, *words: str) -> Any:
        """Ask about a file; the answer is kept as long as the file is as it was.

        `words`: of the command, which only reads.
        """
        with contextlib.suppress(OSError):
            found = file.stat()
            key = (words, found.st_mtime_ns, found.st_size)
            if key not in self._asked:
                self._asked[key] = asyncio.create_task(self.answer(*words))
            task = self._asked[key]
            await asyncio.wait({task}, timeout=PATIENCE)
            if not task.done():
                raise NotYet(f"Looking into {file.name}", 0.0, "")
            return task.result()
        raise Refusal(f"{file.name} is no longer there")

    async def answer(self, *words: str) -> Any:
        """Run a command to its end.

        Returns the JSON that it printed, also where it ended with another exit code than 0 and said nothing else: a
        pipeline that was written and cannot be planned yet is such an end.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "maskwright", *words, "--json", cwd=self.folder,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Refusal(f"no process could be started: {error.strerror}") from None
        self._processes.add(process)
        try:
            said, problem = await process.communicate()
        finally:
            self._processes.discard(process)
        if process.returncode == 0:
            return json.loads(said)
        lines = problem.decode(errors="replace").replace(f"{self.folder}{os.sep}", "").strip()
        if not lines and said and (process.returncode or 0) > 0:
            return json.loads(said)
        if not lines and (process.returncode or 0) > 0:
            raise Refusal(f"the command ended with exit code {process.returncode} and said nothing", SAYS_MORE)
        raise Refusal(lines.rstrip(".") or "the process that did this was ended from outside")

    async def close(self) -> None:
        """End what is at work."""
        for process in list(self._processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await asyncio.gather(*self._asked.values(), return_exceptions=True)
