"""The written release validated: read back as anyone would read it, and its remaining doubts."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.reading import load
from maskwright.data.stored_cells import rows_of
from maskwright.foundation.errors import InputError
from maskwright.masking.masked_value_checks import class_doubts, promised_classes
from maskwright.masking.suppressing.weight_inference import (
    factors_of_weights,
    original_category_doubts,
    published_weights,
    same_weight_doubts,
    weight_doubts,
)
from maskwright.release.protection_checks import unchanged_doubts
from maskwright.release.round_trip_check import refuse_difference, refuse_written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.progress import Progress
    from maskwright.pipeline.resolved import DataSource
    from maskwright.planning.plan import Plan
    from maskwright.release.protection_checks import UnchangedCells


def check_round_trip(file: DataSource, meant: Dataset, held: Mapping[str, Any], progress: Progress) -> Dataset:
    """Read a written file once, and stop unless it holds what was meant: what is measured from here on is that file.

    `held`: as `write_dataset` gives it; shape (n,).
    """
    try:
        read = load(file, progress, identifiers=True, may_lack="anything")
    except InputError as error:
        said = "; ".join(dict.fromkeys(problem.message for problem in error.problems))
        refuse_written(file.source, f"the written file cannot be read back ({said})")
    if file.source.nested is not None:
        read = _as_shown(_with_traceless(read, meant), meant)
    if file.source.format.reads_folders and set(read.names) == set(meant.names):
        # What folders say stands behind the columns of the files, wherever it stood before.
        read = replace(read, columns=tuple(read[name] for name in meant.names))
    refuse_difference(meant, read, file.source, held)
    read = read.without([name for name, each in file.variables.items() if each.role == "identifier" and name in read])
    # Nobody asks again how cells are written; measuring needs the memory.
    return replace(read, columns=tuple(replace(column, written=None) for column in read))


def _with_traceless(read: Dataset, meant: Dataset) -> Dataset:
    """The file with the variables that have not a single cell: where cells are elements these leave no trace."""
    every = slice(None)
    traceless = {
        column.name: column
        for column in meant
        if column.name not in read and column.missing.all() and column.nothing(every, None).null_count == len(column)
    }
    if not traceless:
        return read
    known = {column.name: column for column in read} | traceless
    added = [name for name in read.names if name not in meant]
    return replace(read, columns=tuple(known[name] for name in (*meant.names, *added) if name in known))


def _as_shown(read: Dataset, meant: Dataset) -> Dataset:
    """The file in the order that was meant, unless a record shows another: where cells are elements, some may lack.

    Of two variables that no record has both of, the file does not say which comes first.
    """
    place = {name: number for number, name in enumerate(read.names)}
    if read.names == meant.names or place.keys() != set(meant.names):
        return read
    turned = [(a, b) for a, b in combinations(meant.names, 2) if place[a] > place[b]]
    there = {name: _has_cell(read[name]) for name in {name for pair in turned for name in pair}}
    if any(np.any(there[a] & there[b]) for a, b in turned):
        return read
    return replace(read, columns=tuple(read[name] for name in meant.names))


def _has_cell(column: Column) -> NDArray[np.bool_]:
    is_told: NDArray[np.bool_] = np.asarray(column.nothing(slice(None), None).is_valid())
    return ~column.missing | is_told


def last_doubts(
    plan: Plan, original: Dataset, released: Dataset, unchanged: Iterable[UnchangedCells], told: Sequence[Doubt]
) -> tuple[Doubt, ...]:
    """Doubts about the released file: variables that are as they were, and classes smaller than promised.

    Every release of data in memory is counted here, after the last cell went.
    """
    if released.households is None and original.households is not None:
        origin = slice(None) if released.origin is None else rows_of(original, released)
        released = replace(released, households=original.households[origin])
    classes = promised_classes(released, plan)
    return (
        *unchanged_doubts(unchanged, plan, told),
        *class_doubts(plan, released, classes),
        *_weight_doubts(plan, original, released),
    )


def _weight_doubts(plan: Plan, original: Dataset, released: Dataset) -> Iterator[Doubt]:
    """Doubts about suppressed cells, and about recoded or perturbed ones, that the weights show."""
    if not any(column.variable.role == "weight" for column in released):
        return
    before = original if released.origin is None else original.taken(rows_of(original, released))
    if any(column.missing.any() for column in released):
        for name, factor in factors_of_weights(before, released).items():
            yield from weight_doubts(name, factor, before, released)
        for each in published_weights(before, released):
            yield from same_weight_doubts(each.name, each.values, before, released, released.households)
    yield from original_category_doubts(plan, before, released)
