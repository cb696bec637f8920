"""A document as text for an engine, after a first pass that refuses what is hostile or too large."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

from maskwright.edits.languages.schematron.document import ENCODINGS
from maskwright.foundation.errors import DataError, Place, Problem
from maskwright.foundation.file_identity import note_read
from maskwright.foundation.progress import Progress, silent
from maskwright.foundation.xml_mistakes import marked_encoding, xml_problem

if TYPE_CHECKING:
    from pathlib import Path

MEGABYTE = 2**20
MOST_BYTES = 100 * MEGABYTE
MOST_DEPTH = 100
MOST_TEXT = MEGABYTE
MOST_ATTRIBUTES = 1_000
_DECLARATION = re.compile(r"\A\ufeff?<\?xml\s[^>]*\?>")


@dataclass(frozen=True)
class DocumentText:
    """A document that an engine may be given.

    `text`: without XML declaration and byte order mark: it says nothing of its encoding.
    """

    text: str
    bytes: int


def read_document_text(path: Path, progress: Progress = silent) -> DocumentText:
    """Read a document.

    `path`: Well-formed XML in UTF-8, UTF-16, ISO-8859-1 or ASCII, without a DOCTYPE.
    """
    note_read(path)
    place = Place(str(path))
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise DataError(Problem("there is no such file", place)) from None
    except OSError as error:
        raise DataError(Problem(f"the document cannot be read: {error.strerror}", place)) from None
    if len(content) > MOST_BYTES:
        message = f"a document of over {MOST_BYTES // MEGABYTE} MB is not checked as a whole"
        hint = "a file of records is checked as a stream, without --document"
        raise DataError(Problem(message, place, hint))
    if not content.strip():
        raise DataError(Problem("the file is empty; expected an XML document", place))
    encoding = _FirstPass(path).read(content, progress)
    text = content.decode(encoding)
    return DocumentText(_DECLARATION.sub("", text).removeprefix("\ufeff"), len(content))


class _FirstPass:
    """Reads a document once without keeping it, and stops at what is not let through."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._depth = 0
        self._length = 0
        self._encoding: str | None = None
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction

    def read(self, content: bytes, progress: Progress) -> str:
        """Name of the codec the document is written in."""
        marked = marked_encoding(content)
        try:
            for start in range(0, len(content), MEGABYTE):
                piece = content[start : start + MEGABYTE]
                self._parser.Parse(piece, start + MEGABYTE >= len(content))
                progress((start + len(piece)) / len(content))
        except expat.ExpatError as error:
            place = Place(str(self._path), error.lineno, error.offset + 1)
            encoding = self._encoding or marked
            raise DataError(xml_problem(error, place, content, self._parser.ErrorByteIndex, encoding)) from None
        except (LookupError, UnicodeError, ValueError):
            raise DataError(Problem("the text cannot be decoded", Place(str(self._path)))) from None
        return marked or self._encoding or "utf-8"

    def _refuse(self, message: str, hint: str | None = None) -> NoReturn:
        raise DataError(Problem(message, Place(str(self._path), self._parser.CurrentLineNumber), hint))

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:  # noqa: ARG002 - expat's call
        if encoding is not None and encoding.lower() not in ENCODINGS:
            self._refuse(f"the encoding {encoding!r} is not read", "save the file as UTF-8")
        self._encoding = encoding

    def _doctype(self, name: str, *_: object) -> None:
        self._refuse(
            f"a DOCTYPE ({name}) is refused: it can define entities that reach other files",
            "remove the <!DOCTYPE ...> and write the entities' text in place",
        )

    def _start(self, name: str, attributes: list[str]) -> None:  # noqa: ARG002 - expat's call
        self._depth += 1
        self._length = 0
        if self._depth > MOST_DEPTH:
            self._refuse(f"elements are nested more than {MOST_DEPTH} levels deep")
        if len(attributes) > 2 * MOST_ATTRIBUTES:
            self._refuse(f"an element has more than {MOST_ATTRIBUTES:,} attributes")
        if attributes and max(map(len, attributes)) > MOST_TEXT:
            self._refuse("an attribute has more than a million characters")

    def _end(self, name: str) -> None:  # noqa: ARG002 - expat's call
        self._depth -= 1
        self._length = 0

    def _text(self, text: str) -> None:
        self._length += len(text)
        if self._length > MOST_TEXT:
            self._refuse("one text has more than a million characters (1 MB)")

    def _comment(self, text: str) -> None:
        self._length = 0
        self._text(text)
        self._length = 0

    def _instruction(self, target: str, text: str) -> None:  # noqa: ARG002 - expat's call
        self._comment(text)
