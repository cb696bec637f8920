"""Codebook files: read, written as DDI Codebook 2.5 or a table, and checked by reading them back."""

from __future__ import annotations

import csv
import re
from datetime import date
from typing import TYPE_CHECKING, NoReturn
from xml.etree import ElementTree as ET  # builds and writes only; nothing is parsed with it

from maskwright.data.codebooks.codebook import Codebook, declaration
from maskwright.data.codebooks.ddi import ISO_DATE, ISO_MOMENT, SUPPRESSED, described_in_ddi
from maskwright.data.codebooks.table import described_in_table, guessed_encoding
from maskwright.data.number_text import plain_text
from maskwright.foundation.errors import InputError, Place, Problem, WrittenOtherwise
from maskwright.foundation.files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from maskwright.data.codebooks.codebook import CodeKind, PublishedCodebook
    from maskwright.data.declaration import VariableDeclaration


def read_codebook_file(path: Path, encoding: str | None = None) -> Codebook:
    """Read a codebook: DDI Codebook where the file is XML, otherwise a table (in `encoding` if it is not Unicode)."""
    content = read_bounded(path, "codebook")
    if not content.strip():
        raise InputError(Problem("the codebook is empty", Place(str(path))))
    problems: list[Problem] = []
    is_xml = path.suffix.lower() == ".xml" or content[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    found = described_in_ddi(path, content) if is_xml else described_in_table(path, content, encoding, problems)
    declared = {each.name: declaration(each, problems) for each in found}
    if not declared and not problems:
        problems.append(Problem("the codebook describes no variable", Place(str(path))))
    if problems:
        raise InputError(sorted(problems, key=lambda problem: (problem.place and problem.place.line) or 0))
    variables = {name: each for name, each in declared.items() if each is not None}
    guessed = None if is_xml else guessed_encoding(content, encoding)
    return Codebook(path, variables, {each.name: each.place for each in found}, guessed)


NAMESPACE = "ddi:codebook:2_5"
HEADER = (
    "variable", "label", "type", "format", "role", "unit", "decimals", "min", "max", "code", "meaning", "missing",
    "remark",
)  # fmt: skip

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STORED_AS_NUMBERS = ("continuous", "integer")
_CATEGORIES = ("nominal", "ordinal")


def write_codebook(path: Path, codebook: PublishedCodebook, *, as_table: bool) -> None:
    """Write a codebook."""
    if as_table:
        _write_table(path, codebook)
    else:
        _write_ddi(path, codebook)


def codes_of(declared: VariableDeclaration) -> Iterator[tuple[str, str, CodeKind]]:
    """Codes of a variable, their meanings and kinds; no list of categories if a reader would trim one of them."""
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
    _add_text(title, "titl", codebook.title)
    for note in codebook.notes:
        _add_text(study, "notes", note, type="statistical disclosure control")
    if codebook.file is not None:
        file = ET.SubElement(ET.SubElement(root, "fileDscr"), "fileTxt")
        _add_text(file, "fileName", codebook.file)
        if codebook.records is not None:
            counts = ET.SubElement(file, "dimensns")
            _add_text(counts, "caseQnty", str(codebook.records))
            _add_text(counts, "varQnty", str(len(codebook.variables)))
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
        _add_text(variable, "labl", declared.label)
    bounds = {"min": declared.min, "max": declared.max}
    shown = {end: _bound(value) for end, value in bounds.items() if value is not None}
    if shown:
        units = {} if declared.is_date else {"UNITS": "REAL"}
        ET.SubElement(ET.SubElement(variable, "valrng"), "range", {**units, **shown})
    if remark:
        _add_text(variable, "txt", remark)
    for code, meaning, kind in codes_of(declared):
        attributes = {} if kind == "valid" else {"missing": "Y"}
        if kind == "suppressed":
            attributes["missType"] = SUPPRESSED
        found = ET.SubElement(variable, "catgry", attributes)
        _add_text(found, "catValu", code)
        if meaning:
            _add_text(found, "labl", meaning)
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


def _add_text(parent: ET.Element, name: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, name, attributes).text = _clean(text)


def _clean(text: str) -> str:
    """Text without characters that no XML file can hold."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


MOST_SHOWN = 5


def refuse_otherwise(path: Path, meant: PublishedCodebook) -> None:
    """Stop unless a codebook describes the variables that it was meant to describe, their codes and missing codes."""
    if not meant.variables:
        return
    try:
        found = read_codebook_file(path).variables
    except InputError as error:
        _refuse(path, [f"it cannot be read ({error.problems[0].sentence})"])
    differences = list(_differences(meant, {_plain(name): each for name, each in found.items()}))
    if differences:
        _refuse(path, differences)


def _refuse(path: Path, differences: list[str]) -> NoReturn:
    more = f", and {len(differences) - MOST_SHOWN} more" if len(differences) > MOST_SHOWN else ""
    message = (
        f"the codebook {path.name} does not say what it was meant to say: {', '.join(differences[:MOST_SHOWN])}{more}"
    )
    raise WrittenOtherwise(Problem(message, hint="This is a bug in Maskwright; please report it."))


def _differences(meant: PublishedCodebook, found: dict[str, VariableDeclaration]) -> Iterator[str]:
    for name, wanted in meant.variables.items():
        read = found.get(_plain(name))
        if read is None:
            yield f"no column {name}"
            continue
        wrong = {
            "label": _plain(read.label) != _plain(wanted.label),
            "unit": _plain(read.unit) != _plain(wanted.unit),
            "codes": not _codes(wanted) <= _codes(read),
            "meanings of codes": _meanings(wanted, read) != _meanings(read, wanted),
            "missing codes": _missing(read) != _missing(wanted),
        }
        what = [each for each, is_wrong in wrong.items() if is_wrong]
        if what:
            yield f"{' and '.join(what)} of column {name}"
    if len(found) > len(meant.variables):
        yield "another column"


def _codes(declared: VariableDeclaration) -> set[str]:
    """Codes with a value; none where one of them has blanks that no reader would take for a part of it."""
    codes = [*declared.categories, *(code for code, meaning in declared.labels if meaning)]
    return set(codes) - _missing(declared) if all(_plain(code) == code for code in codes) else set()


def _meanings(declared: VariableDeclaration, other: VariableDeclaration) -> dict[str, str]:
    """Meanings of the codes that both have."""
    both = _codes(declared) & _codes(other)
    return {code: _plain(meaning) for code, meaning in declared.labels if code in both and _plain(meaning)}


def _missing(declared: VariableDeclaration) -> set[str]:
    suppressed: Iterable[str] = () if declared.suppressed_as is None else (declared.suppressed_as,)
    return {_plain(code) for code in (*(code for code, _ in declared.missing), *suppressed) if _plain(code)}


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())
