"""Levels arranged and joined: new keys, random order of groups and members, and the tables that are written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from maskwright.data.levels.linked_data import taken_level
from maskwright.foundation.findings import Notice
from maskwright.foundation.randomness import generator
from maskwright.release.pseudonymisation import dataset_digest, key_texts, renewed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import Level, LinkedData


@dataclass(frozen=True, eq=False)
class ArrangedLevels:
    """Masked levels as they are written.

    `order`: where each record of a level stood in the level before; shape (n,). `old`: old keys of these records.
    """

    linked: LinkedData
    order: Mapping[str, NDArray[np.int64]]
    old: Mapping[str, Column]

    def write_map(self, path: Path, first_rows: Mapping[str, NDArray[np.int64]] | None = None) -> None:
        """Write which original record, under which old keys, each record is. Confidential.

        `first_rows`: where the levels are in one flat file: of each upper level, the first row of each group of the
        original, ascending. Groups are counted then, as where they have records of their own; shape (groups,).
        """
        lowest = self.linked.levels[-1]
        cells: dict[str, pa.Array] = {}
        for level in self.linked:
            rows = self.linked.groups_in(lowest.name, level.name)
            places = level.rows[rows]
            if first_rows is not None and level is not lowest:
                places = np.searchsorted(first_rows[level.name], places)
            cells[f"original_{level.name}"] = pa.array(places + 1)
            cells[level.declared.key] = key_texts(self.old[level.name].taken(rows))
            cells[f"new {level.declared.key}"] = key_texts(level.data[level.declared.key].taken(rows))
        arrow_csv.write_csv(pa.table(cells), path)


def arranged_levels(masked: LinkedData, original: LinkedData, seed: int) -> ArrangedLevels:
    """Masked levels under new keys, in the order in which they are published."""
    stream = tuple(dataset_digest(level.data) for level in original)
    top, *lower = masked.levels
    count = len(top)
    rows = (
        np.arange(count) if top.declared.keep_order else generator(seed, "levels", "order", *stream).permutation(count)
    )
    rows = rows.astype(np.int64)
    head = taken_level(top, rows, None)
    order = {top.name: rows}
    levels = [_with_new_keys(head, seed, stream)]
    old = {top.name: head.data[top.declared.key]}
    for level in lower:
        before, groups = _places(masked, rows, level.name)
        order[level.name] = rows = before[_inside_order(level, groups, seed, stream)]
        moved = taken_level(level, rows, groups)
        old[level.name] = moved.data[level.declared.key]
        is_alone = level is not masked.levels[-1] and _names_alone(level.data[level.declared.key])
        levels.append(_with_new_keys(moved, seed, stream) if is_alone else _renumbered(moved))
    return ArrangedLevels(replace(masked, levels=tuple(levels)), order, old)


def places_of(records: LinkedData, original: LinkedData) -> dict[str, NDArray[np.int64]]:
    """Where each record of a level stands in the original, of which some may have been left out."""
    found = {}
    for level, before in zip(records, original, strict=True):
        place = np.zeros(int(before.rows.max(initial=-1)) + 1, dtype=np.int64)
        place[before.rows] = np.arange(len(before))
        found[level.name] = place[level.rows]
    return found


def level_arrangement_notices(arranged: ArrangedLevels) -> Iterator[Notice]:
    """What a person should know of order and keys."""
    for level in arranged.linked:
        if level.declared.keep_key:
            message = (
                f"{level.declared.key}: old keys are published (keep_key), by which whoever has them finds records"
            )
            yield Notice("old-keys-published", level.declared.key, message, level=level.name)
        if level.declared.keep_order:
            message = f"records of the level {level.name} keep their order (keep_order), by which originals are paired"
            yield Notice("order-kept", "", message, level=level.name)


def _names_alone(key: Column) -> bool:
    """Whether a key says which record is meant without those of the levels above: a file below may hold it alone."""
    return len(np.unique(key.values)) == len(key)


def _with_new_keys(level: Level, seed: int, stream: tuple[str, ...]) -> Level:
    """Level with random keys, and pointers that name them."""
    if level.declared.keep_key:
        return level
    key = level.data[level.declared.key]
    new = renewed(key, generator(seed, "levels", "keys", key.name, *stream))
    plain = new.changed(new.values, variable=replace(new.variable, role="other", renewed=True))
    return _pointing(replace(level, data=level.data.with_columns({key.name: plain})), _texts(plain))


def _inside_order(level: Level, groups: NDArray[np.int64], seed: int, stream: tuple[str, ...]) -> NDArray[np.int64]:
    """Records of a level, each group in random order, groups as they stand."""
    if level.declared.keep_order:
        return np.arange(len(groups))
    drawn = generator(seed, "levels", "order", level.name, *stream).permutation(len(groups))
    return np.lexsort((drawn, groups)).astype(np.int64)


def _places(masked: LinkedData, rows: NDArray[np.int64], name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the members of these groups stand, and to which of the groups they belong."""
    starts = masked.starts(name)
    counts = starts[rows + 1] - starts[rows]
    first = np.repeat(starts[rows] - np.cumsum(counts) + counts, counts)
    return first + np.arange(int(counts.sum())), np.repeat(np.arange(len(rows)), counts)


