"""Rule files as a tree of elements, read so that a hostile file can neither reach out nor blow up.

A rule file comes from somewhere else more often than a data file. One pass of expat builds the tree: a DOCTYPE is an
error (no entities, no external subsets, no attribute defaults), nothing is ever fetched, and size, depth, number of
elements and encodings are limited.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

from maskwright.foundation.errors import DataError, EditError, Place, Problem
from maskwright.foundation.files import note_read
from maskwright.foundation.xml_syntax import marked_encoding, xml_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from maskwright.edits.languages.schematron.options import SchematronOptions

XML = "http://www.w3.org/XML/1998/namespace"
RAISE_LIMIT = "raise the limit (max_file_size, max_elements, max_depth) if the file is what it should be"
ENCODINGS = frozenset({"utf-8", "utf8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "latin1", "us-ascii", "ascii"})


@dataclass(frozen=True, eq=False)
class Element:
    """One element of a rule file.

    `namespace`, `name`: namespace URI ("" when none) and local name. `foreign_attributes`: local names of attributes in
    a namespace, except ``xml:``. `line`: 1-based line of the start tag. `file`: the file it stands in. `content`: text
    and child elements in document order. `is_copy`: whether it was written out from an abstract rule or pattern: its id
    may then occur again. `qualified`: attributes in a namespace, with ``xml:``. `prefixes`: namespaces declared at the
    element or around it. `language`: ``xml:lang`` of it, or of the nearest element around it.
    """

    namespace: str
    name: str
    attributes: dict[str, str]
    foreign_attributes: tuple[str, ...]
    line: int
    file: str = ""
    content: list[str | Element] = field(default_factory=list)
    is_copy: bool = False
    qualified: dict[tuple[str, str], str] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    language: str | None = None

    def __iter__(self) -> Iterator[Element]:
        return (part for part in self.content if isinstance(part, Element))

    @property
    def place(self) -> Place:
        """File and line."""
        return Place(self.file, self.line)

    @property
    def is_abstract(self) -> bool:
        """Whether it states that it is abstract."""
        return self.attributes.get("abstract", "false").strip() == "true"

    def named(self, name: str) -> list[Element]:
        """Children of a name in its own namespace."""
        return [child for child in self if child.name == name and child.namespace == self.namespace]


def descendants(element: Element) -> Iterator[Element]:
    """Yield an element and all in it."""
    yield element
    for child in element:
        yield from descendants(child)


def refuse(element: Element, message: str, hint: str | None = None) -> NoReturn:
    """Raise what is wrong with an element."""
    raise EditError(Problem(message, element.place, hint))


class HardenedParser:
    """Expat on one file that may be hostile: a DOCTYPE and encodings that are not known are refused.

    `error`: raised for what is wrong with the file.
    """

    def __init__(self, path: Path, error: type[DataError | EditError], separator: str | None = None) -> None:
        self._path, self._error = path, error
        self._encoding: str | None = None
        self._parser = expat.ParserCreate(namespace_separator=separator)
        self._parser.buffer_text = True
        self._parser.XmlDeclHandler = self._declaration
        self._parser.StartDoctypeDeclHandler = self._doctype

    def _refuse(self, message: str, hint: str | None = None) -> NoReturn:
        raise self._error(Problem(message, Place(str(self._path), self._parser.CurrentLineNumber), hint))

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:  # noqa: ARG002 - expat's call
        if encoding is not None and encoding.lower() not in ENCODINGS:
            self._refuse(f"the encoding {encoding!r} is not read", "save the file as UTF-8")
        self._encoding = encoding

    def _doctype(self, name: str, *_: object) -> None:
        self._refuse(
            f"a DOCTYPE ({name}) is refused: it can define entities that reach other files",
            "remove the <!DOCTYPE ...> and write the entities' text in place",
        )


def read_document(path: Path, options: SchematronOptions) -> Element:
    """Read a rule file.

    `path`: an XML file in UTF-8, UTF-16, ISO-8859-1 or ASCII, without a DOCTYPE.
    """
    note_read(path)
    return _Builder(path, options).read()


class _Builder(HardenedParser):
    def __init__(self, path: Path, options: SchematronOptions) -> None:
        super().__init__(path, EditError, " ")
        self._options = options
        self._open: list[Element] = []
        self._root: Element | None = None
        self._count = 0
        self._declared: dict[str, str] = {}
        self._parser.StartElementHandler = self._start
        self._parser.StartNamespaceDeclHandler = self._namespace
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def read(self) -> Element:
        content = self._bytes()
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            place = Place(str(self._path), error.lineno, error.offset + 1)
            encoding = self._encoding or marked_encoding(content)
            problem = xml_problem(error, place, content, self._parser.ErrorByteIndex, encoding)
            if self._open and error.code in _TRUNCATED:
                problem = replace(problem, hint="the file ends too early: was it copied whole?")
            raise EditError(problem) from None
        except (LookupError, UnicodeError, ValueError) as error:
            raise EditError(Problem(f"the text cannot be decoded: {error}", Place(str(self._path)))) from None
        if self._root is None:
            raise EditError(Problem("expected a Schematron schema, found no element", Place(str(self._path))))
        return self._root

    def _bytes(self) -> bytes:
        place = Place(str(self._path))
        try:
            with self._path.open("rb") as file:
                content = file.read(self._options.max_file_size + 1)
        except FileNotFoundError:
            raise EditError(Problem("there is no such rule file", place)) from None
        except OSError as error:
            raise EditError(Problem(f"the rule file cannot be read: {error.strerror}", place)) from None
        if len(content) > self._options.max_file_size:
            megabytes = self._options.max_file_size / 2**20
            raise EditError(Problem(f"a rule file of over {megabytes:g} MB is not read", place, RAISE_LIMIT))
        if not content.strip():
            raise EditError(Problem("the rule file is empty; expected a Schematron schema", place))
        return content

    def _namespace(self, prefix: str | None, uri: str | None) -> None:
        self._declared[prefix or ""] = uri or ""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > self._options.max_elements:
            self._refuse(f"more than {self._options.max_elements:,} elements", RAISE_LIMIT)
        if len(self._open) >= self._options.max_depth:
            self._refuse(f"elements are nested more than {self._options.max_depth} levels deep", RAISE_LIMIT)
        namespace, _, local = name.rpartition(" ")
        foreign = tuple(key.rpartition(" ")[2] for key in attributes if " " in key and not key.startswith(f"{XML} "))
        plain = {key: value for key, value in attributes.items() if " " not in key}
        around = self._open[-1].prefixes if self._open else {}
        language = self._open[-1].language if self._open else None
        element = Element(
            namespace, local, plain, foreign, self._parser.CurrentLineNumber, str(self._path),
            qualified={_qualified(key): value for key, value in attributes.items() if " " in key},
            prefixes={**around, **self._declared} if self._declared else around,
            language=attributes.get(f"{XML} lang", language),
        )  # fmt: skip
        self._declared = {}
        if self._open:
            self._open[-1].content.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, name: str) -> None:  # noqa: ARG002 - expat's call
        self._open.pop()

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].content.append(text)


def _qualified(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition(" ")
    return namespace, name


_TRUNCATED = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)
