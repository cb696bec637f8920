"""How suppressed cells are read off what is published, in words, and what ends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    CellsByWay = Mapping["Way", NDArray[np.bool_]]


@dataclass(frozen=True)
class Way:
    """How suppressed cells of a variable are read off.

    `off`: what they are read off, in words that follow "read off". `without`: variables each of which ends it if it is
    left out of the release; empty where none does: a group has as many members as it has.
    """

    off: str
    without: tuple[str, ...] = ()


def joined_ways(ways: CellsByWay, more: CellsByWay) -> dict[Way, NDArray[np.bool_]]:
    """Cells that are read off in either, by the way.

    `ways`, `more`: shape (n,).
    """
    return {**ways, **{way: np.asarray(ways.get(way, np.False_) | cells) for way, cells in more.items()}}


def said_of_ways(ways: CellsByWay, total: int) -> str:
    """How many of the suppressed cells can be read off, and off what.

    `ways`: at least one; shape (n,).
    """
    known: NDArray[np.bool_] | np.bool_ = np.False_
    told = {}
    for way, cells in ways.items():
        # One way is enough to know a cell.
        if np.any(cells & ~known):
            told[way] = cells
            known = known | cells
    count = int(np.sum(known))
    if len(told) == 1:
        (way,) = told
        return f"{count} of {total} suppressed cells can be read off {way.off}"
    each = "; ".join(f"{int(cells.sum())} off {way.off}" for way, cells in told.items())
    return f"{count} of {total} suppressed cells can be read off what is published: {each}"


def remedy_of_ways(name: str, ways: CellsByWay, *, is_key: bool) -> str:
    """What ends it: of the variable itself, or of those that give it away.

    `ways`: shape (n,). `is_key`: whether a step suppresses the variable; any other went beside those.
    """
    own = remedy_of_variable(name, is_key=is_key)
    if not all(way.without for way in ways):
        return f"{own}."
    # One variable of each way: that several ways have in common first.
    left = list(ways)
    named: list[str] = []
    while left:
        names = dict.fromkeys(each for way in left for each in way.without)
        best = max(names, key=lambda each: sum(each in way.without for way in left))
        named.append(best)
        left = [way for way in left if best not in way.without]
    return f"{own}; or leave out {_listed(named)}, with edits that read {'it' if len(named) == 1 else 'them'}."


def remedy_of_variable(name: str, *, is_key: bool) -> str:
    """What ends any reading of a variable's suppressed cells: none of them are suppressed, or none are published.

    `is_key`: whether a step suppresses the variable; any other went beside those.
    """
    if is_key:
        return f"Leave {name} out of the keys and recode it"
    return (
        f"{name} is no key, its cells went beside those of keys: leave it out of the release, with edits that read it"
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
