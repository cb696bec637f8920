"""Files of a run under temporary names: masked data and the key map, written, and the data as they are read back."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.reading import load
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import stage
from maskwright.plugins.guarding.origin import package_label
from maskwright.release.data_file import write_dataset, write_nested, written_file
from maskwright.release.files import writing
from maskwright.release.round_trip_check import refuse_difference, refuse_written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.foundation.progress import Progress, Reporter
    from maskwright.pipeline.resolved import DataSource, Pipeline
    from maskwright.release.files import Release

    Written = tuple[Dataset, Mapping[str, Any]]
    """What a source was given, and those of its columns that are exactly as the original holds them."""


@dataclass(frozen=True, eq=False)
class ReleaseFiles:
    """Files of a run in memory, under the names they have until they are published."""

    described: Pipeline
    release: Release
    reporter: Reporter
    clock: Clock

    def write_key_map(self, write: Callable[[Path], None]) -> None:
        """Write the map from the old keys to the new ones, where it is requested."""
        if self.described.output.key_map is not None:
            with writing(self.release.temporary("key_map")):
                write(self.release.temporary("key_map"))

    def write(self, key: str, table: Dataset, original: Dataset) -> Mapping[str, Any]:
        """Write a table of masked records; the columns that are as the original holds them."""
        with self._writing(key) as file:
            return write_dataset(
                table, file, self.described.output.source, original, canonical=self._is_canonical
            )  # fmt: skip

    def write_nested(
        self, tables: Mapping[str, Dataset], groups: Mapping[str, NDArray[np.int64]], originals: Mapping[str, Dataset]
    ) -> dict[str, Mapping[str, Any]]:
        """Write tables of masked records inside each other; of each, the columns that are as the original holds them.

        `groups`: of each level but the top, the position of each record's group; ascending; shape (n,).
        """
        with self._writing("data") as file:
            return write_nested(
                tables, groups, file, self.described.output.source, originals, canonical=self._is_canonical
            )

    @property
    def _is_canonical(self) -> bool:
        return self.described.output.numbers == "canonical"

    @contextmanager
    def _writing(self, key: str) -> Iterator[Path]:
        """Name under which a file is to be written; what is read back and checked from then on is what is published."""
        file, title = self.release.temporary(key), f"Writing{package_label(self.described.output.source.write)}"
        with self.clock("write"), stage(self.reporter, title), writing(file):
            yield file
        self.release.sealed(key)

    def read_back(self, key: str, source: DataSource, written: Written, variables: Sequence[Variable]) -> Dataset:
        """Read a masked file as anyone would who knows what was declared, and compare it with what was written."""
        file = written_file(self.release.temporary(key), replace(self.described, data=source), variables)
        with self.clock("read back"), stage(self.reporter, "Reading back") as progress:
            return _with_bands(check_round_trip(file, *written, progress), written[0].variables)


def _with_bands(released: Dataset, variables: Sequence[Variable]) -> Dataset:
    """The file that was read back, with what the categories of recoded variables stand for, which no file says."""
    known = {variable.name: dict(zip(variable.categories, variable.bands, strict=True)) for variable in variables
             if variable.bands}  # fmt: skip
    columns = []
    for column in released:
        bands, categories = known.get(column.name, {}), column.variable.categories
        if bands and all(category in bands for category in categories):
            own = replace(column.variable, bands=tuple(bands[category] for category in categories))
            column = replace(column, variable=own)  # noqa: PLW2901 - the same column, better known
        columns.append(column)
    return replace(released, columns=tuple(columns))


def check_round_trip(file: DataSource, meant: Dataset, held: Mapping[str, Any], progress: Progress) -> Dataset:
    """Read a written file once, and stop unless it holds what was meant: what is measured from here on is that file.

    `held`: as `write_dataset` gives it; shape (n,).
    """
    try:
        read = load(file, progress, identifiers=True, may_lack="anything")
    except InputError as error:
        message = "; ".join(dict.fromkeys(problem.sentence for problem in error.problems))
        refuse_written(file.source, f"the written file cannot be read back ({message})")
    if file.source.format.omits_empty_variables:
        read = _as_shown(_with_traceless(read, meant), meant)
    if file.source.format.reads_folders and set(read.names) == set(meant.names):
        # What folders say stands behind the columns of the files, wherever it stood before.
        read = replace(read, columns=tuple(read[name] for name in meant.names))
    # What is published on no grid is no decimal up to rounding, even if all its numbers are near to some.
    free = {each.name for each in meant if each.variable.is_numeric and each.variable.decimals is None}
    read = read.with_columns({name: read[name].as_stored() for name in free if name in read})
    refuse_difference(meant, read, file.source, held)
    read = read.without([name for name, each in file.variables.items() if each.is_identifier and name in read])
    # No one asks again how cells are written; measuring needs the memory.
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
