"""A whole document: read as text and checked for hostility, options of checking, and the outcome."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - pydantic needs it
from typing import TYPE_CHECKING, Any, NoReturn
from xml.parsers import expat

from pydantic import Field

from maskwright.edits.languages.schematron.document import HardenedParser
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.foundation.errors import DataError, Place, Problem
from maskwright.foundation.files import note_read
from maskwright.foundation.html_tables import block, table
from maskwright.foundation.progress import Progress, silent
from maskwright.foundation.xml_syntax import marked_encoding, xml_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.edit import Severity
    from maskwright.edits.evaluation.outcomes import Undecidable


MEGABYTE = 2**20
MOST_BYTES = 100 * MEGABYTE
MOST_DEPTH = 100
MOST_ATTRIBUTES = 1_000
_DECLARATION = re.compile(r"\A\ufeff?<\?xml\s[^>]*\?>")


@dataclass(frozen=True)
class DocumentText:
    """A document that an engine may be given.

    `text`: without XML declaration and byte order mark: it says nothing of its encoding.
    """

    text: str
    bytes: int
    path: Path


def read_document_text(path: Path, options: DocumentOptions, progress: Progress = silent) -> DocumentText:
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
    encoding = _FirstPass(path, options.max_text).read(content, progress)
    text = content.decode(encoding)
    return DocumentText(_DECLARATION.sub("", text).removeprefix("\ufeff"), len(content), path)


class _FirstPass(HardenedParser):
    """Reads a document once without keeping it, and stops at what is not let through."""

    def __init__(self, path: Path, max_text: int) -> None:
        super().__init__(path, DataError)
        self._max_text = max_text
        self._depth = 0
        self._length = 0
        self._parser.ordered_attributes = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.CommentHandler = self._comment
        self._parser.ProcessingInstructionHandler = self._instruction

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

    def _start(self, name: str, attributes: list[str]) -> None:  # noqa: ARG002 - expat's call
        self._depth += 1
        self._length = 0
        if self._depth > MOST_DEPTH:
            self._refuse(f"elements are nested more than {MOST_DEPTH} levels deep")
        if len(attributes) > 2 * MOST_ATTRIBUTES:
            self._refuse(f"an element has more than {MOST_ATTRIBUTES:,} attributes")
        if attributes and max(map(len, attributes)) > self._max_text:
            self._refuse_length("an attribute")

    def _end(self, name: str) -> None:  # noqa: ARG002 - expat's call
        self._depth -= 1
        self._length = 0

    def _text(self, text: str) -> None:
        self._length += len(text)
        if self._length > self._max_text:
            self._refuse_length("one text")

    def _refuse_length(self, what: str) -> NoReturn:
        hint = "if the document is right, raise the limit: --option max_text=N (max_text=N in Python)"
        self._refuse(f"{what} has more than {self._max_text:,} characters", hint)

    def _comment(self, text: str) -> None:
        self._length = 0
        self._text(text)
        self._length = 0

    def _instruction(self, target: str, text: str) -> None:  # noqa: ARG002 - expat's call
        self._comment(text)


class DocumentOptions(SchematronOptions, extra="forbid", frozen=True):
    """Options of the schema, and limits of the engine."""

    document_folder: Path | None = Field(
        default=None,
        description="Folder inside which `documents` of a pattern may name further documents, relative to the working "
        "folder. Left out: such patterns are refused.",
    )

    max_text: int = Field(
        default=MEGABYTE,
        ge=1,
        description="Longest text, attribute or comment of the document, in characters (default 1,048,576).",
    )
    max_seconds: int | None = Field(
        default=None,
        ge=1,
        description="Longest time the engine may take. Left out: two minutes, and 12 seconds more for each MB.",
    )
    max_memory: int | None = Field(
        default=None,
        ge=256,
        description="Most memory the engine may take, in MB. Left out: 1,024 MB, and 40 bytes more for each byte.",
    )


SECONDS, SECONDS_A_MEGABYTE = 120, 12
MEMORY, MEMORY_A_BYTE = 1024 * MEGABYTE, 40
USUAL_MEMORY_A_BYTE = 25
PROGRESS_FROM = 10 * MEGABYTE


@dataclass(frozen=True)
class Limits:
    """Of the engine: seconds, and bytes of memory."""

    seconds: float
    memory: int

    @classmethod
    def of(cls, size: int, options: DocumentOptions) -> Limits:
        """Limits for a document of so many bytes."""
        seconds = options.max_seconds or SECONDS + SECONDS_A_MEGABYTE * size // MEGABYTE
        memory = MEMORY + MEMORY_A_BYTE * size if options.max_memory is None else options.max_memory * MEGABYTE
        return cls(seconds, memory)

    def notice(self, size: int, engine: str) -> str | None:
        """What a person should know before a large document is begun; None for a small one."""
        if size < PROGRESS_FROM:
            return None
        # Saxon counts the siblings before each violation for its location.
        time = ", and a time that grows with the violations times their siblings" if engine == "saxon" else ""
        return (
            f"{size / MEGABYTE:,.0f} MB are checked as a whole: the engine {engine} needs about "
            f"{size * USUAL_MEMORY_A_BYTE / 2**30:.1f} GB of memory{time}; it is stopped at "
            f"{self.memory / 2**30:.1f} GB (--option max_memory=MB) or after {self.seconds:,.0f} seconds "
            "(--option max_seconds=N)"
        )


FIRST_LOCATIONS = 10


@dataclass(frozen=True)
class TestOutcome:
    """Verdict of one assert or report.

    `violations`: nodes on which the assert failed, or the report's test was true. `fired`: nodes that its rule fired
    on. `first_locations`: XPaths of the first violating nodes, at most 10. `first_messages`: their messages, which
    carry values of the document; None unless they were wanted. `undecidable`: nodes on which the test cannot be
    evaluated, and why; they are among `violations`.
    """

    __test__ = False

    name: str
    kind: str
    checked_by: str
    severity: Severity
    violations: int
    fired: int
    first_locations: tuple[str, ...]
    first_messages: tuple[str, ...] | None = None
    undecidable: tuple[Undecidable, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Entry of ``validate --document --json``."""
        entry = {
            "name": self.name,
            "kind": self.kind,
            "severity": self.severity,
            "violations": self.violations,
            "fired": self.fired,
            "checked_by": self.checked_by,
            "first_locations": list(self.first_locations),
        }
        if self.undecidable:
            entry |= {"undecidable": [each.sentence() for each in self.undecidable]}
        return entry if self.first_messages is None else entry | {"first_messages": list(self.first_messages)}


