"""Records on their way: columns of one task sorted by who reads them next, in an Arrow file of the scratch folder."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


DIGITS = 1 << 16
"""Readers whose numbers have 16 bits."""


def spill(path: Path, columns: Mapping[str, NDArray[np.generic]], readers: NDArray[np.int64], count: int) -> None:
    """Write columns, the records of each reader together and in their order.

    Parameters
    ----------
    path : Path
        Without an ending; two files are written.
    columns : mapping of name to ndarray of shape (n,)
    readers : ndarray of shape (n,), int64
        Who reads each record: 0 .. count - 1.
    count : int
    """
    # Small numbers are sorted by their digits.
    order = np.argsort(readers.astype(np.uint16) if count <= DIGITS else readers, kind="stable")
    borders = np.concatenate([[0], np.cumsum(np.bincount(readers, minlength=count))]).astype(np.int64)
    batch = pa.record_batch({name: pa.array(values[order]) for name, values in columns.items()})
    with _private(path.with_suffix(".arrow")) as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)
    with _private(path.with_suffix(".borders")) as file:
        file.write(borders.tobytes())


def borders_of(path: Path) -> NDArray[np.int64]:
    """First record of each reader, and behind them the number of all; shape (count + 1,)."""
    return np.fromfile(path.with_suffix(".borders"), dtype=np.int64)


def spilled(path: Path, first: int, last: int) -> dict[str, NDArray[np.generic]]:
    """Columns of the records of readers `first` to `last` - 1, in the order in which they were written."""
    borders = borders_of(path)
    start, stop = int(borders[first]), int(borders[last])
    with pa.memory_map(str(path.with_suffix(".arrow"))) as mapped:
        batch = pa.ipc.open_file(mapped).get_batch(0).slice(start, stop - start)
        # Copies: nothing may look into the file once it is closed.
        return {name: batch.column(name).to_numpy(zero_copy_only=False).copy() for name in batch.schema.names}


def together(pieces: list[dict[str, NDArray[np.generic]]]) -> dict[str, NDArray[np.generic]]:
    """Columns of several pieces, one after the other."""
    return {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}


def _private(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb")