def _renumbered(level: Level) -> Level:
    """Level whose key counts the records of each group, with pointers that name them so."""
    if level.declared.keep_key:
        return level
    assert level.groups is not None
    starts = np.searchsorted(level.groups, np.arange(int(level.groups.max(initial=-1)) + 1))
    number = np.arange(len(level)) - starts[level.groups] + 1
    key = _named(level.data[level.declared.key], number, np.ones(len(level), dtype=bool))
    return _pointing(replace(level, data=level.data.with_columns({key.name: key})), number)


def _pointing(level: Level, keys: NDArray[Any]) -> Level:
    """Level whose pointers name these keys of its records; shape (n,)."""
    named = {
        name: _named(level.data[name], keys[np.maximum(targets, 0)], targets >= 0)
        for name, targets in level.pointers.items()
    }
    return replace(level, data=level.data.with_columns(named))


def _texts(key: Column) -> NDArray[Any]:
    """Keys as numbers, or as texts; shape (n,)."""
    return key.values if key.variable.is_numeric else np.array(key.variable.categories, dtype=object)[key.values]


def _named(column: Column, keys: NDArray[Any], where: NDArray[np.bool_]) -> Column:
    """Column with these keys in some of its cells; the others, which name no one, stay."""
    if column.variable.is_numeric:
        return column.changed(np.where(where, keys, column.values), column.missing & ~where)
    texts = np.array([*column.variable.categories, ""], dtype=object)[column.values]
    texts[where] = keys[where].astype(str)
    used = tuple(dict.fromkeys(texts[~column.missing | where].tolist()))
    place = {text: code for code, text in enumerate(used)}
    codes = np.array([place.get(text, -1) for text in texts.tolist()], dtype=np.int32)
    missing = column.missing & ~where
    variable = replace(column.variable, categories=used)
    return column.changed(np.where(missing, -1, codes).astype(np.int32), missing, variable)


def flat_table(linked: LinkedData, file: Dataset) -> Dataset:
    """One row for each record of the lowest level, with the variables of its groups."""
    return joined_table(linked, file.names, file)


def joined_table(linked: LinkedData, names: Sequence[str], file: Dataset) -> Dataset:
    """One row for each record of the lowest level, with these variables."""
    lowest = linked.levels[-1]
    columns = {
        column.name: column.taken(linked.groups_in(lowest.name, level.name))
        for level in linked.levels[:-1] for column in level.data
    }  # fmt: skip
    columns |= {column.name: column for column in lowest.data}
    return _table(columns, names, file, lowest)


def linked_tables(linked: LinkedData, files: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """A table of each level; all but the top one hold the keys of their groups that their files have."""
    tables = {}
    for depth, level in enumerate(linked):
        keys = [
            above.data[above.declared.key].taken(linked.groups_in(level.name, above.name))
            for above in linked.levels[:depth]
        ]
        columns = {column.name: column for column in (*level.data, *keys)}
        tables[level.name] = _table(columns, files[level.name].names, files[level.name], level)
    return tables


def nested_tables(linked: LinkedData, files: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """A table of each level for a file with records inside each other: where they stand says whose they are."""
    keys = [level.declared.key for level in linked]
    return {
        name: table.without(keys[:depth]) for depth, (name, table) in enumerate(linked_tables(linked, files).items())
    }


def _table(columns: Mapping[str, Column], order: Sequence[str], file: Dataset, level: Level) -> Dataset:
    named = [name for name in order if name in columns]
    return replace(
        file, columns=tuple(columns[name] for name in named), origin=level.rows, households=None, notes=(), doubts=()
    )
