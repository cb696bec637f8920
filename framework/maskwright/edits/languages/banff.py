"""Linear edits as Banff has them: ``modifier: left operator right;``, as text or as a table.

Source: Statistics Canada, Banff User Guide, "Specifying linear edits" (format, allowable edits, canonical form); Banff
Processor, metadata table EDITS (``editid, leftside, operator, rightside, modifier``).
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import read_items
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.languages.yaml.documents import rule_text_of
from maskwright.edits.rule_language.rules import RuleItem
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from maskwright.edits.edit_set import EditSet

COLUMNS = ("editid", "edit", "leftside", "operator", "rightside", "modifier", "name", "label", "message", "severity")
MOST_EDITS = 100_000

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_NAME = r"[^\W\d]\w*"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})|(?P<name>{_NAME})|(?P<sign>!=|<=|>=|[<>=+\-*]))")
_OPERATORS = ("<", "<=", "=", "!=", ">=", ">")
# Banff makes strict inequalities weak, so a fail edit is the weak opposite.
_OPPOSITE = {"<": ">=", "<=": ">=", ">": "<=", ">=": "<=", "!=": "=="}
_PASSED = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">=", "=": "=="}


class _Mistake(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, start: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.start, self.hint = start, hint


@dataclass
class _Reading:
    file: str
    items: list[RuleItem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    strict: int = 0

    def add(self, text: str, place: Place, fields: dict[str, str], start: int = 0) -> None:
        """Take one edit in; `start` is the offset of `text` in the line of its place."""
        try:
            rule, strict = _rule(text)
        except _Mistake as mistake:
            at = Place(place.file, place.line, start + mistake.start + 1 if place.text else None, place.text)
            self.problems.append(Problem(str(mistake), at, mistake.hint))
            return
        self.strict += strict
        self.items.append(RuleItem({"rule": rule, **fields}, place))


def read_banff(path: str | Path) -> EditSet:
    """Read linear edits of Banff as edits in exact arithmetic.

    Text: edits that end with a semicolon, each with an optional ``pass:`` or ``fail:``. Table (CSV with a header): the
    columns ``edit``, or ``leftside, operator, rightside``; and, if there, ``modifier, editid`` (the name), ``label,
    message, severity``. As in Banff, ``<`` and ``>`` are read as ``<=`` and ``>=``, and a note says how often;
    ``!=`` that must hold and ``=`` that must fail are refused.
    """
    file = Path(path)
    text = rule_text_of(file)
    reading = _Reading(str(path))
    if _is_table(text):
        try:
            _read_table(text, reading)
        except csv.Error as error:  # a cell of more than 128 KB, a NUL character
            raise EditError(Problem(f"the table cannot be cut into cells: {error}", Place(str(path)))) from None
    else:
        _read_text(text, reading)
    if reading.problems:
        raise EditError(reading.problems)
    if not reading.items:
        raise EditError(Problem("there is no edit in this file", Place(str(path)), "Write: x1 + x2 = x3;"))
    notes = [f"{path}: Banff demands x >= 0 of every variable unless accept_negative is set; no such rule was added"]
    if reading.strict:
        notes.append(f"{path}: {reading.strict} strict inequalities are read as <= and >=, as Banff does")
    return read_items(reading.items, tuple(notes))


def _is_table(text: str) -> bool:
    first = next(line for line in text.splitlines() if line.strip())
    try:
        header = next(csv.reader([first], delimiter=_delimiter(first)))
    except csv.Error:  # a line that is no row of a table
        return False
    return any(cell.strip().lower() in ("edit", "leftside") for cell in header)


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _read_text(text: str, reading: _Reading) -> None:
    lines = text.splitlines()
    offset = 0
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for statement in text.split(";"):
        begin = offset + len(statement) - len(statement.lstrip())
        offset += len(statement) + 1
        if not statement.strip():
            continue
        number = max(n for n, start in enumerate(starts) if start <= begin)
        if len(reading.items) >= MOST_EDITS:
            raise EditError(Problem(f"more than {MOST_EDITS:,} edits", Place(reading.file, number + 1)))
        column = begin - starts[number]
        one_line = " ".join(statement.split())
        shown = lines[number] if statement.strip() in lines[number] else one_line
        start = column if shown is lines[number] else 0
        whole = statement.strip() if shown is lines[number] else one_line
        reading.add(whole, Place(reading.file, number + 1, start + 1, shown), {}, start)


def _read_table(text: str, reading: _Reading) -> None:
    lines = text.splitlines()
    table = csv.reader(lines, delimiter=_delimiter(lines[0]))
    header = [cell.strip().lower() for cell in next(table)]
    for name in header:
        if name not in COLUMNS:
            message = unknown_name("column", name, COLUMNS)
            reading.problems.append(Problem(message, Place(reading.file, 1, None, lines[0])))
    if reading.problems:
        return
    for cells in table:
        if not any(cell.strip() for cell in cells):
            continue
        row = dict(zip(header, (cell.strip() for cell in cells), strict=False))
        place = Place(reading.file, table.line_num, None, lines[table.line_num - 1])
        if len(cells) != len(header):
            reading.problems.append(Problem(f"{len(cells)} cells under {len(header)} columns", place))
            continue
        edit = row.get("edit") or f"{row.get('leftside', '')} {row.get('operator', '')} {row.get('rightside', '')}"
        modifier = row.get("modifier", "")
        fields: dict[str, str] = {key: row[key] for key in ("label", "message", "severity") if row.get(key)}
        if called := row.get("name") or row.get("editid"):
            fields["name"] = called
        whole = f"{modifier}: {edit}" if modifier else edit
        reading.add(whole.rstrip("; "), Place(reading.file, place.line, None, whole), fields)


def _rule(text: str) -> tuple[str, bool]:
    """Rule of the YAML language, and whether a strict inequality was made weak."""
    modifier = "pass"
    start = 0
    head, colon, _ = text.partition(":")
    if colon:
        modifier = head.strip().lower()
        start = len(head) + 1
        if modifier not in ("pass", "fail"):
            raise _Mistake(0, unknown_name("modifier", head.strip(), ("pass", "fail")), "Write 'pass:' or 'fail:'.")
    left, operator, right, at = _sides(text, start)
    if modifier == "fail":
        if operator == "=":
            raise _Mistake(at, "a fail edit with '=' is no linear edit: Banff refuses it, too")
        relation = _OPPOSITE[operator]
    else:
        if operator == "!=":
            raise _Mistake(at, "a pass edit with '!=' is no linear edit: Banff refuses it, too")
        relation = _PASSED[operator]
    # Of a fail edit, the weak one becomes strict when it is turned, and then weak again.
    strict = operator in ("<", ">") if modifier == "pass" else operator in ("<=", ">=")
    return f"{left} {relation} {right}", strict


def _sides(text: str, start: int) -> tuple[str, str, str, int]:
    """Both sides as text of the YAML language, the operator and its place."""
    sides: list[list[str]] = [[]]
    operator, at, position = "", 0, start
    end = len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        begin = position + len(text[position:]) - len(text[position:].lstrip())
        if found is None:
            expected = f"a number, a variable, + - * or one of {' '.join(_OPERATORS)}"
            raise _Mistake(begin, f"found {text[begin]!r}; expected {expected}")
        begin, position = found.start(found.lastgroup or 0), found.end()
        word = found.group(found.lastgroup or 0)
        if word in _OPERATORS:
            if operator:
                raise _Mistake(begin, f"found a second {word!r}; an edit compares once")
            operator, at = word, begin
            sides.append([])
            continue
        sides[-1].append(_name(word, begin) if found.lastgroup == "name" else word)
    if not operator:
        raise _Mistake(end, f"the edit ends; expected one of {' '.join(_OPERATORS)}")
    for side in sides:
        _check_side(side, at, end)
    return " ".join(sides[0]), operator, " ".join(sides[1]), at


def _name(word: str, begin: int) -> str:
    try:
        return name_text(word)
    except Inexpressible as reason:
        raise _Mistake(begin, str(reason)) from None


def _check_side(side: list[str], at: int, end: int) -> None:
    """Constants, variables and constant * variable, joined by + and -."""
    if not side:
        raise _Mistake(at if at < end else end, "a side of the edit is empty")
    text = " ".join("n" if re.fullmatch(_NUMBER, word) else word if word in "+-*" else "v" for word in side)
    component = r"(?:n \* v|v \* n|n|v)"
    if not re.fullmatch(rf"(?:[+-] )*{component}(?: [+-](?: [+-])* {component})*", text):
        hint = "Each component is a constant, a variable, or constant * variable."
        raise _Mistake(at, "a side of the edit is no sum of components", hint)
