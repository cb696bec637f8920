"""Pictures as figures: axes, distributions, risk-utility maps, rule graphs, shades."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright_studio.jobs import Job


MARKS = 5
"""Marks are about so many."""


@dataclass(frozen=True)
class Mark:
    """A round number on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` stand between two places of the picture.

    `low`, `high`: in the unit of the values; `low` < `high`. `start`, `end`: in the unit of the picture; the axis may
    run either way.
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Place of a value."""
        return round(self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low), 2)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Round numbers on the axis, with no more digits than distinguish them."""
        step = _round_step((self.high - self.low) / MARKS)
        digits = max(0, -math.floor(math.log10(step)))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(Mark(self.at(each * step), f"{each * step:,.{digits}f}") for each in range(first, last + 1))


def axis_of(values: list[float], start: float, end: float) -> Axis:
    """Axis on which some values stand, with a little room at both ends.

    `start`, `end`: in the unit of the picture.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return Axis(low - room, high + room, start, end)


def _round_step(least: float) -> float:
    """Smallest of 1, 2 and 5 times a power of ten that is no smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least * (1 - 1e-9))


OVERLAY_WIDTH, OVERLAY_HEIGHT = 720, 220


@dataclass(frozen=True)
class Filled:
    """A bar of the first distribution."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Overlay:
    """The picture, in its own units: bars, and the path of the outline."""

    bars: tuple[Filled, ...]
    outline: str


def overlay(first: Sequence[int], second: Sequence[int]) -> Overlay:
    """Lay out two distributions by the shares of their own cells, so that files of different length compare."""
    one, other = _shares(first), _shares(second)
    highest = max((*one, *other), default=0.0) or 1.0
    step = OVERLAY_WIDTH / max(1, len(one))
    bars = tuple(
        Filled(round(at * step + 0.5, 2), _height(share, highest), round(step - 1, 2),
               round(OVERLAY_HEIGHT - _height(share, highest), 2))
        for at, share in enumerate(one) if share
    )  # fmt: skip
    steps = [
        f"H{round(at * step, 2)}V{_height(share, highest)}H{round((at + 1) * step, 2)}"
        for at, share in enumerate(other)
    ]
    return Overlay(bars, f"M0 {OVERLAY_HEIGHT}{''.join(steps)}V{OVERLAY_HEIGHT}" if steps else "")


def _shares(counts: Sequence[int]) -> list[float]:
    whole = sum(counts) or 1
    return [each / whole for each in counts]


def _height(share: float, highest: float) -> float:
    return round(OVERLAY_HEIGHT - max(1.5 if share else 0.0, (OVERLAY_HEIGHT - 4) * share / highest), 2)


MAP_WIDTH, MAP_HEIGHT = 720, 440
MAP_LEFT, MAP_RIGHT, MAP_TOP, MAP_BOTTOM = 64, 16, 12, 48
SHADES = 6
"""Families that have a colour of their own; further ones begin again."""


@dataclass(frozen=True)
class Point:
    """A cell in the picture."""

    cell: str
    x: float
    y: float
    shade: int
    label: str
    is_on_front: bool
    is_best: bool


@dataclass(frozen=True)
class RiskUtilityMap:
    """The picture, in its own units.

    `points`: in the order of the cells. `front`: points of a line, as SVG has them; '' for less than two. `families`:
    with a colour each, in order.
    """

    risk: Axis
    loss: Axis
    points: tuple[Point, ...]
    front: str
    families: tuple[str, ...]


def risk_utility_map(found: Mapping[str, Any]) -> RiskUtilityMap:
    """Lay out the cells that have both figures."""
    risk, loss = found["risk"], found["loss"]
    cells = [each for each in found["cells"] if each["figures"].get(risk) is not None
             and each["figures"].get(loss) is not None]  # fmt: skip
    across = axis_of([each["figures"][risk] for each in cells], MAP_LEFT, MAP_WIDTH - MAP_RIGHT)
    up = axis_of([each["figures"][loss] for each in cells], MAP_HEIGHT - MAP_BOTTOM, MAP_TOP)
    families = tuple(dict.fromkeys(each["family"] for each in cells))
    points = tuple(
        Point(
            each["name"], across.at(each["figures"][risk]), up.at(each["figures"][loss]),
            families.index(each["family"]) % SHADES, _label(each, found),
            each["name"] in found["front"], each["name"] == found["best"],
        )
        for each in cells
    )  # fmt: skip
    placed = {each.cell: f"{each.x},{each.y}" for each in points}
    line = [placed[name] for name in found["front"] if name in placed]
    return RiskUtilityMap(across, up, points, " ".join(line) if len(line) > 1 else "", families)


def _label(cell: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    figures = ", ".join(f"{column} {cell['figures'][column]:.4g}" for column in (found["risk"], found["loss"]))
    remarks = [
        *(["best score"] if cell["name"] == found["best"] else []),
        *(["on the front"] if cell["name"] in found["front"] else []),
        *([cell["why_not"]] if cell["why_not"] else []),
    ]
    return f"{cell['name']}: {', '.join([figures, *remarks])}"


STEPS = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Differences of correlations from which a shade begins."""


def shade_of(difference: float | None) -> str:
    """Class of a cell: ``rise-1`` to ``rise-5``, ``fall-1`` to ``fall-5``, or '' for what is hardly a difference."""
    if difference is None:
        return ""
    strength = sum(abs(difference) >= step for step in STEPS)
    return f"{'rise' if difference > 0 else 'fall'}-{strength}" if strength else ""


BARS_WIDTH, BARS_HEIGHT = 720, 200


@dataclass(frozen=True)
class Bar:
    """One bar, in units of the picture."""

    x: float
    y: float
    width: float
    height: float
    count: int
    label: str


def bars(found: Mapping[str, Any]) -> list[Bar]:
    """Bars of a distribution."""
    counts, labels = found["counts"], found["labels"]
    highest = max(counts, default=0) or 1
    step = BARS_WIDTH / max(1, len(counts))
    edges = len(labels) == len(counts) + 1
    placed = []
    for place, count in enumerate(counts):
        # A bin that holds few records is seen all the same.
        height = max(1.5, BARS_HEIGHT * count / highest) if count else 0.0
        label = f"{labels[place]} to {labels[place + 1]}" if edges else labels[place] if labels else ""
        gap = 0.5 if found["form"] == "bins" else step * 0.1
        placed.append(
            Bar(round(place * step + gap, 2), round(BARS_HEIGHT - height, 2), round(step - 2 * gap, 2),
                round(height, 2), count, label)
        )  # fmt: skip
    return placed


SMALL_WIDTH, SMALL_HEIGHT = 72, 20


def outline(counts: Sequence[int]) -> str:
    """Path of a small picture of a distribution, as SVG has it; '' for none."""
    highest = max(counts, default=0)
    if not highest:
        return ""
    step = SMALL_WIDTH / len(counts)
    steps = (
        f"H{at * step:.1f}V{SMALL_HEIGHT - max(1.0 if each else 0.0, (SMALL_HEIGHT - 1) * each / highest):.1f}"
        f"H{(at + 1) * step:.1f}"
        for at, each in enumerate(counts)
    )
    return f"M0 {SMALL_HEIGHT}{''.join(steps)}V{SMALL_HEIGHT}Z"


ROW = 26
GRAPH_LEFT, GRAPH_RIGHT = 260, 480
GRAPH_WIDTH = 740
LONGEST = 30


@dataclass(frozen=True)
class Spot:
    """A name in the picture."""

    name: str
    shown: str
    y: float
    is_bad: bool = False


@dataclass(frozen=True)
class RuleGraph:
    """The picture, in its own units."""

    height: int
    rules: tuple[Spot, ...]
    variables: tuple[Spot, ...]
    lines: tuple[tuple[float, float, str], ...]


def rule_graph(rules: Sequence[Mapping[str, Any]]) -> RuleGraph:
    """Lay out rules and the variables that they bind, each variable near its rules."""
    bound: dict[str, list[int]] = {}
    for place, rule in enumerate(rules):
        for name in rule["variables"]:
            bound.setdefault(name, []).append(place)
    ordered = sorted(bound, key=lambda name: (sum(bound[name]) / len(bound[name]), bound[name][0]))
    height = ROW * max(len(rules), len(ordered))
    left, right = _heights(len(rules), height), _heights(len(ordered), height)
    spots = tuple(Spot(name, _short(name), right[place]) for place, name in enumerate(ordered))
    at = {spot.name: spot.y for spot in spots}
    return RuleGraph(
        height,
        tuple(Spot(each["name"], _short(each["name"]), left[place], each["violations"] > 0)
              for place, each in enumerate(rules)),
        spots,
        tuple((left[place], at[name], f"{each['name']} binds {name}")
              for place, each in enumerate(rules) for name in each["variables"]),
    )  # fmt: skip


def _heights(many: int, height: int) -> list[float]:
    return [round(height * (place + 0.5) / many, 1) for place in range(many)]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def map_of_runs(jobs: Iterable[Job]) -> dict[str, Any] | None:
    """Runs as cells of a map; None where none measured both a risk and a loss."""
    runs = [job for job in jobs if job.request["work"] == "run" and job.is_over and job.result]
    risk, loss = (_measured_most(runs, kind) for kind in ("risk", "loss"))
    if not risk or not loss:
        return None
    cells: list[dict[str, Any]] = [
        {"name": f"run {job.number}", "job": job.number, "family": PurePath(job.request["pipeline"]).name,
         "figures": {each["label"]: each["figure"] for each in job.result["measures"]},
         "why_not": "" if job.result["ok"] else "not released"}
        for job in runs
    ]  # fmt: skip
    shown = [each for each in cells if all(each["figures"].get(label) is not None for label in (risk, loss))]
    places = {each["name"]: (each["figures"][risk], each["figures"][loss]) for each in shown}
    units = {each["label"]: each["unit"] for job in runs for each in job.result["measures"]}
    if not shown:
        return None
    return {"risk": risk, "loss": loss, "units": units, "best": None, "front": front_of(places), "cells": shown}


def front_of(places: dict[str, tuple[float, float]]) -> list[str]:
    """Names of the points than which no other is lower in one figure and not higher in the other, by the first."""
    found, lowest, at = [], float("inf"), None
    for name, place in sorted(places.items(), key=lambda each: each[1]):
        if place[1] < lowest or place == at:
            found.append(name)
            lowest, at = place[1], place
    return found


def _measured_most(runs: Sequence[Job], kind: str) -> str:
    """The measure of a kind that most runs have, of which lower is better; '' where there is none."""
    counts = Counter(
        each["label"] for job in runs for each in job.result["measures"]
        if each["kind"] == kind and each["better"] == "lower" and each["figure"] is not None
    )  # fmt: skip
    return counts.most_common(1)[0][0] if counts else ""
