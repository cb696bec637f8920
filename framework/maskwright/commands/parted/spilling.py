"""Records on their way: those of one task sorted by who reads them next, in a file of the scratch folder.

Each of many tasks reads a few records of each of many files: a file is opened, and they are read at once. It holds a
line of JSON that names the columns, the first record of each reader, and the records, each with all its columns::

    [[["row", "<i4"], ["v:wages", "<f8"]], 12]
    borders: count + 1 whole numbers of 64 bits
    records
"""

from __future__ import annotations

import functools
import json
import os
from typing import IO, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

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
    said = [[name, values.dtype.newbyteorder("<").str] for name, values in columns.items()]
    records = np.empty(len(order), dtype=[(name, kind) for name, kind in said])
    for name, values in columns.items():
        records[name] = values[order]
    with private_file(path.with_suffix(ENDING)) as file:
        file.write(json.dumps([said, count]).encode() + b"\n")
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

    `paths`: at least one; all with the same columns. Returns records of each file; shape (n,).
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
    said, count = json.loads(header)
    return np.dtype([(name, kind) for name, kind in said]), int(count)


def together(pieces: list[dict[str, NDArray[np.generic]]]) -> dict[str, NDArray[np.generic]]:
    """Columns of several pieces, one after the other."""
    return {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}


def private_file(path: Path) -> IO[bytes]:
    """Open a new file that only its owner can read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb")
