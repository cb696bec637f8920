"""The attacks that use what complementary suppression uses, offered by the same hook as those of other packages."""

from __future__ import annotations

from maskwright.plugins.hooks import Deferred, hookimpl

CONTRACT = 2


@hookimpl
def register_attacks() -> tuple[Deferred, ...]:
    """Offer them."""
    where = "maskwright.disclosure.attacks"
    return (
        Deferred("dependency", f"{where}.similar_records:DEPENDENCY"),
        Deferred("position", f"{where}.similar_records:POSITION"),
        Deferred("equation", f"{where}.balance:EQUATION"),
    )
