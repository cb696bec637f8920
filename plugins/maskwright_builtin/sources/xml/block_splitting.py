"""Splitting of a block of XML into cells of records, and into groups and members."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


WHITE_ONLY = re.compile(rb"[ \t\r\n]*")
NEW_START = re.compile(rb"<([A-Za-z_][A-Za-z0-9_.-]*)/?>")


def indices(positions: NDArray[np.int64]) -> Any:
    """Indices for ``take``, null where negative; ``pa.array`` would import pandas."""
    there = np.packbits(positions >= 0, bitorder="little")
    return pa.Array.from_buffers(pa.int64(), len(positions), [pa.py_buffer(there), pa.py_buffer(positions)])


class Deviation(Exception):  # noqa: N818 - not an error: the other reader takes over
    """The file is not what the template says."""


class Unlearnt(Exception):  # noqa: N818 - not an error: the template learns it
    """Records have something that the template does not know yet."""


class NewVariable(Unlearnt):
    """An element that the template does not know yet, and the cell before it in its record (None: it is first)."""

    def __init__(self, name: str, after: int | None) -> None:
        super().__init__(name)
        self.name = name
        self.after = after


class NewOrder(Unlearnt):
    """Cells that stand in another order than in the template: pairs of neighbours, by their places there."""

    def __init__(self, neighbours: tuple[tuple[int, int], ...]) -> None:
        super().__init__("order")
        self.neighbours = neighbours


def pieces_of(block: bytes, offsets: NDArray[np.int32], kind: Any = None) -> Any:
    """Array of the pieces of a block between these offsets, without a copy; texts, or of another type."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    return pa.Array.from_buffers(pa.string() if kind is None else kind, len(offsets) - 1, buffers)


