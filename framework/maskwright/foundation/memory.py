"""Memory that is no longer used, given back to the system: a process is as large as what it holds."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import TYPE_CHECKING

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
    """Let Arrow take its memory from the C library, whose freed pieces then serve all: its own pool keeps what it had.

    Not where the environment names a pool (``ARROW_DEFAULT_MEMORY_POOL``).
    """
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
