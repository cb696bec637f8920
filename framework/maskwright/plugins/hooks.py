"""The hooks a plugin package may implement.

A ``register_...`` hook is called once per process, when plugins are first needed; it should return quickly, so import
compiled kernels inside the functions that use them. The observers are called around each protection step, in the
process that runs the step; they return nothing and cannot alter data.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright.plugins.attack import Attack
    from maskwright.plugins.block import Block
    from maskwright.plugins.engine import Engine
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.method import Masked, Method, Removed
    from maskwright.plugins.partition import Partition
    from maskwright.plugins.report import Report
    from maskwright.plugins.rules import RuleLanguage
    from maskwright.plugins.source import Source

PROJECT = "maskwright"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin's module as one of its hooks, which are those of `Hooks`.

Examples
--------
>>> from maskwright import Measure, hookimpl
>>> @hookimpl
... def register_measures() -> list[Measure]:
...     return []
"""


@dataclass(frozen=True)
class Deferred:
    """A plugin that is imported when it is first used: what a hook may offer in the place of the record.

    A package with many plugins need not import all of them for a run that uses one. A mistake in a deferred plugin
    shows when it is used, and in ``maskwright plugins``.

    Attributes
    ----------
    name : str
        That of the record.
    where : str
        ``package.module:RECORD``.
    suffixes : tuple of str
        Those of the record, of a source or a rule language.

    Examples
    --------
    >>> from maskwright import Deferred
    >>> Deferred("mdav", "maskwright_builtin.partitions.mdav.partition:MDAV").name
    'mdav'
    """

    name: str
    where: str
    suffixes: tuple[str, ...] = ()

    def record(self) -> Any:
        """Import the module, and return the record."""
        module, _, attribute = self.where.partition(":")
        return getattr(importlib.import_module(module), attribute)


HOOKS = {
    "source": "register_sources",
    "rule_language": "register_rule_languages",
    "partition": "register_partitions",
    "method": "register_methods",
    "measure": "register_measures",
    "attack": "register_attacks",
    "report": "register_reports",
    "engine": "register_engines",
}
"""The hook that asks for each kind of plugin."""


class Hooks:
    """Specification of the hooks.

    A plugin implements any of them as plain functions of a module, without ``self``, marked with
    ``@maskwright.hookimpl``; arguments it does not need may be left out.
    """

    @hookspec
    def register_sources(self) -> Iterable[Source | Deferred]:  # type: ignore[empty-body]
        """Offer file formats."""

    @hookspec
    def register_rule_languages(self) -> Iterable[RuleLanguage | Deferred]:  # type: ignore[empty-body]
        """Offer rule languages."""

    @hookspec
    def register_partitions(self) -> Iterable[Partition | Deferred]:  # type: ignore[empty-body]
        """Offer partitions of records into clusters."""

    @hookspec
    def register_methods(self) -> Iterable[Method | Deferred]:  # type: ignore[empty-body]
        """Offer protection methods."""

    @hookspec
    def register_measures(self) -> Iterable[Measure | Deferred]:  # type: ignore[empty-body]
        """Offer loss and risk measures."""

    @hookspec
    def register_attacks(self) -> Iterable[Attack | Deferred]:  # type: ignore[empty-body]
        """Offer attacks: ways to infer cells of a release."""

    @hookspec
    def register_reports(self) -> Iterable[Report | Deferred]:  # type: ignore[empty-body]
        """Offer reports."""

    @hookspec
    def register_engines(self) -> Iterable[Engine | Deferred]:  # type: ignore[empty-body]
        """Offer engines, which run the tasks of large runs."""

    @hookspec
    def before_step(self, step: int, method: str, block: Block) -> None:
        """Observe a block before step number `step` (1-based) masks it; its arrays are read-only.

        `step`: 1-based.
        """

    @hookspec
    def after_step(self, step: int, method: str, block: Block, masked: Masked | Removed) -> None:
        """Observe what step number `step` made of a block, before adjustment and rounding.

        `step`: 1-based. `block`: what the method was given. `masked`: what it made of it, or took away.
        """
