"""Doubts about numbers whose decimal mark may be a mark between thousands: ``1.234`` among ``980``, or alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.data.dataset import Column
    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.number_notation import NumberNotation

GROUP = 3
FEWEST = 3


def thousands_doubt(
    column: Column, cells: Any, declared: VariableDeclaration, notation: NumberNotation
) -> Doubt | None:
    """Doubt about a number of which every cell has three digits after the decimal mark, or none and at most three.

    Numbers with three decimals hardly ever lack all of them, and those with marks between thousands do below 1000. A
    declared type, number of decimals or bound settles it.

    `cells`: as the file has them, without quotes; shape (n,).
    """
    if _is_settled(declared) or column.variable.decimals != GROUP or column.digits is not None:
        return None
    mark = notation.decimal
    marked = _count(cells, rf"^\s*[-+]?[1-9][0-9]{{0,2}}{re.escape(mark)}[0-9]{{3}}\s*$")
    bare = _count(cells, r"^\s*[-+]?[0-9]{1,3}\s*$")
    present = int((~column.missing).sum())
    if marked < FEWEST or not bare or marked + bare < present:
        return None
    message = f"{marked} of {present} numbers have three digits after {mark!r}, and the others none and are below 1000"
    hint = (
        f'Declare `thousands: "{mark}"` in the data section (CSV) if it stands between thousands; or '
        f"`{column.name}: {{decimals: 3}}` if these are decimals."
    )
    return Doubt("column-not-understood", column.name, message, marked, present, hint=hint)


@dataclass
class Marks:
    """What the decimal marks of a file's columns say together: whether each of them may stand between thousands.

    `doubtful`: columns of which every cell is like ``1.234``, and how many cells that are. `are_decimal`: whether a
    number of another column shows that it is a decimal mark: ``12.5``, ``0.250``, ``12345.678``.
    """

    doubtful: dict[str, int] = field(default_factory=dict)
    are_decimal: bool = False

    def look_at(self, column: Column, cells: Any, declared: VariableDeclaration, notation: NumberNotation) -> None:
        """Look at a column of numbers; arguments as those of `thousands_doubt`."""
        if not column.variable.decimals or self.are_decimal or column.variable.is_date:
            return
        mark = re.escape(notation.decimal)
        pointed = _count(cells, rf"{mark}[0-9]") if column.variable.decimals == GROUP else 0
        if pointed == 0 or _count(cells, rf"^\s*[-+]?[1-9][0-9]{{0,2}}{mark}[0-9]{{3}}\s*$") < pointed:
            self.are_decimal = True
        elif column.digits is not None and pointed >= FEWEST and not _is_settled(declared):
            self.doubtful[column.name] = pointed

    def doubts(self, notation: NumberNotation) -> Iterator[Doubt]:
        """Doubts about the columns that no other explains."""
        mark = notation.decimal
        for name, count in self.doubtful.items() if not self.are_decimal else ():
            message = (
                f"all {count} numbers have one to three digits before {mark!r} and three after it, and no column tells "
                "whether it is a decimal mark or stands between thousands"
            )
            hint = (
                f'Declare in the data section (CSV) `decimal: "{mark}"`, or `thousands: "{mark}"` if it stands between '
                f"thousands; or `{name}: {{decimals: 3}}`."
            )
            yield Doubt("column-not-understood", name, message, count, count, hint=hint)


def _is_settled(declared: VariableDeclaration) -> bool:
    facts = (declared.type, declared.decimals, declared.min, declared.max, declared.release)
    return any(fact is not None for fact in facts) or declared.role == "identifier"


def _count(cells: Any, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(cells, pattern)).as_py() or 0)
