"""Notations of numbers beside the plain one: decimal commas, marks between thousands, plus signs, exponents.

Who reads XML follows XPath 1.0, which knows none of them; files of text cells have them. A cell becomes plain digit by
digit, never by way of a binary number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.number_text import XPATH_NUMBER, cell_bytes, other_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

WHITE = r"[ \t\r\n]*"
TELEPHONE = r"^\s*\+[0-9]{8,}\s*$"
DIGITS_AND_E = bytes.maketrans(b"123456789.E", b"0000000000e")
"""One digit for all, and for the point."""
POWER = r"[eE][-+]?0*(?:[0-9]{1,2}|[12][0-9]{2}|30[0-8])"
PARTS = rf"^{WHITE}(?P<sign>-?)(?P<whole>[0-9]*)\.?(?P<fraction>[0-9]*)[eE](?P<power>[-+]?[0-9]+){WHITE}$"


@dataclass(frozen=True)
class NumberNotation:
    """How the text cells of a file write numbers.

    Attributes
    ----------
    decimal : str
        ``"."`` or ``","``.
    thousands : str or None
        Between groups of three digits.
    signs : bool
        Whether there are plus signs and exponents.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from maskwright import NumberNotation
    >>> german = NumberNotation(",", ".", signs=True)
    >>> german.plain(pa.array(["1.234,50", "+5", "1e+05", "north"]))[0].to_pylist()
    ['1234.50', '5', '100000', 'north']
    """

    decimal: str = "."
    thousands: str | None = None
    signs: bool = False

    def plain(self, text: Any) -> tuple[Any, NDArray[np.bool_] | None]:
        """Cells with their numbers as XPath writes them, and which are numbers to XPath but none in this notation.

        Parameters
        ----------
        text : pyarrow.StringArray of shape (n,)
            Null where there is no cell.

        Returns
        -------
        pyarrow.StringArray of shape (n,)
            The same array where nothing is written otherwise.
        ndarray of shape (n,), bool; or None
            None: no cell is.
        """
        if not self._may_differ(text):
            return text, None
        is_number = pc.match_substring_regex(text, self._pattern())
        if self.signs:
            is_number = pc.and_not(is_number, pc.match_substring_regex(text, TELEPHONE))
        is_number = pc.fill_null(is_number, False)
        foreign = None
        if self.decimal != ".":
            # Without a point, a number is one in either notation.
            pointed = pc.and_(pc.match_substring_regex(text, XPATH_NUMBER), pc.match_substring(text, "."))
            foreign = np.array(pc.fill_null(pc.and_not(pointed, is_number), False), dtype=np.bool_)
        numbers = pc.if_else(is_number, text, pa.scalar(None, text.type))
        if self.thousands is not None:
            numbers = pc.replace_substring(numbers, self.thousands, "")
        if self.decimal != ".":
            numbers = pc.replace_substring(numbers, self.decimal, ".")
        if self.signs:
            numbers = pc.replace_substring_regex(numbers, rf"^({WHITE})\+", r"\1")
            numbers = _without_exponents(numbers)
        return pc.coalesce(numbers, text), foreign if foreign is not None and foreign.any() else None

    def _may_differ(self, text: Any) -> bool:
        """Whether cells have what makes, or does not make, a number of them in this notation alone."""
        marks = (".," if self.decimal == "," else "") + (self.thousands or "") + ("+eE" if self.signs else "")
        if not marks:
            return False
        other = other_bytes(text)
        if not any(mark.encode() in other for mark in marks):
            return False
        # Words have an E, too: in a number it stands behind a digit or a point.
        return self != EXPONENTS or b"+" in other or b"0e" in cell_bytes(text).translate(DIGITS_AND_E)

    def _pattern(self) -> str:
        decimal = re.escape(self.decimal)
        groups = rf"|[1-9][0-9]{{0,2}}(?:\x{{{ord(self.thousands):x}}}[0-9]{{3}})+" if self.thousands else ""
        # 01e5 is a code: no program writes a number so.
        power = rf"|(?:(?:0|[1-9][0-9]*)(?:{decimal}[0-9]*)?|{decimal}[0-9]+){POWER}" if self.signs else ""
        number = rf"(?:[0-9]+{groups})(?:{decimal}[0-9]*)?|{decimal}[0-9]+{power}"
        return rf"^{WHITE}{'[-+]?' if self.signs else '-?'}(?:{number}){WHITE}$"


PLAIN = NumberNotation()
EXPONENTS = NumberNotation(signs=True)


def _without_exponents(numbers: Any) -> Any:
    """Numbers written out; nulls stay."""
    has_power = pc.fill_null(pc.match_substring_regex(numbers, "[eE]"), False)
    if not pc.any(has_power).as_py():
        return numbers
    parts = pc.extract_regex(pc.filter(numbers, has_power), PARTS)
    sign, whole, fraction, power = (pc.struct_field(parts, name) for name in ("sign", "whole", "fraction", "power"))
    digits = pc.binary_join_element_wise(whole, fraction, "")
    length = np.array(pc.binary_length(digits), dtype=np.int64)
    point = np.array(pc.binary_length(whole), dtype=np.int64)
    point += np.array(pc.cast(pc.utf8_ltrim(power, characters="+"), pa.int64()))
    before, behind = np.maximum(1 - point, 0), np.maximum(point - length, 0)
    digits = pc.binary_join_element_wise(_zeros(before), digits, _zeros(behind), "")
    written = _with_point(digits, np.maximum(point, 1))
    written = pc.replace_substring_regex(written, "^0+([0-9])", r"\1")
    return pc.replace_with_mask(numbers, has_power, pc.binary_join_element_wise(sign, written, ""))


def _zeros(counts: NDArray[np.int64]) -> Any:
    return pa.array(["0" * count for count in range(int(counts.max(initial=0)) + 1)]).take(pa.array(counts))


def _with_point(digits: Any, places: NDArray[np.int64]) -> Any:
    """Digits with a point behind so many of them, where there are more."""
    order = np.argsort(places, kind="stable")
    parts = []
    for place in np.unique(places).tolist():
        these = digits.take(pa.array(np.flatnonzero(places == place)))
        whole, fraction = pc.utf8_slice_codeunits(these, 0, place), pc.utf8_slice_codeunits(these, place)
        pointed = pc.binary_join_element_wise(whole, fraction, ".")
        parts.append(pc.if_else(pc.equal(pc.binary_length(fraction), 0), whole, pointed))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(back))
