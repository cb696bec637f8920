"""How many processors there are to work on, also for processes that share them."""

from __future__ import annotations

import os

LIMIT = "NUMBA_NUM_THREADS"
"""What says so to a process that is not to take all processors; compiled kernels go by it too."""

_OF_LIBRARIES = (LIMIT, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def processors() -> int:
    """Threads that this process may keep busy: processors given to it, or fewer where it shares them.

    Examples
    --------
    >>> from maskwright import processors
    >>> processors() >= 1
    True
    """
    try:
        given = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        given = os.cpu_count() or 1
    limit = os.environ.get(LIMIT, "")
    return min(given, int(limit)) if limit.isdecimal() and int(limit) else given


def shared_processors(processes: int) -> dict[str, str]:
    """Environment of processes that work at the same time: together they have as many threads as there are processors.

    Each has one thread at least. What is set already is kept where it is less.

    Parameters
    ----------
    processes : int
        How many there are, >= 1.
    """
    share = max(1, processors() // processes)

    def limit(name: str) -> str:
        said = os.environ.get(name, "")
        return str(min(share, int(said)) if said.isdecimal() and int(said) else share)

    return {**os.environ, **{name: limit(name) for name in _OF_LIBRARIES}}
