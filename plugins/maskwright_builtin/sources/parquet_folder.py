"""A folder of Parquet files: one data file in pieces, with values of columns perhaps in the names of its folders."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

import pyarrow as pa

from maskwright import DataError, Layout, Place, Problem, Progress, VariableDeclaration

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,8}")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class ReadingOfFile(Protocol):
    """One of the files, opened."""

    def batches(self) -> Generator[pa.RecordBatch]:
        """Yield its records."""
        ...

    @property
    def layout(self) -> Layout:
        """Its column types."""
        ...

    @property
    def declared(self) -> Mapping[str, VariableDeclaration]:
        """What it says of its columns."""
        ...


class ParquetFolderReading:
    """Parquet files of one schema, in the order of their paths."""

    def __init__(self, path: Path, open_file: Callable[[Path], ReadingOfFile], progress: Progress) -> None:
        self._progress = progress
        self._open = open_file
        self._files = _files(path)
        self._keys = _keys(path, self._files)
        first = open_file(self._files[0])
        self._types: dict[str, Any] = dict(first.layout.details["types"])
        self._frame = first.layout.details["frame"]
        self._declared = first.declared
        for file in self._files[1:]:
            _refuse_unlike(file, open_file(file).layout.details["types"], self._files[0], self._types)
        both = sorted(self._keys.keys() & self._types.keys())
        if both:
            hint = "Leave them out of the files, or rename the folders."
            message = f"columns that the files have, and the names of their folders too: {', '.join(both[:5])}"
            raise DataError(Problem(message, Place(str(path)), hint))
        self._types |= {key: _type(values) for key, values in self._keys.items()}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records of the files, and what the names of their folders say."""
        for position, file in enumerate(self._files):
            said = {key: _cell(values[position], self._types[key]) for key, values in self._keys.items()}
            with contextlib.closing(self._open(file).batches()) as batches:
                for batch in batches:
                    constant = [pa.repeat(cell, batch.num_rows) for cell in said.values()]
                    yield pa.record_batch([*batch.columns, *constant], names=list(self._types))
            self._progress((position + 1) / len(self._files))

    @property
    def layout(self) -> Layout:
        """Column types, by name."""
        note = f"read from the {len(self._files)} Parquet files of a folder"
        if self._keys:
            note += f"; {', '.join(self._keys)} from the names of its folders"
        notes = (f"{note}; the masked file is one file",)
        return Layout("parquet", {"types": self._types, "frame": self._frame, "notes": notes})

    @property
    def declared(self) -> Mapping[str, VariableDeclaration]:
        """What the first file says of its columns."""
        return self._declared


def _files(path: Path) -> list[Path]:
    """Parquet files in a folder and those below, in the order of their paths; what is hidden is none of the data."""
    found = sorted(
        each
        for each in path.rglob("*")
        if each.is_file() and not any(part.startswith((".", "_")) for part in each.relative_to(path).parts)
    )
    other = [each for each in found if each.suffix.lower() not in (".parquet", ".pq")]
    if other:
        hint = "Only Parquet files may be there; names that begin with '_' or '.' are passed over."
        raise DataError(Problem("the folder of the data holds a file of another kind", Place(str(other[0])), hint))
    if not found:
        raise DataError(Problem("the folder holds no Parquet files", Place(str(path))))
    return found


def _keys(path: Path, files: list[Path]) -> dict[str, list[str]]:
    """Values of each key in the names of the folders: ``region=north`` has key region."""
    keys: dict[str, list[str]] = {}
    expected: list[str] | None = None
    for file in files:
        pairs = [part.split("=", 1) for part in file.relative_to(path).parts[:-1] if "=" in part]
        own = [unquote(key) for key, _ in pairs]
        if expected is not None and own != expected:
            hint = "Every file lies in folders of the same keys, in the same order: region=north/year=2020."
            message = f"the folders of this file say {_listed(own)}, and those of others {_listed(expected)}"
            raise DataError(Problem(message, Place(str(file)), hint))
        expected = own
        for key, (_, value) in zip(own, pairs, strict=True):
            keys.setdefault(key, []).append(unquote(value))
    return keys


def _listed(keys: list[str]) -> str:
    return ", ".join(keys) or "nothing"


def _type(values: list[str]) -> Any:
    """Whole numbers where all values are, written as numbers are: 01 is a code."""
    said = [value for value in values if value != NO_VALUE]
    return pa.int32() if said and all(map(WHOLE_NUMBER.fullmatch, said)) else pa.string()


def _cell(value: str, kind: Any) -> Any:
    if value == NO_VALUE:
        return pa.scalar(None, kind)
    return pa.scalar(int(value) if pa.types.is_integer(kind) else value, kind)


def _refuse_unlike(file: Path, types: Mapping[str, Any], first: Path, expected: Mapping[str, Any]) -> None:
    """Stop at a file with other columns than the first one, or of other types."""
    place, hint = Place(str(file)), "Write all files of a folder alike."
    if list(types) != list(expected):
        unlike = sorted(set(types) ^ set(expected))
        what = f"other columns than {first.name}: {', '.join(unlike[:5])}" if unlike else "its columns in another order"
        raise DataError(Problem(f"the file has {what}", place, hint))
    for name, wanted in expected.items():
        if types[name] != wanted:
            message = f"column {name!r} is {types[name]} in this file, and {wanted} in {first.name}"
            raise DataError(Problem(message, place, hint))
