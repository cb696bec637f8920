"""The shuffle: records of each part spilled, sorted by the leaf in which they are masked, and put back in order."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.task_settings import PartAtWork, of_each_part
from maskwright.data.dataset import Column, Dataset
from maskwright.data.missing import HAD_VALUE, MissingCells
from maskwright.data.sketches.record_hashes import record_hashes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.parted.strata import GroupCut
    from maskwright.commands.parted.task_settings import WholeVariable
    from maskwright.data.variable import Variable
    from maskwright.plugins.method import Limit


ENDING = ".records"

DIGITS = 1 << 16
"""Readers whose numbers have 16 bits."""


def spill(path: Path, columns: Mapping[str, NDArray[np.generic]], readers: NDArray[np.int64], count: int) -> None:
    """Write columns, the records of each reader together and in their order.

    `columns`: numbers; shape (n,). `readers`: who reads each record: 0 .. count - 1; shape (n,).
    """
    # Small numbers are sorted by their digits.
    order = np.argsort(readers.astype(np.uint16) if count <= DIGITS else readers, kind="stable")
    borders = np.concatenate([[0], np.cumsum(np.bincount(readers, minlength=count))]).astype("<i8")
    messages = [[name, values.dtype.newbyteorder("<").str] for name, values in columns.items()]
    records = np.empty(len(order), dtype=[(name, kind) for name, kind in messages])
    for name, values in columns.items():
        records[name] = values[order]
    with private_file(path.with_suffix(ENDING)) as file:
        file.write(json.dumps([messages, count]).encode() + b"\n")
        file.write(borders.tobytes())
        file.write(records.view(np.uint8).data)


def borders_of(path: Path) -> NDArray[np.int64]:
    """First record of each reader, and behind them the number of all; shape (count + 1,)."""
    with path.with_suffix(ENDING).open("rb") as file:
        _, count = _layout(file.readline())
        return np.frombuffer(file.read(8 * (count + 1)), dtype="<i8").astype(np.int64)


def spilled(path: Path, first: int, last: int) -> dict[str, NDArray[np.generic]]:
    """Columns of the records of readers `first` to `last` - 1, in the order in which they were written."""
    return gathered([path], first, last)[0]


def gathered(paths: Sequence[Path], first: int, last: int) -> tuple[dict[str, NDArray[np.generic]], NDArray[np.int64]]:
    """Columns of the records of readers `first` to `last` - 1 in several files, one file after the other.

    Returns records of each file; shape (n,).
    """
    pieces, counts = [], []
    kind = np.dtype([])
    for path in paths:
        with path.with_suffix(ENDING).open("rb") as file:
            header = file.readline()
            kind, count = _layout(header)
            file.seek(8 * first, os.SEEK_CUR)
            borders = np.frombuffer(file.read(8 * (last - first + 1)), dtype="<i8")
            start, stop = int(borders[0]), int(borders[-1])
            if stop > start:
                file.seek(len(header) + 8 * (count + 1) + start * kind.itemsize)
                pieces.append(file.read((stop - start) * kind.itemsize))
            counts.append(stop - start)
    records = np.frombuffer(b"".join(pieces), dtype=kind)
    return {name: np.ascontiguousarray(records[name]) for name in kind.names or ()}, np.array(counts, dtype=np.int64)


@functools.lru_cache(maxsize=64)
def _layout(header: bytes) -> tuple[np.dtype[np.void], int]:
    """What a record is made of, and the number of readers."""
    stated, count = json.loads(header)
    return np.dtype([(name, kind) for name, kind in stated]), int(count)


def together(pieces: list[dict[str, NDArray[np.generic]]]) -> dict[str, NDArray[np.generic]]:
    """Columns of several pieces, one after the other; 0 in a piece that does not have a column."""
    lengths = [len(next(iter(each.values()), ())) for each in pieces]
    kinds = {name: values.dtype for each in pieces for name, values in each.items()}
    return {
        name: np.concatenate([
            each[name] if name in each else np.zeros(n, dtype=kind) for each, n in zip(pieces, lengths, strict=True)
        ])
        for name, kind in kinds.items()
    }  # fmt: skip


def private_file(path: Path) -> IO[bytes]:
    """Open a new file that only its owner can read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb")


