"""What plain values become by a change: every change of the text is held against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskwright_studio.pipeline_text.layout import Path

Meant = Callable[[Any], Any]


def same(one: object, other: object) -> bool:
    """Whether two plain values are the same: types, and the order of keys, count."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return [*one] == [*other] and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def find(value: Any, path: Path) -> tuple[bool, Any]:
    """Whether there is such a place in a plain value, and what is there."""
    found: Any = value
    for step in path:
        if isinstance(found, list):
            is_there = isinstance(step, int) and 0 <= step < len(found)
        else:
            is_there = isinstance(found, Mapping) and step in found
        if not is_there:
            return False, None
        held: Any = found
        found = held[step]
    return True, found


def setting(path: Path, value: object) -> Meant:
    """What a value becomes by setting one place of it."""

    def meant(settings: Any) -> Any:
        if not path:
            return value
        settings = {} if settings is None else settings
        find(settings, path[:-1])[1][path[-1]] = value
        return settings

    return meant


def removing(path: Path) -> Meant:
    """What a value becomes by removing one place of it."""

    def meant(settings: Any) -> Any:
        del find(settings, path[:-1])[1][path[-1]]
        return settings

    return meant


def inserting(path: Path, at: int, value: object) -> Meant:
    """What a value becomes by an element more in one of its lists."""

    def meant(settings: Any) -> Any:
        find(settings, path)[1].insert(at, value)
        return settings

    return meant


def moving(path: Path, at: int, to: int) -> Meant:
    """What a value becomes by moving an element of one of its lists."""

    def meant(settings: Any) -> Any:
        elements = find(settings, path)[1]
        elements.insert(to, elements.pop(at))
        return settings

    return meant
