"""Parts of a section of the pipeline file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.foundation.yaml_document import Node

if TYPE_CHECKING:
    from collections.abc import Collection


def only(node: Node, keys: Collection[str]) -> Node:
    """Copy of a mapping with these keys only; anything else as it is."""
    return replace(node, entries=tuple(entry for entry in node.entries if entry[0].raw in keys))


def without(node: Node, keys: Collection[str]) -> Node:
    """Copy of a mapping without these keys; an empty mapping for anything else."""
    entries = tuple(entry for entry in node.entries if entry[0].raw not in keys)
    return Node("mapping", node.place, entries=entries)


def texts(node: Node, under: Collection[str] | None = None) -> Node:
    """Copy in which every scalar is the text that was written: ``012`` is a category, not the number 12.

    `under`: only the values of these keys, wherever they are below `node`.
    """
    if node.is_scalar:
        return replace(node, value=node.raw) if under is None and node.value is not None else node
    elements = tuple(texts(element, under) for element in node.elements)
    entries = tuple(
        (key, texts(value, None if under is not None and key.raw in under else under)) for key, value in node.entries
    )
    return replace(node, elements=elements, entries=entries)
