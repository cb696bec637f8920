"""A workbook as an archive: what must not be in it, which sheet is meant, and the number formats of its cells."""

from __future__ import annotations

import posixpath
import re
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from lxml import etree
from pydantic import BaseModel, Field

from maskwright import DataError, Place, Problem
from maskwright_builtin.sources.file_kinds import COPY
from maskwright_builtin.sources.files import PIECE, readable_size, reading, refuse_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LONGEST_ROW = 1 << 26
"""Bytes of a row of the sheet, unpacked: sixty times what 16,384 cells of numbers need."""
COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
CELL = rb"<(?:\w+:)?c\s(?P<tag>[^>]*?)>\s*"
FORMULA = re.compile(CELL + rb"<(?:\w+:)?f[\s/>]")
UNCOMPUTED = re.compile(
    CELL.replace(rb"c\s", rb"c\s(?![^>]*\bt=[\"']str)") + rb"<(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
"""A computed cell without a result; a result that is an empty text is one."""
ERROR = re.compile(CELL.replace(rb"[^>]*?)>", rb"[^>]*?\bt=[\"']e[\"'][^>]*?)>"))
FILLED = re.compile(CELL + rb"<(?:\w+:)?(?:v|is)[\s>]")
MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z]+[0-9]+(?::[A-Z]+[0-9]+)?)[\"']")
ROWS_FOR_STYLES = 1000
"""Records below the header whose cells show the number format of a column."""


class ExcelParams(BaseModel, extra="forbid", frozen=True):
    """Options of Excel workbooks in the pipeline's ``data:`` section."""

    sheet: str | int | None = Field(
        None, description="Sheet of the records: its name, or its number from 1. Needed where there is more than one."
    )
    header_row: int | None = Field(
        None,
        ge=1,
        description="Row of the sheet that holds the names; what is above it is not read. Left out: the first row, "
        "which is refused where a cell of it is no text.",
    )
    formulas: Literal["refuse", "values"] = Field(
        "refuse",
        description="Cells that are computed: `refuse` (default), or `values` for the results that the spreadsheet "
        "program stored last.",
    )
    mixed: Literal["refuse", "text"] = Field(
        "refuse",
        description="Columns that hold both numbers and texts: `refuse` (default), or `text` to read them as texts, of "
        "which declared types and missing codes make numbers again.",
    )
    max_file_size: int | None = Field(
        None, ge=1, description="Largest workbook accepted, in bytes once it is unpacked. Left out: one of proportion."
    )


@dataclass
class Sheet:
    """A sheet of a workbook; `number_formats`: of the first filled cell of each column, below the header."""

    name: str
    is_1904: bool
    number_formats: dict[str, str] = field(default_factory=dict)


def find_sheet(path: Path, params: ExcelParams) -> Sheet:
    """Sheet of the records, once the workbook is known to be whole and to hold nothing that is not a plain value."""
    size = readable_size(path)
    with reading(path) as file:
        _refuse_compound_file(path, file)
        with _archive(path, file) as archive:
            members = [member for member in archive.infolist() if member.filename.lower().endswith((".xml", ".rels"))]
            refuse_large(path, sum(member.file_size for member in members), params.max_file_size, size)
            sheet, target = _chosen(path, archive, params)
            scan = _Scan(path, params, _formats(archive))
            for member in members:
                # Every part is read to its end, so that what the reader gets is known to be as long as it says.
                with archive.open(member) as part:
                    scan.sheet(part) if member.filename == target else scan.other(part)
    sheet.number_formats.update(scan.formats)
    return sheet


def _refuse_compound_file(path: Path, file: BinaryIO) -> None:
    start = file.read(1 << 16)
    if not start.startswith(COMPOUND_FILE):
        return
    # The directory of an encrypted workbook says so in UTF-16; an old workbook has a stream called Workbook.
    everything = start + file.read(1 << 24)
    if "EncryptedPackage".encode("utf-16-le") in everything:
        hint = "Open it with its password, and save it without one (File, Info, Protect Workbook)."
        raise DataError(Problem("the workbook is encrypted", Place(str(path)), hint))
    hint = "Open it in the spreadsheet program and save it as .xlsx."
    raise DataError(Problem("this is a workbook of Excel 97-2003 (.xls) under another name", Place(str(path)), hint))


