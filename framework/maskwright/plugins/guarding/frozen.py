"""What plugins get and must not change: arrays that cannot be made writable again, records without a way to alter them.

Nothing is copied where a view will do: a view on memory that is handed out read-only stays so, whatever its flags are
set to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from maskwright.data.variable import Variable

if TYPE_CHECKING:
    from numpy.typing import NDArray

Frozen = TypeVar("Frozen")

_OURS = ("maskwright.data.", "maskwright.plugins.")


class FrozenDict(dict[str, Any]):
    """A dictionary that is read as any other, and written by none."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """View of an array that cannot be made writable.

    Parameters
    ----------
    array : ndarray
        It becomes read-only, too.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright.plugins.guarding.frozen import read_only
    >>> ages = read_only(np.array([20.0, 30.0]))
    >>> ages.setflags(write=True)
    Traceback (most recent call last):
    ...
    ValueError: cannot set WRITEABLE flag to True of this array
    """
    memory: object = array.base
    if isinstance(memory, memoryview) and memory.readonly:
        return array
    array.setflags(write=False)
    if array.dtype.kind in "mM":  # instants, which no other program could read
        return read_only(array.view(np.int64)).view(array.dtype)
    return np.asarray(memoryview(array.data).toreadonly())


def frozen(value: Frozen) -> Frozen:
    """The same without a way to change it: arrays, mappings and sequences, also inside records of Maskwright.

    `value`: of Maskwright's records only those of data and plugins are looked into; anything else is returned as it is.
    """
    found: Frozen = _frozen(value, copied=False)
    return found


def frozen_copy(value: Frozen) -> Frozen:
    """As `frozen`, with arrays of its own, so that even who finds the memory behind them changes nothing else."""
    found: Frozen = _frozen(value, copied=True)
    return found


_SCALARS = frozenset((str, int, float, bool, type(None)))
"""Types of nearly all values in records, tested first: instances of abstract classes are recognised slowly."""


def _frozen(value: Any, *, copied: bool) -> Any:
    # Of a variable, which has no array, nothing can be changed.
    if type(value) in _SCALARS or isinstance(value, Variable):
        return value
    if isinstance(value, np.ndarray):
        return read_only(value.copy() if copied else value)
    if isinstance(value, Mapping):
        parts = {name: _frozen(each, copied=copied) for name, each in value.items()}
        same = isinstance(value, FrozenDict) and all(parts[name] is each for name, each in value.items())
        return value if same else FrozenDict(parts)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        found = tuple(_frozen(each, copied=copied) for each in value)
        same = isinstance(value, tuple) and all(one is other for one, other in zip(found, value, strict=True))
        return value if same else found
    if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.startswith(_OURS):
        changed = {}
        for each in fields(value):
            before = getattr(value, each.name)
            after = _frozen(before, copied=copied)
            if after is not before:
                changed[each.name] = after
        return replace(value, **changed) if changed else value
    return value