def arrays_of(
    data: Dataset, names: Sequence[str], known: Mapping[str, WholeVariable]
) -> dict[str, NDArray[np.generic]]:
    """Values, and codes of missing cells where the whole file says how any are written, of these variables."""
    found: dict[str, NDArray[np.generic]] = {}
    for name in names:
        column = data[name]
        numeric = column.variable.is_numeric
        found[f"v:{name}"] = np.where(column.missing, np.nan, column.values) if numeric else column.values
        if known[name].blanks:
            codes = np.full(len(data), HAD_VALUE) if column.blank is None else column.blank.codes
            found[f"b:{name}"] = codes.astype(np.int32)
    return found


def dataset_of(
    arrays: Mapping[str, NDArray[np.generic]], names: Sequence[str], known: Mapping[str, WholeVariable]
) -> Dataset:
    """Dataset of the variables that `arrays_of` gave."""
    columns = []
    for name in names:
        variable, values = known[name].variable, arrays[f"v:{name}"]
        missing = np.isnan(np.asarray(values, dtype=np.float64)) if variable.is_numeric else values == -1
        blank = MissingCells(known[name].blanks, np.asarray(arrays[f"b:{name}"])) if f"b:{name}" in arrays else None
        columns.append(Column(variable, values, np.asarray(missing), blank, known[name].digits))
    return Dataset(tuple(columns))


@dataclass(frozen=True)
class MaskedGroup:
    """Where the masked values of a variable group are.

    `folders`: of the tasks, one for each block, or of a step that masks part by part one for each part. `published`:
    what became of its variables, where the method publishes others. `notes`: what is said once of all records.
    `limits`: found in the data by the method.
    """

    group: int
    variables: tuple[str, ...]
    folders: tuple[str, ...]
    by_part: bool
    published: tuple[Variable, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()

    def of_part(self, position: int, records: int) -> dict[str, NDArray[np.float64]]:
        """Masked values of a part by record, ``p:name`` as the method gave them and ``a:name`` adjusted."""
        if self.by_part:
            found = spilled(Path(self.folders[position]) / f"m{self.group}", 0, 1)
        else:
            found, _ = gathered([Path(folder) / "masked" for folder in self.folders], position, position + 1)
        rows = found.pop("row")
        put = {}
        for name, values in found.items():
            put[name] = np.full(records, np.nan)
            put[name][rows] = values
        return put


def with_masked(data: Dataset, groups: Sequence[MaskedGroup], position: int) -> tuple[Dataset, Dataset]:
    """A part with what the methods of the steps made of it, and with that adjusted where it was with the clusters."""
    protected = adjusted = data
    for group in groups:
        found = group.of_part(position, len(data))
        given = {name: found[f"p:{name}"] for name in group.variables}
        became = {each.name: each for each in group.published}
        protected = _changed(protected, given, became)
        with_clusters = {name: found.get(f"a:{name}", values) for name, values in given.items()}
        adjusted = _changed(adjusted, with_clusters, became)
    return protected, adjusted


def _changed(data: Dataset, given: dict[str, NDArray[np.float64]], became: Mapping[str, Variable]) -> Dataset:
    columns = {}
    for name, values in given.items():
        variable, missing = became.get(name, data[name].variable), np.isnan(values)
        put = values if variable.is_numeric else np.where(missing, -1, np.nan_to_num(values)).astype(np.int32)
        columns[name] = data[name].changed(put, missing, variable)
    return data.with_columns(columns)


@dataclass(frozen=True, eq=False)
class Shuffle:
    """What a shuffle of one step takes.

    `cuts`: of the groups of the step. `columns`: variables that each of them needs.
    """

    cuts: tuple[GroupCut, ...]
    columns: tuple[tuple[str, ...], ...]
    before: tuple[MaskedGroup, ...]


@of_each_part
def shuffle(part: PartAtWork, folder: Path) -> Mapping[str, object]:
    """Sort the records of one part by leaf, for each variable group; a task."""
    task, original = part.content, part.original
    hashes = record_hashes(part.first, len(original))
    current, _ = with_masked(original, task.before, part.position)
    for cut, names in zip(task.cuts, task.columns, strict=True):
        columns = {"row": np.arange(len(original), dtype=np.int32), **arrays_of(current, names, part.sheet.variables)}
        spill(folder / f"g{cut.group}", columns, cut.leaf_of(original, hashes), cut.leaves)
    return {}
