"""Addresses in object stores: folders of masked data, and passwords refused where none belong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.data.parts.part_files import address_of, folder_of, is_pattern, is_remote, refuse_address
from maskwright.foundation.errors import Place, Problem

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from maskwright.foundation.yaml_document import Node


_SECRET = re.compile(r"passw|passphrase|^pwd$|secret|token|credential|^dsn$|conninfo", re.IGNORECASE)
_ADDRESS = "://"


def secrets_in(section: Node, options: Container[str]) -> list[Problem]:
    """A problem for each password, and each address that may hold one, in the ``data:`` section."""
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


def remote_folder(
    node: Node, inputs: Mapping[str, Path], problems: list[Problem], *, is_folder: bool
) -> Path | None:  # fmt: skip
    """Address of a folder in an object store, as a path of which `address_of` makes the address again."""
    address = address_of(str(node.value))
    wrong = refuse_address(address)
    if wrong is not None:
        problems.append(replace(wrong, place=without_text(node.place)))
        return None
    before = len(problems)
    if not is_folder:
        hint = f"Name a folder: {address.partition('://')[0]}://BUCKET/masked/"
        problems.append(Problem("output.data: masked data in an object store are a folder of parts", node.place, hint))
    if is_pattern(address):
        problems.append(Problem(f"output.data: {address!r} is a pattern; expected one name", node.place))
    folder = _within(address)
    for what, path in inputs.items():
        place = address_of(str(path))
        if not is_remote(place):
            continue
        read = _within(folder_of(place))
        if folder.is_relative_to(read) or read.is_relative_to(folder):
            message = f"output.data: the folder and that of {what} lie in each other"
            problems.append(Problem(message, node.place, "Give the masked data a folder of their own."))
    return Path(address) if len(problems) == before else None


def _within(address: str) -> Path:
    """Bucket and folder: several protocols may name the same store."""
    return Path("/") / address.partition("://")[2].strip("/")
