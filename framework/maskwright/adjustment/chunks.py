"""Rows in chunks, on all cores: each row is worked on alone, so the result does not depend on how many there are."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 16_384


def by_chunks(work: Callable[[slice], None], rows: int) -> None:
    """Call `work` with slices that cover ``range(rows)``.

    Parameters
    ----------
    work : callable
        Writes its results into arrays of its own slice. An exception in one chunk is raised.
    rows : int
    """
    slices = [slice(start, min(start + _CHUNK, rows)) for start in range(0, rows, _CHUNK)]
    threads = min(len(slices), os.cpu_count() or 1)
    if threads <= 1:
        for each in slices:
            work(each)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, slices):
            pass
