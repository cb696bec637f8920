"""Hashes of record numbers and of published values, the same on every machine and for every cut of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.hashed_numbers import mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
