"""Writing of flat and nested XML records in the form of the original file."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Layout, Place, Problem, Variable
from maskwright_builtin.sources.files import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


NOT_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
# What is escaped, what XML forbids, and the first byte of U+FFFE and U+FFFF: a column without any is written as it is.
SPECIAL_BYTES = b"&<>\xef" + bytes(byte for byte in range(0x20) if byte not in b"\t\n")
LARGEST_JOIN = 1 << 27
LATIN_1 = "iso-8859-1"
PLAIN_NUMBER = r"^-?[0-9]+(?:\.[0-9]+)?$"

DEFAULTS: dict[str, Any] = {
    "path": ("Microdata",),
    "start_tags": ("<Microdata>",),
    "gaps": ("",),
    "record": "Record",
    "before_record": "\n  ",
    "before_cell": "",
    "after_cells": "",
    "has_declaration": True,
    "tags": {},
    "attributes": {},
    "nil": {},
    "declarations": {},
    "encoding": "utf-8",
    "decimal": ".",
}


def write_xml(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write batches of string columns as XML records, in UTF-8 or, where the original is, in ISO-8859-1."""
    level = _Level(path, variables, layout, form_of_layout(layout))
    encoding = encoding_of(level.form, level.tags)

    def texts() -> Iterator[bytes | memoryview]:
        for batch in _one_ahead(batches):
            for part in parts(batch, level.markup):
                text = level.texts(part)
                first, last = (memoryview(text.buffers()[1]).cast("i")[at] for at in (0, len(text)))
                yield encoded(memoryview(text.buffers()[2])[first:last], encoding)

    with writing(path) as file:
        file.write(head(level.form, encoding).encode(encoding))
        for text in _one_ahead(texts()):
            file.write(text)
        file.write(tail(level.form).encode(encoding))


def refuse_unwritable(path: Path, variables: tuple[Variable, ...], layout: Layout) -> None:
    """Refuse names that elements and attributes cannot have; as `Source.refuse_unwritable`."""
    _Level(path, variables, layout, form_of_layout(layout))


def _one_ahead(made_in_turn: Iterable[Any]) -> Iterator[Any]:
    """The same, each of which is made while something is done with the one before it."""
    coming, context = iter(made_in_turn), copy_context()

    def made() -> Any:
        return next(coming, None)

    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(context.run, made)
        while (batch := following.result()) is not None:
            following = thread.submit(context.run, made)
            yield batch


def form_of_layout(layout: Layout) -> Mapping[str, Any]:
    """How records are written: as the original says, where it is XML."""
    return DEFAULTS | dict(layout.details) if layout.format == "xml" else DEFAULTS


def _tag(path: Path, name: str) -> str:
    """Name of a variable as an element's name, if the parser that reads it back takes it for one."""
    started: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, _: started.append(tag)
    try:
        parser.Parse(f"<{name}/>".encode(), True)
    except expat.ExpatError:
        started.clear()
    if started != [name] or ":" in name:
        hint = "Rename the variable: a letter or underscore first, then letters, digits, '.', '-' and '_'."
        raise DataError(Problem(f"{name!r} cannot be the name of an XML element", Place(str(path)), hint))
    return name


def encoding_of(form: Mapping[str, Any], tags: Iterable[str]) -> str:
    """Encoding of the file: ISO-8859-1 where the original is and it has all names, which no reference can stand for."""
    markup = "".join((form["record"], *form["start_tags"], *tags))
    return LATIN_1 if form["encoding"] == LATIN_1 and max(markup) <= "\xff" else "utf-8"


def encoded(text: memoryview, encoding: str) -> bytes | memoryview:
    """UTF-8 text in the encoding of the file."""
    return text if encoding == "utf-8" else str(text, "utf-8").encode(encoding, "xmlcharrefreplace")


def with_commas(form: Mapping[str, Any], variables: Iterable[Variable]) -> Callable[[Any], Any]:
    """What writes the numbers of a batch with the decimal mark of the original; missing codes stay what they are."""
    numeric = [each.name for each in variables if each.is_numeric] if form["decimal"] == "," else []

    def written(batch: Any) -> Any:
        for name in numeric:
            cells = batch.column(name)
            numbers = pc.replace_substring(cells, ".", ",")
            cells = pc.if_else(pc.match_substring_regex(cells, PLAIN_NUMBER), numbers, cells)
            batch = batch.set_column(batch.schema.get_field_index(name), name, cells)
        return batch

    return written


def head(form: Mapping[str, Any], encoding: str) -> str:
    """Text before the records."""
    declaration = f'<?xml version="1.0" encoding="{encoding.upper()}"?>\n' if form["has_declaration"] else ""
    return declaration + "".join(gap + tag for gap, tag in zip(form["gaps"], form["start_tags"], strict=True))


def tail(form: Mapping[str, Any]) -> str:
    """Text after the records."""
    line = "\n" if "\n" in form["before_record"] else ""
    gaps = (line, *form["gaps"][1:])
    return "".join(f"{gap}</{tag}>" for gap, tag in reversed(list(zip(gaps, form["path"], strict=True)))) + "\n"


