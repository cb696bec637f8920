"""Records as an XML document, for engines: how a file writes them, or as rules look for them in a table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pyarrow.compute as pc

from maskwright.edits.element_names import NIL, ElementNaming, local
from maskwright.foundation.errors import EditError
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.engines.engine_tests import EngineTest


NOT_XML = "[\\x{00}-\\x{08}\\x{0B}\\x{0C}\\x{0E}-\\x{1F}\\x{FFFE}\\x{FFFF}]"


@dataclass(frozen=True)
class RecordForm:
    """How records are written around their cells.

    `path`: tags from the root to the record. `start_tags`, `gaps`: start tags of all but the record, and the white
    space before each. `tags`: where it differs from the variable's name. `is_whole`: the file holds nothing but these
    records; False: the file has other elements, which are not data. `attributes`: variables that are attributes, and
    whose ("": the record's). `nil`: variables that are marked as nil where they are empty, and how. `declarations`:
    namespaces that elements declare ("": the record). `expanded`, `expanded_path`: names with their namespaces.
    """

    path: tuple[str, ...]
    start_tags: tuple[str, ...]
    gaps: tuple[str, ...]
    before_record: str = ""
    before_cell: str = ""
    after_cells: str = ""
    tags: Mapping[str, str] | None = None
    is_whole: bool = True
    attributes: Mapping[str, str] = field(default_factory=dict)
    nil: Mapping[str, str] = field(default_factory=dict)
    declarations: Mapping[str, str] = field(default_factory=dict)
    expanded: Mapping[str, str] = field(default_factory=dict)
    expanded_path: tuple[str, ...] = ()

    @classmethod
    def plain(cls, path: Sequence[str]) -> RecordForm:
        """Without white space and attributes."""
        return cls(tuple(path), tuple(f"<{tag}>" for tag in path[:-1]), ("",) * (len(path) - 1))

    @classmethod
    def of_layout(cls, details: Mapping[str, Any]) -> RecordForm | None:
        """Form of an XML file, as its source describes it; None for other files."""
        if "record_path" not in details:
            return None
        plain = cls.plain(details["record_path"])
        return cls(
            plain.path,
            tuple(details.get("start_tags", plain.start_tags)),
            tuple(details.get("gaps", plain.gaps)),
            details.get("before_record", ""),
            details.get("before_cell", ""),
            details.get("after_cells", ""),
            details.get("tags"),
            not details.get("notes"),
            details.get("attributes", {}),
            details.get("nil", {}),
            details.get("declarations", {}),
            details.get("expanded", {}),
            tuple(details.get("expanded_path", ())),
        )

    @classmethod
    def of_table(cls, path: Sequence[str], tests: Sequence[EngineTest], columns: Sequence[str]) -> RecordForm:
        """Form of a table: elements are in the namespaces in which the tests of a pattern look for them."""
        namespaces = dict(tests[0].pattern.namespaces)
        naming = ElementNaming(namespaces)
        named = [name for test in tests for name in test.names if ":" in name and "@" not in name]
        tags = {local(name): name for name in named if local(name) in columns}
        attributes = {name: name.rpartition("@")[0].removesuffix("/") for name in columns if "@" in name}
        plain = cls.plain(path)
        spaces = "".join(f" xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in namespaces.items())
        return replace(
            plain,
            start_tags=(f"{plain.start_tags[0][:-1]}{spaces}>", *plain.start_tags[1:]),
            tags=tags | {name: name.rpartition("@")[2] for name in attributes},
            attributes=attributes,
            expanded={name: naming.expanded(tag) or tag for name, tag in tags.items()},
            expanded_path=tuple(naming.expanded(step) or step for step in plain.path),
        )

    def called(self, name: str) -> str:
        """Tag of a variable's element or attribute."""
        return (self.tags or {}).get(name, name)

    def known(self, columns: Sequence[str]) -> set[str]:
        """Expanded names of all elements and attributes that there are."""
        found = {f"@{NIL}"} if self.nil else set[str]()
        for name in columns:
            element, sign, attribute = self.expanded.get(name, name).partition("@")
            found |= {element.removesuffix("/"), sign + attribute}
        return {*found, *(self.expanded_path or self.path)}


def document_of(columns: RecordChunk, form: RecordForm, start: int = 0, stop: int | None = None) -> str:
    """XML text of the records start..stop of a chunk."""
    n = (columns.n if stop is None else min(stop, columns.n)) - start
    texts = {name: _texts(columns, name, start, n) for name in columns.names}
    of_record = _attributes(texts, form, "")
    pieces: list[Any] = [f"{form.before_record}<{form.path[-1]}{form.declarations.get('', '')}", *of_record, ">"]
    pieces += [_cell(name, texts, form) for name in columns.names if name not in form.attributes]
    pieces.append(f"{form.after_cells}</{form.path[-1]}>")
    is_constant = all(isinstance(piece, str) for piece in pieces)
    records = pa.repeat("".join(pieces), n) if is_constant else pc.binary_join_element_wise(*pieces, "")
    opening = "".join(gap + tag for gap, tag in zip(form.gaps, form.start_tags, strict=True))
    line = "\n" if "\n" in form.before_record else ""
    gaps = (line, *form.gaps[1:])
    closing = "".join(f"{gap}</{tag}>" for gap, tag in reversed(list(zip(gaps, form.path[:-1], strict=True))))
    return opening + "".join(records.to_pylist()) + closing


def _texts(columns: RecordChunk, name: str, start: int, n: int) -> Any:
    """Texts of a variable's cells; null where there is none."""
    cells = columns[name]
    texts = cells.text()
    flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    found = pc.cast(flat.slice(start, n), pa.string())
    if not found.null_count:
        return found
    # What is missing may be an element without a text, or a code.
    nothing = texts if cells.nothing is None else cells.nothing()
    nothing = nothing.combine_chunks() if isinstance(nothing, pa.ChunkedArray) else nothing
    return pc.coalesce(found, pc.cast(nothing.slice(start, n), pa.string()))


def _cell(name: str, texts: Mapping[str, Any], form: RecordForm) -> Any:
    """Elements of a variable; an attribute may stand on one that has no text."""
    tag = form.called(name)
    if re.fullmatch(rf"(?:{NCNAME}:)?{NCNAME}", tag) is None:
        hint = "rules that an engine checks see the records as XML: rename the variable"
        raise EditError(f"{name!r} cannot be the name of an XML element; {hint}")
    own = _attributes(texts, form, name)
    if name in form.nil:
        own.append(pc.if_else(pc.fill_null(pc.equal(texts[name], ""), False), f' {form.nil[name]}="true"', ""))
    opening = (f"{form.before_cell}<{tag}{form.declarations.get(name, '')}", *own, ">")
    cells = _escaped(name, texts[name])
    there = pc.is_valid(cells)
    for each, owner in form.attributes.items():
        if owner == name and each in texts:
            there = pc.or_(there, pc.is_valid(texts[each]))
    return pc.if_else(there, pc.binary_join_element_wise(*opening, pc.fill_null(cells, ""), f"</{tag}>", ""), "")


def _attributes(texts: Mapping[str, Any], form: RecordForm, element: str) -> list[Any]:
    """Attributes of a variable's element; "": of the record."""
    found: list[Any] = []
    for name, owner in form.attributes.items():
        if owner == element and name in texts:
            written = _escaped(name, texts[name])
            for character, reference in (('"', "&quot;"), ("\n", "&#10;"), ("\t", "&#9;")):
                written = pc.replace_substring(written, character, reference)
            found.append(pc.fill_null(pc.binary_join_element_wise(f' {form.called(name)}="', written, '"', ""), ""))
    return found


def _escaped(name: str, texts: Any) -> Any:
    if pc.any(pc.match_substring_regex(texts, NOT_XML)).as_py():
        raise EditError(f"variable {name!r} has cells with control characters, which XML cannot hold")
    for character, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, character, reference)
    return texts
