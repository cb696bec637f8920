"""Two distributions over the same classes: one as filled bars, the other as an outline over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 720, 220


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
    """Lay out two distributions by the shares of their own cells, so that files of different length compare.

    `first`, `second`: counts, of the same classes.
    """
    one, other = _shares(first), _shares(second)
    highest = max((*one, *other), default=0.0) or 1.0
    step = WIDTH / max(1, len(one))
    bars = tuple(
        Filled(round(at * step + 0.5, 2), _height(share, highest), round(step - 1, 2),
               round(HEIGHT - _height(share, highest), 2))
        for at, share in enumerate(one) if share
    )  # fmt: skip
    steps = [
        f"H{round(at * step, 2)}V{_height(share, highest)}H{round((at + 1) * step, 2)}"
        for at, share in enumerate(other)
    ]
    return Overlay(bars, f"M0 {HEIGHT}{''.join(steps)}V{HEIGHT}" if steps else "")


def _shares(counts: Sequence[int]) -> list[float]:
    whole = sum(counts) or 1
    return [each / whole for each in counts]


def _height(share: float, highest: float) -> float:
    return round(HEIGHT - max(1.5 if share else 0.0, (HEIGHT - 4) * share / highest), 2)
