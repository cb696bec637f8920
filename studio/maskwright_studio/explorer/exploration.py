"""An exploration: points, settings, constraint and iterations, calculated in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from maskwright_studio.explorer.points import Plane, Table, clicked
from maskwright_studio.refusal import Refusal
from maskwright_studio.worker_processes import send, signal_group, start_worker


@dataclass(eq=False)
class ExplorerProcess:
    """The child; it is started at the first question, and after it was lost."""

    _process: asyncio.subprocess.Process | None = None
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def query(self, **request: object) -> dict[str, Any]:
        """Send a request, and wait for the answer."""
        async with self._asking:
            process = await self._alive()
            assert process.stdout is not None
            send(process, request)
            line = await process.stdout.readline()
        if not line:
            raise Refusal("the process that calculates was ended from outside", "Run it again from the beginning.")
        answer: dict[str, Any] = json.loads(line)
        if "problem" in answer:
            raise Refusal(*answer["problem"])
        return answer

    async def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.returncode is None:
            signal_group(self._process)
            await self._process.wait()

    async def _alive(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None or _is_at_end(self._process):
            await self.close()
            self._process = await start_worker("explorer.worker")
        return self._process


def _is_at_end(process: asyncio.subprocess.Process) -> bool:
    return process.stdout is None or process.stdout.at_eof()


METHODS = {
    "fuzzy_c_regression": "fuzzy c-regression",
    "fuzzy_microaggregation": "constrained fuzzy c-means",
}

PACE = 0.15
"""Seconds between two iterations, at least: to be seen."""

MOST_CLUSTERS = 10


@dataclass(frozen=True)
class Settings:
    """Of the method."""

    method: str = "fuzzy_c_regression"
    independent: str = "1"
    dependent: str = "2"
    c: int = 3
    m: float = 1.5
    epsilon: float = 1e-4
    iterations: int = 30
    seed: int = 1


Doing = Literal["nothing", "running", "stopped", "ended"]


@dataclass(eq=False)
class Exploration:
    """One exploration, from its points to its last iteration.

    `loaded`: points of a file or of the open data, in the place of clicked ones. `source`: where they are from, as the
    page says it. `line`: the constraint ``a x + b y = c`` on centroids. `end`: first end of a constraint that is being
    drawn. `states`: what the method came to, iteration by iteration. `shown`: points in the picture: those of the first
    independent and the first dependent column. `refusal`: why it ended where it should not.
    """

    points: list[tuple[float, float]] = field(default_factory=list)
    loaded: Table | None = None
    source: str = ""
    settings: Settings = field(default_factory=Settings)
    line: tuple[float, float, float] | None = None
    end: tuple[float, float] | None = None
    plane: Plane = field(default_factory=Plane)
    doing: Doing = "nothing"
    states: list[dict[str, Any]] = field(default_factory=list)
    shown: list[tuple[float, float]] = field(default_factory=list)
    refusal: Refusal | None = None
    _process: ExplorerProcess = field(default_factory=ExplorerProcess)
    _going: asyncio.Task[None] | None = None
    _waiting: list[dict[str, Any]] = field(default_factory=list)

    @property
    def table(self) -> Table:
        """The points that are explored."""
        return clicked(self.points) if self.loaded is None else self.loaded

    async def add(self, x: float, y: float) -> None:
        """Add a point; what was calculated without it is forgotten."""
        if not (math.isfinite(x) and math.isfinite(y)):
            raise Refusal("a point has two numbers")
        if self.loaded is not None:
            raise Refusal(f"the points are those of {self.source}", "Clear them to click points of your own.")
        await self.forget()
        self.points.append((x, y))
        self.shown = list(self.points)
        if not (self.plane.left <= x <= self.plane.right and self.plane.bottom <= y <= self.plane.top):
            self.plane = Plane.around(self.points)

    async def bound(self, x: float, y: float) -> None:
        """Take an end of a constraint line; the second one makes the line."""
        if self.end is None:
            self.end = (x, y)
            return
        (a, b), self.end = self.end, None
        if (a, b) == (x, y):
            raise Refusal("both ends of the line are the same point", "Click two places.")
        await self.forget()
        self.line = _tidy(y - b, a - x, (y - b) * a + (a - x) * b)

    async def constrain(self, line: tuple[float, float, float] | None) -> None:
        """Take a constraint line, or none."""
        if line is not None and not (line[0] or line[1]):
            raise Refusal("this is no line", "One of the first two numbers must be other than 0.")
        await self.forget()
        self.line, self.end = line, None

    async def load(self, table: Table, source: str) -> None:
        """Take points of a file or of the open data."""
        if len(table.names) < 2 or not table.columns[0]:
            raise Refusal(f"{source} has fewer than two columns of numbers, or no row")
        await self.forget()
        self.loaded, self.source = table, source
        self._of_other_columns()
        self.look()

    async def clear(self) -> None:
        """Forget all points, and the line."""
        await self.forget()
        self.points, self.loaded, self.source = [], None, ""
        self.plane, self.shown = Plane(), []
        self._of_other_columns()

    def look(self) -> tuple[list[str], list[str]]:
        """Show the chosen columns, and return their names: independent and dependent ones."""
        table, settings = self.table, self.settings
        independent = table.chosen(settings.independent, "independent")
        dependent = table.chosen(settings.dependent, "dependent")
        if both := set(independent) & set(dependent):
            raise Refusal(f"column {min(both)} is independent and dependent at once")
        rows = table.rows([*independent, *dependent])
        self.shown = [(row[0], row[len(independent)]) for row in rows]
        if self.loaded is not None:
            self.plane = Plane.around(self.shown)
        return independent, dependent

    async def forget(self) -> None:
        """Stop, and forget what was calculated."""
        await self._halt()
        self.doing, self.states, self._waiting, self.refusal = "nothing", [], [], None

    async def run(self, settings: Settings) -> None:
        """Begin anew, and go on to the end or until it is stopped."""
        await self.forget()
        self.settings = settings
        self.look()
        self.doing = "running"
        self._going = asyncio.create_task(self._go(settings))

    async def resume(self) -> None:
        """Go on where it was stopped."""
        if self.doing != "stopped":
            raise Refusal("nothing is stopped", "Run begins from the start; Stop holds it.")
        await self._halt()
        self.doing = "running"
        self._going = asyncio.create_task(self._go(None))

    async def step(self, settings: Settings) -> None:
        """Make one iteration: the next one of what is stopped, else the first."""
        if self.doing == "running":
            raise Refusal("it is running", "Stop it first.")
        await self._halt()
        if self.doing != "stopped":
            await self.forget()
            self.settings = settings
            await self._begin(settings)
        await self._next()
        if self.doing != "ended":
            self.doing = "stopped"

    def stop(self) -> None:
        """Hold: an iteration that is under way is kept for later."""
        if self.doing != "running":
            raise Refusal("nothing is running")
        self.doing = "stopped"

    async def close(self) -> None:
        """End the process and what waits for it."""
        self.doing = "nothing"
        await self._process.close()
        if self._going is not None:
            self._going.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._going

    def _of_other_columns(self) -> None:
        """Forget the settings of columns that are not there any more."""
        self.settings = replace(self.settings, independent=Settings.independent, dependent=Settings.dependent)
        self.line, self.end = None, None

    async def _halt(self) -> None:
        """Wait for the end of an iteration that is under way: its answer must not be taken for another one's."""
        if self.doing == "running":
            self.doing = "stopped"
        if self._going is not None:
            await self._going
            self._going = None

    async def _go(self, settings: Settings | None) -> None:
        try:
            if settings is not None:
                await self._begin(settings)
            while self.doing == "running":
                begun = time.monotonic()
                await self._next()
                await asyncio.sleep(max(0.0, begun + PACE - time.monotonic()))
        except Refusal as refusal:
            self.refusal, self.doing = refusal, "nothing"

    async def _begin(self, settings: Settings) -> None:
        independent, dependent = self.look()
        rows = self.table.rows([*independent, *dependent])
        if not rows:
            raise Refusal("there are no points yet", "Click some on the plane, or load a file.")
        columns = dict(zip([*independent, *dependent], zip(*rows, strict=True), strict=True))
        await self._process.query(
            do="begin", method=settings.method, columns=columns, independent=independent, dependent=dependent,
            c=settings.c, m=settings.m, tolerance=settings.epsilon,
            max_iterations=settings.iterations, seed=settings.seed, line=self.line,
        )  # fmt: skip

    async def _next(self) -> None:
        was_running = self.doing == "running"
        state = self._waiting.pop() if self._waiting else await self._process.query(do="step")
        if was_running and self.doing != "running":
            self._waiting.append(state)
            return
        self.states.append(state)
        if state["is_last"]:
            self.doing = "ended"


def _tidy(a: float, b: float, c: float) -> tuple[float, float, float]:
    """The same line, its larger factor 1, and few digits."""
    largest = a if abs(a) >= abs(b) else b
    return float(f"{a / largest:.6g}"), float(f"{b / largest:.6g}"), float(f"{c / largest:.6g}")
