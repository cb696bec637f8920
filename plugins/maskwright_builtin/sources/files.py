"""Files for sources: checked before they are read, unpacked on the way, and full disks reported in plain words."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from maskwright import DataError, Place, Problem
from maskwright_builtin.sources.packed import PACKINGS, Packing, refuse_large, unpacked_size

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 2 * 1024 * 1024
"""Bytes read at a time: large enough that work for each block does not count, small enough to stay in memory."""


def with_packed(*suffixes: str) -> tuple[str, ...]:
    """File name endings of a text format, plain and compressed: ``.csv``, ``.csv.gz``, ``.csv.zip``, ``.csv.zst``."""
    return tuple(suffix + packing for suffix in suffixes for packing in ("", *PACKINGS))


def _packing(path: Path) -> Packing | None:
    return PACKINGS.get(path.suffix.lower())


def readable_size(path: Path, largest: int | None = None) -> int:
    """Size of a data file in bytes, unpacked if it is compressed, once it is known to be one.

    `largest`: most bytes to accept; None is no limit.
    """
    place = Place(str(path))
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
    except FileNotFoundError:
        there = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else None
        raise DataError(Problem("there is no such file", place, _neighbour(path, there))) from None
    except IsADirectoryError:
        raise DataError(Problem("this is a directory, and one data file was expected", place)) from None
    except OSError as error:
        raise DataError(Problem(f"the file cannot be read: {error.strerror}", place)) from error
    if not path.is_file():
        hint = "Data files are read twice, so a pipe or device will not do: save it to a file first."
        raise DataError(Problem("this is not a regular file", place, hint))
    if status.st_size == 0:
        raise DataError(Problem("the file is empty", place))
    packing = _packing(path)
    if packing is None:
        refuse_large(path, status.st_size, largest)
        return status.st_size
    with reading(path, packed=True) as packed:
        return unpacked_size(path, packing, packed, largest)


def _neighbour(path: Path, there: list[str] | None) -> str | None:
    if there is None:
        return f"There is no folder {str(path.parent)!r} either."
    same = [name for name in there if name.lower() == path.name.lower() or Path(name).stem == path.stem]
    return f"Did you mean {same[0]!r}?" if same else None


@contextmanager
def reading(path: Path, *, packed: bool = False) -> Iterator[BinaryIO]:
    """File opened for reading, unpacked unless `packed`; trouble with the disk on the way is a `DataError`."""
    packing = None if packed else _packing(path)
    try:
        with path.open("rb") as file:
            if packing is None:
                yield file
            else:
                with packing.unpacked(path, file) as text:
                    yield text
    except OSError as error:
        raise DataError(Problem(f"the file cannot be read: {error.strerror or error}", Place(str(path)))) from error


@contextmanager
def disk_trouble(path: Path) -> Iterator[None]:
    """Turn an error of the operating system while `path` is written into a `DataError` that says what to do."""
    try:
        yield
    except OSError as error:
        hint = "Free some space, check the permissions of the folder, or choose another output folder."
        problem = Problem(f"the file cannot be written: {error.strerror or error}", Place(str(path)), hint)
        raise DataError(problem) from error


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """File opened for writing, packed as its name says; closing it is part of what may fail on a full disk."""
    packing = _packing(path)
    with disk_trouble(path), path.open("wb") as file:
        if packing is None:
            yield file
        else:
            with packing.packed(path, file) as text:
                yield text
