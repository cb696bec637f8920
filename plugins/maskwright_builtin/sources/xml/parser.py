"""A secure streaming XML parser, and the opening of an XML data file."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

from maskwright import DataError, NoRecords, Place, Problem, marked_encoding, xml_problem
from maskwright_builtin.sources.files import BLOCK, reading

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright_builtin.sources.xml.options import XmlParams


# Expat itself expands nothing here: any document type is refused before its first declaration is read.


WHITE_SPACE = " \t\r\n"
ENCODINGS = frozenset({"utf-8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "us-ascii", "ascii"})
ByteProgress = Callable[[int], None]
"""Called with the number of bytes of the file that are done."""

ENDS_EARLY = frozenset({expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS],
                        expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
                        expat.errors.codes[expat.errors.XML_ERROR_PARTIAL_CHAR],
                        expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION]})  # fmt: skip


@dataclass(frozen=True)
class Name:
    """Name of an element or attribute: what people call it, how the file writes it, and its namespace.

    `of`: element that an attribute is of; None: of the record.
    """

    local: str
    tag: str = field(compare=False)
    uri: str = ""
    is_attribute: bool = False
    of: Name | None = None

    @property
    def key(self) -> str:
        """Text that no other name has."""
        own = f"{self.uri} {self.local}"
        return own if not self.is_attribute else f"{'' if self.of is None else self.of.key} @{own}"

    @property
    def prefix(self) -> str:
        """Prefix of the tag; "" where it has none."""
        return self.tag.rpartition(":")[0]


def element_name(expanded: str) -> Name:
    """Name of an element as the parser reports it: ``[namespace ]local[ prefix]``."""
    parts = expanded.split(" ")
    if len(parts) == 3:
        return Name(parts[1], f"{parts[2]}:{parts[1]}", parts[0])
    return Name(parts[-1], parts[-1], parts[0] if len(parts) == 2 else "")


def variable_names(columns: Sequence[Name]) -> list[str]:
    """Names of variables: local ones, and as the file writes them where namespaces share one; ``@`` for attributes."""
    shared = Counter(column.local for column in columns if not column.is_attribute)
    names: dict[Name, str] = {}
    taken: set[str] = set()
    for column in sorted(columns, key=lambda each: each.is_attribute):
        if column.is_attribute:
            stem = f"@{column.tag}" if column.of is None else f"{names[column.of]}/@{column.tag}"
        else:
            stem = column.tag if shared[column.local] > 1 else column.local
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}.{number}"
        taken.add(name)
        names[column] = name
    return [names[column] for column in columns]


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
        """Parse the file, pausing after each block; `progress` takes the bytes fed."""
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


START_TAG = re.compile(r"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>""")
LONGEST_TAG = 1 << 20
LONGEST_GAP = 200


@dataclass(frozen=True)
class Opening:
    """What the beginning of a file shows of its form; no text of a record.

    `path`: elements around the records, outermost first, with `start_tags` as written and `gaps` before them. `cells`:
    of the first record. `first_byte`: where that starts. `is_plain`: nothing but the path comes before it. `encoding`:
    declared (lower case), or implied by the first bytes. `namespaces`: by prefix, as the path declares them.
    """

    path: tuple[Name, ...]
    start_tags: tuple[str, ...]
    gaps: tuple[str, ...]
    record: Name
    cells: tuple[Name, ...]
    before_record: str
    before_cell: str
    after_cells: str
    first_byte: int
    is_plain: bool
    encoding: str
    has_declaration: bool
    namespaces: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Opened:
    """An element around the records: its name, where it starts, the text before it, and the namespaces it declares."""

    name: Name
    byte: int
    gap: str
    declared: Mapping[str, str]


@dataclass
class _Shape:
    """Form of one element that may turn out to be the record."""

    name: Name
    path: tuple[_Opened, ...]
    first_byte: int
    before: str
    is_plain: bool
    cells: list[Name] = field(default_factory=list)
    before_cell: str = ""
    after_cells: str = ""


