"""Modules whose hooks offer a plugin: they say which contract it is written for."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING

from maskwright.plugins.contract import version_error
from maskwright.plugins.hooks import HOOKS, PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from maskwright.plugins.registry import Named


def unsaid_contract(kind: str, plugin: Named, package: str) -> str | None:
    """Say why the modules that offer a plugin do not say which contract it is written for, or return None.

    Of a package that is installed, the module that its entry point names counts, as in a run. From a source tree it may
    be any of the modules that offer the plugin: a module of tests that imports the hook offers it too.

    `package`: Top-level package of its function; where it is a namespace, other distributions have modules of it too.
    """
    offering = list(_offering(kind, plugin, package))
    installed = {each.module for each in entry_points(group=PROJECT)}
    named = [each for each in offering if each.__name__ in installed]
    saying = [each for each in offering if hasattr(each, "CONTRACT")]
    for module in named or saying or offering[:1]:
        wrong = version_error(module, module.__name__, "")
        if wrong is not None:
            return wrong
    return None


def _offering(kind: str, plugin: Named, package: str) -> Iterator[ModuleType]:
    """Loaded modules of a package whose hook for this kind gives a plugin of this name."""
    for name, module in sorted(sys.modules.items()):
        hook: Callable[[], Iterable[Named]] | None = None
        if isinstance(module, ModuleType) and name.partition(".")[0] == package:
            hook = vars(module).get(HOOKS[kind])
        if callable(hook) and getattr(hook, f"{PROJECT}_impl", None) is not None:
            with suppress(Exception, SystemExit):  # a hook that fails offers nothing; whose it is, a run says
                if plugin.name in [each.name for each in hook()]:
                    yield module
