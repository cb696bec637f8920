"""The studio: the whole job in a browser on the user's own machine. It comes in as a plugin that adds a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Command

CONTRACT = 1


@hookimpl
def register_commands() -> Sequence[Command]:
    """Offer ``maskwright studio``."""
    from maskwright_studio.command import STUDIO

    return (STUDIO,)
