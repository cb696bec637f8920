"""How the cells of a column fill their width: blanks before or behind them, or zeros before them."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow.compute as pc

NUMBER = r"^-?[0-9]+([.,][0-9]+)?$"


class Padding:
    """What was seen of a column: `kind` says how its cells are filled, `has_points` whether any has a decimal mark."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._before = self._behind = self._zeros = False
        self._all_full = True
        self.has_points = False

    def see(self, written: Any, text: Any) -> None:
        """Look at cells.

        `written`: as the file holds them; shape (n,). `text`: without the blanks around them; shape (n,).
        """
        filled = pc.greater(pc.binary_length(text), 0)
        is_number = pc.match_substring_regex(text, NUMBER)
        is_full = pc.equal(pc.utf8_length(text), self._width)
        self.has_points |= _any(pc.match_substring_regex(text, "[.,]"))
        self._before |= _any(pc.and_(filled, pc.starts_with(written, " ")))
        self._behind |= _any(pc.and_(filled, pc.ends_with(written, " ")))
        self._zeros |= _any(pc.and_(is_number, pc.match_substring_regex(text, r"^-?0[0-9]")))
        self._all_full &= not _any(pc.and_(is_number, pc.invert(is_full)))

    @property
    def kind(self) -> Literal["zeros", "left", "right", "full"]:
        """Zeros before numbers; cells at the left, or at the right; nothing seen of either."""
        if self._zeros and self._all_full:
            return "zeros"
        if self._before == self._behind:
            return "full"
        return "right" if self._before else "left"


def _any(flags: Any) -> bool:
    return bool(pc.any(flags).as_py())