def cut_sparse(
    block: bytes, opens: NDArray[np.int64], closes: NDArray[np.int64], record: bytes, tags: list[bytes]
) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Find the cells of a block, whose tags start at `opens` and end at `closes`; shape (t,).

    Returns texts and tags in turn; the piece that is each cell's text, -1 for none; bytes in each cell, 0 for none.
    """
    bounds = np.column_stack((opens, closes + 1)).ravel()
    offsets = np.concatenate(([0], bounds, [len(block)])).astype(np.int32)
    count = len(offsets) - 1
    raw = pieces_of(block, offsets, pa.binary())
    code = _tag_codes(raw.take(indices(np.arange(1, count, 2))), record, tags)
    is_start = (code >= 2) & (code % 2 == 0)
    starts = np.flatnonzero(is_start)
    _check_nesting(code, starts)
    # Text may stand only before the end tag of a cell: in every other gap there is white space.
    gap_lengths = offsets[1::2] - offsets[:-1:2]
    gap_lengths[starts + 1] = 0
    for gap in pc.unique(raw.take(indices(2 * np.flatnonzero(gap_lengths)))).to_pylist():
        if not WHITE_ONLY.fullmatch(gap):
            raise Deviation
    n = int(np.count_nonzero(code == 0))
    row = np.cumsum(code == 0)[starts] - 1
    column = (code[starts] - 2) // 2
    _check_order(row, column, len(tags))
    positions = np.full((n, len(tags)), -1, dtype=np.int64)
    positions[row, column] = 2 * (starts + 1)
    lengths = np.zeros((n, len(tags)), dtype=np.int64)
    lengths[row, column] = opens[starts + 1] - closes[starts] - 1
    return pieces_of(block, offsets), positions, lengths


def _check_order(row: NDArray[np.int64], column: NDArray[np.int64], p: int) -> None:
    if not np.any(np.diff(row * p + column) <= 0):
        return
    # A cell twice in a record is left to the parser.
    if len(np.unique(row * p + column)) < len(row):
        raise Deviation
    adjacent = np.flatnonzero(np.diff(row) == 0)
    pairs = np.unique(column[adjacent] * p + column[adjacent + 1])
    raise NewOrder(tuple((int(pair) // p, int(pair) % p) for pair in pairs))


def _tag_codes(found: Any, record: bytes, tags: list[bytes]) -> NDArray[np.int64]:
    """Code of each tag: 0 and 1 for the start and end of a record, 2 + 2 * j and 3 + 2 * j for those of cell j."""
    known = {b"<%b>" % record: 0, b"</%b>" % record: 1}
    for j, tag in enumerate(tags):
        known[b"<%b>" % tag], known[b"</%b>" % tag] = 2 + 2 * j, 3 + 2 * j
    encoded = found.dictionary_encode()
    distinct: list[bytes] = encoded.dictionary.to_pylist()
    code_of = np.array([known.get(tag, -1) for tag in distinct], dtype=np.int64)
    codes: NDArray[np.int64] = code_of[np.asarray(np.from_dlpack(encoded.indices), dtype=np.int64)]
    unknown = np.flatnonzero(codes < 0)
    if len(unknown) == 0:
        return codes
    new = NEW_START.fullmatch(found[int(unknown[0])].as_py())
    before = int(codes[unknown[0] - 1]) if unknown[0] else -1
    if new is None or new[1] == record or not (before == 0 or (before > 2 and before % 2 == 1)):
        raise Deviation
    raise NewVariable(new[1].decode(), (before - 3) // 2 if before else None)


def _check_nesting(code: NDArray[np.int64], starts: NDArray[np.int64]) -> None:
    if len(code) == 0 or code[0] != 0 or code[-1] != 1:
        raise Deviation
    if np.any(code[starts + 1] != code[starts] + 1) or np.count_nonzero(code >= 2) != 2 * len(starts):
        raise Deviation
    of_records = code[code < 2]
    if np.any(of_records[::2] != 0) or np.any(of_records[1::2] != 1):
        raise Deviation
    if np.any(np.cumsum(np.where(code == 0, 1, np.where(code == 1, -1, 0)))[starts] != 1):
        raise Deviation


WHITE_SPACE = b" \t\r\n"


class _Tags:
    """Start and end tags of one element; in any other form it is a deviation."""

    def __init__(self, tag: str) -> None:
        self.start, self.stop = b"<%b>" % tag.encode(), b"</%b>" % tag.encode()
        # Looked for one by one: a search for bytes is some ten times faster than an alternation of patterns.
        blanks = [bytes([blank]) for blank in WHITE_SPACE]
        self._otherwise = [self.start[:-1] + after for after in (b"/", *blanks)]
        self._otherwise += [self.stop[:-1] + after for after in blanks]

    def check(self, block: bytes) -> None:
        """Refuse other forms of the tags, and what may hide some."""
        if b"<!" in block or b"<?" in block or any(other in block for other in self._otherwise):
            raise Deviation


class GroupsPart:
    """Records of the upper level without their `members`, elements that are records of another level."""

    def __init__(self, group: str, members: Sequence[str]) -> None:
        self._group = _Tags(group)
        self._members = [_Tags(each) for each in members]
        self.block_end = self._group.stop
        self.foreign = frozenset(members)

    def __call__(self, block: bytes) -> bytes:
        """Block without members."""
        self._group.check(block)
        for tags in self._members:
            tags.check(block)
            head, *found = block.split(tags.start)
            last = head.rstrip(WHITE_SPACE)
            kept = [last]
            for each in found:
                self._check_place(last)
                _, stop, after = each.partition(tags.stop)
                if not stop:
                    raise Deviation
                if after := after.strip(WHITE_SPACE):
                    kept.append(last := after)
            block = b"".join(kept)
        return block

    def _check_place(self, before: bytes) -> None:
        """Refuse a member anywhere but straight in its group: before it ends a cell, or its group begins."""
        tag = before[before.rfind(b"<") :]
        if not tag.endswith(b">") or not (tag.startswith(b"</") or tag == self._group.start) or tag == self._group.stop:
            raise Deviation


class MembersPart:
    """Members, each with the keys that their `group` has before their own cells."""

    def __init__(self, group: str, keys: Sequence[str], member: str) -> None:
        self._group, self._member = _Tags(group), _Tags(member)
        self._keys = [re.compile(rb"<%b>[^<]*</%b>" % ((re.escape(key.encode()),) * 2)) for key in keys]
        self._key_tags = [key.encode() for key in keys]
        self.block_end = self._group.stop
        self.foreign: frozenset[str] = frozenset()

    def __call__(self, block: bytes) -> bytes:
        """Block of members."""
        self._group.check(block)
        self._member.check(block)
        for tag in self._key_tags:
            block = block.replace(b"<%b/>" % tag, b"<%b></%b>" % (tag, tag))
        before, *groups = block.split(self._group.start)
        if before.strip(WHITE_SPACE):
            raise Deviation
        found: list[bytes] = []
        stop = self._member.stop
        for group in groups:
            inside, end, after = group.partition(self._group.stop)
            head, *members = inside.split(self._member.start)
            if not end or after.strip(WHITE_SPACE) or inside.count(stop) != len(members):
                raise Deviation
            around, cells = [head], []
            for member in members:
                own, end, rest = member.partition(stop)
                if not end:
                    raise Deviation
                cells.append(own)
                around.append(rest)
            keys = [key.findall(b"".join(around)) for key in self._keys]
            if any(len(texts) != 1 for texts in keys):
                raise Deviation
            start = self._member.start + b"".join(text for (text,) in keys)
            for own in cells:
                found += (start, own, stop)
        return b"".join(found)


class PartsInTurn:
    """Records of a level, cut level by level: members out of the records around them, and what is in their own."""

    def __init__(self, parts: Sequence[GroupsPart | MembersPart]) -> None:
        self._parts = parts
        self.block_end = parts[0].block_end
        self.foreign = frozenset[str]().union(*(part.foreign for part in parts))

    def __call__(self, block: bytes) -> bytes:
        """Block of these records alone."""
        for part in self._parts:
            block = part(block)
        return block
