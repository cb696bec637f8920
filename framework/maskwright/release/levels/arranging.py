"""New keys and random order on every level: groups first, members inside, pointers rewritten by the same map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from maskwright.foundation.randomness import generator
from maskwright.release.arranging import dataset_digest, key_texts
from maskwright.release.new_keys import renewed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import Level, LinkedData


@dataclass(frozen=True, eq=False)
class ArrangedLevels:
    """Masked levels as they are written.

    Attributes
    ----------
    linked : LinkedData
    order : mapping of level name to ndarray of shape (n,), int64
        Where each record of a level stood in the level before.
    old : mapping of level name to Column
        Old keys of these records.
    """

    linked: LinkedData
    order: Mapping[str, NDArray[np.int64]]
    old: Mapping[str, Column]

    def write_map(self, path: Path) -> None:
        """Write which original record, under which old keys, each record is. Confidential.

        Parameters
        ----------
        path : Path
            CSV, a row for each record of the lowest level: for each level its record in the original file, counted
            from 1, its old key and its new one.
        """
        lowest = self.linked.levels[-1]
        cells: dict[str, pa.Array] = {}
        for level in self.linked:
            rows = np.arange(len(lowest)) if level is lowest else lowest.groups
            assert rows is not None
            cells[f"original_{level.name}"] = pa.array(level.rows[rows] + 1)
            cells[level.declared.key] = key_texts(self.old[level.name].taken(rows))
            cells[f"new {level.declared.key}"] = key_texts(level.data[level.declared.key].taken(rows))
        arrow_csv.write_csv(pa.table(cells), path)


def arranged_levels(masked: LinkedData, original: LinkedData, seed: int) -> ArrangedLevels:
    """Masked levels under new keys, in the order in which they are published.

    Parameters
    ----------
    masked : LinkedData
        Record for record beside the original.
    original : LinkedData
        What is drawn depends on all of it: who knows or guesses the seed alone cannot draw it again.
    seed : int
    """
    stream = tuple(dataset_digest(level.data) for level in original)
    top, *_lower = masked.levels
    count = len(top)
    rows = (
        np.arange(count) if top.declared.keep_order else generator(seed, "levels", "order", *stream).permutation(count)
    )
    shuffled = masked.taken(rows.astype(np.int64))
    order = {top.name: rows.astype(np.int64)}
    levels = [_with_new_top_key(shuffled.levels[0], seed, stream)]
    old = {top.name: shuffled.levels[0].data[top.declared.key]}
    for level in shuffled.levels[1:]:
        inside = _inside_order(level, seed, stream)
        before = _places(masked, rows, level.name)
        moved = _moved(level, inside)
        old[level.name] = moved.data[level.declared.key]
        order[level.name] = before[inside]
        levels.append(moved if level.declared.keep_key else _renumbered(moved))
    return ArrangedLevels(replace(shuffled, levels=tuple(levels)), order, old)


def places_of(records: LinkedData, original: LinkedData) -> dict[str, NDArray[np.int64]]:
    """Where each record of a level stands in the original, of which some may have been left out.

    Parameters
    ----------
    records, original : LinkedData
    """
    found = {}
    for level, before in zip(records, original, strict=True):
        place = np.zeros(int(before.rows.max(initial=-1)) + 1, dtype=np.int64)
        place[before.rows] = np.arange(len(before))
        found[level.name] = place[level.rows]
    return found


def level_arrangement_notices(arranged: ArrangedLevels) -> Iterator[str]:
    """What a person should know of order and keys."""
    for level in arranged.linked:
        if level.declared.keep_key:
            yield f"{level.declared.key}: old keys are published (keep_key), by which whoever has them finds records"
        if level.declared.keep_order:
            yield f"records of the level {level.name} keep their order (keep_order), by which originals are paired"


def _with_new_top_key(level: Level, seed: int, stream: tuple[str, ...]) -> Level:
    if level.declared.keep_key:
        return level
    key = level.data[level.declared.key]
    new = renewed(key, generator(seed, "levels", "keys", key.name, *stream))
    plain = new.changed(new.values, variable=replace(new.variable, role="other", renewed=True))
    return replace(level, data=level.data.with_columns({key.name: plain}))


def _inside_order(level: Level, seed: int, stream: tuple[str, ...]) -> NDArray[np.int64]:
    """Records of a level, each group in random order, groups as they stand."""
    assert level.groups is not None
    if level.declared.keep_order:
        return np.arange(len(level))
    drawn = generator(seed, "levels", "order", level.name, *stream).permutation(len(level))
    return np.lexsort((drawn, level.groups)).astype(np.int64)


def _places(masked: LinkedData, rows: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """Where the records of `masked.taken(rows)` stood."""
    starts = masked.starts(name)
    counts = starts[rows + 1] - starts[rows]
    return np.repeat(starts[rows] - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))


def _moved(level: Level, order: NDArray[np.int64]) -> Level:
    """Level whose records stand in another order inside their groups."""
    assert level.groups is not None
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    pointers = {
        name: np.where(targets[order] >= 0, place[np.maximum(targets[order], 0)], targets[order])
        for name, targets in level.pointers.items()
    }
    data = replace(level.data.taken(order), origin=None)
    return replace(level, data=data, groups=level.groups[order], rows=level.rows[order], pointers=pointers)


def _renumbered(level: Level) -> Level:
    """Level whose key counts the records of each group, with pointers that name them so."""
    assert level.groups is not None
    first = np.searchsorted(level.groups, level.groups)
    number = np.arange(len(level)) - first + 1
    changed = {level.declared.key: _numbered(level.data[level.declared.key], number, np.ones(len(level), dtype=bool))}
    for name, targets in level.pointers.items():
        column = level.data[name]
        points = targets >= 0
        changed[name] = _numbered(column, number[np.maximum(targets, 0)], points)
    return replace(level, data=level.data.with_columns(changed))


def _numbered(column: Column, number: NDArray[np.int64], where: NDArray[np.bool_]) -> Column:
    """Column with these numbers in some of its cells; the others, which name nobody, stay."""
    if column.variable.is_numeric:
        return column.changed(np.where(where, number, column.values), column.missing & ~where)
    texts = np.array([*column.variable.categories, ""], dtype=object)[column.values]
    texts[where] = number[where].astype(str)
    used = tuple(dict.fromkeys(texts[~column.missing | where].tolist()))
    place = {text: code for code, text in enumerate(used)}
    codes = np.array([place.get(text, -1) for text in texts.tolist()], dtype=np.int32)
    missing = column.missing & ~where
    variable = replace(column.variable, categories=used)
    return column.changed(np.where(missing, -1, codes).astype(np.int32), missing, variable)
