"""Memory that is no longer used, given back to the system: a process is as large as what it holds."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def give_back_memory() -> None:
    """Give freed memory back: the C library and Arrow keep it for later, in pieces that the next arrays do not fit."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    _trim()(0)


@functools.cache
def _trim() -> Callable[[int], int]:
    """``malloc_trim`` of the GNU C library; nothing where there is none."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda _: 0
    return trim