@dataclass(frozen=True)
class DocumentOutcome:
    """What all asserts and reports of a schema said of a document.

    Attributes
    ----------
    edits : tuple of TestOutcome
        In the order of the schema.
    phase : str
        Whose patterns were checked; ``#ALL`` for every pattern.
    fired : int
        Nodes that rules fired on; a rule without tests fires too.
    notes : tuple of str
        What of the schema was left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("order.xml").write_text("<order><line/><line price='3'/></order>", encoding="utf-8")
    >>> _ = Path("order.sch").write_text('''
    ... <schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="line">
    ... <assert id="priced" test="@price">Every line has a price.</assert></rule></pattern></schema>
    ... ''', encoding="utf-8")
    >>> outcome = mw.validate_document("order.xml", "order.sch")
    >>> outcome.ok, outcome.counts, outcome.edits[0].first_locations
    (False, {'priced': 1}, ('/order/line[1]',))
    """

    edits: tuple[TestOutcome, ...]
    phase: str
    fired: int
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no assert failed, no report was true and all were decided, of those of severity ``error``."""
        return not any(edit.violations for edit in self.edits if edit.severity == "error")

    @property
    def counts(self) -> Mapping[str, int]:
        """Violations by name."""
        return {edit.name: edit.violations for edit in self.edits}

    def __repr__(self) -> str:
        """Return the counts only."""
        return f"DocumentOutcome(ok={self.ok}, violations={sum(self.counts.values())})"

    def _repr_html_(self) -> str:
        rows = [(each.name, each.kind, f"{each.fired:,}", f"{each.violations:,}") for each in self.edits]
        title = f"{'ok' if self.ok else 'not ok'}: {sum(self.counts.values()):,} violations"
        return block(title, table(("edit", "kind", "applied to", "violations"), rows, (2, 3)))

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``validate --document --json`` prints it."""
        return {
            "document": True,
            "ok": self.ok,
            "phase": self.phase,
            "violations": sum(self.counts.values()),
            "edits": [edit.to_json() for edit in self.edits],
        }
