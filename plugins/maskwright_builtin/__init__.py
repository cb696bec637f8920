"""Protection methods, partitions, measures, sources and reports that come with Maskwright.

They use the public names of `maskwright` only and come in through the entry-point group that third parties use. Each
hook imports its subpackage when it is called, so that a kind that cannot be imported does not take the others along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import (
        Action,
        Aggregation,
        ConstraintKind,
        Engine,
        Measure,
        Method,
        Partition,
        PlanCheck,
        Remover,
        Report,
        ReportSection,
        Source,
    )

CONTRACT = 1


@hookimpl
def register_sources() -> Sequence[Source]:
    """Offer the built-in file formats."""
    from maskwright_builtin.sources import SOURCES

    return SOURCES


@hookimpl
def register_partitions() -> Sequence[Partition]:
    """Offer the built-in partitions."""
    from maskwright_builtin.partitions import PARTITIONS

    return PARTITIONS


@hookimpl
def register_methods() -> Sequence[Method | Remover]:
    """Offer the built-in protection methods and removers."""
    from maskwright_builtin.methods import METHODS

    return METHODS


@hookimpl
def register_measures() -> Sequence[Measure]:
    """Offer the built-in loss and risk measures."""
    from maskwright_builtin.measures import MEASURES

    return MEASURES


@hookimpl
def register_reports() -> Sequence[Report]:
    """Offer the built-in reports."""
    from maskwright_builtin.reports import REPORTS

    return REPORTS


@hookimpl
def register_aggregations() -> Sequence[Aggregation]:
    """Offer the built-in ways to make representatives of clusters."""
    from maskwright_builtin.aggregations import AGGREGATIONS

    return AGGREGATIONS


@hookimpl
def register_constraints() -> Sequence[ConstraintKind]:
    """Offer the built-in kinds of constraints."""
    from maskwright_builtin.constraints import CONSTRAINTS

    return CONSTRAINTS


@hookimpl
def register_plan_checks() -> Sequence[PlanCheck]:
    """Offer the built-in checks of plans."""
    from maskwright_builtin.plan_checks import PLAN_CHECKS

    return PLAN_CHECKS


@hookimpl
def register_report_sections() -> Sequence[ReportSection]:
    """Offer the built-in sections of reports."""
    from maskwright_builtin.report_sections import REPORT_SECTIONS

    return REPORT_SECTIONS


@hookimpl
def register_actions() -> Sequence[Action]:
    """Offer what comes with Maskwright to be done after a release."""
    from maskwright_builtin.actions import ACTIONS

    return ACTIONS


@hookimpl
def register_engines() -> Sequence[Engine]:
    """Offer the built-in engines that need a package of their own."""
    from maskwright_builtin.engines import ENGINES

    return ENGINES
