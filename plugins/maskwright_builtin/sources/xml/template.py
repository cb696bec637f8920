"""Fast reading of XML records that are written plainly.

The form of the first record is a template: the same elements in the same order (some may be absent), no attributes,
character references or anything else; comments are taken out first. A block of the file is then text between known
tags, and is cut with array operations. Every byte of the file is accounted for: whatever differs from the template, in
any way, is a `Deviation`, and the file is read again from its start by the streaming parser, which knows all of XML.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright_builtin.sources.files import BLOCK, reading
from maskwright_builtin.sources.xml.block_splitting import (
    Deviation,
    NewOrder,
    NewVariable,
    Unlearnt,
    cut_sparse,
    indices,
    pieces_of,
)
from maskwright_builtin.sources.xml.parser import ByteProgress, Name
from maskwright_builtin.sources.xml.stream import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright_builtin.sources.xml.parser import Opening

# What XML 1.0 forbids (control characters), and "&": references are left to the parser.
PLAIN_BYTES = bytes(byte for byte in range(256) if (byte >= 0x20 or byte in b"\t\n\r") and byte != ord("&"))
NOT_CHARACTERS = re.compile(rb"\xef\xbf[\xbe\xbf]")
COMMENT = re.compile(rb"<!--(?:(?!--).)*-->", re.DOTALL)
WHITE = rb"[ \t\r\n]*"
LONGEST_RECORD = 4 * BLOCK
MOST_LEARNT = 100
"""Times that a file is cut from its start again: the parser takes one whose records are all different."""
WORTH_COMPILING = 32 * 1024 * 1024
"""Bytes of a file after which the compiled pass is loaded for the rest."""


@dataclass(frozen=True, eq=False)
class Cut:
    """One block of whole records, cut into cells: `pieces` are markup and texts in turn.

    `positions`: piece of each cell's text, -1 where there is none; `lengths`: bytes in each cell; both of shape (n, p).
    """

    pieces: Any
    positions: NDArray[np.int64]
    lengths: NDArray[Any]

    @property
    def n(self) -> int:
        """Records."""
        return len(self.positions)

    def columns(self) -> list[Any]:
        """Texts of each variable, p arrays of shape (n,); null where there is no cell."""
        return [self.pieces.take(indices(positions)) for positions in np.ascontiguousarray(self.positions.T)]


def _cut_at(block: bytes, offsets: NDArray[np.int32], p: int) -> Cut:
    """Cut a block whose records have all p cells; `offsets`: 0, begin and end of each text, and the block's length."""
    bounds = offsets[1:-1].reshape(-1, p, 2)
    positions = np.arange(1, len(offsets) - 1, 2, dtype=np.int64).reshape(-1, p)
    return Cut(pieces_of(block, offsets), positions, bounds[:, :, 1] - bounds[:, :, 0])


def _without_comments(block: bytes) -> bytes:
    """Block in which the text around a comment is joined, as in XPath's string value; else the block as it is."""
    if b"<!--" not in block or b"<![" in block:
        return block
    kept, end = [], 0
    for comment in COMMENT.finditer(block):
        start = comment.start()
        if block.rfind(b"<", 0, start) > block.rfind(b">", 0, start):
            return block
        kept.append(block[end:start])
        end = comment.end()
    return b"".join([*kept, block[end:]])


class Part(Protocol):
    """What a template is of, where it is a part of the file only."""

    block_end: bytes
    """Tag after which the file may be cut into blocks."""

    foreign: frozenset[str]
    """Tags that no record of the part has."""

    def __call__(self, block: bytes) -> bytes:
        """Flat records of a block; raises `Deviation`."""
        ...


