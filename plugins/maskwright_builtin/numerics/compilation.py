"""How numeric kernels are compiled: to machine code that is kept, lets other threads run, and never rounds freely."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit

from maskwright import kept_code

Function = TypeVar("Function", bound=Callable[..., object])

ZERO = cast("int", np.int64(0))
"""Where a number that changes starts from, if a function gets it: given a literal, the function is compiled twice, once
for this number alone."""
NONE = cast("int", np.int64(-1))
"""Likewise for the number of a record, place or leaf not found yet."""


def compiled(function: Function) -> Function:
    """Compile on first call and keep the machine code; other threads run meanwhile. Never with fast-math."""
    return cast("Function", kept_code(njit(nogil=True, error_model="numpy")(function)))


def uncounted(function: Function) -> Function:
    """Compile a kernel that allocates nothing; what it calls allocates nothing either.

    References to arrays are not counted: counts are atomic, and a record of arrays handed on costs two for each of them.
    """
    return cast("Function", kept_code(njit(nogil=True, error_model="numpy", _nrt=False)(function)))


def inlined(function: Function) -> Function:
    """Compile into the callers, where a call would cost more than what it does."""
    return cast("Function", kept_code(njit(nogil=True, error_model="numpy", forceinline=True)(function)))


def inlined_uncounted(function: Function) -> Function:
    """Compile into the callers, which are `uncounted`."""
    return cast("Function", kept_code(njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function)))
