"""Records as a document again, for engines: the file as it was read, or a table in the form of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from maskwright.foundation.errors import EditError
from maskwright.foundation.xml_names import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.record_chunk import RecordChunk

_NOT_XML = "[\\x{00}-\\x{08}\\x{0B}\\x{0C}\\x{0E}-\\x{1F}\\x{FFFE}\\x{FFFF}]"


@dataclass(frozen=True, eq=False)
class RecordForm:
    """How records are written around their cells.

    `path`: tags from the root to the record. `start_tags`, `gaps`: start tags of all but the record, and the white
    space before each. `tags`: where it differs from the variable's name. `is_whole`: the file holds nothing but these
    records; False: there are elements beside them, which are not data.
    """

    path: tuple[str, ...]
    start_tags: tuple[str, ...]
    gaps: tuple[str, ...]
    before_record: str = ""
    before_cell: str = ""
    after_cells: str = ""
    tags: Mapping[str, str] | None = None
    is_whole: bool = True

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
        )


def document_of(columns: RecordChunk, form: RecordForm, start: int = 0, stop: int | None = None) -> str:
    """XML text of the records start..stop of a chunk.

    `form`: how the records are written around their cells. `start`, `stop`: 0-based, the last excluded; to the end when
    `stop` is None.
    """
    n = (columns.n if stop is None else min(stop, columns.n)) - start
    pieces: list[Any] = [f"{form.before_record}<{form.path[-1]}>"]
    for name in columns.names:
        tag = (form.tags or {}).get(name, name)
        if re.fullmatch(rf"(?:{NCNAME}:)?{NCNAME}", tag) is None:
            hint = "rules that an engine checks see the records as XML: rename the variable"
            raise EditError(f"{name!r} cannot be the name of an XML element; {hint}")
        texts = columns[name].text()
        flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        cells = _escaped(name, pc.cast(flat.slice(start, n), pa.string()))
        cell = pc.binary_join_element_wise(f"{form.before_cell}<{tag}>", cells, f"</{tag}>", "")
        pieces.append(pc.fill_null(cell, ""))
    pieces.append(f"{form.after_cells}</{form.path[-1]}>")
    records = pc.binary_join_element_wise(*pieces, "") if columns.names else pa.repeat("".join(pieces), n)
    opening = "".join(gap + tag for gap, tag in zip(form.gaps, form.start_tags, strict=True))
    line = "\n" if "\n" in form.before_record else ""
    gaps = (line, *form.gaps[1:])
    closing = "".join(f"{gap}</{tag}>" for gap, tag in reversed(list(zip(gaps, form.path[:-1], strict=True))))
    return opening + "".join(records.to_pylist()) + closing


def _escaped(name: str, texts: Any) -> Any:
    if pc.any(pc.match_substring_regex(texts, _NOT_XML)).as_py():
        raise EditError(f"variable {name!r} has cells with control characters, which XML cannot hold")
    for character, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, character, reference)
    return texts
