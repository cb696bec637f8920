"""The engines that need nothing but Maskwright: threads of this process, and processes of this machine."""

from __future__ import annotations

from maskwright.plugins.hooks import Deferred, hookimpl

CONTRACT = 2


@hookimpl
def register_engines() -> tuple[Deferred, ...]:
    """Offer them."""
    where = "maskwright.plugins.engines.local"
    return Deferred("local", f"{where}:LOCAL"), Deferred("processes", f"{where}:PROCESSES")