class RecordTemplate:
    """The form of a file's records: `columns`, learnt from its opening, and from records that show more."""

    def __init__(self, opening: Opening, max_text: int, part: Part | None = None) -> None:
        names = {name.local for name in opening.cells}
        if not opening.is_plain or not names or len(names) < len(opening.cells) or opening.record.local in names:
            raise Deviation
        if opening.encoding not in ("utf-8", "us-ascii", "ascii"):
            raise Deviation
        self.columns = list(opening.cells)
        self._neighbours: set[tuple[str, str]] = set()
        self._learnt = 0
        self._only_ascii = opening.encoding != "utf-8"
        self._max_text = max_text
        self._first_byte = opening.first_byte
        self._record = opening.record.tag.encode()
        self._part = part
        self._default = opening.namespaces.get("", "")
        self._block_end = b"</%b>" % self._record if part is None else part.block_end
        closing = b"".join(WHITE + rb"</%b>" % re.escape(name.tag.encode()) for name in reversed(opening.path))
        self._tail = re.compile(closing + WHITE)
        self._learn()

    def _learn(self) -> None:
        tags = [name.tag.encode() for name in self.columns]
        self._tags = tags
        start = rb"<%b>" % re.escape(self._record) + WHITE + rb"<%b>" % re.escape(tags[0])
        end = rb"</%b>" % re.escape(tags[-1]) + WHITE + rb"</%b>" % re.escape(self._record)
        self._first = re.compile(WHITE + start)
        self._between_records = re.compile(end + WHITE + start)
        self._last = re.compile(end)
        self._between_cells = [
            re.compile(rb"</%b>" % re.escape(left) + WHITE + rb"<%b>" % re.escape(right))
            for left, right in pairwise(tags)
        ]

    def learn(self, new: Unlearnt) -> None:
        """Take up what the records so far did not show; the file is then cut from its start again."""
        self._learnt += 1
        if self._learnt > MOST_LEARNT:
            raise Deviation
        if isinstance(new, NewVariable):
            self._extend(new)
        if isinstance(new, NewOrder):
            self._neighbours |= {(self.columns[a].local, self.columns[b].local) for a, b in new.neighbours}
            columns = {name.local: name for name in self.columns}
            ordered, agree = in_order(tuple(columns), self._neighbours)
            if not agree:
                raise Deviation
            self.columns = [columns[name] for name in ordered]
        self._learn()

    def _extend(self, new: NewVariable) -> None:
        if new.name in {name.local for name in self.columns} or self._record.endswith(b":" + new.name.encode()):
            raise Deviation
        if self._part is not None and new.name in self._part.foreign:
            raise Deviation
        self.columns.insert(0 if new.after is None else new.after + 1, Name(new.name, new.name, self._default))

    def cuts(self, path: Path, progress: ByteProgress) -> Iterator[Cut]:
        """Cut the file block by block."""
        rest, before = b"", 0
        with reading(path) as file:
            file.seek(self._first_byte)
            while piece := file.read(BLOCK):
                block = rest + piece
                cut = block.rfind(self._block_end) + len(self._block_end)
                if cut < len(self._block_end):
                    rest = block
                    if len(rest) > LONGEST_RECORD:
                        raise Deviation
                    continue
                rest = block[cut:]
                yield self._cut(block[:cut], long_file=before >= WORTH_COMPILING)
                before += cut
                progress(file.tell())
        if not self._tail.fullmatch(_without_comments(rest)):
            raise Deviation

    def _cut(self, block: bytes, *, long_file: bool) -> Cut:
        if long_file and self._part is None and (whole := self._split_uniform_records(block)) is not None:
            return whole
        block = self._checked_characters(block)
        if self._part is not None and not (block := self._part(block)):
            return Cut(pa.array([], pa.string()), *(np.zeros((0, len(self._tags)), dtype=np.int64) for _ in range(2)))
        if long_file and self._part is not None and (whole := self._split_uniform_records(block)) is not None:
            return whole
        data = np.frombuffer(block, dtype=np.uint8)
        opens = np.flatnonzero(data == ord("<"))
        closes = np.flatnonzero(data == ord(">"))
        if len(closes) != len(opens) or np.any(opens > closes) or np.any(closes[:-1] > opens[1:]):
            raise Deviation
        cut = self._cut_uniform(block, opens, closes) or Cut(
            *cut_sparse(block, opens, closes, self._record, self._tags)
        )
        return self._checked_texts(block, cut)

    def _checked_texts(self, block: bytes, cut: Cut) -> Cut:
        if np.any(cut.lengths > self._max_text):
            raise Deviation
        # The parser turns a carriage return inside a cell into a line feed; between tags it does not matter.
        if b"\r" in block and any(pc.any(pc.match_substring(column, "\r")).as_py() for column in cut.columns()):
            raise Deviation
        return cut

    def _split_uniform_records(self, block: bytes) -> Cut | None:
        """Cut a block in which all records are written as the first one is, in one pass; None: they are not."""
        # The compiler takes half a second to import: short files are cut without it.
        from maskwright_builtin.sources.xml.literal_kernel import text_bounds

        p = len(self._tags)
        if (learnt := self._markup_of_first(block)) is None:
            return None
        first, markup = learnt
        if (bounds := text_bounds(block, first, markup)) is None:
            return None
        offsets, has_more = bounds
        if not self._last.fullmatch(block, int(offsets[-2])) or (has_more and not self._is_text(block)):
            return None
        cut = _cut_at(block, offsets, p)
        if np.any(cut.lengths > self._max_text):
            raise Deviation
        return cut

    def _markup_of_first(self, block: bytes) -> tuple[int, list[bytes]] | None:
        """Where the first text begins, what follows a record, and what is between its cells; None: it is not so."""
        if (opening := self._first.match(block)) is None:
            return None
        first = at = opening.end()
        between: list[bytes] = []
        for expected in (*self._between_cells, self._between_records):
            if (found := expected.match(block, block.find(b"<", at))) is None:
                return None
            between.append(found.group())
            at = found.end()
        return first, [between[-1], *between[:-1]]

    def _cut_uniform(self, block: bytes, opens: NDArray[np.int64], closes: NDArray[np.int64]) -> Cut | None:
        """Cut a block in which every record has every cell; None when it is not so."""
        p = len(self._tags)
        n, left_over = divmod(len(opens), 2 + 2 * p)
        if left_over:
            return None
        bounds = np.empty((n, p, 2), dtype=np.int32)
        bounds[:, :, 0] = closes.reshape(n, -1)[:, 1:-1:2] + 1
        bounds[:, :, 1] = opens.reshape(n, -1)[:, 2::2]
        offsets = np.concatenate(([0], bounds.ravel(), [len(block)])).astype(np.int32)
        return _cut_at(block, offsets, p) if self._has_its_markup(pieces_of(block, offsets, pa.binary()), n) else None

    def _checked_characters(self, block: bytes) -> bytes:
        if block.translate(None, PLAIN_BYTES):
            raise Deviation
        if not block.isascii() and not self._is_text(block):
            raise Deviation
        block = _without_comments(block)
        if b"/>" in block:
            for tag in self._tags:
                block = block.replace(b"<%b/>" % tag, b"<%b></%b>" % (tag, tag))
        return block

    def _is_text(self, block: bytes) -> bool:
        """Whether a block with bytes above ASCII holds characters of XML, in the encoding of the file."""
        try:
            block.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return not self._only_ascii and not NOT_CHARACTERS.search(block)

    def _has_its_markup(self, pieces: Any, n: int) -> bool:
        p = len(self._tags)
        if not self._first.fullmatch(pieces[0].as_py()) or not self._last.fullmatch(pieces[-1].as_py()):
            return False
        records = np.arange(n, dtype=np.int64) * (2 * p)
        for j in range(p):
            expected = self._between_records if j == 0 else self._between_cells[j - 1]
            positions = records[1:] if j == 0 else records + 2 * j
            # Records of one file differ in their texts and hardly ever in their markup: few distinct pieces.
            if not all(map(expected.fullmatch, pc.unique(pieces.take(indices(positions))).to_pylist())):
                return False
        return True
