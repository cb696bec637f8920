"""Protection methods, partitions, measures, attacks, sources and reports that come with Maskwright.

They use the public names of `maskwright` only and come in through the entry-point group that third parties use. Each
plugin is imported when it is used, so that one that cannot be imported does not take the others along.
"""

from __future__ import annotations

from maskwright import Deferred, hookimpl
from maskwright_builtin.attacks import ATTACKS
from maskwright_builtin.measures import MEASURES
from maskwright_builtin.methods import METHODS
from maskwright_builtin.partitions import PARTITIONS
from maskwright_builtin.sources import SOURCES

CONTRACT = 2


@hookimpl
def register_sources() -> tuple[Deferred, ...]:
    """Offer the built-in file formats."""
    return SOURCES


@hookimpl
def register_partitions() -> tuple[Deferred, ...]:
    """Offer the built-in partitions."""
    return PARTITIONS


@hookimpl
def register_methods() -> tuple[Deferred, ...]:
    """Offer the built-in protection methods."""
    return METHODS


@hookimpl
def register_measures() -> tuple[Deferred, ...]:
    """Offer the built-in loss and risk measures."""
    return MEASURES


@hookimpl
def register_attacks() -> tuple[Deferred, ...]:
    """Offer the attack that learns."""
    return ATTACKS


@hookimpl
def register_reports() -> tuple[Deferred, ...]:
    """Offer the report in HTML."""
    return (Deferred("report", "maskwright_builtin.reports.html:HTML"),)


@hookimpl
def register_engines() -> tuple[Deferred, ...]:
    """Offer the engine that needs a package of its own."""
    return (Deferred("dask", "maskwright_builtin.engines.dask_engine:DASK"),)
