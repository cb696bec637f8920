"""How many processors there are to work on, and how several processes share them."""

from __future__ import annotations

import os

SHARE = "MASKWRIGHT_THREADS"
"""Environment variable: threads that one process may use, where several share a machine."""

_OTHERS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def processors() -> int:
    """Processors that this process may use."""
    try:
        found = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        found = os.cpu_count() or 1
    share = os.environ.get(SHARE, "")
    return max(1, min(found, int(share))) if share.isdecimal() else found


def share_of_each(processes: int) -> dict[str, str]:
    """Environment in which so many processes together have no more threads than there are processors.

    Parameters
    ----------
    processes : int
    """
    share = str(max(1, processors() // processes))
    return dict.fromkeys((SHARE, *_OTHERS), share)
