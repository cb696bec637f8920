"""What Schematron rules call the original, as in ``document('microdata.xml')``, and which file is taken for it."""

from __future__ import annotations

import filecmp
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.edits.expression import InOriginal, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.edits.edit_set import EditSet

LONGEST_SHOWN = 100
"""Characters of a name in a message."""


def named_originals(edits: EditSet, original: Path | None) -> Iterator[str]:
    """A sentence for each name that is not the original's: the original is read, and no other file.

    `original`: None: data in memory.
    """
    said: set[tuple[str, str]] = set()
    for edit in edits:
        rules = "" if edit.place is None or edit.place.file is None else edit.place.file
        for node in nodes(edit.expression):
            if not isinstance(node, InOriginal) or node.document is None or (rules, node.document) in said:
                continue
            said.add((rules, node.document))
            if original is None or not _is_same(node.document, Path(rules), original):
                taken = "the data given" if original is None else original.name
                where = edit.name if edit.place is None else f"{rules}:{edit.place.line}"
                name = node.document if len(node.document) <= LONGEST_SHOWN else f"{node.document[:LONGEST_SHOWN]}..."
                yield f"{where}: document({name!r}) stands for the original: {taken} is taken for it"


def _is_same(named: str, rules: Path, original: Path) -> bool:
    """Whether the file named, in the folder of the rules or below, is the original or has its bytes."""
    folder = rules.parent.resolve()
    try:
        path = (folder / named).resolve()
        if not path.is_file():
            return False
        if path.samefile(original):
            return True
        return path.is_relative_to(folder) and filecmp.cmp(path, original, shallow=False)
    except (OSError, ValueError):
        # A name that no file can have.
        return False
