"""Processes that hold the data or run commands for files, with requests in lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import glob
import json
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from maskwright_studio.refusal import Refusal, changed_outside
from maskwright_studio.worker_processes import not_started, send, signal_group, start_worker

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright_studio.pipeline_file import PipelineFile


OF_THE_DATA = frozenset({"variables", "distribution", "risk", "at_risk"})
"""Queries whose answers rest on the data and what is declared of them: other changes of the pipeline leave them."""

KEPT = frozenset({"risk"})
"""Those that are kept when the data are declared otherwise: taking that back brings them again."""

NOT_KEPT = frozenset({"records"})
"""Those that are not kept at all: their answers hold values of records, and are quickly made again."""

MOST_KEPT = 32

UNTIL_KILLED = 10.0
"""Seconds that a cancelled request may go on before its process is ended."""

PATIENCE = 0.4
"""Seconds after which the page says how far the reading is instead of waiting for it."""


class NotYet(Exception):  # noqa: N818 - nothing is wrong
    """The answer is being worked on; the same query later gets it.

    `share`: of the stage, in [0, 1]. `notice`: why it is begun again; '' where it is not. `number`: of the request, by
    which it can be cancelled; 0 where it cannot.
    """

    def __init__(self, stage: str, share: float, notice: str, number: int = 0) -> None:
        super().__init__(stage)
        self.stage = stage
        self.share = share
        self.notice = notice
        self.number = number


class Superseded(Exception):  # noqa: N818 - nothing is wrong
    """There is a later query on the same topic: this answer is not needed."""


@dataclass(eq=False)
class DataProcess:
    """The child that holds the data.

    `memory`: bytes that it holds, as last reported; 0 where it is not known. `stage`, `share`: how far it is in what it
    does.
    """

    memory: int = 0
    stage: str = ""
    share: float = 0.0
    _notice: str = ""
    _state: object = None
    _held: str = ""
    _process: asyncio.subprocess.Process | None = None
    _listening: asyncio.Task[None] | None = None
    _last_request: int = 0
    _answers: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    _waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _topics: dict[str, int] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _ended: dict[int, asyncio.Event] = field(default_factory=dict)
    _killing: set[asyncio.Task[None]] = field(default_factory=set)
    _kept: dict[tuple[str, str], Any] = field(default_factory=dict)
    _beginning: asyncio.Task[None] | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_alive(self) -> bool:
        """Whether there is a process."""
        return self._process is not None and self._process.returncode is None

    async def query(self, pipeline: PipelineFile, what: str, *, topic: str = "", **details: object) -> Any:
        """Query the data of a pipeline."""
        if pipeline.changed_outside():
            raise changed_outside(pipeline.path.name)
        state = state_of_data(pipeline)
        key = json.dumps([what, details, "" if what in OF_THE_DATA else pipeline.text], sort_keys=True)
        kept = (repr(state), key)
        if kept in self._kept:
            return self._kept[kept]
        async with self._starting:
            state = state_of_data(pipeline)
            if state != self._state or not self.is_alive:
                await self._start(pipeline, state)
        if topic or what in NOT_KEPT:
            return await self._send(what, topic, details)
        if key not in self._answers:
            self._answers[key] = self._send(what, "", details)
            self._numbers[key] = self._last_request
        answer = self._answers[key]
        await asyncio.wait({answer}, timeout=PATIENCE)
        if not answer.done():
            raise NotYet(self.stage or "Starting", self.share, self._notice, self._numbers[key])
        found = answer.result()
        if what in KEPT:
            self._kept[kept] = found
            self._kept = dict(list(self._kept.items())[-MOST_KEPT:])
        return found

    def cancel(self, number: int) -> bool:
        """Cancel a request: politely, and after a while by ending the process; whether it was at work."""
        answer = self._waiting.pop(number, None)
        if answer is None or self._process is None:
            return False
        answer.set_exception(CANCELLED)
        send(self._process, {"cancel": number})
        self._ended[number] = asyncio.Event()
        killing = asyncio.create_task(self._kill_unless_ended(number, self._process))
        self._killing.add(killing)
        killing.add_done_callback(self._killing.discard)
        return True

    async def _kill_unless_ended(self, number: int, process: asyncio.subprocess.Process) -> None:
        try:
            await asyncio.wait_for(self._ended[number].wait(), UNTIL_KILLED)
        except TimeoutError:
            signal_group(process)
        finally:
            del self._ended[number]

    def forget_cancelled(self) -> None:
        """Let what was cancelled be requested again."""
        for key, answer in list(self._answers.items()):
            if answer.done() and answer.exception() is CANCELLED:
                del self._answers[key]

    def begin(self, pipeline: PipelineFile) -> None:
        """Read the data before a page needs them, unless they are read in parts: these may be too many."""
        if self._beginning is None or self._beginning.done():
            self._beginning = asyncio.create_task(self._begin(pipeline))

    async def _begin(self, pipeline: PipelineFile) -> None:
        with contextlib.suppress(Refusal, NotYet):  # the page that needs it gets it as an answer
            if not is_read_in_parts(pipeline.text):
                await self.query(pipeline, "variables")

    async def close(self) -> None:
        """End the process."""
        if self._process is not None and self.is_alive:
            signal_group(self._process)
            await self._process.wait()
        if self._listening is not None:
            await self._listening
        for each in list(self._killing):
            each.cancel()

    async def _start(self, pipeline: PipelineFile, state: object) -> None:
        # It ended by itself only where the data are still the same.
        self._notice = LOST if self._process is not None and not self.is_alive and state == self._state else ""
        if self.is_alive:
            self._let_go(pipeline)
        await self.close()
        self._answers.clear()
        self._numbers.clear()
        self._topics.clear()
        self.stage, self.share, self.memory, self._state, self._held = "", 0.0, 0, state, pipeline.path.name
        self._process = await start_worker("data_worker")
        send(self._process, {"pipeline": str(pipeline.path)})
        self._listening = asyncio.create_task(self._listen(self._process))

    def _let_go(self, pipeline: PipelineFile) -> None:
        """Refuse what still waits for the process that is to be ended."""
        name, held = pipeline.path.name, self._held
        for answer in self._waiting.values():
            answer.set_exception(
                Refusal("the data were changed while they were read", "Show this page again: they are read again.")
                if name == held
                else Refusal(
                    f"{name} was opened meanwhile, so the data of {held} are no longer held",
                    f"Reload the page, or open {held} again on the page Open.",
                )
            )
        self._waiting.clear()

    def _send(self, what: str, topic: str, details: dict[str, object]) -> asyncio.Future[Any]:
        assert self._process is not None
        self._last_request += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_seen)
        self._waiting[self._last_request] = answer
        if topic:
            late = self._topics.pop(topic, 0)
            if late in self._waiting:
                self._waiting.pop(late).set_exception(Superseded())
                send(self._process, {"cancel": late})
            self._topics[topic] = self._last_request
        send(self._process, {"id": self._last_request, "query": what, **details})
        return answer

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with contextlib.suppress(ValueError, asyncio.LimitOverrunError):
            async for line in process.stdout:
                self._receive(json.loads(line))
        await process.wait()
        for answer in self._waiting.values():
            answer.set_exception(Refusal(LOST, "Show this page again: the data are read again."))
        self._waiting.clear()

    def _receive(self, line: dict[str, Any]) -> None:
        if line.get("id") in self._ended:
            self._ended[line["id"]].set()
        match line:
            case {"stage": stage}:
                self.stage, self.share = stage, 0.0
            case {"share": share}:
                self.share = share
            case {"memory": memory}:
                self.memory = memory
            case {"id": number, "problems": problems}:
                if answer := self._waiting.pop(number, None):
                    message, hint = problems
                    answer.set_exception(Refusal(message, hint))
            case {"id": number, "answer": found}:
                self._notice = ""
                if answer := self._waiting.pop(number, None):
                    answer.set_result(found)


CANCELLED = Refusal("this was cancelled", offers=(("Compute it again", "/act/open/compute_again"),))

LOST = "the process that holds the data was ended from outside"


def _seen(answer: asyncio.Future[Any]) -> None:
    """Take a refusal that is not waited for any more: that is no mistake."""
    if not answer.cancelled():
        answer.exception()


def state_of_data(pipeline: PipelineFile) -> object:
    """What the data rest on: the section of the pipeline, and the files that it names."""
    try:
        settings = yaml.safe_load(pipeline.text)
    except yaml.YAMLError:
        raise Refusal(f"{pipeline.path.name} is no YAML as it stands", "Undo the last change, or mend it.") from None
    section = settings.get("data") if isinstance(settings, dict) else None
    return str(pipeline.path), repr(section), _stamps(pipeline, section)


def stamps_of_data(pipeline: PipelineFile) -> list[tuple[str, int, int]]:
    """Files of the data of a pipeline, each with its time in nanoseconds and its size; none where it is no YAML."""
    try:
        settings = yaml.safe_load(pipeline.text)
    except yaml.YAMLError:
        return []
    return _stamps(pipeline, settings.get("data") if isinstance(settings, dict) else None)


def _stamps(pipeline: PipelineFile, section: object) -> list[tuple[str, int, int]]:
    files = sorted({path for text in _texts(section) for path in _named(pipeline.path.parent, text)})
    return [(str(path), *_stamp(path)) for path in files]


def is_read_in_parts(text: str) -> bool:
    """Whether a pipeline has its data read part by part, as they may be larger than memory."""
    try:
        settings = yaml.safe_load(text)
    except yaml.YAMLError:
        return False
    execution = settings.get("execution") if isinstance(settings, dict) else None
    return isinstance(execution, dict) and "engine" in execution


def _texts(section: object) -> list[str]:
    if isinstance(section, str):
        return [section]
    inner = section.values() if isinstance(section, dict) else section if isinstance(section, list) else ()
    return [text for each in inner for text in _texts(each)]


def _named(folder: Path, text: str) -> list[Path]:
    """Files that a text of a pipeline may name: a file, or a pattern that stands for several."""
    try:
        if not text or (folder / text).exists():
            return [folder / text] if text else []
        return [folder / each for each in glob.glob(text, root_dir=folder)]  # noqa: PTH207 - absolute patterns too
    except (OSError, ValueError):
        return []


def _stamp(path: Path) -> tuple[int, int]:
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_mtime_ns, found.st_size
    return 0, 0


TRACEBACK_HINT = "The command line may show more, with --traceback."


@dataclass(eq=False)
class CommandLine:
    """Commands at work, and the answers of those that ended.

    `folder`: that they are started in.
    """

    folder: Path
    _answers: dict[object, asyncio.Task[Any]] = field(default_factory=dict)
    _processes: set[asyncio.subprocess.Process] = field(default_factory=set)

    async def look(self, file: Path, *words: str) -> Any:
        """Query a file; the answer is kept as long as the file is as it was."""
        with contextlib.suppress(OSError):
            found = file.stat()
            key = (words, found.st_mtime_ns, found.st_size)
            if key not in self._answers:
                self._answers[key] = asyncio.create_task(self.answer(*words))
            task = self._answers[key]
            await asyncio.wait({task}, timeout=PATIENCE)
            if not task.done():
                raise NotYet(f"Profiling {file.name}", 0.0, "")
            return task.result()
        raise Refusal(f"{file.name} is no longer there")

    async def answer(self, *words: str) -> Any:
        """Run a command to its end."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "maskwright", *words, "--json", cwd=self.folder,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise not_started(error) from None
        self._processes.add(process)
        try:
            output, problem = await process.communicate()
        finally:
            self._processes.discard(process)
        if process.returncode == 0:
            return json.loads(output)
        lines = problem.decode(errors="replace").replace(f"{self.folder}{os.sep}", "").strip()
        if not lines and output and (process.returncode or 0) > 0:
            return json.loads(output)
        if not lines and (process.returncode or 0) > 0:
            raise Refusal(f"the command ended with exit code {process.returncode} and said nothing", TRACEBACK_HINT)
        raise Refusal(lines.rstrip(".") or "the process that did this was ended from outside")

    async def close(self) -> None:
        """End what is at work."""
        for process in list(self._processes):
            signal_group(process)
        await asyncio.gather(*self._answers.values(), return_exceptions=True)
