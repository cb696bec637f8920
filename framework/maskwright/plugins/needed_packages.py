"""Packages that every worker must have, in the version that is at work here: all that a result may depend on."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.registry import plugins

_NUMBERS = ("numpy", "numba", "scipy", "pyarrow", "pandas", "lxml")
"""What computes, reads and writes for Maskwright."""


def needed_packages() -> dict[str, str]:
    """Version by distribution: Maskwright, what computes for it, and all packages whose plugins may be used."""
    offering = {info.distribution for info in plugins().infos if info.status == "ok"}
    found = {}
    for name in (BUILT_IN, *_NUMBERS, *sorted(offering - {BUILT_IN})):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # plugins that are tried and not installed
            continue
    return found
