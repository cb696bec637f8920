"""Rule files in YAML, as trees of nodes with places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.file_identity import note_read
from maskwright.foundation.yaml_document import Node, load_yaml

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 4_000_000


def load_rule_file(path: Path, place: Place | None = None, problems: list[Problem] | None = None) -> Node:
    """Root of a YAML file of rules.

    `place`: who asks for the file; the file itself by default. `problems`: gets mistakes after which the rest can be
    understood.
    """
    return load_yaml(rule_text_of(path, place), str(path), EditError, problems)


def rule_text_of(path: Path, place: Place | None = None) -> str:
    """Text of a rule file."""
    where = place or Place(str(path))
    note_read(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise EditError(Problem(f"{path} is larger than {MOST_BYTES:,} bytes", where))
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise EditError(Problem(f"the file {path} cannot be read: {error.strerror}", where)) from None
    except UnicodeDecodeError:
        raise EditError(Problem("the file is not UTF-8 text", Place(str(path)), "Save it as UTF-8.")) from None
    if not text.strip():
        raise EditError(Problem("the rule file is empty", where, "Write rules in it: - V9 + V10 == V14"))
    return text


def listed_nodes(node: Node | None) -> tuple[Node, ...]:
    """Elements of a list, or the one value; none for nothing."""
    if node is None or (node.is_scalar and node.value is None):
        return ()
    return node.elements if node.is_sequence else (node,)
