"""Levels as tables: joined to one row for each record of the lowest level, or a table each with its group's key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import Level, LinkedData


def flat_table(linked: LinkedData, file: Dataset) -> Dataset:
    """One row for each record of the lowest level, with the variables of its groups.

    `file`: the original as it was read: the order of its columns, and how it is written.
    """
    return joined_table(linked, file.names, file)


def joined_table(linked: LinkedData, names: Sequence[str], file: Dataset) -> Dataset:
    """One row for each record of the lowest level, with these variables.

    `names`: in their order; those that no level has are left out.
    """
    top, lowest = linked.levels
    assert lowest.groups is not None
    columns = {column.name: column.taken(lowest.groups) for column in top.data}
    columns |= {column.name: column for column in lowest.data}
    return _table(columns, names, file, lowest)


def linked_tables(linked: LinkedData, files: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """A table of each level; the lower one holds the key of its group.

    `files`: the originals as they were read.
    """
    top, lowest = linked.levels
    assert lowest.groups is not None
    key = top.data[top.declared.key].taken(lowest.groups)
    below = {column.name: column for column in lowest.data} | {key.name: key}
    above = {column.name: column for column in top.data}
    return {
        top.name: _table(above, files[top.name].names, files[top.name], top),
        lowest.name: _table(below, files[lowest.name].names, files[lowest.name], lowest),
    }


def nested_tables(linked: LinkedData, files: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """A table of each level for a file with records inside each other: where they stand says whose they are.

    `files`: the originals as they were read.
    """
    top, lowest = linked.levels
    tables = linked_tables(linked, files)
    return tables | {lowest.name: tables[lowest.name].without([top.declared.key])}


def _table(columns: Mapping[str, Column], order: Sequence[str], file: Dataset, level: Level) -> Dataset:
    named = [name for name in order if name in columns]
    return replace(
        file, columns=tuple(columns[name] for name in named), origin=level.rows, households=None, notes=(), doubts=()
    )
