"""Plugins that are not installed, offered to pipelines for as long as a test runs."""

from __future__ import annotations

import contextlib
import re
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from maskwright.foundation.errors import PluginError
from maskwright.plugins import registry
from maskwright.plugins.contract import CONTRACT, KINDS
from maskwright.plugins.hooks import HOOKS, PROJECT, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NOT_INSTALLED = "not-installed"


class _InMemory(EntryPoint):
    """Entry point of a module that is not installed."""

    def __init__(self, module: ModuleType, distribution: str) -> None:
        super().__init__(distribution, module.__name__, PROJECT)
        metadata = {"Name": distribution, "Version": "0"}
        vars(self).update(_module=module, dist=SimpleNamespace(metadata=metadata, name=distribution, version="0"))

    def load(self) -> Any:
        """Return the module."""
        return vars(self)["_module"]


@contextlib.contextmanager
def offered(plugins: Sequence[object]) -> Iterator[None]:
    """Offer plugins to whatever runs inside: pipelines, `maskwright.protect`, commands.

    Parameters
    ----------
    plugins : sequence
        Plugins of any kind, and modules with hooks. A package that is installed too is offered as it is given.

    Raises
    ------
    PluginError
        One is refused, with the reason that ``maskwright plugins`` gives.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Comparison, Measure, Measurement, NoParams, find_measure
    >>> from maskwright.testing import offered
    >>> def none(comparison: Comparison, params: NoParams, rng: np.random.Generator) -> Measurement:
    ...     return Measurement(0.0)
    >>> with offered([Measure(name="none", compute=none, summary="Always 0.", reference="none")]):
    ...     find_measure("none").summary
    'Always 0.'
    """
    given = list(_entry_points(plugins))
    packages = {each.value.partition(".")[0] for each in given}
    installed = vars(registry)["entry_points"]

    def found(group: str) -> Iterable[EntryPoint]:
        others = (each for each in installed(group=group) if each.value.partition(".")[0] not in packages)
        return [*others, *given]

    try:
        with mock.patch.object(registry, "entry_points", found):
            registry.plugins.cache_clear()
            _refuse_broken({each.name for each in given})
            yield
    finally:
        registry.plugins.cache_clear()


def _entry_points(plugins: Sequence[object]) -> Iterator[EntryPoint]:
    alone: dict[str, list[object]] = {}
    for plugin in plugins:
        if isinstance(plugin, ModuleType):
            name = re.sub(r"[-_.]+", "-", plugin.__name__.partition(".")[0]).lower()
            yield _InMemory(plugin, name)
            continue
        kind = next((name for name, each in KINDS.items() if isinstance(plugin, each)), None)
        if kind is None:
            raise PluginError(f"a {type(plugin).__name__} is no plugin, and no module with hooks")
        alone.setdefault(kind, []).append(plugin)
    if alone:
        module = ModuleType(NOT_INSTALLED)
        vars(module)["CONTRACT"] = CONTRACT
        for kind, each in alone.items():
            setattr(module, HOOKS[kind], hookimpl(lambda each=each: each))
        yield _InMemory(module, NOT_INSTALLED)


def _refuse_broken(distributions: set[str]) -> None:
    for info in registry.plugins().infos:
        if info.status == "broken" and info.distribution in distributions:
            raise PluginError(f"the {info.kind.replace('_', ' ')} {info.name!r} is refused: {info.error}")
