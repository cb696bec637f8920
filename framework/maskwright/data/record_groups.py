"""Records that belong together: equal values under shared codes, classes, households, pairs of two files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright.data.classes.classes import Classes
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.number_columns import first_records
from maskwright.data.number_text import read_numbers
from maskwright.data.sketches.record_hashes import published_cells
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset


def shared_codes(columns: Sequence[Column]) -> tuple[NDArray[np.int64], ...]:
    """Codes 0, 1, ... without gaps that are equal where values are, whatever the file; -1 where missing.

    Numbers are equal by value, categories by text; a category equals a number when its text is that number.
    """
    numeric = any(column.variable.is_numeric for column in columns)
    numbered: dict[float | str, int] = {}
    found = []
    for column in columns:
        positions, values = _numeric_table(column) if column.variable.is_numeric else _category_table(column, numeric)
        table = [numbered.setdefault(value, len(numbered)) for value in values]
        found.append(np.where(column.missing, -1, np.array([*table, -1], dtype=np.int64)[positions]))
    together = np.concatenate(found)
    used = np.unique(together[together >= 0])
    without_gaps = np.full(len(numbered) + 1, -1, dtype=np.int64)
    without_gaps[used] = np.arange(len(used))
    return tuple(without_gaps[codes] for codes in found)


def names_each_record(column: Column) -> bool:
    """Whether a variable has a value in each record, and no two have the same."""
    (codes,) = shared_codes([column])
    return not column.missing.any() and len(np.unique(codes)) == len(codes)


def published_codes(column: Column) -> NDArray[np.int64]:
    """Codes of one file, where missing codes that are published apart are values, numbered after the last one.

    Cells that are published as suppressed ones are, or all missing cells where all are published alike, have -1.
    """
    (codes,) = shared_codes([column])
    kinds = column.missing_kinds()
    if len(np.unique(kinds[column.missing])) < 2:
        return codes
    return np.where(kinds > 0, int(codes.max(initial=-1)) + kinds, codes)


def _numeric_table(column: Column) -> tuple[NDArray[np.int64], list[float]]:
    import pandas as pd  # heavy: `maskwright validate` does without

    positions, values = pd.factorize(np.where(column.missing, np.nan, column.values).astype(np.float64))
    return positions.astype(np.int64), np.asarray(values, dtype=np.float64).tolist()


def _category_table(column: Column, numeric: bool) -> tuple[NDArray[np.int64], list[float | str]]:
    texts: list[float | str] = list(column.variable.categories)
    if numeric:
        parsed = read_numbers(pa.array(column.variable.categories, pa.string()))
        pairs = zip(parsed.values.tolist(), parsed.is_number.tolist(), texts, strict=True)
        texts = [number if is_number else text for number, is_number, text in pairs]
    return column.values.astype(np.int64), texts


def published_classes(data: Dataset, names: Sequence[str]) -> Classes:
    """Classes of records, or of households, that are equal in the named variables; missing texts are values."""
    columns = [published_cells(data[name]) for name in names] or [np.zeros(len(data), dtype=np.int64)]
    return Classes.of(columns, units=data.households)


def varying(values: NDArray[Any], classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Records whose class has several values of a variable, none of them NaN; shape (n,)."""
    if not len(values):
        return np.zeros(0, dtype=np.bool_)
    count = int(classes.max()) + 1
    low, high = np.full(count, values.max()), np.full(count, values.min())
    np.minimum.at(low, classes, values)
    np.maximum.at(high, classes, values)
    return np.asarray((high > low)[classes], dtype=np.bool_)


def with_households(data: Dataset, name: str) -> Dataset:
    """Copy whose records with the same value of a variable are one household."""
    column = data[name]
    if column.missing.any():
        missing = plural(int(column.missing.sum()), "record")
        message = f"cluster {name!r} is missing in {missing}: {first_records(column.missing)}"
        raise InputError(Problem(message, hint="Give each record a household: one of its own, where it has none."))
    (codes,) = shared_codes([column])
    codes.setflags(write=False)
    return replace(data, households=codes, cluster=name)


def household_columns(data: Dataset, names: Collection[str]) -> tuple[str, ...]:
    """Published variables that distinguish households: the declared one, and any that makes the same partition."""
    homes = data.households
    if homes is None:
        return ()
    found = []
    for column in data:
        if column.name in names and not column.missing.any():
            (codes,) = shared_codes([column])
            # The same partition: as many values as households, and as many pairs of both.
            if codes.max(initial=-1) == homes.max(initial=-1):
                first = np.zeros(int(homes.max(initial=-1)) + 1, dtype=np.int64)
                first[homes] = codes
                if np.array_equal(first[homes], codes):
                    found.append(column.name)
    return tuple(found)


def with_household_role(declared: Mapping[str, VariableDeclaration], name: str) -> dict[str, VariableDeclaration]:
    """Declarations in which the variable that names the household is `other`, never masked like an amount."""
    stated = declared.get(name, VariableDeclaration())
    return {**declared, name: stated.model_copy(update={"role": stated.role or "other"})}


def paired(original: Dataset, masked: Dataset, key: str) -> tuple[Dataset, Dataset]:
    """Pair records by a key, by value or text; the masked file gets the origin of each, and the key is left out."""
    files = (("original", original), ("masked file", masked))
    for what, data in files:
        if key not in data:
            raise InputError(f"the key is not in the {what}: {unknown_name('variable', key, data.names)}")
    codes = shared_codes([original[key], masked[key]])
    for (what, _), found in zip(files, codes, strict=True):
        _refuse_ambiguous(what, key, found)
    position = np.full(int(max(found.max(initial=-1) for found in codes)) + 1, -1, dtype=np.int64)
    position[codes[0]] = np.arange(len(original))
    origin = position[codes[1]]
    lost = int((origin < 0).sum())
    if lost:
        message = f"{lost} of {plural(len(masked), 'masked record')} have a {key!r} that no original record has"
        hint = "a key must be published unmasked; or is this the masked version of another file?"
        raise InputError(Problem(message, hint=hint))
    return original.without([key]), replace(masked.without([key]), origin=origin)


def _refuse_ambiguous(what: str, key: str, codes: NDArray[np.int64]) -> None:
    missing = int((codes < 0).sum())
    if missing:
        raise InputError(f"key {key!r} is missing in {plural(missing, 'record')} of the {what}")
    repeats = len(codes) - len(np.unique(codes))
    if repeats:
        message = f"key {key!r} is not unique: {repeats} repeats in the {what}"
        raise InputError(Problem(message, hint="name a variable that identifies each record"))
