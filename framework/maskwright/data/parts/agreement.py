"""Whether parts are of one dataset: the same columns of the same types, and folders that say what the columns say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.foundation.errors import DataError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from maskwright.data.parts.model import FoundPart

WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,8}")


def columns_of(batch: Any) -> dict[str, Any]:
    """Types of the columns of a batch, by name and in order."""
    return {field.name: field.type for field in batch.schema}


def hive_types(found: Iterable[FoundPart], *, typed: bool) -> dict[str, Any]:
    """Types of the columns that the names of folders say.

    `typed`: whether the format has types: whole numbers are numbers then, written as numbers are (01 is a code). In
    formats of text they are texts like all cells.
    """
    values: dict[str, list[str]] = {}
    for part in found:
        for key, value in part.hive:
            values.setdefault(key, []).extend(() if value is None else (value,))
    return {
        key: pa.int32() if typed and said and all(map(WHOLE_NUMBER.fullmatch, said)) else pa.string()
        for key, said in values.items()
    }


def refuse_unlike(
    part: FoundPart, own: Mapping[str, Any], first: FoundPart, expected: Mapping[str, Any], *, may_lack: bool
) -> None:
    """Stop at a part with other columns than the first one, or of other types.

    `may_lack`: whether a part need not have all of them.
    """
    place, hint = Place(part.path), "Write all parts alike."
    names = [name for name in expected if name in own] if may_lack else list(expected)
    if sorted(own) != sorted(names) or (list(own) != names and not may_lack):
        unlike = sorted(set(own) ^ set(names))
        what = f"other columns than {first.name}: {', '.join(unlike[:5])}" if unlike else "its columns in another order"
        raise DataError(Problem(f"the file has {what}", place, hint))
    for name in names:
        if _kind(own[name]) != _kind(expected[name]):
            message = f"column {name!r} is {own[name]} in this file, and {expected[name]} in {first.name}"
            raise DataError(Problem(message, place, hint))


def _kind(kind: Any) -> Any:
    """A type, the same for texts however programs hold them: pandas writes others than Arrow."""
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def constant_columns(part: FoundPart, batch: Any, types: Mapping[str, Any], row: int) -> dict[str, Any]:
    """Columns that the names of the folders of a part say, and that the file has not.

    `row`: of the first of these records; 0-based.
    """
    said = {}
    for key, value in part.hive:
        if key in batch.schema.names:
            _refuse_contradiction(part, key, value, batch.column(key), row)
            continue
        said[key] = pa.repeat(_cell(value, types[key]), batch.num_rows)
    return said


def _refuse_contradiction(part: FoundPart, key: str, value: str | None, column: Any, row: int) -> None:
    texts = pc.cast(column, pa.string())
    differing = pc.is_valid(texts) if value is None else pc.fill_null(pc.not_equal(texts, value), True)
    if value is None:
        differing = pc.and_(differing, pc.not_equal(pc.fill_null(texts, ""), ""))
    where = np.flatnonzero(np.asarray(differing))
    if len(where):
        message = f"row {row + int(where[0]) + 1} has another value in column {key!r} than its folder, {key}=..., says"
        hint = "Rename the folder, leave the column out of the files, or correct it."
        raise DataError(Problem(message, Place(part.path), hint))


def _cell(value: str | None, kind: Any) -> Any:
    if value is None:
        # A text format has no null for "no value": its cell is empty.
        return pa.scalar(None, kind)
    return pa.scalar(int(value) if pa.types.is_integer(kind) else value, kind)
