"""Passwords where none belong: refused without repeating them, since messages, logs and records are kept and shown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.data.parts.addresses import address_of, is_remote, refuse_address
from maskwright.foundation.errors import Place, Problem

if TYPE_CHECKING:
    from collections.abc import Container

    from maskwright.foundation.yaml_document import Node

_SECRET = re.compile(r"passw|passphrase|^pwd$|secret|token|credential|^dsn$|conninfo", re.IGNORECASE)
_ADDRESS = "://"


def secrets_in(section: Node, options: Container[str]) -> list[Problem]:
    """A problem for each password, and each address that may hold one, in the ``data:`` section.

    `options`: keys that the format knows: ``password_variable`` names a variable.
    """
    found = [
        Problem(
            f"{key.raw}: a password does not belong in a pipeline",
            without_text(key.place),
            "Set it in the environment (PGPASSWORD), and remove it here.",
        )
        for key, _ in section.entries
        if key.raw not in options and _SECRET.search(key.raw)
    ]
    named = section.get("source")
    if named is not None and is_address(named):
        wrong = refuse_address(str(named.value))
        if wrong is not None:
            return [*found, replace(wrong, place=without_text(named.place))]
        if is_remote(str(named.value)) or address_of(str(named.value)) != str(named.value):
            return found
        hint = "Of a table on a server: `format: postgresql`, its database as `source:`, and `host:`."
        found.append(Problem("expected the name of a data file, not an address", without_text(named.place), hint))
    return found


def is_address(node: Node) -> bool:
    """Whether a file name is an address (``postgresql://...``), which may hold a password."""
    return isinstance(node.value, str) and _ADDRESS in node.value


def without_text(place: Place) -> Place:
    """Place without the line that stands there."""
    file = place.file
    if file is not None and file.startswith("--set "):
        file = file.partition("=")[0]
    return replace(place, file=file, text=None)
