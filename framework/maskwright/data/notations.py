"""Notations of numbers and dates: decimal commas, thousands marks, and formats that fit undeclared dates."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.date_texts import ISO, read_dates
from maskwright.data.number_text import XPATH_NUMBER, cell_bytes, other_bytes, read_numbers
from maskwright.foundation.arrays import arrow_texts, numbers_of, scalar, truths_of
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.declaration import VariableDeclaration


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
        foreign = None
        if self.decimal != ".":
            # Without a point, a number is one in either notation.
            pointed = pc.and_(pc.match_substring_regex(text, XPATH_NUMBER), pc.match_substring(text, "."))
            foreign = truths_of(pc.and_not(pointed, is_number))
        numbers = pc.if_else(is_number, text, scalar(None, text.type))
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
OF_AMOUNTS = tuple(NumberNotation(decimal, mark, signs=True) for decimal, mark in (".,", ",.", ". ", ", "))
SPACES = "['’\\x{a0}\\x{2009}\\x{202f}]"
"""What stands between thousands where no point, comma or space does."""
AMOUNT = (
    rf"^{WHITE}(?P<before>[^0-9]*?){WHITE}"
    r"(?P<number>[-+]?[.,]?[0-9](?:[0-9., ]*[0-9])?(?:[eE][-+]?[0-9]+)?)"
    rf"{WHITE}(?P<behind>[^0-9]*?){WHITE}$"
)


def amounts(texts: Any) -> NDArray[np.float64]:
    """Numbers of texts that hold one, and the unit before or behind it that most of them have (``EUR 1 234,50``).

    In the notation in which most are numbers; of ``1.234`` and ``999``, which are in several, the largest ones.
    `texts`: shape (n,). NaN of other texts; shape (n,).
    """
    parts = pc.extract_regex(pc.replace_substring_regex(texts, SPACES, " "), AMOUNT)
    before, number, behind = (pc.struct_field(parts, name) for name in ("before", "number", "behind"))
    units = pc.binary_join_element_wise(before, behind, scalar("0")).dictionary_encode().indices
    codes = numbers_of(units, np.int64, -1)
    found = np.full(len(texts), np.nan)
    has_unit = codes == np.argmax(np.bincount(codes[codes >= 0], minlength=1))
    best = (0, 0.0)
    has_space = pc.any(pc.match_substring(number, " ")).as_py()
    for notation in OF_AMOUNTS[: 4 if has_space else 2] if has_unit.any() else ():
        plain, foreign = notation.plain(number)
        values = read_numbers(plain).values
        values[~has_unit if foreign is None else foreign | ~has_unit] = np.nan
        read = int(np.count_nonzero(np.isfinite(values))), float(np.nanmax(np.abs(values), initial=0.0))
        if read > best:
            best, found = read, values
    return found


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


GROUP = 3
"""Digits between two marks of thousands."""

FEWEST_CELLS = 3
"""Cells from which on something that is seen in a column raises a doubt; fewer are mistakes of single cells."""

NEARLY_ALL = 0.9
"""Share of the cells with a value from which on a column is taken for what they are, and the others for mistakes."""


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
    if marked < FEWEST_CELLS or not bare or marked + bare < present:
        return None
    message = f"{marked} of {present} numbers have three digits after {mark!r}, and the others none and are below 1000"
    hint = (
        f'Declare `thousands: "{mark}"` in the data section (CSV) if it stands between thousands; or '
        f"`{column.name}: {{decimals: 3}}` if these are decimals."
    )
    return Doubt("column-not-understood", column.name, message, marked, present, hint=hint)


@dataclass
class Marks:
    """What the decimal marks of a file's columns show together: whether each may stand between thousands.

    `doubtful`: columns whose cells all are like ``1.234``. `are_decimal`: another column has ``12.5`` or ``0.250``.
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
        elif column.digits is not None and pointed >= FEWEST_CELLS and not _is_settled(declared):
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
    return any(fact is not None for fact in facts) or declared.is_identifier


def _count(cells: Any, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(cells, pattern)).as_py() or 0)


FORMATS = (
    ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
    "%Y-%m", "%Y/%m", "%m.%Y", "%m/%Y", "%m-%Y", "%Y-Q%q", "%YQ%q",
)  # fmt: skip
"""Formats in which offices write dates, that of ISO first."""

FIRST_TEXTS = 1000
"""Texts whose form decides whether all the others are examined."""

DAY, MONTH = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])"
SHORT = (
    rf"^\s*(?:(?:{DAY}[-./]{MONTH}|{MONTH}[-./]{DAY})[-./](?:[12][0-9]{{3}}|[0-9]{{2}})"
    rf"|[12][0-9]{{3}}[-./]{MONTH}[-./]{DAY})\s*$"
)
"""Dates with days and months of one digit, or years of two, which no format reads."""
MOMENT = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}"


def fitting_formats(texts: Any) -> tuple[str, ...]:
    """Formats in which texts are dates, those first that fit most; only such as fit nearly all. `texts`: shape (n,)."""
    if not len(texts):
        return ()
    fits = {each: int(read_dates(texts, each).is_date.sum()) for each in FORMATS}
    most = max(fits.values())
    return tuple(each for each in FORMATS if fits[each] == most) if most >= NEARLY_ALL * len(texts) else ()


def date_remedy(name: str, categories: Sequence[str] | pa.Array) -> str | None:
    """What to declare or to mend, so that a variable that was read as text is a date; None: its texts are no dates."""
    if len(categories) > FIRST_TEXTS and date_remedy(name, categories[:FIRST_TEXTS]) is None:
        return None
    texts = categories if isinstance(categories, pa.Array | pa.ChunkedArray) else arrow_texts(categories)
    formats = fitting_formats(texts)
    if formats:
        stated = "{type: date}" if formats[0] == ISO else f'{{type: date, format: "{formats[0]}"}}'
        which = f" (you know whether they are {' or '.join(formats)})" if len(formats) > 1 else ""
        return f"Declare how its dates are written: `{name}: {stated}`{which}."
    if _nearly_all(texts, MOMENT):
        return (
            "It holds dates with a time of day in several forms, or of several time zones: write them all in one form, "
            f"of one zone, and declare `{name}: {{type: datetime}}`."
        )
    if _nearly_all(texts, SHORT):
        return (
            "If it holds dates, write them with two digits for day and month and four for the year (01.03.1970), and "
            f'declare `{name}: {{type: date, format: "%d.%m.%Y"}}`.'
        )
    return None


def _nearly_all(texts: Any, pattern: str) -> bool:
    found = pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0
    return len(texts) > 0 and found >= NEARLY_ALL * len(texts)


def date_notes(column: Column) -> list[str]:
    """What a person should know of a column of texts that may be dates."""
    remedy = date_remedy(column.name, column.variable.categories)
    return [] if remedy is None else [f"{column.name}: read as text, and it looks like dates. {remedy}"]
