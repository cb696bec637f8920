"""Documents in windows of their own: their address is a key that opens them once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SANDBOX = (
    "sandbox allow-popups allow-modals; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'"
)
"""Of a document: it has styles and pictures of its own, and no script of it runs."""


@dataclass(eq=False)
class Documents:
    """Files that may be looked at once each."""

    _waiting: dict[str, tuple[Path, bool]] = field(default_factory=dict)

    def address(self, path: Path, *, download: bool = False) -> str:
        """Address under which a file can be read once.

        `download`: the browser keeps it instead of showing it.
        """
        key = secrets.token_urlsafe(32)
        self._waiting[key] = path, download
        return f"/document/{key}"

    def take(self, key: str) -> tuple[Path, bool] | None:
        """The file, and whether it is kept; never again."""
        return self._waiting.pop(key, None)
