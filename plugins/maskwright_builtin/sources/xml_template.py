"""Fast reading of XML records that all look the same.

The form of the first record is a template: the same elements in the same order, no attributes, comments, character
references or anything else. A block of the file is then text between known tags, and is cut with array operations.
Every byte of the file is accounted for: whatever differs from the template, in any way, is a `Deviation`, and the
file is read again from its start by the streaming parser, which knows all of XML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskwright_builtin.sources.files import BLOCK, reading
from maskwright_builtin.sources.xml_opening import Opening
from maskwright_builtin.sources.xml_parser import ByteProgress

# What XML 1.0 forbids (control characters), and "&": references are left to the parser.
PLAIN_BYTES = bytes(byte for byte in range(256) if (byte >= 0x20 or byte in b"\t\n\r") and byte != ord("&"))
NOT_CHARACTERS = re.compile(rb"\xef\xbf[\xbe\xbf]")
WHITE = rb"[ \t\r\n]*"
LONGEST_RECORD = 4 * BLOCK


class Deviation(Exception):  # noqa: N818 - not an error: the other reader takes over
    """The file is not what the template says."""


@dataclass(frozen=True, eq=False)
class Cut:
    """One block of whole records, cut into cells.

    Attributes
    ----------
    n : int
        Records.
    pieces : pyarrow.StringArray of shape (2 * n * p + 1,)
        Markup and cell texts in turn: piece ``2 * (i * p + j) + 1`` is cell j of record i.
    lengths : ndarray of shape (n, p), int32
        Bytes in each cell.
    """

    n: int
    pieces: Any
    lengths: NDArray[np.int32]

    def columns(self) -> list[Any]:
        """Texts of each cell position, p arrays of shape (n,)."""
        p = self.lengths.shape[1]
        records = np.arange(self.n, dtype=np.int64) * (2 * p)
        return [self.pieces.take(pa.array(records + 2 * j + 1)) for j in range(p)]


class Template:
    """The form of a file's records, learnt from its opening."""

    def __init__(self, opening: Opening, max_text: int) -> None:
        tags = [name.tag.encode() for name in opening.cells]
        locals_ = {name.local for name in opening.cells}
        if not opening.is_plain or not tags or len(locals_) < len(tags) or opening.record.local in locals_:
            raise Deviation
        if opening.encoding not in ("utf-8", "us-ascii", "ascii"):
            raise Deviation
        self._tags = tags
        self._only_ascii = opening.encoding != "utf-8"
        self._max_text = max_text
        self._first_byte = opening.first_byte
        record = opening.record.tag.encode()
        self._record_end = b"</%b>" % record
        start = rb"<%b>" % re.escape(record) + WHITE + rb"<%b>" % re.escape(tags[0])
        end = rb"</%b>" % re.escape(tags[-1]) + WHITE + rb"</%b>" % re.escape(record)
        self._first = re.compile(WHITE + start)
        self._between_records = re.compile(end + WHITE + start)
        self._last = re.compile(end)
        self._between_cells = [
            re.compile(rb"</%b>" % re.escape(left) + WHITE + rb"<%b>" % re.escape(right))
            for left, right in pairwise(tags)
        ]
        closing = b"".join(WHITE + rb"</%b>" % re.escape(name.tag.encode()) for name in reversed(opening.path))
        self._tail = re.compile(closing + WHITE)

    def cuts(self, path: Path, progress: ByteProgress) -> Iterator[Cut]:
        """Cut the file block by block.

        Raises
        ------
        Deviation
            Anything in the file differs from the template.
        """
        rest = b""
        with reading(path) as file:
            file.seek(self._first_byte)
            while piece := file.read(BLOCK):
                block = rest + piece
                cut = block.rfind(self._record_end) + len(self._record_end)
                if cut < len(self._record_end):
                    rest = block
                    if len(rest) > LONGEST_RECORD:
                        raise Deviation
                    continue
                rest = block[cut:]
                yield self._cut(block[:cut])
                progress(file.tell())
        if not self._tail.fullmatch(rest):
            raise Deviation

    def _cut(self, block: bytes) -> Cut:
        block = self._checked_characters(block)
        p = len(self._tags)
        data = np.frombuffer(block, dtype=np.uint8)
        opens, closes = np.flatnonzero(data == ord("<")), np.flatnonzero(data == ord(">"))
        n, left_over = divmod(len(opens), 2 + 2 * p)
        if left_over or len(closes) != len(opens):
            raise Deviation
        if np.any(opens > closes) or np.any(closes[:-1] > opens[1:]):
            raise Deviation
        bounds = np.empty((n, p, 2), dtype=np.int32)
        bounds[:, :, 0] = closes.reshape(n, -1)[:, 1:-1:2] + 1
        bounds[:, :, 1] = opens.reshape(n, -1)[:, 2::2]
        lengths = bounds[:, :, 1] - bounds[:, :, 0]
        if np.any(lengths > self._max_text):
            raise Deviation
        offsets = np.concatenate(([0], bounds.ravel(), [len(block)])).astype(np.int32)
        count = len(offsets) - 1
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
        self._check_markup(pa.Array.from_buffers(pa.binary(), count, buffers), n)
        cut = Cut(n, pa.Array.from_buffers(pa.string(), count, buffers), lengths)
        # The parser turns a carriage return inside a cell into a line feed; between tags it does not matter.
        if b"\r" in block and any(pc.any(pc.match_substring(column, "\r")).as_py() for column in cut.columns()):
            raise Deviation
        return cut

    def _checked_characters(self, block: bytes) -> bytes:
        if block.translate(None, PLAIN_BYTES):
            raise Deviation
        if not block.isascii():
            try:
                block.decode("utf-8")
            except UnicodeDecodeError:
                raise Deviation from None
            if self._only_ascii or NOT_CHARACTERS.search(block):
                raise Deviation
        if b"/>" in block:
            for tag in self._tags:
                block = block.replace(b"<%b/>" % tag, b"<%b></%b>" % (tag, tag))
        return block

    def _check_markup(self, pieces: Any, n: int) -> None:
        p = len(self._tags)
        if not self._first.fullmatch(pieces[0].as_py()) or not self._last.fullmatch(pieces[-1].as_py()):
            raise Deviation
        records = np.arange(n, dtype=np.int64) * (2 * p)
        for j in range(p):
            expected = self._between_records if j == 0 else self._between_cells[j - 1]
            positions = records[1:] if j == 0 else records + 2 * j
            # Records of one file differ in their texts and hardly ever in their markup: few distinct pieces.
            for piece in pc.unique(pieces.take(pa.array(positions))).to_pylist():
                if not expected.fullmatch(piece):
                    raise Deviation