def parts(batch: Any, markup: int) -> Iterator[Any]:
    """Pieces of a batch that are far from the two gigabytes that one array of text can hold."""
    if batch.nbytes + batch.num_rows * markup <= LARGEST_JOIN or batch.num_rows <= 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from parts(batch.slice(0, half), markup)
    yield from parts(batch.slice(half), markup)


def _escaped(name: str, column: Any) -> Any:
    buffer = column.buffers()[2]
    raw = buffer.to_pybytes() if buffer is not None else b""
    if len(raw.translate(None, SPECIAL_BYTES)) == len(raw):
        return column
    if pc.any(pc.match_substring_regex(column, NOT_XML)).as_py():
        raise DataError(f"variable {name!r} has cells with control characters, which XML cannot hold")
    for character, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        column = pc.replace_substring(column, character, reference)
    return column


def write_nested(
    path: Path,
    tables: Mapping[str, Iterable[Any]],
    variables: Mapping[str, tuple[Variable, ...]],
    groups: Mapping[str, NDArray[np.int64]],
    layouts: Mapping[str, Layout],
) -> None:
    """Write records of levels as XML, those of each inside those of the one before it.

    `groups`: of each level but the top, the position of each record's group, ascending; shape (n,).
    """
    levels = [
        _Level(path, variables[name], layouts[name], _form_at(depth, layouts[name], is_lowest=depth == len(tables) - 1))
        for depth, name in enumerate(tables)
    ]
    encoding = encoding_of(levels[0].form, [tag for level in levels for tag in level.tags])
    names = list(tables)
    texts = _texts_of(levels[-1], tables[names[-1]])
    for level, (name, below) in zip(reversed(levels[:-1]), reversed(list(pairwise(names))), strict=True):
        before = _cells_before(level, layouts[name], layouts[below])
        texts = _with_members(level, tables[name], before, groups[below], _Texts(texts))
    with writing(path) as file:
        file.write(head(levels[0].form, encoding).encode(encoding))
        for records in texts:
            offsets = memoryview(records.buffers()[1]).cast("q")
            file.write(encoded(memoryview(records.buffers()[2])[offsets[0] : offsets[len(records)]], encoding))
        file.write(tail(levels[0].form).encode(encoding))


def _cells_before(level: _Level, layout: Layout, of_members: Layout) -> int:
    """Elements of a record before its members, which stand where they stood.

    The element just before them may be one that is not published.
    """
    if layout.format != "xml":
        return len(level.elements)
    follow = of_members.details.get("follow", ())
    return max((place for place, each in enumerate(level.elements, 1) if each.name in follow), default=0)


def _texts_of(level: _Level, batches: Iterable[Any]) -> Iterator[Any]:
    """Texts of records without members."""
    for batch in batches:
        for part in parts(batch, level.markup):
            yield level.texts(part)


def _form_at(depth: int, layout: Layout, *, is_lowest: bool) -> Mapping[str, Any]:
    """How records of a level are written; where the original is no XML, each level is indented by two blanks more."""
    form = form_of_layout(layout)
    if layout.format == "xml":
        return form
    indent = "\n" + "  " * (depth + 1)
    own = {} if depth == 0 else {"record": "Member" if is_lowest else f"Member{depth}", "before_record": indent}
    return {**form, **own, **({} if is_lowest else {"after_cells": indent})}


def _with_members(
    level: _Level, batches: Iterable[Any], before: int, groups: NDArray[np.int64], members: _Texts
) -> Iterator[Any]:
    """Texts of records with their members in them, behind the first cells of each."""
    done = written = 0
    for batch in batches:
        for part in parts(batch, level.markup):
            starts = np.searchsorted(groups, np.arange(done, done + len(part) + 1))
            around = level.texts(part, slice(before), stop=""), level.texts(part, slice(before, None), "")
            yield _joined(*around, members.next(int(starts[-1]) - written), np.diff(starts))
            done, written = done + len(part), int(starts[-1])


@dataclass
class _Element:
    """An element of records: its variable, its tag, namespaces that it declares, its attributes, and the mark of nil.

    `attributes`: variables and tags.
    """

    name: str
    tag: str
    declared: str = ""
    attributes: list[tuple[str, str]] = field(default_factory=list)
    nil: str | None = None


