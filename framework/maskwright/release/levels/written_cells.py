"""Whether the cells of levels that were read back are those that were meant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from maskwright.data.published import published_batches
from maskwright.release.written_as_meant import refuse_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.plugins.source import Source


def refuse_differences(meant: LinkedData, released: LinkedData, source: Source) -> None:
    """Stop where a cell that was read back is not the one that was to be written, or a record belongs to another.

    Parameters
    ----------
    meant, released : LinkedData
    source : Source
        That has written them.

    Raises
    ------
    WrittenOtherwise
        With each variable and the first record that differs; no values.
    """
    said = [each for pair in zip(meant, released, strict=True) for each in _differences(*pair)]
    if said:
        refuse_written(source, "; ".join(said))


def _differences(meant: Level, released: Level) -> Iterator[str]:
    level, names = meant.name, meant.data.names
    if len(meant) != len(released):
        yield f"the written file has {len(released)} {level} records, and {len(meant)} were masked"
        return
    if not _same_groups(meant, released):
        yield f"written {level} records do not belong to those that they belonged to"
    if set(names) != set(released.data.names):
        other = ", ".join(sorted(set(names) ^ set(released.data.names)))
        yield f"the written {level} records do not have the variables that were masked: {other}"
        return
    for name, row in _first_differences(meant, released):
        yield f"{name} of the written {level} record {row} is not what was masked"


def _same_groups(meant: Level, released: Level) -> bool:
    if meant.groups is None or released.groups is None:
        return meant.groups is released.groups
    return np.array_equal(meant.groups, released.groups)


def _first_differences(meant: Level, released: Level) -> Iterator[tuple[str, int]]:
    """Variables of which a cell differs, and the number of the first record in which it does."""
    names = meant.data.names
    ordered = replace(released.data, columns=tuple(released.data[name] for name in names))
    done, seen = 0, set[str]()
    pairs = zip(
        published_batches(meant.data, True, canonical=True), published_batches(ordered, True, canonical=True),
        strict=True,
    )  # fmt: skip
    for one, other in pairs:
        for name in names:
            if name in seen:
                continue
            same = pc.equal(pc.fill_null(one[name], ""), pc.fill_null(other[name], ""))
            place = pc.index(same, False).as_py()
            if place >= 0:
                seen.add(name)
                yield name, done + place + 1
        done += one.num_rows
