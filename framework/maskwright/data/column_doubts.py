"""Doubts about columns: texts like numbers, undeclared missing codes, and notes on missing cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.binary_decimals import EXACT
from maskwright.data.missing import is_code_text
from maskwright.data.notations import FEWEST_CELLS
from maskwright.data.number_columns import first_records
from maskwright.data.number_text import XPATH_NUMBER, read_numbers
from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of, truths_of
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.declaration import VariableDeclaration


MISSING_VALUE_TEXTS = frozenset(
    {"na", "n/a", "n.a.", "n.a", "#n/a", "<na>", "nan", "null", "nil", "none", "missing", "unknown", "not available",
     "k.a.", "k. a.", ".", "..", "...", "-", "--", "---", "–", "—", "?", "*", "x"}
)  # fmt: skip
"""Texts, in lower case, that say 'no value' in many files: the only texts of a column that a message quotes."""

WHITE = r"[\s\x{a0}\x{2007}\x{2009}\x{202f}\x{feff}]*"
SIGN = r"[-+\x{2212}\x{2013}]?"
MONEY = r"(?:[$€£¥]|EUR|USD|GBP|CHF)?"
GROUPS = r"[1-9][0-9]{0,2}(?:[ .,'’\x{a0}\x{2009}\x{202f}][0-9]{3})+"
NUMBER = rf"(?:(?:{GROUPS}|[0-9]+)(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]{{1,3}})?"
LIKE_A_NUMBER = (
    rf"^{WHITE}(?:{SIGN}{WHITE}{MONEY}{WHITE}{SIGN}{NUMBER}{WHITE}(?:{MONEY}|[%‰])|\({NUMBER}\)|{NUMBER}-){WHITE}$"
)
TELEPHONE = r"^\s*\+[0-9]{8,}\s*$"
DECIMAL_POINT = r"^\s*-?[0-9]*\.[0-9]+\s*$"
DECIMAL_COMMA = r"^\s*-?[0-9]*,[0-9]+\s*$"
THREE_AFTER_COMMA = r"^\s*-?[1-9][0-9]{0,2}(?:,[0-9]{3})+\s*$"
GROUPED = rf"^{WHITE}{SIGN}{WHITE}{MONEY}{WHITE}{GROUPS}"
MARK = r"[1-9][0-9]{0,2}(?P<mark>[ .,'’\x{a0}\x{2009}\x{202f}])[0-9]{3}"
LEADING_ZERO = r"^\s*-?0[0-9]"
DATE = r"^\s*[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[ T].*)?$"
CODE = r"^[0-9]+(?:\.[0-9]+)*$"
ALPHANUMERIC = r"^[0-9A-Za-z]+$"

MANY_DISTINCT = 10
"""Different texts like numbers from which on a column may be one of numbers although most of its cells are words."""
ZEROS_OF_CODES = 0.01
"""Share of the cells with leading zeros from which on texts of one width are codes, and not numbers."""
LONGEST_SMALL_CODE = 2
"""Digits up to which whole numbers that a typed format holds as text are codes."""

NEGATIVE_CODES = (-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0, -97.0, -98.0, -99.0, -999.0, -9999.0)
NINES = tuple(10.0**width - rest for width in range(2, 8) for rest in (3, 2, 1))
"""99, 999, ..., and the codes that go with them in many files: 97 and 98, 997 and 998, ..."""
MOST_CODES = 3
"""Different codes of 'no value' that are looked for among the numbers of a variable."""
FEWEST_OTHERS = 10
"""Different numbers that are no codes, at least: of fewer it cannot be seen what is far from them."""
FAR = 0.6
"""Share of the smallest code below which the largest other number is far from it, however often either occurs."""
NEXT = 10
"""Numbers next to the codes, with whose steps and frequencies theirs are compared."""
SPIKE = 5
"""Times the mean frequency of those numbers from which on a code that is apart from them is frequent."""


@dataclass(frozen=True)
class _Texts:
    """Distinct texts of a column, without those that say 'no value', and in how many cells each stands."""

    texts: Any
    counts: NDArray[np.int64]
    codes: NDArray[np.int64]

    def having(self, pattern: str) -> NDArray[np.bool_]:
        """Which texts match."""
        return truths_of(pc.match_substring_regex(self.texts, pattern))

    def cells(self, which: NDArray[np.bool_]) -> int:
        """Cells that hold one of these texts."""
        return int(self.counts[which].sum())


def misread_doubt(column: Column, declared: VariableDeclaration, *, typed: bool, decimal: str = ".") -> Doubt | None:
    """Doubt about a column that was read as text although most of it looks like numbers.

    Codes are no doubt: texts of one width with leading zeros (``01.11``, ``04109``), or of letters and digits
    (``2A``), numbers too long for any number. A declared type, categories, or ``release: as is`` settle it.
    """
    settled = declared.type is not None or declared.categories or declared.release is not None
    if column.variable.is_numeric or settled or declared.is_identifier:
        return None
    every = column.variable.category_texts
    if not pc.any(pc.match_substring_regex(every, LIKE_A_NUMBER)).as_py():
        return None
    counts = np.bincount(column.values[~column.missing], minlength=len(every))
    words = is_missing_text(every) & (counts > 0)
    kept = np.flatnonzero((counts > 0) & ~words)
    found = _Texts(every.take(arrow_array(kept)), counts[kept], kept)
    like = found.having(LIKE_A_NUMBER)
    few_of_cells = 2 * found.cells(like) < int(found.counts.sum())
    few_of_texts = np.count_nonzero(like) < max(MANY_DISTINCT, len(like) / 2)
    if not np.any(like) or (few_of_cells and few_of_texts):
        return None
    like &= ~found.having(TELEPHONE)
    if not np.any(like) or _are_codes(found, like, typed=typed):
        return None
    entries = [(every[position].as_py(), int(counts[position])) for position in np.flatnonzero(words).tolist()]
    return _doubt(column, found, like, entries, decimal)


def is_missing_text(texts: Any) -> NDArray[np.bool_]:
    """Whether texts are words that say 'no value' in many files; shape (n,)."""
    lowered = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    found = pc.is_in(lowered, value_set=arrow_texts(sorted(MISSING_VALUE_TEXTS)).cast(texts.type))
    return truths_of(found)


def _are_codes(found: _Texts, like: NDArray[np.bool_], *, typed: bool) -> bool:
    numbers = found.texts.filter(arrow_array(like))
    width = numbers_of(pc.utf8_length(found.texts), np.int64)
    if len(np.unique(width)) == 1 and not np.all(like) and np.all(found.having(ALPHANUMERIC)):
        return True
    if np.count_nonzero(_too_long(found.texts) & like) * 2 >= np.count_nonzero(like):
        return True
    if not np.all(found.having(CODE)[like]):
        return False
    zeros = found.having(LEADING_ZERO) & like
    whole = numbers_of(pc.binary_length(pc.replace_substring_regex(numbers, r"\..*", "")), np.int64)
    if np.all(zeros[like]) or (found.cells(zeros) >= ZEROS_OF_CODES * found.cells(like) and len(np.unique(whole)) == 1):
        return bool(np.any(zeros))
    is_whole = not np.any(found.having(r"\.")[like])
    return typed and is_whole and (len(np.unique(whole)) == 1 or int(whole.max()) <= LONGEST_SMALL_CODE)


def _too_long(texts: Any) -> NDArray[np.bool_]:
    parsed = read_numbers(texts)
    return parsed.is_number & (np.abs(np.nan_to_num(parsed.values)) > EXACT)


def _doubt(
    column: Column, found: _Texts, like: NDArray[np.bool_], words: Sequence[tuple[str, int]], decimal: str
) -> Doubt:
    name = column.name
    present = len(column) - int(np.count_nonzero(column.missing))
    findings = [*_missing_words(name, words), *_notations(found, like, decimal), *_odd_cells(column, found, like)]
    if not findings:
        findings = [("", f"`{name}: {{type: continuous}}` if they are")]
    seen = "; ".join(each for each, _ in findings if each)
    message = f"{found.cells(like)} of {present} cells look like numbers, and it was read as text"
    remedies = "; ".join(dict.fromkeys(remedy for _, remedy in findings))
    hint = f"Declare or mend: {remedies}; or `{name}: {{type: nominal}}` if it holds codes."
    message += f" ({seen})" if seen else ""
    return Doubt("column-not-understood", name, message, found.cells(like), present, hint=hint)


def _missing_words(name: str, words: Sequence[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    if words:
        counts = " and ".join(f"{count} {'says' if count == 1 else 'say'} {text.strip()!r}" for text, count in words)
        yield counts, f"{declared_missing(name, [text for text, _ in words])} if that means 'no value'"


def _notations(found: _Texts, like: NDArray[np.bool_], decimal: str) -> Iterator[tuple[str, str]]:
    """What is seen of numbers that are written otherwise than they are read, and what to do about it."""
    commas, threes = found.having(DECIMAL_COMMA) & like, found.having(THREE_AFTER_COMMA) & like
    grouped = found.having(GROUPED) & like
    is_comma = bool(np.any(commas & ~threes))
    points = found.having(DECIMAL_POINT) & like & ~grouped
    if decimal == "," and np.any(points):
        yield f"{found.cells(points)} with a point, where the comma is the decimal mark", "write them with a comma too"
    if is_comma and decimal != ",":
        yield f"{found.cells(commas)} with a decimal comma", '`decimal: ","` in the data section (CSV, XML)'
    if np.any(grouped & ~threes if is_comma else grouped):
        other = ', or `decimal: ","` if the comma is one' if np.any(threes) and not is_comma else ""
        marks = pc.unique(pc.struct_field(pc.extract_regex(found.texts.filter(arrow_array(grouped)), MARK), "mark"))
        declared = " or ".join(f"`thousands: {_quoted(mark)}`" for mark in marks.to_pylist())
        yield (
            f"{found.cells(grouped)} with separators between thousands",
            f"{declared} in the data section (CSV){other}",
        )
    written = like & ~found.having(XPATH_NUMBER) & ~commas & ~grouped
    if np.any(written):
        remedy = "write plain numbers: digits, a point, and '-' before them"
        yield f"{found.cells(written)} with a sign, unit or exponent that is not read", remedy


def _quoted(mark: str) -> str:
    """A mark as YAML writes it, so that one sees which space it is."""
    return f'"{mark}"' if mark.isascii() else f'"\\u{ord(mark):04x}"'


def _odd_cells(column: Column, found: _Texts, like: NDArray[np.bool_]) -> Iterator[tuple[str, str]]:
    plain = found.having(XPATH_NUMBER)
    for which, one, many in (
        (~like, "is no number", "are no numbers"),
        (plain & found.having(LEADING_ZERO), "has leading zeros", "have leading zeros"),
        (plain & _too_long(found.texts), "has too many digits for a number", "have too many digits for a number"),
    ):
        if np.any(which):
            cells = np.isin(column.values, found.codes[which]) & ~column.missing
            count = int(np.count_nonzero(cells))
            yield f"{count} {one if count == 1 else many}: {first_records(cells)}", "correct these cells"


def declared_missing(name: str, words: Iterable[str]) -> str:
    """A declaration of missing codes, as a pipeline writes it."""
    bare = (word.strip() for word in words)
    listed = [word if word.isalpha() and word.lower() != "null" else f'"{word}"' for word in bare]
    return f"`{name}: {{missing: [{', '.join(dict.fromkeys(listed))}]}}`"


def missing_value_texts(cells: Any) -> list[str]:
    """Texts of cells that say 'no value' in many files, as they are written; sorted. `cells`: shape (n,)."""
    distinct = pc.unique(pc.cast(cells, pa.string()))
    return sorted(set(pc.utf8_trim_whitespace(distinct.filter(arrow_array(is_missing_text(distinct)))).to_pylist()))


def apart_doubt(column: Column, declared: VariableDeclaration) -> Doubt | None:
    """Doubt about a number that stands apart from the others and looks like a code for 'no value'; weights below 0.

    Codes are the only negative numbers of a variable, all of them like -1, -9 or -99; or the largest numbers, like 99
    or 98, which are far above the next, or much more frequent than the numbers beneath and apart from them. A declared
    type or bound says that they are values.
    """
    facts = declared.type, declared.min, declared.max, declared.release
    if column.variable.is_date:
        return None
    if column.variable.role == "weight" and (below := int(np.count_nonzero(column.values[~column.missing] < 0))):
        hint = "Correct them, or declare the code that they are (`missing`); waive it where a calibration made them."
        message = f"{plural(below, 'record has', 'records have')} a weight below 0"
        return Doubt("may-be-a-missing-code", column.name, message, below, len(column), hint=hint)
    if column.variable.role not in ("confidential", "quasi_identifier") or any(fact is not None for fact in facts):
        return None
    codes = codes_apart(column)
    count = sum(codes.values())
    if count < FEWEST_CELLS:
        return None
    named = ", ".join(f"{code:g}" for code in codes)
    return Doubt(
        "may-be-a-missing-code", column.name, f"{count} cells hold {named}, far from all others", count,
        len(column), hint=f"Declare `{column.name}: {{missing: [{named}]}}`; or its type, if these are values.",
    )  # fmt: skip


def codes_apart(column: Column) -> dict[float, int]:
    """Numbers of a variable that stand apart and look like codes for 'no value', and in how many cells."""
    values = column.values[~column.missing]
    if not len(values) or (values.min() >= 0 and values.max() not in NINES):
        return {}
    found, counts = np.unique(values, return_counts=True)
    negative = found < 0
    if len(found) - np.count_nonzero(negative) < FEWEST_OTHERS:
        return {}
    codes = np.zeros(len(found), dtype=np.bool_)
    if 0 < np.count_nonzero(negative) <= MOST_CODES and np.isin(found[negative], NEGATIVE_CODES).all():
        codes |= negative
    high = _high_codes(found, counts)
    codes[len(codes) - high :] = True
    return {float(code): int(count) for code, count in zip(found[codes], counts[codes], strict=True)}


def _high_codes(found: NDArray[np.float64], counts: NDArray[np.int64]) -> int:
    """How many of the largest numbers look like codes."""
    for many in range(MOST_CODES, 0, -1):
        others, often = found[:-many], counts[:-many]
        codes = found[-many:]
        if len(others) < FEWEST_OTHERS or not np.isin(codes, NINES).all() or codes[-1] - codes[0] >= MOST_CODES:
            continue
        if others[-1] < FAR * codes[0]:
            return many
        is_apart = codes[0] - others[-1] > np.median(np.diff(others[-NEXT:]))
        if is_apart and counts[-many:].min() >= SPIKE * max(often[-NEXT:].mean(), 1.0):
            return many
    return 0


def doubtful_names(names: Sequence[str]) -> Iterator[Doubt]:
    """Doubt about columns that are named by numbers or dates; those that only count the columns are none."""
    if any(list(names) == [str(first + position) for position in range(len(names))] for first in (0, 1)):
        return
    texts = arrow_texts(names)
    count = pc.sum(
        pc.or_(pc.match_substring_regex(texts, LIKE_A_NUMBER), pc.match_substring_regex(texts, DATE))
    ).as_py()
    if count:
        message = f"{count} of {len(names)} names of columns are numbers or dates"
        yield Doubt("header-may-be-a-record", "", message, count, len(names))


MOST_SHOWN = 20


@dataclass(frozen=True)
class MissingCounts:
    """Missing cells of a variable, and how many hold each declared code; `suppressed_as` need not occur."""

    name: str
    cells: int
    codes: tuple[tuple[str, int], ...]
    suppressed_as: str | None

    @classmethod
    def of(cls, column: Column) -> Self:
        """What a column says of its variable, as it was read."""
        counts = tuple(code_counts(column))
        return cls(column.name, int(np.count_nonzero(column.missing)), counts, column.variable.suppressed_as)

    def __add__(self, other: MissingCounts) -> MissingCounts:
        """Of two parts of a file."""
        codes = dict(self.codes)
        for code, count in other.codes:
            codes[code] = codes.get(code, 0) + count
        return replace(self, cells=self.cells + other.cells, codes=tuple(codes.items()))

    def __str__(self) -> str:
        shown = ", ".join(f"{code!r} {count}" for code, count in self.codes if count)
        return f"{self.name} {self.cells}" + (f" ({shown})" if shown else "")


def missing_notes(columns: Sequence[Column]) -> Iterator[str]:
    """Sentences about the missing cells of each variable; none when there are none."""
    yield from missing_sentences([MissingCounts.of(column) for column in columns], len(columns[0]) if columns else 0)


def missing_sentences(counts: Sequence[MissingCounts], records: int) -> Iterator[str]:
    """Sentences about the missing cells of each variable; none when there are none."""
    shown = [str(each) for each in counts if each.cells]
    if shown:
        listed = ", ".join(shown[:MOST_SHOWN])
        more = f", and {len(shown) - MOST_SHOWN} more variables" if len(shown) > MOST_SHOWN else ""
        yield f"missing cells, of {records} records: {listed}{more}"
    yield from _never_seen(counts)


def code_counts(column: Column) -> Iterator[tuple[str, int]]:
    """Each declared missing code of a column, and how many cells hold it."""
    codes = column.variable.empty_texts
    if column.blank is None or not codes:
        yield from ((code, 0) for code in codes)
        return
    texts = arrow_texts(column.blank.texts)
    cells = np.bincount(column.blank.codes[column.blank.codes >= 0], minlength=len(texts))
    for code in codes:
        yield code, int(cells[is_code_text(texts, [code])].sum())


def _never_seen(counts: Sequence[MissingCounts]) -> Iterator[str]:
    """Codes that are declared and that no cell of any of these variables holds."""
    where: dict[str, list[str]] = {}
    seen: set[str] = set()
    for each in counts:
        for code, count in each.codes:
            where.setdefault(code, []).append(each.name)
            if count:
                seen.add(code)
    hidden = {each.suppressed_as for each in counts}
    never = {code: names for code, names in where.items() if code.strip() and code not in seen and code not in hidden}
    if never:
        listed = ", ".join(
            f"{code!r} ({', '.join(names[:3])}{', ...' * (len(names) > 3)})" for code, names in never.items()
        )
        yield f"declared missing codes that no cell holds: {listed}"
