"""What tells one file from another: its hash and its size."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pathlib import Path


class FileFacts(TypedDict):
    """What tells one file from another."""

    sha256: str
    bytes: int


def file_facts(path: Path) -> FileFacts:
    """SHA-256 and size of a file, read in pieces."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
            size += len(piece)
    return {"sha256": digest.hexdigest(), "bytes": size}
