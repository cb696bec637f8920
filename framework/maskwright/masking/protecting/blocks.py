"""Cutting records into blocks that are masked apart from each other, so that large files take bounded time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def kd_blocks(standardised: NDArray[np.float64], block_size: int) -> NDArray[np.int64]:
    """Cut records into compact blocks of nearly equal size by a k-d cut.

    A run of records is cut at a position of its column of largest variance, until every run is one block. The result
    depends on the values and the order of the records only.

    Parameters
    ----------
    standardised : ndarray of shape (n, p), float64
        Records in units of each column's standard deviation; finite.
    block_size : int
        Largest number of records of a block, >= 1.

    Returns
    -------
    ndarray of shape (n,), int64
        Block of each record, 0..b-1 with ``b = ceil(n / block_size)``. Sizes differ by at most one, so no block has
        fewer than ``n // b`` records. Equal values on a cut are told apart by record order.

    Raises
    ------
    InputError
        When `block_size` is below 1, or `standardised` is no matrix of finite numbers.

    Notes
    -----
    O(n p log b) operations; memory for a copy of one run.

    Examples
    --------
    >>> kd_blocks(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    array([0, 1, 0, 1])
    """
    if block_size < 1:
        raise InputError(f"block_size must be at least 1 record, not {block_size}")
    if standardised.ndim != 2:
        raise InputError(
            f"blocks are cut from a matrix (records, variables), not from {standardised.ndim} dimension(s)"
        )
    if not np.isfinite(standardised).all():
        raise InputError("blocks are cut from finite numbers; replace missing cells first")
    n, p = standardised.shape
    labels = np.zeros(n, dtype=np.int64)
    waiting = [(np.arange(n), 0, -(-n // block_size))]
    while waiting:
        records, first, blocks = waiting.pop()
        if blocks <= 1:
            labels[records] = first
            continue
        left_blocks = blocks // 2
        size = len(records) * left_blocks // blocks
        run = standardised[records]
        column = run[:, int(np.argmax(run.var(axis=0)))] if p else np.zeros(len(records))
        left = _lowest(column, size)
        waiting.append((records[~left], first + left_blocks, blocks - left_blocks))
        waiting.append((records[left], first, left_blocks))
    return labels


def _lowest(column: NDArray[np.float64], size: int) -> NDArray[np.bool_]:
    """Mark the `size` lowest values; ties go to the first ones.

    Not ``argpartition``: which of equal values it puts first depends on the processor.
    """
    if size == 0:
        return np.zeros(len(column), dtype=np.bool_)
    border = np.partition(column, size - 1)[size - 1]
    chosen: NDArray[np.bool_] = column < border
    equal = np.flatnonzero(column == border)
    chosen[equal[: size - int(chosen.sum())]] = True
    return chosen
