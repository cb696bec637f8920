"""Plugins that are in memory, as if a package had them, and packages in a folder, as an installer writes them."""

from __future__ import annotations

import sys
import types
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from maskwright import hookimpl
from maskwright.plugins import registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest


class Distribution:
    """As much of an installed distribution as the registry reads."""

    def __init__(self, name: str, version: str) -> None:
        self.name, self.version, self.metadata = name, version, {"Name": name, "Version": version}

    def locate_file(self, path: str) -> str:
        return path


class InMemory(EntryPoint):
    """Entry point of a module in memory."""

    def load(self) -> Any:
        return vars(self)["module"]


def hook(name: str, function: Any) -> Any:
    """Hook that does what a function does; the function itself is not marked, other packages of tests may have it."""
    copied = types.FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    return hookimpl(copied)


def package(name: str, version: str = "1.2", **hooks: Any) -> EntryPoint:
    """Entry point of a package whose hooks offer these lists; a function is the hook itself."""
    module = types.ModuleType(name)
    vars(module)["CONTRACT"] = 2
    for register, offered in hooks.items():
        function = offered if callable(offered) else lambda offered=offered: offered
        setattr(module, register, hook(register, function))
    point = InMemory(name, name, "maskwright")
    vars(point)["dist"] = Distribution(name, version)
    vars(point)["module"] = module
    return point


@contextmanager
def installed(monkeypatch: pytest.MonkeyPatch, *packages: EntryPoint) -> Iterator[None]:
    """Install packages beside what is there."""
    there = tuple(entry_points(group="maskwright"))
    with monkeypatch.context() as patch:
        patch.setattr(registry, "entry_points", lambda group: (*there, *packages))
        registry.plugins.cache_clear()
        yield
    registry.plugins.cache_clear()


@contextmanager
def in_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """Packages that an installer has put into a folder; what is imported from there is forgotten."""
    before = set(sys.modules)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        registry.plugins.cache_clear()
        yield
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    registry.plugins.cache_clear()
