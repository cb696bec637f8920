"""The hooks a plugin package may implement.

A ``register_...`` hook is called once per process, when plugins are first needed; it should return quickly, so import
compiled kernels inside the functions that use them. The observers are called around each protection step, in the
process that runs the step; they return nothing and cannot alter data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.plugins.block import Block
    from maskwright.plugins.engine import Engine
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.method import Masked
    from maskwright.plugins.partition import Aggregation, Partition
    from maskwright.plugins.remover import AnyMethod, Removed
    from maskwright.plugins.report import Report, ReportSection
    from maskwright.plugins.rules import ConstraintKind, EditReader, RuleWriter
    from maskwright.plugins.run_extensions import Action, Command, PlanCheck
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

HOOKS = {
    "source": "register_sources",
    "edit_reader": "register_edit_readers",
    "partition": "register_partitions",
    "method": "register_methods",
    "measure": "register_measures",
    "report": "register_reports",
    "aggregation": "register_aggregations",
    "constraint": "register_constraints",
    "rule_writer": "register_rule_writers",
    "plan_check": "register_plan_checks",
    "report_section": "register_report_sections",
    "action": "register_actions",
    "command": "register_commands",
    "engine": "register_engines",
}
"""The hook that asks for each kind of plugin."""


class Hooks:
    """Specification of the hooks.

    A plugin implements any of them as plain functions of a module, without ``self``, marked with
    ``@maskwright.hookimpl``; arguments it does not need may be left out.
    """

    @hookspec
    def register_sources(self) -> Sequence[Source]:  # type: ignore[empty-body]
        """Offer file formats."""

    @hookspec
    def register_edit_readers(self) -> Sequence[EditReader]:  # type: ignore[empty-body]
        """Offer rule languages."""

    @hookspec
    def register_partitions(self) -> Sequence[Partition]:  # type: ignore[empty-body]
        """Offer partitions of records into clusters."""

    @hookspec
    def register_methods(self) -> Sequence[AnyMethod]:  # type: ignore[empty-body]
        """Offer protection methods and removers."""

    @hookspec
    def register_measures(self) -> Sequence[Measure]:  # type: ignore[empty-body]
        """Offer loss and risk measures."""

    @hookspec
    def register_reports(self) -> Sequence[Report]:  # type: ignore[empty-body]
        """Offer reports."""

    @hookspec
    def register_aggregations(self) -> Sequence[Aggregation]:  # type: ignore[empty-body]
        """Offer ways to make representatives of clusters."""

    @hookspec
    def register_constraints(self) -> Sequence[ConstraintKind]:  # type: ignore[empty-body]
        """Offer conditions that rules call by name."""

    @hookspec
    def register_rule_writers(self) -> Sequence[RuleWriter]:  # type: ignore[empty-body]
        """Offer languages that rules are written in."""

    @hookspec
    def register_plan_checks(self) -> Sequence[PlanCheck]:  # type: ignore[empty-body]
        """Offer checks of what a pipeline is going to do."""

    @hookspec
    def register_report_sections(self) -> Sequence[ReportSection]:  # type: ignore[empty-body]
        """Offer sections of the report."""

    @hookspec
    def register_actions(self) -> Sequence[Action]:  # type: ignore[empty-body]
        """Offer what can be done once everything is released."""

    @hookspec
    def register_commands(self) -> Sequence[Command]:  # type: ignore[empty-body]
        """Offer commands of ``maskwright``."""

    @hookspec
    def register_engines(self) -> Sequence[Engine]:  # type: ignore[empty-body]
        """Offer engines that have the tasks of large runs done."""

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
