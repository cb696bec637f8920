"""Whether the cells of levels that were read back are those that were meant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from maskwright.data.published import published_batches
from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.data.levels.linked_data import Level, LinkedData

HINT = "Nothing was released: what writes the file has lost or changed what it was given."


def refuse_differences(meant: LinkedData, released: LinkedData) -> None:
    """Stop where a cell that was read back is not the one that was to be written, or a record belongs to another.

    Parameters
    ----------
    meant, released : LinkedData

    Raises
    ------
    InputError
        With each variable and the first record that differs; no values.
    """
    problems = [each for pair in zip(meant, released, strict=True) for each in _differences(*pair)]
    if problems:
        raise InputError(problems)


def _differences(meant: Level, released: Level) -> Iterator[Problem]:
    level, names = meant.name, meant.data.names
    if len(meant) != len(released):
        yield Problem(f"the written file has {len(released)} {level} records, and {len(meant)} were masked", None, HINT)
        return
    if not _same_groups(meant, released):
        yield Problem(f"written {level} records do not belong to those that they belonged to", None, HINT)
    if set(names) != set(released.data.names):
        other = ", ".join(sorted(set(names) ^ set(released.data.names)))
        yield Problem(f"the written {level} records do not have the variables that were masked: {other}", None, HINT)
        return
    for name, row in _first_differences(meant, released):
        yield Problem(f"{name} of the written {level} record {row} is not what was masked", None, HINT)


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
