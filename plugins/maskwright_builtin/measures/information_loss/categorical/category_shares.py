"""Shares of the categories of each variable in both files, for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import MeasureTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright import Column, Comparison
    from maskwright_builtin.measures.information_loss.categorical.paired_categories import (
        CategoricalFiles,
        Categories,
    )

FEWEST_NAMED = 10
"""A category that fewer records of the original have is not named."""
MOST_NAMED = 20
"""Categories of a variable that are named, the most frequent ones; of more, the others are joined."""
DATES = ("date", "datetime")


def category_tables(comparison: Comparison, files: CategoricalFiles) -> tuple[MeasureTable, ...]:
    """A table for each variable: percent of the records of both files in each category.

    Categories that fewer than `FEWEST_NAMED` records of the original have, and those beyond `MOST_NAMED`, are joined;
    where together they are still fewer, with the rarest of the others. A category that no record of the original has
    is not rare. Single dates have no table, as few records share one; what they were recoded to has.

    `files`: what was made of it.
    """
    return tuple(
        _table(comparison, variable)
        for variable in files.variables
        if comparison.masked[variable.name].variable.type not in DATES
    )


def _table(comparison: Comparison, variable: Categories) -> MeasureTable:
    before = np.bincount(variable.original, minlength=variable.size)
    after = np.bincount(variable.masked, minlength=variable.size)
    joined = _joined(before, after, missing=variable.size - 1 if variable.has_missing else None)
    if comparison.original[variable.name].variable.type in DATES:
        joined |= after == 0
    old, new = (100.0 * counts / counts.sum() for counts in (before, after))
    rows = [
        (name, float(old[code]), float(new[code])) for code, name in _names(comparison, variable) if not joined[code]
    ]
    if joined.any():
        rows.append((f"{int(joined.sum())} other(s), joined", float(old[joined].sum()), float(new[joined].sum())))
    return MeasureTable(
        f"categories_{variable.name}",
        f"Records by {variable.name}",
        (variable.name, "original", "masked"),
        tuple(rows),
    )


def _joined(before: NDArray[np.int64], after: NDArray[np.int64], missing: int | None) -> NDArray[np.bool_]:
    """Which categories are not named."""
    joined: NDArray[np.bool_] = (before > 0) & (before < FEWEST_NAMED)
    by_size = np.lexsort((np.arange(len(before)), -np.maximum(before, after)))
    named = [code for code in by_size if not joined[code] and code != missing]
    joined[named[MOST_NAMED:]] = True
    rarest = sorted((code for code in named[:MOST_NAMED] if before[code]), key=lambda code: (before[code], code))
    while rarest and 0 < before[joined].sum() < FEWEST_NAMED:
        joined[rarest.pop(0)] = True
    return joined


def _names(comparison: Comparison, variable: Categories) -> Iterator[tuple[int, str]]:
    """Codes with what they are called: as published or, where no record publishes one, as in the original."""
    published, original = comparison.masked[variable.name], comparison.original[variable.name]
    in_masked, in_original = (_first(codes, variable.size) for codes in (variable.masked, variable.original))
    for code in range(variable.size):
        if variable.has_missing and code == variable.size - 1:
            yield code, "(missing)"
        elif in_masked[code] >= 0:
            yield code, _text(published, in_masked[code])
        else:
            yield code, f"{_text(original, in_original[code])} (not published)"


def _first(codes: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """The first record of each code; -1 where no record has it."""
    first = np.full(size, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


def _text(column: Column, record: np.int64) -> str:
    cell = column.values[record]
    return f"{cell:g}" if column.variable.is_numeric else str(column.variable.categories[int(cell)])
