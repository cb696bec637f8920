"""Codebooks as tables: one row for each variable, or one for each of its codes.

The first row names the columns, in any order and with the names that offices, statistical programs and R use; columns
that are not known are not read. Codes stand in rows of their own (`code`, `meaning`, `missing`: yes or no), or in the
row of their variable (`values`: ``1=male|2=female``, `missing`: ``-1=refused|-2``).
"""

from __future__ import annotations

import codecs
import csv
import difflib
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.data.codebooks.codebook import NUMBERS, TEXTS, Code, CodeKind, Described
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "variable": ("variable", "name", "var", "varname", "var_name", "variable_name", "field"),
    "label": ("label", "variable_label", "var_label", "description"),
    "type": ("type", "class", "col_type", "data_type", "datatype"),
    "format": ("format", "date_format"),
    "role": ("role",),
    "unit": ("unit", "units"),
    "decimals": ("decimals", "decimal_places"),
    "min": ("min", "minimum", "lower"),
    "max": ("max", "maximum", "upper"),
    "code": ("code", "value", "category"),
    "meaning": ("meaning", "code_label", "value_label", "category_label"),
    "values": ("values", "value_labels", "codes", "categories"),
    "missing": ("missing", "missing_codes", "missing_values", "na_values"),
    "weight": ("weight", "wgt"),
    "remark": ("remark", "remarks", "note", "notes"),
}
"""Columns of a codebook, each with the names it may have."""

_STORED: Mapping[str, str] = {
    **dict.fromkeys(("numeric", "number", "float", "double", "real", "decimal", "dbl"), "continuous"),
    "int": "integer",
    **dict.fromkeys(("character", "char", "string", "text", "chr", "logical", "lgl", "boolean", "bool"), "nominal"),
    **dict.fromkeys(("factor", "fct", "categorical", "category", "code", "codes"), "nominal"),
    **dict.fromkeys(("ordered", "ord", "ordered factor"), "ordinal"),
}
"""Types as programs call them; where codes are listed, a number that is stored is a code."""

_CODED_IN_R = ("dbl+lbl", "int+lbl", "chr+lbl", "haven_labelled")
_TIMES = ("time", "posixct", "dttm")
_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("yes", "y", "true", "t", "1", "x", "ja", "oui", "si", "sí"), True),
    **dict.fromkeys(("no", "n", "false", "f", "0", "", "na", "nein", "non"), False),
}
ONE_BYTE = ("cp1252", "latin-1")
"""Encodings of a byte a letter that are tried, as those of data are, where none is named."""
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DELIMITERS = ",;\t|"
_IN_R = re.compile(r"\[([^\]]*)\]\s*(.*)", re.DOTALL)
_NEAR = 0.85
"""Likeness from which on a heading is taken for a misspelt name of a column."""


def described_in_table(path: Path, content: bytes, encoding: str | None, problems: list[Problem]) -> list[Described]:
    """Variables that a table describes. `encoding`: of a file that is not UTF-8, nor UTF-16 with a byte order mark."""
    table = _Table(path, _decoded(path, content, encoding), problems)
    found: dict[str, Described] = {}
    current: Described | None = None
    for row in table.rows():
        name, place = row.cell("variable")
        if name:
            current = found.setdefault(name, Described(name, place))
        if current is None:
            problems.append(Problem("the row names no variable", place))
            continue
        _add_facts(current, row, table, problems)
        current.codes += _codes(row, table, problems)
    for each in found.values():
        _settle_type(each)
    return list(found.values())


def _decoded(path: Path, content: bytes, encoding: str | None) -> str:
    """Text of a table: UTF-8, else in the encoding that is named, else in the usual one of a byte a letter."""
    for name in (*_stated(content, encoding), guessed_encoding(content, encoding)):
        if name is not None and _is_in(content, name):
            return content.decode(name)
    hint = "Save it as UTF-8; a table in the encoding of the data is read where that is named: `encoding: latin-1`."
    raise InputError(Problem("the codebook is not UTF-8 text", Place(str(path)), hint))


