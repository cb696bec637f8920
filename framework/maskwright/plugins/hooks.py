"""The hooks a plugin package may implement. All are called once per process, when plugins are first needed, except
the observers, which are called around each protection step.
"""

from __future__ import annotations

from collections.abc import Sequence

import pluggy

from maskwright.plugins.edit_reader import EditReader
from maskwright.plugins.measure import Measure
from maskwright.plugins.method import Masked, Method
from maskwright.plugins.block import Block
from maskwright.plugins.partition import Partition
from maskwright.plugins.report import Report
from maskwright.plugins.source import Source

PROJECT = "maskwright"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks:
    """Specification of the hooks; a plugin implements any of them as plain functions marked with ``@hookimpl``."""

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
    def register_methods(self) -> Sequence[Method]:  # type: ignore[empty-body]
        """Offer protection methods."""

    @hookspec
    def register_measures(self) -> Sequence[Measure]:  # type: ignore[empty-body]
        """Offer loss and risk measures."""

    @hookspec
    def register_reports(self) -> Sequence[Report]:  # type: ignore[empty-body]
        """Offer reports."""

    @hookspec
    def before_step(self, step: int, method: str, block: Block) -> None:
        """Observe a block before step number `step` (1-based) masks it. Cannot change anything: arrays are read-only."""

    @hookspec
    def after_step(self, step: int, method: str, block: Block, masked: Masked) -> None:
        """Observe what step number `step` made of a block, before adjustment. Cannot change anything."""