@contextmanager
def _archive(path: Path, file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, etree.XMLSyntaxError, KeyError, EOFError, NotImplementedError, RuntimeError):
        message = "the file is no workbook, or is damaged or cut short"
        raise DataError(Problem(message, Place(str(path)), COPY)) from None
    except Exception as error:
        if type(error).__module__ != "zlib":
            raise
        raise DataError(Problem("the workbook is damaged", Place(str(path)), COPY)) from None


def _parsed(archive: zipfile.ZipFile, name: str) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    return etree.fromstring(archive.read(name), parser)


def _chosen(path: Path, archive: zipfile.ZipFile, params: ExcelParams) -> tuple[Sheet, str]:
    """The sheet that is meant, and its part of the archive."""
    place = Place(str(path))
    root = next(
        relation.get("Target")
        for relation in _parsed(archive, "_rels/.rels").iter("{*}Relationship")
        if relation.get("Type", "").endswith("/officeDocument")
    ).lstrip("/")
    folder, name = posixpath.split(root)
    targets = {
        relation.get("Id"): posixpath.normpath(posixpath.join(folder, relation.get("Target"))).lstrip("/")
        if not relation.get("Target").startswith("/")
        else relation.get("Target").lstrip("/")
        for relation in _parsed(archive, f"{folder}/_rels/{name}.rels").iter("{*}Relationship")
        if relation.get("Type", "").endswith("/worksheet")
    }
    workbook = _parsed(archive, root)
    is_1904 = any(each.get("date1904") in ("1", "true") for each in workbook.iter("{*}workbookPr"))
    sheets = {}
    for each in workbook.iter("{*}sheet"):
        own = next((value for key, value in each.attrib.items() if etree.QName(key).localname == "id"), None)
        if own in targets:
            sheets[str(each.get("name"))] = targets[own]
    named = _named_sheet(params.sheet, list(sheets))
    listed = ", ".join(repr(each) for each in sheets)
    if named is None and params.sheet is not None:
        hint = f"The sheets are: {listed}."
        raise DataError(Problem(f"there is no sheet {params.sheet!r} in the workbook", place, hint))
    if named is None:
        hint = (
            "Name the one that holds the records: `sheet: NAME` (or its number) in the data section, or --option "
            "sheet=NAME."
        )
        raise DataError(Problem(f"the workbook has {len(sheets)} sheets: {listed}", place, hint))
    return Sheet(named, is_1904), sheets[named]


def _named_sheet(wanted: str | int | None, names: list[str]) -> str | None:
    if wanted is None:
        return names[0] if len(names) == 1 else None
    if str(wanted) in names:
        return str(wanted)
    number = int(wanted) if str(wanted).isdecimal() else 0
    return names[number - 1] if 1 <= number <= len(names) else None


