"""A streaming XML parser that refuses what data files have no need of.

Refused before any of it is acted upon: document types (and with them every entity), encodings other than UTF-8,
UTF-16, ISO-8859-1 and ASCII, XML other than 1.0, deep nesting, endless tags and texts. Errors name line and column
and never a text of the file: it is microdata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Self

# Expat itself expands nothing here: any document type is refused before its first declaration is read.
from xml.parsers import expat

from pydantic import BaseModel, Field, model_validator

from maskwright import DataError, Place, Problem, marked_encoding, xml_problem
from maskwright_builtin.sources.files import BLOCK, reading

if TYPE_CHECKING:
    from pathlib import Path

WHITE_SPACE = " \t\r\n"
ENCODINGS = frozenset({"utf-8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "us-ascii", "ascii"})
ByteProgress = Callable[[int], None]
"""Called with the number of bytes of the file that are done."""

ENDS_EARLY = frozenset({expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS],
                        expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
                        expat.errors.codes[expat.errors.XML_ERROR_PARTIAL_CHAR],
                        expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION]})  # fmt: skip


class XmlParams(BaseModel, extra="forbid", frozen=True):
    """Options of XML files in the pipeline's ``data:`` section."""

    record: str | None = Field(
        None,
        description="Name of the element that is one record, for instance Record. Left out: the one child element of "
        "the root that is repeated.",
    )
    members: tuple[str, ...] = Field(
        (),
        description="Child elements of the record that are records of another level: they are left out. A pipeline "
        "with `levels` fills this in.",
    )
    group: dict[str, str] | None = Field(
        None,
        min_length=1,
        max_length=1,
        description="Element around the record that is a record of the level above, and its key, which each row then "
        "has as a first column: {Household: hhid}. A pipeline with `levels` fills this in.",
    )
    decimal: str = Field(
        ".",
        pattern=r"^[.,]$",
        description="Decimal mark of numbers: '.' (default) or ','. Schematron reads no numbers with a comma.",
    )
    keep_attributes: tuple[str, ...] = Field(
        (),
        description="Attributes of the elements around the records that may be published, as the file writes them: "
        "[version, 'xsi:schemaLocation']. The others are left out of the masked file.",
    )
    max_depth: int = Field(8, ge=2, le=200, description="Deepest nesting of elements accepted (default 8).")
    max_text: int = Field(
        1_000_000, ge=1, description="Longest text of one cell accepted, in characters (default 1 MB)."
    )
    max_file_size: int | None = Field(
        None, ge=1, description="Largest file accepted, in bytes; of a compressed file, unpacked. Left out: no limit."
    )

    @model_validator(mode="after")
    def _names_its_level(self) -> Self:
        """Refuse a level of which it is not said which element its records are."""
        if self.record is None and (self.members or self.group):
            raise ValueError("`members` and `group` say which records are inside which: name the `record` too")
        if self.members and self.group:
            raise ValueError("the record has `members`, or is one of a `group`: levels are two")
        return self


class Name(NamedTuple):
    """An element's name: what people call it, and how the file writes it."""

    local: str
    tag: str


def element_name(expanded: str) -> Name:
    """Name of an element as the parser reports it: ``[namespace ]local[ prefix]``."""
    parts = expanded.split(" ")
    if len(parts) == 3:
        return Name(parts[1], f"{parts[2]}:{parts[1]}")
    return Name(parts[-1], parts[-1])


class GuardedParser:
    """Expat over one file with every security rule in place; the caller sets the handlers for elements and text."""

    def __init__(self, path: Path, params: XmlParams) -> None:
        self.path = path
        self.params = params
        self.encoding: str | None = None
        self.has_declaration = False
        self._mark: str | None = None
        self._fed = 0
        self._last = b""
        self.expat = expat.ParserCreate(namespace_separator=" ")
        self.expat.namespace_prefixes = True
        self.expat.buffer_text = True
        self.expat.StartDoctypeDeclHandler = self._refuse_document_type
        self.expat.XmlDeclHandler = self._check_declaration

    def refuse(self, message: str, hint: str | None = None) -> DataError:
        """Error at the place the parser has reached."""
        place = Place(str(self.path), self.expat.CurrentLineNumber, self.expat.CurrentColumnNumber + 1)
        return DataError(Problem(message, place, hint))

    def _refuse_document_type(self, *_: object) -> None:
        raise self.refuse(
            "a document type (<!DOCTYPE ...>) is not allowed in a data file",
            "Document types can pull in other files and expand entities without end; remove the declaration.",
        )

    def _check_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        del standalone
        self.has_declaration = True
        if version != "1.0":
            raise self.refuse("only XML 1.0 is read, and the file declares another version")
        if encoding is not None and encoding.lower() not in ENCODINGS:
            raise self.refuse(
                "the file declares an encoding that is not accepted in data files",
                "Save it as UTF-8; UTF-16, ISO-8859-1 and ASCII are read too.",
            )
        self.encoding = encoding.lower() if encoding is not None else None

    def check_depth(self, depth: int) -> None:
        """Refuse nesting beyond the limit."""
        if depth > self.params.max_depth:
            raise self.refuse(
                f"elements are nested more than {self.params.max_depth} deep",
                "Microdata are flat: a root, records, and one element for each variable.",
            )

    def feed(self, progress: ByteProgress, block: int = BLOCK) -> Iterator[None]:
        """Parse the file, pausing after each block; `progress` is told the bytes fed."""
        with reading(self.path) as file:
            while piece := file.read(block):
                if not self._fed:
                    self._mark = marked_encoding(piece)
                self._parse(piece, final=False)
                self._fed += len(piece)
                self._last = piece[-4:]
                if self._fed - self.expat.CurrentByteIndex > block + 4 * self.params.max_text:
                    raise self.refuse(
                        f"a tag, comment or instruction is longer than {4 * self.params.max_text} bytes",
                        "If the file is right, raise `max_text` in the pipeline's data section, or with --option.",
                    )
                progress(self._fed)
                yield
            self._parse(b"", final=True)
            yield

    def _parse(self, piece: bytes, *, final: bool) -> None:
        try:
            self.expat.Parse(piece, final)
        except expat.ExpatError as error:
            place = Place(str(self.path), error.lineno, error.offset + 1)
            if final and error.code in ENDS_EARLY:
                hint = "The file looks cut short: compare its size with the original's and copy it again."
                raise DataError(Problem("the file ends before its elements are closed", place, hint)) from None
            # A character of several bytes may begin in the block before this one.
            content = self._last + piece
            at = self.expat.ErrorByteIndex - self._fed + len(self._last)
            raise DataError(xml_problem(error, place, content, at, self.encoding or self._mark)) from None
