"""One dataset of parts, read as one file by the source that reads each of them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskwright.data.dataset import Layout, WrittenBatch
from maskwright.data.parts.model import (
    FoundPart,
    Part,
    Parts,
    Places,
    columns_of,
    constant_columns,
    hive_types,
    refuse_unlike,
)
from maskwright.data.parts.part_files import find_parts, on_this_machine, remote_stamp, stamp_of
from maskwright.foundation.errors import DataError, NoRecords, Place, Problem
from maskwright.foundation.files import note_read
from maskwright.foundation.progress import silent
from maskwright.plugins.source import Format, number_notation, written_batches_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.notations import NumberNotation
    from maskwright.foundation.progress import Progress
    from maskwright.plugins.source import Format, Reading, Source


def part_batches(source: Source, params: Any, parts: Parts, part: Part) -> Iterator[WrittenBatch]:
    """Records of one part as the dataset has them, for who reads parts one by one.

    `source`: that reads each of the files, as `find_source` gives it by the name of that of the data. `parts`: the
    dataset, read once by `scan_parts`.
    """
    reading = PartsReading(source, params, (part,), part.path, silent, parts.schema)
    with written_batches_of(reading) as batches:
        yield from batches


def files_description(names: Sequence[str]) -> str:
    """What a dataset was read from: ``read from 3 files, part-1.csv to part-3.csv``."""
    return f"read from {f'{len(names)} files, {names[0]} to {names[-1]}' if len(names) > 1 else names[0]}"


def scan_parts(source: Source, params: Any, place: str, progress: Progress = silent) -> Parts:
    """Parts of a dataset, each read once for its records and its columns.

    `place`: folder, pattern or address, as `find_parts` takes it.
    """
    reading = PartsReading(source, params, find_parts(place), place, progress)
    for _ in reading.written_batches():
        pass
    return reading.parts


class PartsReading:
    """Files of one format and the same columns, in order.

    `source`: that reads each of them. `place`: folder, pattern or address that they were found by. `schema`: of a
    dataset, known already, of which these files are some: what it says of columns and keys holds.
    """

    def __init__(
        self,
        source: Source,
        params: Any,
        found: Sequence[FoundPart],
        place: str,
        progress: Progress,
        schema: Any = None,
    ) -> None:
        self._source, self._params, self._found, self._progress = source, params, tuple(found), progress
        self._place, self._is_share = place, schema is not None
        self._hive = hive_types(self._found, typed=not source.writes_text)
        self._read: list[Part] = []
        self._layouts: dict[str, Layout] = {}
        self._inside: dict[str, tuple[str, ...]] = {}
        self._declared: Mapping[str, VariableDeclaration] = {}
        self._numbers: NumberNotation | None = None
        self._types: dict[str, Any] = {}
        self._first = self._found[0]
        self.places = Places()
        for each in self._found:
            if not each.is_remote:
                note_read(_path(each))
        if schema is not None:
            self._types = {field.name: field.type for field in schema}
            self._hive = {key: self._types[key] for key in self._hive}
            return
        with self._opening(self._first) as reading:
            if reading is not None:
                self._note(self._first, reading)
        if source.format.omits_empty_variables:
            self._types = self._all_types()

    def batches(self) -> Iterator[Any]:
        """Yield the records of all parts."""
        with contextlib.closing(self.written_batches()) as batches:
            for batch in batches:
                yield batch.cells

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records of all parts, as understood and as written."""
        if self._is_share:
            # They were found before.
            for each in self._found:
                refuse_changed(each)
        self.places = Places()
        self._read, done, whole = [], 0, max(sum(each.bytes for each in self._found), 1)
        for each in self._found:
            own: dict[str, Any] | None = None
            records = 0
            self.places.begin(each.name, sum(part.records for part in self._read))
            with self._opening(each) as reading:
                if reading is not None:
                    self._note(each, reading)
                    with written_batches_of(reading) as batches:
                        for batch in batches:
                            own = columns_of(batch.cells)
                            self._agree(each, own)
                            yield _as_dataset(each, batch, self._types, records)
                            records += batch.cells.num_rows
                    self._layouts[each.name] = reading.layout
            if self._hive:
                self._inside[each.name] = tuple(key for key in self._hive if own is not None and key in own)
            refuse_changed(each)
            self._read.append(Part.read(each, self._source.name, records, own))
            done += each.bytes
            self._progress(done / whole)

    @property
    def parts(self) -> Parts:
        """The parts as far as they were read; all of them once the batches are exhausted."""
        return Parts(tuple(self._read), self._place, pa.schema(list(self._types.items())))

    @property
    def layout(self) -> Layout:
        """That of the first part.

        In its details, ``parts``, and of each by name its ``layouts`` and ``inside``: hive keys that
        are columns of the file too.
        """
        first = self._layouts.get(self._first.name, Layout(self._source.name))
        details = {**first.details, "parts": self.parts, "layouts": dict(self._layouts), "inside": dict(self._inside)}
        if self._types and "types" in first.details:
            details["types"] = dict(self._types)
        return Layout(self._source.name, details if self._is_share else details | self._notes_of_files())

    def _notes_of_files(self) -> dict[str, Any]:
        """What is to be said of the files, and whether marks of numbers may differ."""
        notes = [files_description([each.name for each in self._found])]
        if self._hive:
            notes[0] += f"; {', '.join(self._hive)} from the names of folders"
        names_of: dict[str, list[str]] = {}
        for name, each in self._layouts.items():
            for note in each.details.get("notes", ()):
                names_of.setdefault(note, []).append(name)
        for note, names in names_of.items():
            more = f" and {len(names) - 1} more files" if len(names) > 1 else ""
            notes.append(f"{names[0]}{more}: {note}")
        differ = any(each.details.get("marks_may_differ") for each in self._layouts.values())
        return {"notes": tuple(notes)} | ({"marks_may_differ": True} if differ else {})

    @property
    def declared(self) -> Mapping[str, VariableDeclaration]:
        """What the first part says of its columns."""
        return self._declared

    @property
    def numbers(self) -> NumberNotation:
        """How all parts write numbers."""
        from maskwright.data.notations import PLAIN

        return self._numbers or PLAIN

    @contextlib.contextmanager
    def _opening(self, part: FoundPart) -> Iterator[Reading | None]:
        """The part, opened; None where it is a file without records that says nothing else."""
        try:
            opened = contextlib.ExitStack()
            reading = opened.enter_context(_opened(self._source, self._params, part))
        except NoRecords:
            yield None
            return
        with opened:
            yield reading

    def _note(self, part: FoundPart, reading: Reading) -> None:
        """Take what is known of a part when it is opened, and stop where it is written otherwise than the first."""
        self._layouts.setdefault(part.name, reading.layout)
        notation = number_notation(reading)
        if self._numbers is None:
            self._numbers = notation
            self._first = part
            self._declared = getattr(reading, "declared", {})
        elif notation != self._numbers:
            message = f"numbers are written otherwise than in {self._first.name}"
            hint = "Say how all of them are written (`decimal`, `thousands`), or write all parts alike."
            raise DataError(Problem(message, Place(part.path), hint))

    def _agree(self, part: FoundPart, own: dict[str, Any]) -> None:
        if not self._types:
            self._types = {**own, **{key: kind for key, kind in self._hive.items() if key not in own}}
            self._first = part
        inside = {name: kind for name, kind in self._types.items() if name not in self._hive or name in own}
        refuse_unlike(part, own, self._first, inside, may_lack=self._source.format.omits_empty_variables)

    def _all_types(self) -> dict[str, Any]:
        types: dict[str, Any] = {}
        for each in self._found:
            with self._opening(each) as reading:
                if reading is not None:
                    with written_batches_of(reading) as batches:
                        for batch in batches:
                            types |= columns_of(batch.cells)
                            break
        return types | {key: kind for key, kind in self._hive.items() if key not in types} if types else {}


