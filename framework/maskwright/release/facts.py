"""What tells one file from another: its hash and its size."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypedDict

from maskwright.data.parts.addresses import address_of
from maskwright.data.parts.file_systems import on_this_machine
from maskwright.data.parts.finding import find_parts, is_several

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from maskwright.data.dataset import Layout
    from maskwright.data.parts.model import FoundPart
    from maskwright.pipeline.resolved import DataSource


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
        return _facts(iter(lambda: stream.read(1 << 20), b""))


def data_facts(data: DataSource, layout: Layout | None = None) -> FileFacts:
    """SHA-256 and size of what data are read from, which need not be a file.

    `layout`: of the data as they were read: what a server has now may be something else.
    """
    if layout is not None and "parts" in layout.details:
        return _facts_of_parts(layout.details["parts"])
    place = address_of(str(data.path))
    if data.source.content is None and data.source.reads_folders and is_several(place):
        return _facts_of_parts(find_parts(place))
    if data.source.content is None:
        return file_facts(data.path)
    if layout is not None and "sha256" in layout.details:
        return {"sha256": layout.details["sha256"], "bytes": layout.details["bytes"]}
    return _facts(data.source.content(data.path, data.params))


def _facts_of_parts(parts: Iterable[FoundPart]) -> FileFacts:
    """As of a folder: the hash of names and hashes of its files in order."""
    digest, size = hashlib.sha256(), 0
    for part in parts:
        with on_this_machine(part) as path:
            own = file_facts(path)
        digest.update(f"{part.name}\0{own['sha256']}\n".encode())
        size += own["bytes"]
    return {"sha256": digest.hexdigest(), "bytes": size}


def _facts(pieces: Iterable[bytes]) -> FileFacts:
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return {"sha256": digest.hexdigest(), "bytes": size}
