"""Kinds of files by their first bytes: what is compressed, what is text."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from maskwright import DataError, Place, Problem

if TYPE_CHECKING:
    from pathlib import Path

BEGINNINGS = (
    (b"\x1f\x8b", "gzip", ".gz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", ".zst"),
    (b"PK\x03\x04", "zip", ".zip"),
    (b"PK\x05\x06", "zip", ".zip"),
    (b"BZh", "bzip2", ""),
    (b"\xfd7zXZ\x00", "xz", ""),
    (b"7z\xbc\xaf\x27\x1c", "7z", ""),
    (b"Rar!", "RAR", ""),
    (b"\x04\x22\x4d\x18", "LZ4", ""),
    (b"PAR1", "Parquet", ".parquet"),
)
"""How files of each kind begin, and the ending by which Maskwright knows them."""
BEGINNING = 512
"""Bytes that are looked at to find the kind of a file."""
CONTROL = bytes(sorted({*range(32)} - {*b"\t\n\r\f"}))

COPY = "Compare its size with the original's and copy it again, or unpack it and read what is there."


def kind_of(start: bytes) -> tuple[str, str] | None:
    """Kind of a file that begins like this, and the ending of its kind."""
    return next(((name, ending) for magic, name, ending in BEGINNINGS if start.startswith(magic)), None)


def of_other_kind(path: Path, wrong: str, stem: str, name: str, ending: str) -> DataError:
    """Error for a file that is of another kind than its ending says; `stem` is its name without that ending."""
    hint = f"Rename it: {stem}{ending}." if ending else "Unpack it, and read the file that comes out."
    return DataError(Problem(f"{wrong}: it begins as {name} files do", Place(str(path)), hint))


def is_text(start: bytes) -> bool:
    """Whether the first bytes of a file may be text in any encoding."""
    return start.startswith((b"\xff\xfe", b"\xfe\xff")) or start.translate(None, delete=CONTROL) == start


def refuse_other_kinds(path: Path, kind: str, file: BinaryIO) -> None:
    """Stop at a file whose first bytes are not those of its ending."""
    file.seek(0)
    start = file.read(BEGINNING)
    place, wrong = Place(str(path)), f"the file is no {kind} file, though its name ends with {path.suffix}"
    if not start:
        raise DataError(Problem("the file is empty", place, COPY))
    found = kind_of(start)
    if found is not None and found[0] == kind:
        return
    if found is not None:
        raise of_other_kind(path, wrong, path.stem, *found)
    if not is_text(start):
        raise DataError(Problem(f"{wrong}: it begins with other bytes, or is encrypted", place, COPY))
    raise DataError(Problem(f"{wrong}: it is text that is not compressed", place, f"Rename it: {path.stem}."))