def refuse_changed(part: FoundPart) -> None:
    """Stop where a part is not the file that was found."""
    try:
        stamp = remote_stamp(part.path) if part.is_remote else stamp_of(part.path)
    except OSError:
        stamp = ""
    if stamp != part.stamp:
        what = "was changed" if stamp else "is not there any more"
        raise DataError(Problem(f"the file {what}, while the run was at work on it", Place(part.path), "Try again."))


def refuse_changed_parts(parts: Parts) -> None:
    """Stop where the parts are not those that were read: one was changed, went, or was added."""
    for each in parts:
        refuse_changed(each)
    known = {each.name for each in parts}
    for added in find_parts(parts.found_by):
        if added.name not in known:
            raise DataError(Problem("the file was added, while the run was at work", Place(added.path), "Try again."))


def parts_source(source: Source, place: str | None = None) -> Source:
    """Source that reads a dataset of parts, each of which another source reads.

    `place`: folder, pattern or address; by default what `open` is called with.
    """
    return replace(source, open=partial(_open, source, place), open_once=None, nested=None, format=_of_parts(source))


def files_source(source: Source, found: Sequence[FoundPart], schema: Any = None) -> Source:
    """Source that reads these files as one dataset, wherever they lie.

    `source`: that reads each of them. `schema`: of the dataset, where these are some of its parts: a file is refused
    that is not what was found.
    """
    return replace(
        source, open=partial(_open_files, source, tuple(found), schema), open_once=None, nested=None,
        format=_of_parts(source),
    )  # fmt: skip


def _of_parts(source: Source) -> Format:
    return replace(source.format, reads_folders=True, lost_when_replaced=None)


def _open_files(
    source: Source, found: tuple[FoundPart, ...], schema: Any, path: Path, params: Any, progress: Progress
) -> PartsReading:
    return PartsReading(source, params, found, str(path), progress, schema)


def _open(source: Source, place: str | None, path: Path, params: Any, progress: Progress) -> PartsReading:
    where = str(path) if place is None else place
    return PartsReading(source, params, find_parts(where), where, progress)


@contextlib.contextmanager
def _opened(source: Source, params: Any, part: FoundPart) -> Iterator[Reading]:
    with on_this_machine(part) as path:
        try:
            yield source.open(path, params, silent)
        except DataError as error:
            if not part.is_remote:
                raise
            placed = [
                replace(each, place=replace(each.place, file=part.path))
                if each.place is not None and each.place.file == str(path)
                else each
                for each in error.problems
            ]
            raise type(error)(placed) from None


def _path(part: FoundPart) -> Path:
    from pathlib import Path

    return Path(part.path)


def _as_dataset(part: FoundPart, batch: WrittenBatch, types: Mapping[str, Any], row: int) -> WrittenBatch:
    """The same records, with the columns of the dataset."""
    names = batch.cells.schema.names
    said = constant_columns(part, batch.cells, types, row)
    if not said and columns_of(batch.cells) == types and names == list(types):
        return batch
    n = batch.cells.num_rows
    columns = [
        batch.cells.column(name).cast(kind) if name in names else said[name] if name in said else pa.nulls(n, kind)
        for name, kind in types.items()
    ]
    return WrittenBatch(pa.record_batch(columns, names=list(types)), batch.written)
