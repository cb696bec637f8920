"""Masked data in an object store: a folder of parts, apart from the data that are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.data.parts.addresses import address_of, is_remote, refuse_address
from maskwright.data.parts.finding import folder_of, is_pattern
from maskwright.foundation.errors import Problem
from maskwright.pipeline.secrets import without_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.foundation.yaml_document import Node


def remote_folder(
    node: Node, inputs: Mapping[str, Path], problems: list[Problem], *, is_folder: bool
) -> Path | None:  # fmt: skip
    """Address of a folder in an object store, as a path of which `address_of` makes the address again.

    `is_folder`: whether the name is one of a folder. Returns None: something is wrong, and `problems` say what.
    """
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
