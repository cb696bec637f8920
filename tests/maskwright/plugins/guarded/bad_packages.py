"""Packages that cannot be loaded: what each does, and what `maskwright plugins` says of it."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bad_plugins
from installing import hook

from maskwright import Claims, Method, hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class BadPackage:
    """A package, and what is said of it.

    Attributes
    ----------
    name : str
        What it does, in a few words.
    module : callable
        Makes its module, ``bad``.
    says : str
        Regular expression.
    plugin : Method or None
        What it offers, where it comes so far.
    """

    name: str
    module: Callable[[], types.ModuleType]
    says: str
    plugin: Method | None = None


def hooks(contract: object = 2, **functions: Any) -> types.ModuleType:
    """Module with hooks."""
    module = types.ModuleType("bad")
    if contract is not None:
        vars(module)["CONTRACT"] = contract
    for name, function in functions.items():
        setattr(module, name, hook(name, function))
    return module


def protect(block, params, rng):
    return bad_plugins.good(block)


def offers() -> list[Method]:
    return [Method(name="spoiler", protect=protect, claims=Claims(handles_missing=True))]


def prints_and_offers() -> list[Method]:
    print("hello")
    return offers()


def exits_when_asked() -> Any:
    sys.exit(0)


def stops_when_asked() -> Any:
    raise bad_plugins.Stop


def before_step(step):
    yield


def wrapping() -> types.ModuleType:
    module = hooks(register_methods=offers)
    vars(module)["before_step"] = hookimpl(wrapper=True)(before_step)
    return module


PACKAGES = (
    BadPackage("says no contract", lambda: hooks(None, register_methods=offers), "does not say which contract",
               *offers()),
    BadPackage("is for a later contract", lambda: hooks(3, register_methods=offers), "is written for contract 3",
               *offers()),
    BadPackage("says its contract in words", lambda: hooks("one", register_methods=offers), "it is a whole number",
               *offers()),
    BadPackage("ends when it is asked", lambda: hooks(register_methods=exits_when_asked), "register_methods: SystemEx"),
    BadPackage("fails when it is asked", lambda: hooks(register_methods=stops_when_asked), "register_methods: Stop"),
    BadPackage("wraps the observers", wrapping, "before_step is a hook wrapper"),
    BadPackage("has no hooks", hooks, "no function marked with @maskwright.hookimpl"),
)  # fmt: skip
