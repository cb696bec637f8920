"""A doubt about numbers whose decimal mark may be a mark between thousands: ``1.234`` among ``980``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
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

    Parameters
    ----------
    column : Column
        Of numbers.
    cells : pyarrow.ChunkedArray of strings, shape (n,)
        As the file has them, without quotes.
    declared : VariableDeclaration
    notation : NumberNotation
        Of the file.
    """
    facts = (declared.type, declared.decimals, declared.min, declared.max, declared.release)
    settled = any(fact is not None for fact in facts) or declared.role == "identifier"
    if settled or column.variable.decimals != GROUP or column.digits is not None:
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


def _count(cells: Any, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(cells, pattern)).as_py() or 0)
