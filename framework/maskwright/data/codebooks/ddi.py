"""DDI Codebook 2.5 (and its forerunners) read: what its ``var`` elements declare, without statistics and questions.

Such a file comes from elsewhere. One pass of expat reads it: a DOCTYPE is an error (no entities, no external subsets),
nothing is ever fetched, and depth, number of elements and encodings are limited.

References
----------
DDI Alliance (2012). DDI-Codebook 2.5. https://ddialliance.org/Specification/DDI-Codebook/2.5/
"""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

from maskwright.data.codebooks.codebook import Code, CodeKind, Described
from maskwright.data.date_texts import has_time
from maskwright.data.number_text import plain_text
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.xml_syntax import marked_encoding, xml_problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ENCODINGS = frozenset({"utf-8", "utf8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "latin1", "us-ascii", "ascii"})
MOST_DEEP = 64
MOST_ELEMENTS = 20_000_000
MOST_IN_RANGE = 1000
"""Missing codes that a range of them may stand for."""

ISO_DATE = "date.iso8601"
"""``formatname`` of dates as 2005-12-31; others are named by how they are written: ``%d.%m.%Y``."""

ISO_MOMENT = "dateTime.iso8601"
"""``formatname`` of datetimes as 2005-12-31T14:05:00; others as those of dates are."""

SUPPRESSED = "suppressed"
"""``missType`` of the code of suppressed cells."""

_NUMERIC_NATURES = ("interval", "ratio", "percent")


def described_in_ddi(path: Path, content: bytes) -> list[Described]:
    """Variables that a DDI Codebook describes."""
    return _Reading(path).read(content)


class _Variable:
    """A ``var`` that is being read."""

    def __init__(self, attributes: Mapping[str, str], name: str, place: Place) -> None:
        self.described = Described(name, place)
        self.attributes = attributes
        self.format: tuple[str, str, str] | None = None
        self.bounds: list[tuple[str, float | date, Place]] = []
        self.invalid: dict[str, Code] = {}


class _Category:
    """A ``catgry`` that is being read."""

    def __init__(self, attributes: Mapping[str, str], place: Place) -> None:
        self.kind: CodeKind = "missing" if attributes.get("missing", "N").upper() == "Y" else "valid"
        if attributes.get("missType") == SUPPRESSED:
            self.kind = "suppressed"
        self.place = place
        self.value = ""
        self.label: str | None = None


class _Reading:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: list[str] = []
        self._count = 0
        self._found: dict[str, Described] = {}
        self._variable: _Variable | None = None
        self._category: _Category | None = None
        self._text: list[str] | None = None
        self._encoding: str | None = None
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.XmlDeclHandler = self._declaration
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def read(self, content: bytes) -> list[Described]:
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            place = Place(str(self._path), error.lineno, error.offset + 1)
            encoding = self._encoding or marked_encoding(content)
            raise InputError(xml_problem(error, place, content, self._parser.ErrorByteIndex, encoding)) from None
        except (LookupError, UnicodeError, ValueError):
            raise InputError(Problem("the text cannot be decoded", Place(str(self._path)))) from None
        return list(self._found.values())

    def _refuse(self, message: str, hint: str | None = None) -> NoReturn:
        raise InputError(Problem(message, self._place(), hint))

    def _place(self) -> Place:
        return Place(str(self._path), self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:  # noqa: ARG002 - expat's call
        if encoding is not None and encoding.lower() not in ENCODINGS:
            self._refuse(f"the encoding {encoding!r} is not read", "Save the file as UTF-8.")
        self._encoding = encoding

    def _doctype(self, name: str, *_: object) -> None:
        hint = "Remove the <!DOCTYPE ...>, and write the text of its entities in place."
        self._refuse(f"a DOCTYPE ({name}) is refused: it can define entities that reach other files", hint)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST_ELEMENTS:
            self._refuse(f"more than {MOST_ELEMENTS:,} elements")
        if len(self._open) >= MOST_DEEP:
            self._refuse(f"elements are nested more than {MOST_DEEP} levels deep")
        local = name.rpartition(" ")[2]
        if not self._open and local != "codeBook":
            hint = (
                "DDI Lifecycle (3.x) is another format; a table (.csv) is read too." if local == "DDIInstance" else None
            )
            self._refuse(f"expected a DDI Codebook, with the root element codeBook, not {local}", hint)
        inside, parent = self._variable is not None, self._open[-1] if self._open else ""
        self._open.append(local)
        if local == "var" and parent == "dataDscr":
            self._begin_variable(attributes)
        elif inside and local == "catgry" and parent == "var":
            self._category = _Category(attributes, self._place())
        elif inside and local in ("range", "item") and parent in ("valrng", "invalrng"):
            self._add_range(attributes, is_missing=parent == "invalrng", is_item=local == "item")
        elif inside and local == "varFormat" and parent == "var" and self._variable is not None:
            stored, category = attributes.get("type", "numeric"), attributes.get("category", "other")
            self._variable.format = (stored, category, attributes.get("formatname", ""))
        elif inside and (local, parent) in (("labl", "var"), ("labl", "catgry"), ("catValu", "catgry")):
            self._text = []

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, name: str) -> None:
        local = name.rpartition(" ")[2]
        self._open.pop()
        parent = self._open[-1] if self._open else ""
        if self._variable is None:
            return
        if self._text is not None and local in ("labl", "catValu"):
            text, self._text = " ".join("".join(self._text).split()), None
            if parent == "var" and text:
                # Of labels in several languages, the first.
                self._variable.described.facts.setdefault("label", (text, self._place()))
            elif self._category is not None and local == "catValu":
                self._category.value = text
            elif self._category is not None and self._category.label is None:
                self._category.label = text
        elif local == "catgry" and self._category is not None:
            self._end_category(self._category)
        elif local == "var" and parent == "dataDscr":
            self._end_variable(self._variable)

    def _begin_variable(self, attributes: Mapping[str, str]) -> None:
        name = attributes.get("name", "").strip()
        if not name:
            self._refuse("a var without a name")
        if name in self._found:
            self._refuse(
                f"variable {name!r} is described twice, first in line {self._found[name].place.line}",
                "A codebook of several files is cut: one codebook for each.",
            )
        self._variable = _Variable(dict(attributes), name, self._place())

    def _end_category(self, category: _Category) -> None:
        self._category = None
        if category.value and self._variable is not None:
            code = Code(category.value, category.label or "", category.kind, category.place)
            self._variable.described.codes.append(code)

    def _add_range(self, attributes: Mapping[str, str], *, is_missing: bool, is_item: bool) -> None:
        assert self._variable is not None
        if is_item and not is_missing:
            return
        if is_item:
            self._add_missing([attributes.get("VALUE", "").strip()])
            return
        if not is_missing:
            ends = {name: _bound(attributes.get(name)) for name in ("min", "max")}
            self._variable.bounds += [(name, value, self._place()) for name, value in ends.items() if value is not None]
            return
        lowest, highest = _number(attributes.get("min")), _number(attributes.get("max"))
        whole = lowest is not None and highest is not None and lowest == int(lowest) and highest == int(highest)
        if lowest is None or highest is None or not whole or not 0 <= highest - lowest < MOST_IN_RANGE:
            self._refuse(
                f"variable {self._variable.described.name!r}: this range of missing values cannot be listed",
                f"Expected whole numbers as min and max, at most {MOST_IN_RANGE}; or items: <item VALUE='-9'/>.",
            )
        self._add_missing([str(value) for value in range(int(lowest), int(highest) + 1)])

    def _add_missing(self, texts: list[str]) -> None:
        assert self._variable is not None
        place = self._place()
        self._variable.invalid |= {text: Code(text, "", "missing", place) for text in texts if text}

    def _end_variable(self, variable: _Variable) -> None:
        self._variable = None
        described, attributes = variable.described, variable.attributes
        self._found[described.name] = described
        labelled = {code.text for code in described.of("missing")}
        described.codes += [code for text, code in variable.invalid.items() if text not in labelled]
        if attributes.get("wgt") == "wgt":
            described.facts["role"] = ("weight", described.place)
        if attributes.get("measUnit"):
            described.facts["unit"] = (attributes["measUnit"].strip(), described.place)
        kind = _type_of(variable)
        if kind is not None:
            described.facts["type"] = (kind, described.place)
        if kind in ("continuous", "integer"):
            decimals = attributes.get("dcml", "").strip()
            if decimals not in ("", "0"):
                described.facts["decimals"] = (decimals, described.place)
            self._set_bounds(variable, float)
        if kind in ("date", "datetime"):
            self._set_bounds(variable, date if kind == "date" else datetime)
            name = variable.format[2] if variable.format is not None else ""
            if name.startswith("%"):
                described.facts["format"] = (name, described.place)

    def _set_bounds(self, variable: _Variable, kind: type[float | date]) -> None:
        """The smallest min and the largest max of all ranges."""
        facts = variable.described.facts
        for end, choose in (("min", min), ("max", max)):
            found = {value: place for name, value, place in variable.bounds if name == end and type(value) is kind}
            if found:
                chosen = choose(found)
                facts[end] = (chosen.isoformat() if isinstance(chosen, date) else plain_text(chosen), found[chosen])


def _type_of(variable: _Variable) -> str | None:
    """Type of a variable; None where the cells have to tell. An attribute that is left out says nothing."""
    stored, category, name = variable.format or ("", "", "")
    nature, interval = variable.attributes.get("nature", ""), variable.attributes.get("intrvl", "")
    valid = [code for code in variable.described.of("valid") if code.text not in variable.invalid]
    if category in ("date", "time") or variable.attributes.get("representationType") == "datetime":
        return _moment_type(name, category)
    if nature == "ordinal" and valid:
        return "ordinal"
    if nature == "nominal" or (stored == "character" and interval != "contin"):
        return "nominal"
    is_measured = interval == "contin" or nature in _NUMERIC_NATURES
    if valid and not is_measured:
        return "nominal"
    if is_measured or stored == "numeric":
        return "integer" if variable.attributes.get("dcml", "").strip() == "0" else "continuous"
    return None


def _moment_type(name: str, category: str) -> str | None:
    """Type of a date or a time, by the name of its format; None where that is not known."""
    if name == ISO_MOMENT or (name.startswith("%") and has_time(name)):
        return "datetime"
    return "date" if category == "date" and (name == ISO_DATE or name.startswith("%")) else None


def _number(text: str | None) -> float | None:
    """A bound; None where it is none, or open."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _bound(text: str | None) -> float | date | None:
    """A bound of numbers, of dates or of datetimes."""
    given = text or ""
    try:
        return datetime.fromisoformat(given) if "T" in given else date.fromisoformat(given)
    except ValueError:
        return _number(text)
