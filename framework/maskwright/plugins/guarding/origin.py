"""Whose function is called: the plugin, its kind, the package it comes from, and the step that calls it."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILT_IN = "maskwright"
"""Package of the plugins that Maskwright brings along."""

_STEP: ContextVar[int | None] = ContextVar("maskwright_step", default=None)


@dataclass(frozen=True)
class Origin:
    """Where a plugin comes from.

    `kind`: as in `PluginInfo`, or ``observer``. `name`: of the plugin; of an observer, the hook that it implements.
    `distribution`, `version`: of the package; empty when they are not known. `module`: name of the Python package in
    which places of mistakes are looked for.
    """

    kind: str
    name: str
    distribution: str = ""
    version: str = ""
    module: str = field(default="", compare=False)

    def __str__(self) -> str:
        package = f" of package {self.distribution} {self.version}" if self.distribution else ""
        return f"{self.kind.replace('_', ' ')} {self.name!r}{package}"

    @property
    def is_built_in(self) -> bool:
        """Whether Maskwright brings it along."""
        return self.distribution == BUILT_IN


def origin_of(function: object, kind: str, name: str) -> Origin:
    """Origin of a plugin's function; of one that no package offers, only its kind and name are known."""
    origin = getattr(function, "origin", None)
    return origin if isinstance(origin, Origin) else Origin(kind, name)


def package_label(function: object) -> str:
    """Return `` (p 1.2)``, the package of a plugin's function, where that is not Maskwright itself."""
    origin = origin_of(function, "", "")
    known = origin.distribution and not origin.is_built_in
    return f" ({origin.distribution} {origin.version})" if known else ""


@contextmanager
def in_step(number: int) -> Iterator[None]:
    """Say to calls inside which step of the pipeline makes them; steps count from 1."""
    token = _STEP.set(number)
    try:
        yield
    finally:
        _STEP.reset(token)


def step_label() -> str:
    """Return `` in step 2``, or nothing outside of steps."""
    number = _STEP.get()
    return "" if number is None else f" in step {number}"
