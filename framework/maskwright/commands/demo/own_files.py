"""Files of an example in a folder: nothing is overwritten that is not the example's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


def foreign_files(folder: Path, begins: Mapping[str, bytes], texts: Mapping[str, Collection[str]]) -> list[Path]:
    """Make the folder of an example, and find the files in it that would be overwritten and are not the example's.

    `begins`: what the example's data files begin with, by their names. `texts`: what the example may have written to
    its other files, by their names.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = [folder / name for name, start in begins.items() if not _begins(folder / name, start)]
        return foreign + [folder / name for name, own in texts.items() if not _is_one_of(folder / name, own)]
    except OSError as error:
        raise InputError(f"the example cannot be written to {folder}: {error.strerror}") from error


def left_alone(path: Path, hint: str) -> Problem:
    """What is said of a file that is not the example's own."""
    return Problem(f"{path} is not as the example writes it; it was left alone", hint=hint)


def _begins(path: Path, start: bytes) -> bool:
    if not path.exists():
        return True
    with path.open("rb") as stream:
        return stream.read(len(start)) == start


def _is_one_of(path: Path, own: Collection[str]) -> bool:
    return not path.exists() or path.read_bytes().decode("utf-8", "replace") in own
