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
    """SHA-256 and size of a file, read in pieces; of a folder, of the names and hashes of its files in order."""
    digest, size = hashlib.sha256(), 0
    if path.is_dir():
        for each in sorted(each for each in path.rglob("*") if each.is_file()):
            own = file_facts(each)
            digest.update(f"{each.relative_to(path).as_posix()}\0{own['sha256']}\n".encode())
            size += own["bytes"]
        return {"sha256": digest.hexdigest(), "bytes": size}
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
            size += len(piece)
    return {"sha256": digest.hexdigest(), "bytes": size}
