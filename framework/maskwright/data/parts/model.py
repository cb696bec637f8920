"""A dataset of several files: its parts, whether they agree, and which record stands where."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.published import ROWS
from maskwright.foundation.errors import DataError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class FoundPart:
    """A file that is part of a dataset, before it was read; `name`: relative to the folder of the data.

    `path`: absolute, or with a protocol (``s3://...``). `stamp`: changes when the file does. `hive`: keys and values in
    the names of its folders, ``region=12``; None: no value.
    """

    name: str
    path: str
    bytes: int
    stamp: str
    hive: tuple[tuple[str, str | None], ...] = ()

    @property
    def is_remote(self) -> bool:
        """Whether it is in an object store or on another file system than that of this machine."""
        return "://" in self.path


@dataclass(frozen=True)
class Part(FoundPart):
    """A file that is part of a dataset, and what is known of it once it was read.

    `format`: name of the source that reads it. `fingerprint`: hash of the names and types of its columns; empty where
    it has no records and its format does not say more.
    """

    format: str = ""
    records: int = 0
    fingerprint: str = ""

    @classmethod
    def read(cls, found: FoundPart, file_format: str, records: int, types: Mapping[str, object] | None) -> Part:
        """Part of a file that was read."""
        known = (found.name, found.path, found.bytes, found.stamp, found.hive)
        return cls(*known, file_format, records, "" if types is None else schema_fingerprint(types))


@dataclass(frozen=True, eq=False)
class PartChunk:
    """Consecutive records of one part; `row` and `record`: of the first, in the file and in the dataset; 0-based."""

    part: Part
    row: int
    record: int
    batch: Any


@dataclass(frozen=True)
class Parts:
    """One dataset of parts, in order; `schema`: of their records, last the columns that only folders name (`hive`).

    >>> import pyarrow as pa
    >>> from maskwright.data.parts.model import FoundPart, Part, Parts
    >>> held = {"part-1.csv": 3, "part-2.csv": 0, "part-10.csv": 2}
    >>> found = [FoundPart(name, f"/data/{name}", bytes=9, stamp="9-0") for name in held]
    >>> parts = Parts(tuple(Part.read(each, "csv", held[each.name], {"age": "text"}) for each in found), "/data")
    >>> len(parts), parts.records, parts.offset_of("part-10.csv")
    (3, 5, 3)
    >>> parts.place_of(4)
    ('part-10.csv', 1)
    >>> parts.positions([0, 2, 3]).tolist()  # of the part of each record; rows are these records less its offset
    [0, 0, 2]
    >>> def opened(part):  # as `maskwright.plugins.parts_reading.part_batches` does for any format
    ...     return [pa.record_batch({"age": ["31"] * part.records})]
    >>> [(each.part.name, each.row, each.record, each.batch.num_rows) for each in parts.chunks(opened, rows=2)]
    [('part-1.csv', 0, 0, 2), ('part-1.csv', 2, 2, 1), ('part-10.csv', 0, 3, 2)]
    """

    parts: tuple[Part, ...]
    found_by: str = ""
    schema: Any = None

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def __getitem__(self, name: str) -> Part:
        return self.parts[self._place(name)]

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """First record of each part, and behind them the number of all records; one more than there are parts."""
        return tuple(itertools.accumulate((each.records for each in self.parts), initial=0))

    @property
    def records(self) -> int:
        """Of all parts."""
        return self.offsets[-1]

    @property
    def bytes(self) -> int:
        """Of all files, packed as they are."""
        return sum(each.bytes for each in self.parts)

    @cached_property
    def hive(self) -> tuple[str, ...]:
        """Keys in the names of folders, the outermost first."""
        return tuple(key for key, _ in self.parts[0].hive) if self.parts else ()

    def offset_of(self, part: Part | str) -> int:
        """First record of a part, 0-based; the part or its name."""
        return self.offsets[self._place(part if isinstance(part, str) else part.name)]

    def positions(self, records: Iterable[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Position of the part of each of these records; shape (n,)."""
        wanted = np.asarray(records, dtype=np.int64)
        return np.searchsorted(np.asarray(self.offsets[1:]), wanted, side="right")

    def place_of(self, record: int) -> tuple[str, int]:
        """Name of the file and row in it of a record; all 0-based."""
        at = int(self.positions([record])[0])
        return self.parts[at].name, record - self.offsets[at]

    def chunks(self, opened: Callable[[Part], Iterable[Any]], rows: int = ROWS) -> Iterator[PartChunk]:
        """Yield the records of all parts in order: chunks of `rows` records, a shorter one at the end of each."""
        for part, offset in zip(self.parts, self.offsets, strict=False):
            row = 0
            for batch in recut(opened(part), rows):
                yield PartChunk(part, row, offset + row, batch)
                row += batch.num_rows

    def _place(self, name: str) -> int:
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {each.name: at for at, each in enumerate(self.parts)}


def recut(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield the same records in batches of so many each, but for the last."""
    held: list[Any] = []
    count = 0
    for each in batches:
        rest = each
        while rest.num_rows:
            piece = rest.slice(0, rows - count)
            held.append(piece)
            count += piece.num_rows
            rest = rest.slice(piece.num_rows)
            if count == rows:
                yield _one(held)
                held, count = [], 0
    if held:
        yield _one(held)


def schema_fingerprint(types: Mapping[str, object]) -> str:
    """Hash of names and types of columns, in order."""
    text = json.dumps([[name, str(kind)] for name, kind in types.items()], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _one(batches: list[Any]) -> Any:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,8}")


def columns_of(batch: Any) -> dict[str, Any]:
    """Types of the columns of a batch, by name and in order."""
    return {field.name: field.type for field in batch.schema}


def hive_types(found: Iterable[FoundPart], *, typed: bool) -> dict[str, Any]:
    """Types of the columns that the names of folders say."""
    values: dict[str, list[str]] = {}
    for part in found:
        for key, value in part.hive:
            values.setdefault(key, []).extend(() if value is None else (value,))
    return {
        key: pa.int32() if typed and result and all(map(WHOLE_NUMBER.fullmatch, result)) else pa.string()
        for key, result in values.items()
    }


def refuse_unlike(
    part: FoundPart, own: Mapping[str, Any], first: FoundPart, expected: Mapping[str, Any], *, may_lack: bool
) -> None:
    """Stop at a part with other columns than the first one, or of other types."""
    place, hint = Place(part.path), "Write all parts alike."
    names = [name for name in expected if name in own] if may_lack else list(expected)
    if sorted(own) != sorted(names) or (list(own) != names and not may_lack):
        unlike = sorted(set(own) ^ set(names))
        what = f"other columns than {first.name}: {', '.join(unlike[:5])}" if unlike else "its columns in another order"
        raise DataError(Problem(f"the file has {what}", place, hint))
    for name in names:
        if _kind(own[name]) != _kind(expected[name]):
            message = f"column {name!r} is {own[name]} in this file, and {expected[name]} in {first.name}"
            raise DataError(Problem(message, place, hint))


def _kind(kind: Any) -> Any:
    """A type, the same for texts however programs hold them: pandas writes others than Arrow."""
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def constant_columns(part: FoundPart, batch: Any, types: Mapping[str, Any], row: int) -> dict[str, Any]:
    """Columns that the names of the folders of a part say, and that the file has not."""
    stated = {}
    for key, value in part.hive:
        if key in batch.schema.names:
            _refuse_contradiction(part, key, value, batch.column(key), row)
            continue
        stated[key] = pa.repeat(_cell(value, types[key]), batch.num_rows)
    return stated


def _refuse_contradiction(part: FoundPart, key: str, value: str | None, column: Any, row: int) -> None:
    texts = pc.cast(column, pa.string())
    differing = pc.is_valid(texts) if value is None else pc.fill_null(pc.not_equal(texts, value), True)
    if value is None:
        differing = pc.and_(differing, pc.not_equal(pc.fill_null(texts, ""), ""))
    where = np.flatnonzero(np.asarray(differing))
    if len(where):
        message = f"row {row + int(where[0]) + 1} has another value in column {key!r} than its folder, {key}=..., says"
        hint = "Rename the folder, leave the column out of the files, or correct it."
        raise DataError(Problem(message, Place(part.path), hint))


def _cell(value: str | None, kind: Any) -> Any:
    if value is None:
        # A text format has no null for "no value": its cell is empty.
        return pa.scalar(None, kind)
    return pa.scalar(int(value) if pa.types.is_integer(kind) else value, kind)


QUOTE = {'"': "&quot;"}


@dataclass(frozen=True, eq=False)
class Places:
    """Which part each record is in, and its row there, while the parts are read one after the other."""

    names: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def begin(self, name: str, start: int) -> None:
        """Note a part whose first record is to be `start`."""
        self.names.append(name)
        self.starts.append(start)

    def of(self, records: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Position of the part of each of these records (0-based), and its row there, from 1; each of shape (n,)."""
        starts = np.asarray(self.starts, dtype=np.int64)
        at = np.searchsorted(starts, records, side="right") - 1
        return at, np.asarray(records - starts[at] + 1, dtype=np.int64)

    def documents(self, records: NDArray[np.int64], path: str) -> tuple[Any, str, Any]:
        """XPath of each of these records up to its row, which is the last: documents (escaped for XML), path, rows."""
        at, rows = self.of(records)
        from xml.sax.saxutils import escape  # it imports what speaks HTTP

        files = pa.array([escape("doc('{}')".format(name.replace("'", "''")), QUOTE) for name in self.names])
        return files.take(pa.array(at)), path, pc.cast(pa.array(rows), pa.string())

    def said(self, record: int) -> str:
        """Name of the part of a record, and its row there from 1: ``part-2.csv:17``."""
        at, row = self.of(np.array([record]))
        return f"{self.names[int(at[0])]}:{int(row[0])}"


def in_its_part(problem: Problem, parts: Parts) -> Problem:
    """Mistake in a record of the dataset, with the file that the first record it names is in, and its row there."""
    record = problem.record
    if record is None or not 1 <= record <= parts.records:
        return problem
    name, row = parts.place_of(record - 1)
    return replace(problem, message=f"{problem.message} (record {record} is row {row + 1} of {name})")
