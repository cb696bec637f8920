"""Rows in chunks, on all processors that the process may use.

Each row is worked on alone, so the result does not depend on how many there are. ``execution.workers`` counts blocks
that methods mask at the same time; compiled loops like this one, which wait for nothing, are bounded by the processors
given to the process (``taskset``, a container) instead.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from maskwright.foundation.processes.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 16_384


def by_chunks(work: Callable[[slice], None], rows: int) -> None:
    """Call `work` with slices that cover ``range(rows)``.

    `work`: writes its results into arrays of its own slice. An exception in one chunk is raised.
    """
    slices = [slice(start, min(start + _CHUNK, rows)) for start in range(0, rows, _CHUNK)]
    threads = min(len(slices), processors())
    if threads <= 1:
        for each in slices:
            work(each)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, slices):
            pass
