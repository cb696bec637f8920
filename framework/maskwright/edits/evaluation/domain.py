"""Combinations of values that occur in the original file: what domain edits refer to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.record_chunk import Cells, RecordChunk
from maskwright.edits.expression import InOriginal, nodes
from maskwright.foundation.arrays import arrow_array, numbers_of, scalar, truths_of
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit

Names = tuple[str, ...]

# Records are compared in slices of this many, so that memory does not grow with the file.
SLICE = 262_144

ORIGINAL_FILE = "Name it: --original FILE, or mw.validate(..., original=data)."
"""What to do where a rule needs the original file."""


def original_file_hint(document: str | None) -> str:
    """What to do where a rule needs the original file, which it may call by a name."""
    if document is None:
        return ORIGINAL_FILE
    return f"{ORIGINAL_FILE} The rule calls it {document!r}: no file is opened because a rule names it."


@dataclass(frozen=True, eq=False)
class Combinations:
    """The distinct combinations of some variables.

    `counts`: original records with each combination; shape (c,). `numbers`: NaN where the cell is a text that is no
    number; shape (c, p). `texts`: null where the cell is a number; shape (c,).
    """

    names: Names
    counts: NDArray[np.int64]
    numbers: NDArray[np.float64]
    texts: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.counts)


class Domain:
    """Combinations occurring in the original, for each tuple of variables that an edit names in ``in original``.

    Cells are compared by value where they are numbers (``12`` is ``12.0``), by text otherwise. Combinations with a
    missing cell do not count.
    """

    def __init__(self, tables: dict[Names, Any]) -> None:
        self._tables = tables

    @property
    def tuples(self) -> tuple[Names, ...]:
        """The variable tuples known."""
        return tuple(self._tables)

    @classmethod
    def from_chunks(cls, tuples: Iterable[Names], chunks: Iterable[RecordChunk]) -> Domain:
        """Collect the combinations of the original file, chunk by chunk."""
        collector = DomainCollector(tuples)
        for chunk in chunks:
            collector.add(chunk)
        return collector.domain()

    @classmethod
    def from_dataset(cls, data: Dataset, tuples: Iterable[Names]) -> Domain:
        """Collect the combinations of a dataset."""
        tuples = tuple(tuples)
        whole = RecordChunk.slices(data, SLICE) if len(data) else (RecordChunk.from_dataset(data),)
        return cls.from_chunks(tuples, whole if tuples else ())

    @classmethod
    def merged(cls, shares: Sequence[Domain]) -> Domain:
        """Combinations of a file from those of its parts."""
        return cls(
            {
                names: _distinct(pa.concat_tables([each._tables[names] for each in shares]), len(names))
                for names in shares[0].tuples
            }
        )

    def combinations(self, names: Names) -> Combinations:
        """Return the distinct combinations of `names` and how many records have each."""
        table = self._table(names)
        numbers = np.empty((table.num_rows, len(names)), dtype=np.float64)
        texts = []
        for position in range(len(names)):
            worded = table.column(f"worded{position}").combine_chunks()
            values = numbers_of(table.column(f"number{position}"), np.float64)
            numbers[:, position] = np.where(truths_of(worded), np.nan, values)
            text = table.column(f"text{position}").combine_chunks()
            texts.append(pc.if_else(worded, text, scalar(None, pa.string())))
        return Combinations(names, numbers_of(table.column("count"), np.int64), numbers, tuple(texts))

    def contains(self, names: Names, columns: RecordChunk) -> NDArray[np.bool_]:
        """Whether each record's combination occurs; shape (n,), False where a cell is missing."""
        table = self._table(names)
        keys = _key_names(len(names))
        chunk, complete = _cell_table(names, columns)
        found = np.zeros(columns.n, dtype=np.bool_)
        if table.num_rows == 0 or chunk.num_rows == 0:
            return found
        rows = np.flatnonzero(complete)
        numbered = chunk.append_column("row", arrow_array(rows))
        known = table.select(keys)
        matched = numbered.join(known, keys=keys, join_type="left semi", use_threads=False)
        found[numbers_of(matched.column("row"), np.int64)] = True
        return found

    def _table(self, names: Names) -> Any:
        if names not in self._tables:
            raise EditError(f"the combinations of {', '.join(names)} in the original file were not collected")
        return self._tables[names]