def _formats(archive: zipfile.ZipFile) -> list[str]:
    """Number format of each cell style."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS

    name = next((each for each in archive.namelist() if each.lower().endswith("/styles.xml")), None)
    if name is None:
        return []
    styles = _parsed(archive, name)
    codes: dict[int, str] = dict(BUILTIN_FORMATS)
    codes |= {int(each.get("numFmtId")): each.get("formatCode") for each in styles.iter("{*}numFmt")}
    cells = styles.find("{*}cellXfs")
    return [] if cells is None else [codes.get(int(each.get("numFmtId", 0)), "General") for each in cells]


class _Scan:
    """The parts of a workbook as bytes: much faster than any parser, and enough to see what is not a plain value."""

    def __init__(self, path: Path, params: ExcelParams, formats: list[str]) -> None:
        self._path = path
        self._params = params
        self._styles = formats
        self._header = params.header_row or 1
        self.formats: dict[str, str] = {}

    def other(self, part: Any) -> None:
        for piece in iter(lambda: part.read(PIECE), b""):
            self._refuse_document_type(piece)

    def sheet(self, part: Any) -> None:
        counts = {"formulas": 0, "errors": 0, "uncomputed": 0, "merged": 0}
        first: dict[str, str] = {}
        for rows in self._rows(part):
            found = {"merged": [each.decode() for each in MERGED.findall(rows)] if b"mergeCell" in rows else []}
            has_formulas = any(each in rows for each in (b"<f>", b"<f ", b"<f/", b":f>", b":f ", b":f/"))
            found["formulas"] = _places(FORMULA.finditer(rows)) if has_formulas else []
            found["uncomputed"] = _places(UNCOMPUTED.finditer(rows)) if has_formulas else []
            found["errors"] = _places(ERROR.finditer(rows)) if b't="e"' in rows or b"t='e'" in rows else []
            for kind, places in found.items():
                below = [each for each in places if _row(each.rpartition(":")[2]) >= self._header]
                counts[kind] += len(below)
                if below:
                    first.setdefault(kind, below[0])
            self._learn_formats(rows)
        self._refuse(counts, first)

    def _refuse(self, counts: dict[str, int], first: dict[str, str]) -> None:
        problems = []
        if counts["merged"]:
            hint = "Unmerge them, and fill in what each of the cells holds."
            problems.append(self._problem(f"merged cells in {counts['merged']} places", first["merged"], hint))
        if counts["formulas"] and self._params.formulas == "refuse":
            hint = "Paste them as values, or declare `formulas: values` to take the results stored last."
            problems.append(self._problem(f"{counts['formulas']} cells are formulas", first["formulas"], hint))
        elif counts["uncomputed"]:
            hint = (
                "Open the workbook in the spreadsheet program and save it: the program that wrote it computed nothing."
            )
            message = f"{counts['uncomputed']} formulas have no stored result"
            problems.append(self._problem(message, first["uncomputed"], hint))
        if counts["errors"]:
            hint = "Correct them, or empty the cells."
            problems.append(
                self._problem(f"{counts['errors']} cells hold errors (#N/A, #REF!, ...)", first["errors"], hint)
            )
        if problems:
            raise DataError(problems)

    def _problem(self, message: str, cell: str, hint: str) -> Problem:
        return Problem(f"{message}, the first in {cell}", Place(str(self._path), _row(cell.partition(":")[0])), hint)

    def _rows(self, part: Any) -> Iterator[bytes]:
        rest = b""
        for piece in iter(lambda: part.read(PIECE), b""):
            self._refuse_document_type(piece)
            text = rest + piece
            cut = text.rfind(b"row>") + 4
            if cut >= 4:
                yield text[:cut]
                text = text[cut:]
            rest = text
            if len(rest) > LONGEST_ROW:
                raise DataError(Problem(f"a row has more than {LONGEST_ROW} bytes", Place(str(self._path))))
        yield rest

    def _refuse_document_type(self, piece: bytes) -> None:
        if b"<!DOCTYPE" in piece or piece.startswith((b"\xff\xfe", b"\xfe\xff")):
            hint = "Open it in the spreadsheet program and save it anew."
            message = "the workbook has parts that no spreadsheet program writes (document types, or UTF-16)"
            raise DataError(Problem(message, Place(str(self._path)), hint))

    def _learn_formats(self, rows: bytes) -> None:
        for cell in FILLED.finditer(rows):
            reference = _reference(cell["tag"])
            if _row(reference) > self._header + ROWS_FOR_STYLES:
                return
            letters = reference.rstrip("0123456789")
            if _row(reference) > self._header and letters not in self.formats:
                style = re.search(rb"\bs=[\"']([0-9]+)[\"']", cell["tag"])
                number = int(style[1]) if style is not None else 0
                self.formats[letters] = self._styles[number] if number < len(self._styles) else "General"


def _places(found: Iterable[re.Match[bytes]]) -> list[str]:
    return [_reference(each["tag"]) for each in found]


def _reference(tag: bytes) -> str:
    found = re.search(rb"(?:^|\s)r=[\"']([A-Z]+[0-9]+)[\"']", tag)
    return found[1].decode() if found is not None else ""


def _row(reference: str) -> int:
    digits = reference.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return int(digits) if digits else 1 << 30