class _Level:
    """Records of one level as XML: the elements of each record, and the markup around them."""

    def __init__(self, path: Path, variables: Sequence[Variable], layout: Layout, form: Mapping[str, Any]) -> None:
        self.form = form
        names = [variable.name for variable in variables]
        of = {name: form["attributes"].get(name, _owner(name)) for name in names}
        self.elements = [
            _Element(name, tag, form["declarations"].get(name, ""), [], form["nil"].get(name))
            for name in names
            if of[name] is None
            for tag in (form["tags"].get(name) or _tag(path, name),)
        ]
        self._record = _Element("", form["record"], form["declarations"].get("", ""))
        owners = {element.name: element for element in (self._record, *self.elements)}
        for name in names:
            owner = of[name]
            if owner is None:
                continue
            tag = form["tags"][name] if name in form["tags"] else _tag(path, name.rpartition("@")[2])
            if owner not in owners:
                hint = f"Publish {owner!r} too, or leave {name!r} out."
                raise DataError(
                    Problem(f"{name!r} is an attribute of an element that is not written", Place(str(path)), hint)
                )
            owners[owner].attributes.append((name, tag))
        self.tags = [tag for each in owners.values() for tag in (each.tag, *(tag for _, tag in each.attributes))]
        self.markup = sum(2 * len(tag) + len(form["before_cell"]) + 5 for tag in self.tags)
        self._null_is_absent = layout.format == "xml"
        self._with_commas = with_commas(form, variables)

    def texts(self, batch: Any, columns: slice = slice(None), start: str | None = None, stop: str | None = None) -> Any:
        """Text of each record, or of some of its elements between other markup; shape (n,)."""
        batch = self._with_commas(batch)
        pieces: list[Any] = [start] if start is not None else self._start_tag(batch)
        for element in self.elements[columns]:
            pieces += self._cell(batch, element)
        pieces.append(f"{self.form['after_cells']}</{self.form['record']}>" if stop is None else stop)
        joined: list[Any] = []
        for piece in pieces:
            if isinstance(piece, str) and joined and isinstance(joined[-1], str):
                joined[-1] += piece
            else:
                joined.append(piece)
        if len(joined) == 1:
            return pa.repeat(joined[0], batch.num_rows)
        return pc.binary_join_element_wise(*joined, "")

    def _start_tag(self, batch: Any) -> list[Any]:
        record = self._record
        attributes = [_attribute(batch, name, tag) for name, tag in record.attributes]
        return [f"{self.form['before_record']}<{record.tag}{record.declared}", *attributes, ">"]

    def _cell(self, batch: Any, element: _Element) -> list[Any]:
        """Pieces of the text of an element."""
        column = batch.column(element.name)
        opening, end = f"{self.form['before_cell']}<{element.tag}{element.declared}", f"</{element.tag}>"
        text = _escaped(element.name, column)
        attributes = [_attribute(batch, name, tag) for name, tag in element.attributes]
        if element.nil is not None:
            attributes.append(_where(pc.equal(column, ""), f' {element.nil}="true"'))
        if not column.null_count:
            return [opening, *attributes, ">", text, end]
        if attributes or not self._null_is_absent:
            cell = pc.binary_join_element_wise(opening, *attributes, ">", pc.fill_null(text, ""), end, "")
        else:
            cell = pc.binary_join_element_wise(opening, ">", text, end, "")
        if self._null_is_absent:
            # An attribute is not lost where the element that it is of has no text: it then stands on an empty one.
            there = pc.is_valid(column)
            for name, _ in element.attributes:
                there = pc.or_(there, pc.is_valid(batch.column(name)))
            cell = pc.if_else(there, cell, "")
        return [pc.fill_null(cell, "")]


ATTRIBUTE_NAME = re.compile(r"(?:(.+)/)?@[^@/]+")


def _owner(name: str) -> str | None:
    """Variable whose element an attribute is of, by its name; "": the record. None: it is no attribute."""
    found = ATTRIBUTE_NAME.fullmatch(name)
    return None if found is None else found[1] or ""


def _where(condition: Any, text: str) -> Any:
    return pc.if_else(pc.fill_null(condition, False), text, "")


def _attribute(batch: Any, name: str, tag: str) -> Any:
    """Text of an attribute; nothing where there is no value."""
    text = _escaped(name, batch.column(name))
    for character, reference in (('"', "&quot;"), ("\n", "&#10;"), ("\t", "&#9;")):
        text = pc.replace_substring(text, character, reference)
    return pc.fill_null(pc.binary_join_element_wise(f' {tag}="', text, '"', ""), "")


class _Texts:
    """Texts of the records of a level, handed out by number."""

    def __init__(self, texts: Iterator[Any]) -> None:
        self._texts = texts
        self._rest = pa.array([], pa.large_string())

    def next(self, count: int) -> Any:
        """Texts of the next records."""
        found = [self._rest]
        held = len(self._rest)
        while held < count:
            found.append(pc.cast(next(self._texts), pa.large_string()))
            held += len(found[-1])
        whole = pa.concat_arrays(found)
        self._rest = whole.slice(count)
        return whole.slice(0, count)


def _joined(before: Any, after: Any, members: Any, sizes: NDArray[np.int64]) -> Any:
    """Texts of records: their members between the two texts of each."""
    n = len(sizes)
    ends = np.cumsum(sizes + 2)
    order = np.full(int(ends[-1]) if n else 0, -1, dtype=np.int64)
    order[ends - 1] = n + np.arange(n)
    order[ends - sizes - 2] = np.arange(n)
    order[order < 0] = 2 * n + np.arange(len(members))
    pieces = pa.concat_arrays([pc.cast(each, pa.large_string()) for each in (before, after, members)])
    text = pieces.take(pa.array(order))
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    bounds = pa.py_buffer(np.ascontiguousarray(offsets[np.concatenate(([0], ends))]))
    return pa.Array.from_buffers(pa.large_string(), n, [None, bounds, text.buffers()[2]])
