"""A dataset written as parts, each by the source that writes one file, and the manifest when all are written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskwright.foundation.errors import DataError, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Layout
    from maskwright.data.variable import Variable
    from maskwright.plugins.source import Source

WRITTEN = "written_parts"
"""Detail of a layout: the parts to write, a tuple of `WrittenPart`."""


@dataclass(frozen=True)
class WrittenPart:
    """A part to write: so many of the dataset's records, following those of the part before.

    `like`: part of the original as which it is written; None: as the first. `said`: columns that the names of its
    folders say, and that are not written into it.
    """

    name: str
    records: int
    like: str | None = None
    said: tuple[tuple[str, str | None], ...] = ()

    def layout(self, whole: Layout) -> Layout:
        """How the file is written: as the part that it is like."""
        layouts: Mapping[str, Layout] = whole.details.get("layouts", {})
        own = layouts.get(self.like or "") or next(iter(layouts.values()), whole)
        return own if whole.format == own.format else whole

    @property
    def left_out(self) -> frozenset[str]:
        """Names of the columns that its folders say."""
        return frozenset(key for key, _ in self.said)


def writing_parts(source: Source) -> Source:
    """The same source with a `write` that makes a folder of parts, as the layout's detail `WRITTEN` lists them.

    `source`: that writes each file; perhaps one that reads parts already.
    """
    return replace(source, write=partial(_write, source))


def _write(source: Source, path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    parts: Sequence[WrittenPart] = layout.details[WRITTEN]
    path.mkdir(exist_ok=True)
    remaining = _Remaining(batches)
    facts: list[dict[str, Any]] = []
    start = 0
    for each in parts:
        file = path / each.name
        file.parent.mkdir(parents=True, exist_ok=True)
        own = replace(
            each.layout(layout),
            as_written=layout.as_written - each.left_out,
            missing_as_written={
                name: cells.slice(start, each.records) for name, cells in layout.missing_as_written.items()
            },
        )
        kept = tuple(variable for variable in variables if variable.name not in each.left_out)
        try:
            source.write(file, remaining.taken(each.records, each.left_out), kept, own)
        except DataError as error:
            raise type(error)([replace(problem, place=Place(each.name)) for problem in error.problems]) from error
        start += each.records
        with file.open("rb") as written:
            sha256 = hashlib.file_digest(written, "sha256").hexdigest()
        facts.append({"name": each.name, "records": each.records, "bytes": file.stat().st_size, "sha256": sha256})
    from maskwright.data.parts.manifest import write_manifest  # of parts

    write_manifest(path, facts, variables, source.name)


class _Remaining:
    """Batches of which one part after the other takes its records."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = iter(batches)
        self._held: Any = None

    def taken(self, records: int, left_out: frozenset[str]) -> Iterator[Any]:
        """The next records, without some columns; at least one batch, since writers ask it for its columns."""
        if self._held is None:
            self._held = next(self._batches)
        if records == 0:
            yield _without(self._held.slice(0, 0), left_out)
        while records:
            if self._held.num_rows == 0:
                self._held = next(self._batches)
            batch = self._held.slice(0, records)
            self._held = self._held.slice(batch.num_rows)
            records -= batch.num_rows
            yield _without(batch, left_out)


def _without(batch: Any, left_out: frozenset[str]) -> Any:
    names = [name for name in batch.schema.names if name not in left_out]
    if len(names) == len(batch.schema.names):
        return batch
    return pa.record_batch([batch.column(name) for name in names], names=names)