class DomainCollector:
    """Collects combinations chunk by chunk; memory grows with distinct combinations, not with records."""

    def __init__(self, tuples: Iterable[Names]) -> None:
        self._pending: dict[Names, list[Any]] = {names: [] for names in dict.fromkeys(tuples)}

    def add(self, columns: RecordChunk) -> None:
        """Take in a chunk of the original file."""
        for names, tables in self._pending.items():
            chunk, _ = _cell_table(names, columns)
            ones = arrow_array(np.ones(chunk.num_rows, dtype=np.int64))
            tables.append(_distinct(chunk.append_column("count", ones), len(names)))
            # Merging like a binary counter: each combination is copied a logarithmic number of times.
            while len(tables) > 1 and tables[-1].num_rows * 2 >= tables[-2].num_rows:
                last, before = tables.pop(), tables.pop()
                tables.append(_distinct(pa.concat_tables([before, last]), len(names)))

    def domain(self) -> Domain:
        """Return the combinations so far."""
        finished: dict[Names, Any] = {}
        for names, tables in self._pending.items():
            if not tables:
                raise EditError("the original file has no records")
            finished[names] = _distinct(pa.concat_tables(tables), len(names)) if len(tables) > 1 else tables[0]
        return Domain(finished)


def domain_tuples(edits: Iterable[Edit]) -> tuple[Names, ...]:
    """Variable tuples whose combinations the edits need, each once."""
    every = (node for edit in edits for node in nodes(edit.expression))
    return tuple(dict.fromkeys(node.names for node in every if isinstance(node, InOriginal)))


def _key_names(p: int) -> list[str]:
    return [f"{kind}{position}" for position in range(p) for kind in ("worded", "number", "text")]


def _cell_table(names: Sequence[str], columns: RecordChunk) -> tuple[Any, NDArray[np.bool_]]:
    """Cells of the records without a missing one, in comparable form, and which records those are."""
    cells = [columns[name] for name in names]
    complete = np.ones(columns.n, dtype=np.bool_)
    for cell in cells:
        complete &= np.logical_not(cell.missing)
    rows = np.flatnonzero(complete)
    arrays: list[Any] = []
    for cell in cells:
        arrays.extend(_comparable(cell, rows))
    return pa.table(dict(zip(_key_names(len(cells)), arrays, strict=True))), complete


def _comparable(cell: Cells, rows: NDArray[np.intp]) -> tuple[Any, Any, Any]:
    """Join keys of one variable without nulls, which never match in a join."""
    numbers = cell.numbers[rows]
    worded = np.isnan(numbers)
    # Adding 0 makes negative zero positive.
    values = np.where(worded, 0.0, numbers) + 0.0
    if not worded.any():
        texts: Any = pa.repeat(scalar(""), len(rows))
    else:
        spoken = cell.text()
        flat = spoken.combine_chunks() if isinstance(spoken, pa.ChunkedArray) else spoken
        taken = pc.take(flat.cast(pa.string()), arrow_array(rows))
        texts = pc.if_else(arrow_array(worded), taken, scalar(""))
    return arrow_array(worded), arrow_array(values), texts


def _distinct(table: Any, p: int) -> Any:
    keys = _key_names(p)
    grouped = table.group_by(keys, use_threads=False).aggregate([("count", "sum")])
    return grouped.rename_columns(["count" if name == "count_sum" else name for name in grouped.column_names])


class KnownCombinations:
    """Combinations of some variables that occur in the original records, without a missing cell.

    `originals`: NaN where missing; shape (n,).
    """

    def __init__(self, names: tuple[str, ...], originals: Mapping[str, NDArray[np.float64]]) -> None:
        self.names = names
        columns = np.stack([originals[name] for name in names], axis=1)
        self._rows = np.unique(columns[~np.isnan(columns).any(axis=1)], axis=0)
        self._steps: dict[tuple[str, ...], list[tuple[NDArray[np.float64], NDArray[np.int64]]]] = {}

    def may_hold(self, fixed: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
        """Whether some combination has the values of the variables that have one; True where a cell is missing."""
        names = tuple(name for name in self.names if name in fixed)
        m = len(next(iter(fixed.values())))
        found, gone = np.ones(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
        prefix = np.zeros(m, dtype=np.int64)
        for name, (values, pairs) in zip(names, self._numbered(names), strict=True):
            cells = fixed[name]
            gone |= np.isnan(cells)
            code = _place(values, cells, found)
            prefix = _place(pairs, prefix * (len(values) + 1) + code, found)
        return found | gone

    def _numbered(self, names: tuple[str, ...]) -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """For each variable its values, and the pairs (number of what comes before, number of the value) that occur."""
        if names not in self._steps:
            steps: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []
            prefix = np.zeros(len(self._rows), dtype=np.int64)
            for name in names:
                values, code = np.unique(self._rows[:, self.names.index(name)], return_inverse=True)
                pairs, prefix = np.unique(prefix * (len(values) + 1) + code.ravel(), return_inverse=True)
                prefix = prefix.ravel()
                steps.append((values, pairs))
            self._steps[names] = steps
        return self._steps[names]


def _place(known: NDArray[Any], cells: NDArray[Any], found: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Position of each cell among the sorted known ones; `found` is cleared where it is none of them."""
    if not len(known):
        found[:] = False
        return np.zeros(len(cells), dtype=np.int64)
    place = np.minimum(np.searchsorted(known, cells), len(known) - 1)
    found &= known[place] == cells
    return place.astype(np.int64)
