"""How many processors there are to work on, also for processes that share them."""

from __future__ import annotations

import os

LIMIT = "NUMBA_NUM_THREADS"
"""What says so to a process that is not to take all processors; compiled kernels go by it too."""

SHARE = "MASKWRIGHT_THREADS"
"""The same for a process whose kernels are compiled already."""

_OF_LIBRARIES = (LIMIT, SHARE, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


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
    limits = (os.environ.get(name, "") for name in (SHARE, LIMIT))
    return min([given, *(int(limit) for limit in limits if limit.isdecimal() and int(limit))])


def share_of_each(processes: int) -> dict[str, str]:
    """What so many processes that work at the same time get put over their environment.

    Together they have as many threads as there are processors, and each has one at least. What is set already is kept
    where it is less.

    `processes`: how many there are, >= 1.
    """
    share = max(1, processors() // processes)

    def limit(name: str) -> str:
        said = os.environ.get(name, "")
        return str(min(share, int(said)) if said.isdecimal() and int(said) else share)

    return {name: limit(name) for name in _OF_LIBRARIES}


def shared_processors(processes: int) -> dict[str, str]:
    """Environment of processes that work at the same time, see `share_of_each`.

    `processes`: how many there are, >= 1.
    """
    return {**os.environ, **share_of_each(processes)}
