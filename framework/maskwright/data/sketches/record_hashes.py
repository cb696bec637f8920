"""Hashes of records and of published values: the same on every machine and for every cut of a file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.randomness import mixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset


def record_hashes(first: int, count: int) -> NDArray[np.uint64]:
    """Hash of each of `count` records from record number `first` on (0-based); shape (count,).

    Parameters
    ----------
    first, count : int

    Examples
    --------
    >>> from maskwright import record_hashes
    >>> bool((record_hashes(0, 5)[3:] == record_hashes(3, 2)).all())
    True
    """
    return mixed(np.arange(first, first + count, dtype=np.uint64))


def sampled(hashes: NDArray[np.uint64], records: int, wanted: int) -> NDArray[np.int64]:
    """Which records are in a sample of about `wanted` of all `records`: those with the lowest hashes.

    Parameters
    ----------
    hashes : ndarray of shape (n,), uint64
        Of some of the records.
    records : int
        Of the whole file.
    wanted : int

    Returns
    -------
    ndarray of shape (m,), int64
        Positions, ascending; all of them where the file has no more.

    Examples
    --------
    >>> from maskwright import record_hashes, sampled
    >>> sampled(record_hashes(0, 4), records=4, wanted=10)
    array([0, 1, 2, 3])
    """
    if records <= wanted:
        return np.arange(len(hashes), dtype=np.int64)
    return np.flatnonzero(hashes < np.uint64((wanted << 64) // records)).astype(np.int64)


def combined(one: NDArray[np.uint64], cells: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash of what `one` stands for and of one more cell of each record; shape (n,)."""
    return mixed(one ^ mixed(cells))


def class_hashes(data: Dataset, names: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Two hashes of each record, equal where the same is published of these variables; shape (n,) each.

    Parameters
    ----------
    data : Dataset
        In the terms of the whole file.
    names : sequence of str

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Column, Dataset, Variable, class_hashes
    >>> ages = Column(Variable("age"), np.array([20.0, 30.0, 20.0]), np.zeros(3, dtype=bool))
    >>> one, other = class_hashes(Dataset((ages,)), ["age"])
    >>> bool(one[0] == one[2]), bool(one[0] == one[1])
    (True, False)
    """
    one, other = np.full(len(data), 1, dtype=np.uint64), np.full(len(data), 2, dtype=np.uint64)
    for name in names:
        cells = mixed(published_cells(data[name]).view(np.uint64))
        one, other = combined(one, cells), combined(other, cells)
    return one, other


def published_cells(column: Column) -> NDArray[np.int64]:
    """Whole numbers that are equal where the same is published, in all parts of a file; shape (n,).

    Missing cells have -2^51 to -1, which no value has: the bits of numbers that are NaN.
    """
    if column.variable.is_numeric:
        # Adding 0 makes negative zero positive.
        cells = (np.where(column.missing, 0.0, column.values) + 0.0).view(np.int64)
    else:
        cells = column.values.astype(np.int64)
    gone = np.flatnonzero(column.missing)
    if len(gone):
        from maskwright.foundation.arrays import arrow_array, numbers_of  # heavy: Arrow

        found = column.nothing(slice(None), None).take(arrow_array(gone)).dictionary_encode()
        kinds = [missing_cell(text) for text in [*found.dictionary.to_pylist(), None]]
        cells[gone] = np.array(kinds, dtype=np.int64)[numbers_of(found.indices, np.int64, -1)]
    return cells


def missing_cell(text: str | None) -> int:
    """What missing cells have that are published as a text, or as no cell."""
    return -1 - int.from_bytes(hashlib.sha256(f"missing {text}".encode()).digest()[:8], "big") % (1 << 51)
