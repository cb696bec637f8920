"""Long work in a process of its own: started, followed, ended politely or by force."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from maskwright_studio.refusal import Refusal
from maskwright_studio.worker_processes import send, signal_group, start_worker

if TYPE_CHECKING:
    from collections.abc import Mapping

POLITE = 10.0
"""Seconds that a job has to end by itself once it is signalled."""

State = Literal["running", "ending", "done", "refused", "failed", "cancelled"]

ENDED: Mapping[int, State] = {0: "done", 1: "refused"}
"""What an exit code says; every other one that the job failed."""


@dataclass(eq=False)
class Job:
    """One piece of long work.

    `number`: from 1, in this session. `request`: what its worker gets, and what the page that started it keeps with
    it. `stages`: the last is the one at work. `cautions`: notices about what the release may disclose. `problems`:
    why it did not end well, as `maskwright_studio.worker.problem_fields` has them. `code`: exit code, as the
    command line would have it. `result`: what the work returned, as JSON. `read`: files that a run has read, each
    with its name, bytes and hash; no page shows them. `interrupted`: what was released when it was cancelled.
    `ended`: when, in seconds of the clock on the wall.
    """

    number: int
    title: str
    request: dict[str, Any] = field(default_factory=dict)
    state: State = "running"
    stages: list[list[Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)
    code: int | None = None
    result: Any = None
    read: list[dict[str, Any]] = field(default_factory=list)
    interrupted: str = "nothing was released"
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    ended: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether its process has ended."""
        return self.state not in {"running", "ending"}

    def time_left(self) -> float | None:
        """Seconds left of the stage at work, guessed from its share; None where it is not known."""
        if self.is_over or not self.stages:
            return None
        _, share, since = self.stages[-1]
        spent = time.monotonic() - since
        return spent * (1 - share) / share if share > 0.02 and spent > 1 else None

    def receive(self, message: dict[str, Any]) -> None:
        """Take one line of the worker."""
        match message:
            case {"stage": title}:
                self.stages.append([title, 0.0, time.monotonic()])
            case {"share": share} if self.stages:
                self.stages[-1][1] = share
            case {"notice": text}:
                self.notices.append(text)
            case {"caution": text}:
                self.cautions.append(text)
            case {"interrupted": sentence}:
                self.interrupted = sentence
            case {"code": code}:
                self.code = code
                self.result, self.read = message.get("result"), message.get("read", [])
                self.problems = message.get("problems", [])


@dataclass(eq=False)
class Jobs:
    """Jobs of a session, at most one at a time: one process holds the data, and one works."""

    all: list[Job] = field(default_factory=list)
    _process: asyncio.subprocess.Process | None = None
    _following: asyncio.Task[None] | None = None

    @property
    def last(self) -> Job | None:
        """The job at work, or the one that ended last."""
        return self.all[-1] if self.all else None

    def numbered(self, number: object) -> Job | None:
        """The job of a number, as an address or a form has it."""
        return next((each for each in self.all if str(each.number) == number), None)

    async def start(self, title: str, request: dict[str, Any]) -> Job:
        """Start a job."""
        if self.last is not None and not self.last.is_over:
            raise Refusal(f"{self.last.title} is still at work", "Wait for its end, or cancel it.")
        job = Job(len(self.all) + 1, title, request)
        self.all.append(job)
        try:
            self._process = await start_worker("worker")
        except Refusal:
            job.state = "failed"
            raise
        send(self._process, request)
        self._following = asyncio.create_task(self._follow(job, self._process))
        return job

    async def cancel(self) -> Job:
        """The job at work, after it was asked to end; after ten seconds its whole group of processes is killed."""
        job, process = self.last, self._process
        if job is None or process is None or job.is_over:
            raise Refusal("nothing is at work")
        job.state = "ending"
        signal_group(process, signal.SIGINT)
        await self._ended(process)
        if self._following is not None:
            await self._following
        return job

    async def close(self) -> None:
        """End what is at work."""
        process = self._process
        if process is not None and process.returncode is None:
            signal_group(process, signal.SIGINT)
            await self._ended(process)
        if self._following is not None:
            await self._following

    async def _ended(self, process: asyncio.subprocess.Process) -> None:
        try:
            await asyncio.wait_for(process.wait(), POLITE)
        except TimeoutError:
            signal_group(process)
            await process.wait()

    async def _follow(self, job: Job, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with contextlib.suppress(ValueError, asyncio.LimitOverrunError):
            async for line in process.stdout:
                job.receive(json.loads(line))
        # The last line of the worker is not its end: a job is "done" once its process is gone.
        await process.wait()
        job.seconds, job.ended = time.monotonic() - job.started, time.time()
        if job.code is not None:
            job.state = ENDED.get(job.code, "failed")
        elif job.state == "ending":
            job.state = "cancelled"
        else:
            job.state = "failed"
            ended = "the process that did the work was ended from outside"
            job.problems = [{"message": ended, "doubt": "", "file": "", "excerpt": "", "hint": "Start it again."}]