def guessed_encoding(content: bytes, encoding: str | None) -> str | None:
    """Encoding of a byte a letter of a table that is neither Unicode nor in the encoding that is named; else None."""
    if content.startswith(_WIDE) or any(_is_in(content, name) for name in _stated(content, encoding)):
        return None
    return next((name for name in ONE_BYTE if _is_in(content, name)), None)


def _stated(content: bytes, encoding: str | None) -> tuple[str, ...]:
    unicode = "utf-16" if content.startswith(_WIDE) else "utf-8-sig"
    return (unicode,) if encoding is None else (unicode, encoding)


def _is_in(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


@dataclass(frozen=True)
class _Row:
    """Cells of a row by column, each with its place."""

    cells: Mapping[str, tuple[str, Place]]
    place: Place

    def cell(self, column: str) -> tuple[str, Place]:
        return self.cells.get(column, ("", self.place))


class _Table:
    def __init__(self, path: Path, text: str, problems: list[Problem]) -> None:
        self._path, self._text, self._problems = path, text, problems
        headers = {each: _header(text, each) for each in _DELIMITERS}
        self._delimiter = max(headers, key=lambda each: len(set(map(_column, headers[each])) - {None}))
        names = headers[self._delimiter]
        self._columns = [_column(name) for name in names]
        self._refuse_header(names)
        self.has_code_rows = "code" in self._columns
        # Variable, code, label: what is labelled is the code, in the rows that have one.
        self.labels_are_of_codes = self.has_code_rows and "meaning" not in self._columns

    def _refuse_header(self, names: list[str]) -> None:
        place = Place(str(self._path), 1)
        if "variable" not in self._columns:
            known = ", ".join(COLUMNS)
            hint = f"The first row names the columns: {known}."
            raise InputError(Problem(unknown_column("variable", names), place, hint))
        twice = [each for each in COLUMNS if self._columns.count(each) > 1]
        if twice:
            both = [name for name, column in zip(names, self._columns, strict=True) if column == twice[0]]
            message = f"the columns {' and '.join(map(repr, both))} both hold the {twice[0]}"
            raise InputError(Problem(message, place))
        for name, column in zip(names, self._columns, strict=True):
            nearest = difflib.get_close_matches(_plain(name), COLUMNS, n=1, cutoff=_NEAR) if column is None else []
            if nearest and nearest[0] not in self._columns:
                self._problems.append(Problem(unknown_name("column", name, COLUMNS), place))
        if any(_plain(name) == "col_type" for name in names) and "missing" in self._columns:
            # Dictionaries that R's package `labelled` makes count the missing cells there.
            self._columns[self._columns.index("missing")] = None

    def rows(self) -> Iterator[_Row]:
        """Rows below the header that hold anything."""
        reader = csv.reader(io.StringIO(self._text, newline=""), delimiter=self._delimiter)
        lines = self._text.splitlines()
        last = 0
        try:
            for cells in reader:
                line, last = last + 1, reader.line_num
                if line == 1 or not any(cell.strip() for cell in cells):
                    continue
                yield self._row(cells, line, lines[line - 1] if line == last and line <= len(lines) else None)
        except csv.Error as error:
            raise InputError(Problem(f"the row cannot be cut into cells: {error}", self._place(last + 1))) from None

    def _row(self, cells: list[str], line: int, text: str | None) -> _Row:
        place = self._place(line)
        if any(cell.strip() for cell in cells[len(self._columns) :]):
            message = f"the row has {len(cells)} cells, and the header {len(self._columns)}"
            self._problems.append(Problem(message, place, "A text that holds the delimiter is put in quotes."))
        starts = [] if text is None else list(_starts(text, self._delimiter))
        found = {}
        for position, (column, cell) in enumerate(zip(self._columns, cells, strict=False)):
            if column is not None:
                at = starts[position] if position < len(starts) else None
                where = place if at is None else Place(str(self._path), line, at, text)
                found[column] = (cell.strip(), where)
        return _Row(found, place)

    def _place(self, line: int) -> Place:
        return Place(str(self._path), line)


def unknown_column(wanted: str, names: list[str]) -> str:
    """Sentence for a column that a header lacks; without the others, which are values where it is no header."""
    near = nearest_name(wanted, names)
    meant = "" if near is None else f"; did you mean {near!r}?"
    return f"no column is called {wanted!r}, of {len(names)}{meant}"


def _header(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error:
        return []


def _plain(name: str) -> str:
    return re.sub(r"[\s.-]+", "_", name.strip().lower())


def _column(name: str) -> str | None:
    plain = _plain(name)
    return next((column for column, names in COLUMNS.items() if plain in names), None)


def _starts(line: str, delimiter: str) -> Iterator[int]:
    """Column, from 1, at which each cell of a line begins."""
    quoted = False
    yield 1
    for position, character in enumerate(line, 2):
        quoted ^= character == '"'
        if character == delimiter and not quoted:
            yield position


def _add_facts(described: Described, row: _Row, table: _Table, problems: list[Problem]) -> None:
    has_code = _is_code(row.cell("code")[0], row)
    for name in (*TEXTS, *NUMBERS):
        text, place = row.cell(name)
        if text in ("", "NA") or (name == "label" and has_code and table.labels_are_of_codes):
            continue
        known = described.facts.setdefault(name, (text, place))
        if known[0] != text:
            message = f"variable {described.name!r}: another {name} is given in line {known[1].line}"
            problems.append(Problem(message, place))
    text, place = row.cell("weight")
    if _is_yes(text, place, "weight", problems):
        described.facts.setdefault("role", ("weight", place))


def _codes(row: _Row, table: _Table, problems: list[Problem]) -> Iterator[Code]:
    code, place = row.cell("code")
    result, where = row.cell("missing")
    if _is_code(code, row):
        meaning = row.cell("label" if table.labels_are_of_codes else "meaning")[0]
        kind: CodeKind = "suppressed"
        if result.lower() != "suppressed":
            kind = "missing" if _is_yes(result, where, "missing", problems) else "valid"
        yield Code(code, "" if meaning == "NA" else meaning, kind, place)
    elif result.lower() not in _WORDS:
        yield from _listed(result, where, "missing")
    elif not table.has_code_rows and result not in ("", "NA"):
        hint = "A code that is one of these words, or 0, is written with what it means: 0=not stated."
        message = f"missing: expected codes that mean 'no value', such as -1=refused|-2, not {result!r}"
        problems.append(Problem(message, where, hint))
    yield from _listed(*row.cell("values"), "valid")


def _is_code(code: str, row: _Row) -> bool:
    """Whether there is a code; R writes NA where there is nothing, and NA may be a code."""
    if code != "NA":
        return bool(code)
    sentence, meaning = row.cell("missing")[0].lower(), row.cell("meaning")[0]
    return sentence == "no" or _WORDS.get(sentence, True) or meaning not in ("", "NA")


def _listed(text: str, place: Place, kind: CodeKind) -> Iterator[Code]:
    """Codes of ``1=male|2=female``, ``-1|-2``, or ``[1] male; [2] female``."""
    if text == "NA":
        return
    for part in text.split("|" if "|" in text else ";"):
        in_r = _IN_R.fullmatch(part.strip())
        code, meaning = in_r.groups() if in_r is not None else (part.partition("=")[0], part.partition("=")[2])
        if code.strip():
            yield Code(code.strip(), meaning.strip(), kind, place)


def _is_yes(text: str, place: Place, column: str, problems: list[Problem]) -> bool:
    if text.lower() not in _WORDS:
        problems.append(Problem(f"{column}: expected yes or no, not {text!r}", place))
    return _WORDS.get(text.lower(), False)


def _settle_type(described: Described) -> None:
    """The type as Maskwright calls it; none where the way of storing says nothing of it."""
    if "type" not in described.facts:
        return
    text, place = described.facts.pop("type")
    plain = text.lower()
    if plain in (*_CODED_IN_R, *_TIMES):
        return
    kind = _STORED.get(plain, plain)
    if plain in _STORED and kind in ("continuous", "integer") and described.of("valid"):
        return
    described.facts["type"] = (kind, place)
