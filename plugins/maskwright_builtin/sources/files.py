"""Files for sources: checked before they are read, and full disks reported in plain words."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from maskwright import DataError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 2 * 1024 * 1024
"""Bytes read at a time: large enough that work for each block does not count, small enough to stay in memory."""


def readable_size(path: Path, largest: int | None = None) -> int:
    """Size of a data file in bytes, once it is known to be one.

    Parameters
    ----------
    path : Path
    largest : int or None
        Most bytes to accept; None is no limit.

    Raises
    ------
    DataError
        The file is missing, a directory, not a regular file, empty, larger than `largest`, or may not be read.
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
    if largest is not None and status.st_size > largest:
        hint = "If the file is right, raise `max_file_size` in the pipeline's data section, or with --option."
        raise DataError(Problem(f"the file has {status.st_size} bytes, and at most {largest} are allowed", place, hint))
    return status.st_size


def _neighbour(path: Path, there: list[str] | None) -> str | None:
    if there is None:
        return f"There is no folder {str(path.parent)!r} either."
    same = [name for name in there if name.lower() == path.name.lower() or Path(name).stem == path.stem]
    return f"Did you mean {same[0]!r}?" if same else None


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """File opened for reading; trouble with the disk on the way is a `DataError` that says so."""
    try:
        with path.open("rb") as file:
            yield file
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
    """File opened for writing; closing it is part of what may fail on a full disk."""
    with disk_trouble(path), path.open("wb") as file:
        yield file
