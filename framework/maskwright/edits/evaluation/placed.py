"""What was found on records that are inside each other: where an edit fails, by group and member."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Placed:
    """What an engine said of one edit, on records that are inside each other.

    `fired_on`: group and member of each record that the rule fired on, where that is asked for. `failed`: group and
    member, location, and messages of each failure: its own, and those that it refers to.
    """

    fired: int
    fired_on: Sequence[tuple[int, int]]
    failed: Sequence[tuple[tuple[int, int], str, tuple[str, ...]]]
