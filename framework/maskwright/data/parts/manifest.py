"""The manifest beside the parts of a release: what they are, for who reads them; nothing that is confidential."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from maskwright.data.parts.part_files import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.data.variable import Variable

WRITTEN_BY = "maskwright"
FACTS = ("name", "records", "bytes", "sha256")


def write_manifest(
    folder: Path, parts: Sequence[dict[str, Any]], variables: Sequence[Variable], file_format: str
) -> None:
    """Write ``_manifest.json``: parts in order with records, bytes and SHA-256 of each, and the columns."""
    content = {
        "written_by": WRITTEN_BY,
        "version": 1,
        "format": file_format,
        "records": sum(each["records"] for each in parts),
        "columns": [{"name": each.name, "type": each.type, "decimals": each.decimals} for each in variables],
        "parts": [{key: each[key] for key in FACTS} for each in parts],
    }
    (folder / MANIFEST).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def foreign_file(folder: Path) -> str | None:
    """A file in a folder that no manifest of ours lists; None: the folder may be replaced as a whole."""
    there = {
        each.relative_to(folder).as_posix() for each in folder.rglob("*") if not each.is_dir() or each.is_symlink()
    }
    listed = _listed(folder / MANIFEST)
    return min(there - listed, default=None)


def _listed(manifest: Path) -> set[str]:
    """Names that a manifest lists, and its own; none where it is not ours."""
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        if content["written_by"] != WRITTEN_BY:
            return set()
        return {MANIFEST, *(str(each["name"]) for each in content["parts"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
