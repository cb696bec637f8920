"""Resources of a process: processors, and memory, measured, limited and given back."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.foundation.nearest_names import nearest_name

if TYPE_CHECKING:
    from collections.abc import Callable


def give_back_memory() -> None:
    """Give freed memory back: the C library and Arrow keep it for later, in pieces that the next arrays do not fit.

    Worth it between steps that each make and free several arrays as long as the file. Nothing changes but the size of
    the process.

    Examples
    --------
    >>> from maskwright import give_back_memory
    >>> give_back_memory()
    """
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    _trim()(0)


def share_memory_with_arrow() -> None:
    """Let Arrow use the C library's memory, whose freed pieces serve all, unless the environment names a pool."""
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        import pyarrow as pa

        pa.set_memory_pool(pa.system_memory_pool())


@functools.cache
def _trim() -> Callable[[int], int]:
    """``malloc_trim`` of the GNU C library; nothing where there is none."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda _: 0
    return trim


_GIVEN = Path("/sys/fs/cgroup/memory.max")
_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_AMOUNT = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?) ?(?P<unit>[A-Za-z]+)")


def memory() -> int | None:
    """Bytes that this process may use; None where the system does not say."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return None
    try:
        given = _GIVEN.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return machine
    return min(machine, int(given)) if given.isdecimal() else machine


def bytes_of(amount: str) -> int:
    """Bytes that a text such as ``4GB`` says."""
    found = _AMOUNT.fullmatch(amount.strip())
    if found is None:
        raise ValueError(f"expected a number and a unit, such as 4GB; not {amount!r}")
    if found["unit"] not in _UNITS:
        nearest = nearest_name(found["unit"], tuple(_UNITS))
        meant = "" if nearest is None else f"did you mean {nearest}? "
        raise ValueError(f"unit {found['unit']!r} unknown; {meant}there are {', '.join(_UNITS)}")
    size = int(float(found["number"]) * _UNITS[found["unit"]])
    if size <= 0:
        raise ValueError("expected more than nothing")
    return size


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
    """Environment of so many processes at a time: together as many threads as processors, one each at least."""
    share = max(1, processors() // processes)

    def limit(name: str) -> str:
        result = os.environ.get(name, "")
        return str(min(share, int(result)) if result.isdecimal() and int(result) else share)

    return {name: limit(name) for name in _OF_LIBRARIES}


def shared_processors(processes: int) -> dict[str, str]:
    """Environment of processes that work at the same time, see `share_of_each`."""
    return {**os.environ, **share_of_each(processes)}
