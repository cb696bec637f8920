"""Writing of XML records as the original file was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Layout, Place, Problem, Variable
from maskwright_builtin.sources.files import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

NOT_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
# What is escaped, what XML forbids, and the first byte of U+FFFE and U+FFFF: a column without any is written as it is.
SPECIAL_BYTES = b"&<>\xef" + bytes(byte for byte in range(0x20) if byte not in b"\t\n")
LARGEST_JOIN = 1 << 27

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
}


def write_xml(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write batches of string columns as XML records, in UTF-8.

    Parameters
    ----------
    path : Path
    batches : iterable of pyarrow.RecordBatch
        Cell texts; null is written as no element, and as an empty one where the original was of another format.
    variables : tuple of Variable
        The columns, in order.
    layout : Layout
        Of the original file; one of another format gives root element Microdata and records Record.

    Raises
    ------
    DataError
        A name that no XML element can have, a character that XML cannot hold, or trouble with the disk.
    """
    form = DEFAULTS | dict(layout.details) if layout.format == "xml" else DEFAULTS
    tags = [form["tags"].get(variable.name) or _tag(path, variable.name) for variable in variables]
    absent = {variable.name for variable in variables} if layout.format == "xml" else set()
    markup = sum(2 * len(tag) + len(form["before_cell"]) + 5 for tag in tags)
    with writing(path) as file:
        file.write(_head(form).encode())
        for batch in batches:
            for part in _parts(batch, markup):
                text = _records(part, tags, absent, form)
                offsets = text.buffers()[1]
                start, stop = memoryview(offsets).cast("i")[0], memoryview(offsets).cast("i")[len(text)]
                file.write(memoryview(text.buffers()[2])[start:stop])
        file.write(_tail(form).encode())


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


def _head(form: Mapping[str, Any]) -> str:
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n' if form["has_declaration"] else ""
    return declaration + "".join(gap + tag for gap, tag in zip(form["gaps"], form["start_tags"], strict=True))


def _tail(form: Mapping[str, Any]) -> str:
    line = "\n" if "\n" in form["before_record"] else ""
    gaps = (line, *form["gaps"][1:])
    return "".join(f"{gap}</{tag}>" for gap, tag in reversed(list(zip(gaps, form["path"], strict=True)))) + "\n"


def _parts(batch: Any, markup: int) -> Iterator[Any]:
    """Pieces of a batch that are far from the two gigabytes that one array of text can hold."""
    if batch.nbytes + batch.num_rows * markup <= LARGEST_JOIN or batch.num_rows <= 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _parts(batch.slice(0, half), markup)
    yield from _parts(batch.slice(half), markup)


def _records(batch: Any, tags: list[str], absent: set[str], form: Mapping[str, Any]) -> Any:
    pieces: list[Any] = []
    literal = f"{form['before_record']}<{form['record']}>"
    for name, tag, column in zip(batch.schema.names, tags, batch.columns, strict=True):
        start, end, text = f"{form['before_cell']}<{tag}>", f"</{tag}>", _escaped(name, column)
        if column.null_count:
            nothing = pa.scalar(None if name in absent else f"{form['before_cell']}<{tag}></{tag}>", pa.string())
            cell = pc.binary_join_element_wise(start, text, end, "")
            pieces += [literal, pc.fill_null(pc.coalesce(cell, nothing), "")]
            literal = ""
        else:
            pieces += [literal + start, text]
            literal = end
    pieces.append(f"{literal}{form['after_cells']}</{form['record']}>")
    return pc.binary_join_element_wise(*pieces, "")


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
