"""The engines that need nothing but Maskwright: threads of this process, and processes of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.plugins.hooks import hookimpl

if TYPE_CHECKING:
    from maskwright.plugins.engine import Engine

CONTRACT = 2


@hookimpl
def register_engines() -> tuple[Engine, ...]:
    """Offer them."""
    from maskwright.plugins.engines.local import LOCAL, PROCESSES

    return LOCAL, PROCESSES