class _Search:
    """Handlers that watch a file until its record element is known."""

    def __init__(self, guarded: GuardedParser) -> None:
        self.guarded = guarded
        self.wanted = guarded.params.record
        self.open: list[_Opened] = []
        self.declared: dict[str, str] = {}
        self.within: _Shape | None = None
        self.within_depth = 0
        self.shapes: dict[Name, _Shape] = {}
        self.other_names: dict[str, None] = {}
        self.holding: dict[str, None] = {}
        self.gap = ""
        self.left_something = False
        self.found: _Shape | None = None
        self.root: Name | None = None
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end
        guarded.expat.CharacterDataHandler = self.text
        guarded.expat.StartNamespaceDeclHandler = self.namespace

    def namespace(self, prefix: str | None, uri: str | None) -> None:
        self.declared[prefix or ""] = uri or ""

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        del attributes
        if self.found is not None:
            return
        name = element_name(expanded)
        declared, self.declared = self.declared, {}
        depth = len(self.open) + self.within_depth + 1
        self.guarded.check_depth(depth)
        gap, self.gap = self.gap, ""
        if self.root is None:
            self.root = name
        if self.within is not None:
            if self.within_depth == 1:
                if not self.within.cells:
                    self.within.before_cell = gap
                self.within.cells.append(name)
            self.within_depth += 1
        elif self._is_candidate(name):
            self._enter(name, gap)
        else:
            self.other_names[name.local] = None
            if len(self.open) > 1:
                self.holding[self.open[-1].name.local] = None
            self.open.append(_Opened(name, self.guarded.expat.CurrentByteIndex, gap, declared))

    def _is_candidate(self, name: Name) -> bool:
        if self.wanted is None:
            return len(self.open) == 1
        return len(self.open) >= 1 and self.wanted in (name.local, name.tag)

    def _enter(self, name: Name, gap: str) -> None:
        if name in self.shapes:
            self.found = self.shapes[name]
            return
        is_plain = not self.shapes and not self.left_something
        byte = self.guarded.expat.CurrentByteIndex
        self.within = self.shapes[name] = _Shape(name, tuple(self.open), byte, gap, is_plain)
        self.within_depth = 1

    def end(self, expanded: str) -> None:
        del expanded
        if self.found is not None:
            return
        gap, self.gap = self.gap, ""
        if self.within is None:
            self.open.pop()
            self.left_something = True
            return
        self.within_depth -= 1
        if self.within_depth == 0:
            self.within.after_cells = gap if self.within.cells else ""
            if self.wanted is not None:
                self.found = self.within
            self.within = None

    def text(self, data: str) -> None:
        if self.within is None and data.strip(WHITE_SPACE):
            self.left_something = True
        self.gap += data[: max(0, LONGEST_GAP - len(self.gap))]


def find_opening(path: Path, params: XmlParams) -> Opening:
    """Read a file until its record element is known: its first record, or two siblings of one name."""
    guarded = GuardedParser(path, params)
    search = _Search(guarded)
    for _ in guarded.feed(_no_progress, block=1 << 16):
        if search.found is not None:
            break
    shape = search.found if search.found is not None else _only_child(path, search)
    with reading(path) as file:
        start = file.read(4)
        encoding = _implied_encoding(start, guarded.encoding)
        tags = []
        for each in shape.path:
            file.seek(each.byte)
            tags.append(_start_tag(file.read(LONGEST_TAG), encoding, path, each.name))
    return Opening(
        path=tuple(each.name for each in shape.path),
        start_tags=tuple(tags),
        gaps=("", *(white_gap(each.gap) for each in shape.path[1:])),
        record=shape.name,
        cells=tuple(shape.cells),
        before_record=white_gap(shape.before),
        before_cell=white_gap(shape.before_cell),
        after_cells=white_gap(shape.after_cells),
        first_byte=shape.first_byte,
        is_plain=shape.is_plain,
        encoding=encoding,
        has_declaration=guarded.has_declaration,
        namespaces={prefix: uri for each in shape.path for prefix, uri in each.declared.items()},
    )


def _no_progress(fed: int) -> None:
    """No one waits for the opening."""
    del fed


def _only_child(path: Path, search: _Search) -> _Shape:
    place = Place(str(path))
    if search.wanted is not None:
        there = sorted(search.other_names)
        if search.root is not None and there == [search.root.local]:
            raise NoRecords(Problem(f"the root element {search.root.local!r} has no records in it", place))
        records = sorted(search.holding)
        others = [name for name in there if name not in search.holding]
        hint = f"The elements there are: {_listed([*(f'{name} (with elements in it)' for name in records), *others])}."
        if search.root is not None and search.wanted in (search.root.local, search.root.tag):
            raise DataError(Problem(f"{search.wanted!r} is the root element, around all records", place, hint))
        near = difflib.get_close_matches(search.wanted.lower(), [name.lower() for name in there], n=1)
        if near:
            nearest = next(name for name in there if name.lower() == near[0])
            hint = f"Did you mean {nearest!r}? {hint}"
        raise DataError(Problem(f"no record element called {search.wanted!r} in the file", place, hint))
    if not search.shapes:
        root = search.root.local if search.root is not None else ""
        raise NoRecords(Problem(f"the root element {root!r} has no records in it", place))
    if len(search.shapes) > 1:
        names = _listed(sorted(name.local for name in search.shapes))
        hint = "Name the one that is a record: `record: NAME` in the pipeline's data section, or --record NAME."
        raise DataError(Problem(f"no element of the root is repeated, and there are several: {names}", place, hint))
    return next(iter(search.shapes.values()))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")


def _implied_encoding(start: bytes, declared: str | None) -> str:
    if start.startswith(b"\xff\xfe"):
        return "utf-16-le"
    if start.startswith(b"\xfe\xff"):
        return "utf-16-be"
    return declared or "utf-8"


def _start_tag(raw: bytes, encoding: str, path: Path, name: Name) -> str:
    found = START_TAG.match(raw.decode(encoding, errors="ignore"))
    if found is None:
        raise DataError(Problem(f"the start tag of {name.tag!r} is longer than {LONGEST_TAG} bytes", Place(str(path))))
    return found.group()


def white_gap(gap: str) -> str:
    """White space between tags; nothing where there is text, or no end of it."""
    return "" if gap.strip(WHITE_SPACE) or len(gap) >= LONGEST_GAP else gap
