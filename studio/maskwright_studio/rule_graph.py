"""Which rule binds which variables, as a picture: rules on the left, variables on the right, a line for each bond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROW = 26
LEFT, RIGHT = 260, 480
WIDTH = 740
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
    """Lay out rules and the variables that they bind, each variable near its rules.

    `rules`: with ``name``, ``variables`` and ``violations``.
    """
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
