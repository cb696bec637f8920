"""How numeric kernels are compiled: to machine code that is kept, lets other threads run, and never rounds freely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from maskwright import kernel_cache

Function = TypeVar("Function", bound=Callable[..., object])

ZERO = cast("int", np.int64(0))
"""Where a number that changes starts from, if a function gets it: given a literal, the function is compiled twice, once
for this number alone."""
NONE = cast("int", np.int64(-1))
"""Likewise for the number of a record, place or leaf not found yet."""

UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""Counts of references are atomic: a record of arrays that is handed on costs two for each of them."""


def compiled(function: Function) -> Function:
    """Compile on first call and keep the machine code; other threads run meanwhile. Never with fast-math."""
    return cast("Function", kernel_cache(njit(nogil=True, error_model="numpy")(function)))


def compiled_uncounted(function: Function) -> Function:
    """Compile a kernel that allocates nothing, nor does what it calls: references to arrays are not counted."""
    return cast("Function", kernel_cache(njit(nogil=True, error_model="numpy", **UNCOUNTED)(function)))


def inlined(function: Function) -> Function:
    """Compile into the callers, where a call would cost more than what it does."""
    return cast("Function", kernel_cache(njit(nogil=True, error_model="numpy", forceinline=True)(function)))


def inlined_uncounted(function: Function) -> Function:
    """Compile into the callers, which are `compiled_uncounted`."""
    return cast(
        "Function", kernel_cache(njit(nogil=True, error_model="numpy", forceinline=True, **UNCOUNTED)(function))
    )
