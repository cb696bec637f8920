"""Codebooks written: DDI Codebook 2.5, or a table with a row for each variable and for each of its codes."""

from __future__ import annotations

import csv
import re
from datetime import date
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET  # builds and writes only; nothing is parsed with it

from maskwright.data.codebooks.ddi import ISO_DATE, ISO_MOMENT, SUPPRESSED
from maskwright.data.number_text import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from maskwright.data.codebooks.codebook import PublishedCodebook
    from maskwright.data.codebooks.described import CodeKind
    from maskwright.data.declaration import VariableDeclaration

NAMESPACE = "ddi:codebook:2_5"
HEADER = (
    "variable", "label", "type", "format", "role", "unit", "decimals", "min", "max", "code", "meaning", "missing",
    "remark",
)  # fmt: skip

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STORED_AS_NUMBERS = ("continuous", "integer")
_CATEGORIES = ("nominal", "ordinal")


def write_codebook(path: Path, codebook: PublishedCodebook, *, as_table: bool) -> None:
    """Write a codebook.

    `as_table`: CSV rather than DDI Codebook.
    """
    if as_table:
        _write_table(path, codebook)
    else:
        _write_ddi(path, codebook)


def codes_of(declared: VariableDeclaration) -> Iterator[tuple[str, str, CodeKind]]:
    """Codes of a variable, what they mean, and of which kind they are: categories, then those without a value.

    No reader of codebooks takes blanks around a code, or line breaks in it, for a part of it. A list without the one
    category that has some would be wrong for the cells that have it, so there is none.
    """
    meanings = dict(declared.labels)
    valid = tuple(dict.fromkeys([*declared.categories, *meanings]))
    for code in valid if all(map(_is_plain, valid)) else ():
        yield code, meanings.get(code, ""), "valid"
    for code, meaning in declared.missing:
        if code.strip():
            yield code, meaning, "missing"
    if declared.suppressed_as is not None and declared.suppressed_as.strip():
        yield declared.suppressed_as, "suppressed", "suppressed"


def _is_plain(code: str) -> bool:
    return " ".join(code.split()) == code == _clean(code)


def _bound(value: float | date) -> str:
    return value.isoformat() if isinstance(value, date) else plain_text(value)


def _write_table(path: Path, codebook: PublishedCodebook) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for name, declared in codebook.variables.items():
            bounds = ["" if each is None else _bound(each) for each in (declared.min, declared.max)]
            decimals = "" if declared.decimals is None else str(declared.decimals)
            typed = [declared.type or "", declared.format or ""]
            facts = [declared.label or "", *typed, declared.role or "", declared.unit or "", decimals]
            writer.writerow([name, *facts, *bounds, "", "", "", codebook.remarks.get(name, "")])
            for code, meaning, kind in codes_of(declared):
                missing = {"valid": "no", "missing": "yes", "suppressed": SUPPRESSED}[kind]
                writer.writerow([name, *[""] * 8, code, meaning, missing, ""])


def _write_ddi(path: Path, codebook: PublishedCodebook) -> None:
    root = ET.Element("codeBook", {"xmlns": NAMESPACE, "version": "2.5"})
    study = ET.SubElement(root, "stdyDscr")
    title = ET.SubElement(ET.SubElement(study, "citation"), "titlStmt")
    _say(title, "titl", codebook.title)
    for note in codebook.notes:
        _say(study, "notes", note, type="statistical disclosure control")
    if codebook.file is not None:
        file = ET.SubElement(ET.SubElement(root, "fileDscr"), "fileTxt")
        _say(file, "fileName", codebook.file)
        if codebook.records is not None:
            counts = ET.SubElement(file, "dimensns")
            _say(counts, "caseQnty", str(codebook.records))
            _say(counts, "varQnty", str(len(codebook.variables)))
    data = ET.SubElement(root, "dataDscr")
    for number, (name, declared) in enumerate(codebook.variables.items(), 1):
        _add_variable(data, number, name, declared, codebook.remarks.get(name))
    ET.indent(root)
    root.tail = "\n"
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add_variable(data: ET.Element, number: int, name: str, declared: VariableDeclaration, remark: str | None) -> None:
    """Add a ``var``; its parts stand in the order of the schema."""
    numeric = declared.type in _STORED_AS_NUMBERS
    attributes = {"ID": f"V{number}", "name": _clean(name), **_attributes(declared, numeric=numeric)}
    variable = ET.SubElement(data, "var", attributes)
    if declared.label:
        _say(variable, "labl", declared.label)
    bounds = {"min": declared.min, "max": declared.max}
    shown = {end: _bound(value) for end, value in bounds.items() if value is not None}
    if shown:
        units = {} if declared.is_date else {"UNITS": "REAL"}
        ET.SubElement(ET.SubElement(variable, "valrng"), "range", {**units, **shown})
    if remark:
        _say(variable, "txt", remark)
    for code, meaning, kind in codes_of(declared):
        attributes = {} if kind == "valid" else {"missing": "Y"}
        if kind == "suppressed":
            attributes["missType"] = SUPPRESSED
        found = ET.SubElement(variable, "catgry", attributes)
        _say(found, "catValu", code)
        if meaning:
            _say(found, "labl", meaning)
    if declared.type is not None:
        stored = {"type": "numeric" if numeric else "character"}
        if declared.type == "date":
            stored |= {"formatname": declared.format or ISO_DATE, "category": "date"}
        if declared.type == "datetime":
            stored |= {"formatname": declared.format or ISO_MOMENT, "category": "time"}
        ET.SubElement(variable, "varFormat", stored)


def _attributes(declared: VariableDeclaration, *, numeric: bool) -> dict[str, str]:
    found = {"wgt": "wgt"} if declared.role == "weight" else {}
    if numeric:
        found["intrvl"] = "contin"
        decimals = 0 if declared.type == "integer" else declared.decimals
        if decimals is not None:
            found["dcml"] = str(decimals)
    elif declared.type in _CATEGORIES:
        found |= {"intrvl": "discrete", "nature": declared.type}
    if declared.unit is not None:
        found["measUnit"] = _clean(declared.unit)
    return found


def _say(parent: ET.Element, name: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, name, attributes).text = _clean(text)


def _clean(text: str) -> str:
    """Text without characters that no XML file can hold."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
