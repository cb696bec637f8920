"""What every task of a run gets: its settings, and the variables of the whole file."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.reading import load
from maskwright.data.binary_decimals import GridFacts, on_grid
from maskwright.data.column_doubts import MissingCounts
from maskwright.data.dataset import Column, Dataset, Layout
from maskwright.data.missing import HAD_VALUE, NO_CELL, MissingCells
from maskwright.data.sketches.exact_sums import Moments
from maskwright.foundation.errors import DataError, Problem
from maskwright.foundation.progress import silent
from maskwright.planning.model import Step
from maskwright.plugins.parts_reading import files_source
from maskwright.plugins.registry import find_source, plugins
from maskwright.plugins.source import written_batches_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.parts.model import Part, Parts
    from maskwright.data.variable import Variable, VariableType
    from maskwright.pipeline.resolved import Pipeline


@dataclass(frozen=True)
class WholeVariable:
    """A variable of the whole file, or of one part.

    `blanks`: texts of its missing cells. `digits`: with which every number is written. `moments`: of its numbers; empty
    for categories. `grid`: how far its numbers are from decimals; None: of categories and dates, and where decimals are
    declared. `is_read`: whether some are read as the decimals that they stand for.
    """

    variable: Variable
    blanks: tuple[str, ...]
    digits: int | None
    moments: Moments
    records: int
    gone: MissingCounts
    grid: GridFacts | None = None
    is_read: bool = False

    @classmethod
    def of(cls, column: Column) -> WholeVariable:
        """What a column of a part says of its variable."""
        numbers = np.asarray(column.values, dtype=np.float64)[~column.missing]
        moments = Moments.of(numbers) if column.variable.is_numeric else Moments()
        blanks = () if column.blank is None else column.blank.texts
        return cls(
            column.variable, blanks, column.digits, moments, len(column), MissingCounts.of(column),
            _grid_facts(column), column.stored is not None,
        )  # fmt: skip

    @property
    def present(self) -> int:
        """Cells with a value."""
        return self.records - self.gone.cells


def _grid_facts(column: Column) -> GridFacts | None:
    variable = column.variable
    if not variable.is_numeric or variable.is_date:
        return None
    numbers = (column.values if column.stored is None else column.stored)[~column.missing]
    if column.stored is None and variable.decimals is not None:
        return GridFacts.of(numbers, variable.decimals, len(column))
    found = GridFacts.of(numbers, None, len(column))
    return found if found.places() == variable.decimals else None


def whole_variables(shares: Iterable[tuple[str, Sequence[WholeVariable]]]) -> dict[str, WholeVariable]:
    """Variables of a file from those of its parts."""
    whole: dict[str, WholeVariable] = {}
    first = ""
    for name, variables in shares:
        if not whole:
            first, whole = name, {each.variable.name: each for each in variables}
            continue
        if [each.variable.name for each in variables] != list(whole):
            raise DataError(Problem(f"{name} has other columns than {first}", hint="Write all parts alike."))
        for each in variables:
            whole[each.variable.name] = _together(whole[each.variable.name], each, name, first)
    return {name: _as_read(each) for name, each in whole.items()}


def _as_read(whole: WholeVariable) -> WholeVariable:
    """Variable of the whole file with the decimals that the numbers of all parts stand for."""
    if whole.grid is None or not (whole.is_read or whole.variable.decimals is None):
        return whole
    places = whole.grid.places()
    is_read = places is not None and whole.grid.changes(places)
    kind: VariableType = "integer" if places == 0 and whole.variable.type == "integer" else "continuous"
    known = replace(whole.variable, decimals=places, type=kind)
    return replace(whole, variable=known, digits=None if is_read else whole.digits, is_read=is_read)


def _together(one: WholeVariable, other: WholeVariable, name: str, first: str) -> WholeVariable:
    before, after = one.variable, other.variable
    if before.is_numeric != after.is_numeric and one.present and other.present:
        raise DataError(
            Problem(
                f"{before.name} is {before.type} in {first}, and {after.type} in {name}",
                hint=f"Declare its type: `data: variables: {{{before.name}: {{type: ...}}}}`.",
            )
        )
    known = before if one.present or not other.present else after
    if before.is_numeric and after.is_numeric and one.present and other.present:
        places = None if None in (before.decimals, after.decimals) else max(before.decimals or 0, after.decimals or 0)
        kind = before.type if before.type == after.type else "continuous"
        known = replace(known, decimals=places, type=kind)
    elif not known.is_numeric and before.categories != after.categories:
        there = (*before.categories, *(each for each in after.categories if each not in before.categories))
        known = replace(known, categories=there if before.type == "ordinal" else tuple(sorted(there)))
    return WholeVariable(
        known, (*one.blanks, *(each for each in other.blanks if each not in one.blanks)),
        one.digits if one.digits == other.digits else None, one.moments + other.moments,
        one.records + other.records, one.gone + other.gone,
        None if one.grid is None or other.grid is None else one.grid + other.grid, one.is_read or other.is_read,
    )  # fmt: skip


def as_published(known: Mapping[str, WholeVariable], published: Iterable[Variable]) -> dict[str, WholeVariable]:
    """Variables of the whole file with those that steps publish as others."""
    found = dict(known)
    for variable in published:
        found[variable.name] = replace(found[variable.name], variable=variable)
    return found


def in_file_terms(data: Dataset, known: Mapping[str, WholeVariable]) -> Dataset:
    """A part with the variables of the whole file: categories have its codes, missing cells its texts."""
    return replace(data, columns=tuple(_column(each, known[each.name]) for each in data))


def _column(column: Column, whole: WholeVariable) -> Column:
    variable, blank = whole.variable, column.blank
    if blank is not None:
        places = np.array([*(whole.blanks.index(text) for text in blank.texts), HAD_VALUE, NO_CELL])
        # Codes -1 and -2 are places from the end.
        blank = MissingCells(whole.blanks, places[blank.codes].astype(np.int32))
    elif whole.blanks:
        # Every part says it where one does: blocks join records of all of them.
        blank = MissingCells(whole.blanks, np.where(column.missing, NO_CELL, HAD_VALUE).astype(np.int32))
    values = column.values
    if variable.is_numeric and not column.variable.is_numeric:
        values = np.full(len(column), np.nan)
    elif not variable.is_numeric and column.variable.is_numeric:
        values = np.full(len(column), -1, dtype=np.int32)
    elif not variable.is_numeric:
        place_of = {text: place for place, text in enumerate(variable.categories)}
        codes = np.array([*(place_of[text] for text in column.variable.categories), -1], dtype=np.int32)
        values = codes[column.values]
    elif not variable.is_date and (whole.is_read or column.stored is not None):
        stored = column.values if column.stored is None else column.stored
        if whole.is_read and variable.decimals is not None:
            values = on_grid(stored, variable.decimals)
            return Column(variable, values, column.missing, blank, whole.digits, stored=stored)
        values = stored
    return Column(variable, values, column.missing, blank, whole.digits, column.written)


def empty(known: Mapping[str, WholeVariable]) -> Dataset:
    """Dataset of these variables without a record."""
    nothing = np.zeros(0, dtype=np.bool_)
    return Dataset(
        tuple(
            Column(each.variable, np.zeros(0, dtype=np.float64 if each.variable.is_numeric else np.int32), nothing)
            for each in known.values()
        )
    )


def stacked(pieces: Sequence[Dataset]) -> Dataset:
    """Records of several datasets in the same terms, one after the other."""
    first = pieces[0]
    return replace(
        first,
        columns=tuple(_stacked([piece[name] for piece in pieces]) for name in first.names),
        origin=None, households=None,
    )  # fmt: skip


def _stacked(columns: Sequence[Column]) -> Column:
    first = columns[0]
    texts = next((each.blank.texts for each in columns if each.blank is not None), None)
    blank = None
    if texts is not None:
        codes: list[NDArray[np.int32]] = [
            np.full(len(each), HAD_VALUE, dtype=np.int32) if each.blank is None else each.blank.codes.astype(np.int32)
            for each in columns
        ]
        blank = MissingCells(texts, np.concatenate(codes))
    return Column(
        first.variable, np.concatenate([each.values for each in columns]),
        np.concatenate([each.missing for each in columns]), blank, first.digits,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TaskSettings:
    """A run and its parts.

    `variables`: as the whole file has them; empty until all parts were read once. `layout`: of the first part with
    records, once that is known.
    """

    pipeline: Pipeline
    parts: Parts
    seed: int
    variables: Mapping[str, WholeVariable]
    layout: Layout = field(default_factory=Layout)

    def part_of(self, key: str) -> tuple[Part, int]:
        """Part that a key names by its position, and the number of its first record."""
        position = int(key)
        return self.parts.parts[position], self.parts.offsets[position]

    def records_of(self, key: str) -> tuple[Dataset | None, int]:
        """Records of the part that a key names, None where it has none, and the number of the first."""
        part, first = self.part_of(key)
        return (self.read(part) if part.records else None), first

    def read(self, part: Part) -> Dataset:
        """Read a part without identifiers; its variables are those of the whole file once these are known."""
        source = files_source(find_source(part.format), (part,), self.parts.schema)
        file = replace(self.pipeline.data, path=Path(part.path), source=source)
        data = load(file, again=bool(self.variables))
        data = data.without([each.name for each in data.variables if each.role == "identifier"])
        return in_file_terms(data, self.variables) if self.variables else data

    def layout_of(self, part: Part) -> Layout:
        """How a part without records is written: as the first one that has some, where its own file does not say."""
        source = files_source(find_source(part.format), (part,), self.parts.schema)
        reading = source.open(Path(part.path), self.pipeline.data.params, silent)
        with written_batches_of(reading) as batches:
            for _ in batches:
                pass
        own = reading.layout
        if own.details["layouts"]:
            return own
        return replace(self.layout, details={**self.layout.details, "parts": own.details["parts"]})


@dataclass(frozen=True, eq=False)
class PartAtWork:
    """A part that has records, as a task gets it: `content` is what the stage stored for its tasks.

    `first`: number of its first record in the whole file.
    """

    sheet: TaskSettings
    content: Any
    original: Dataset
    first: int
    position: int


def of_each_part(
    work: Callable[[PartAtWork, Path], Mapping[str, object]],
) -> Callable[[Stored, Stored, Path, str], Mapping[str, object]]:
    """Task of a stage that works on the records of one part, named by its key; there is nothing to do without any."""

    @functools.wraps(work)
    def task(settings: Stored, about: Stored, folder: Path, key: str) -> Mapping[str, object]:
        sheet: TaskSettings = settings.read()
        original, first = sheet.records_of(key)
        if original is None:
            return {"records": 0}
        part = PartAtWork(sheet, about.read(), original, first, int(key))
        return {"records": len(original), **work(part, folder)}

    return task


@dataclass(frozen=True)
class Stored:
    """Something that tasks read, in a file of the scratch folder; small enough to be sent with each of them.

    `sha256`: of the file: what a task is given is what the run wrote.
    """

    path: str
    sha256: str

    @classmethod
    def of(cls, content: object, path: Path) -> Stored:
        """Write something for tasks to read; readable by the owner only."""
        written = _dumped(content)
        handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(written)
        return cls(str(path), hashlib.sha256(written).hexdigest())

    def read(self) -> Any:
        """What was written; each process keeps the last few."""
        return _read(self.path, self.sha256)


@functools.lru_cache(maxsize=4)
def _read(path: str, sha256: str) -> Any:
    written = Path(path).read_bytes()
    if hashlib.sha256(written).hexdigest() != sha256:
        raise DataError("a file in the scratch folder of the run was changed by another program")
    return _Reading(io.BytesIO(written)).load()


KINDS = ("sources", "methods", "partitions", "measures", "rule_languages", "reports")
"""Of plugins that tasks take by name: their functions may be no functions of a module."""


class _Writing(pickle.Pickler):
    """Plugins are written by their names: a worker has its own."""

    def persistent_id(self, found: object) -> tuple[str, str] | None:
        name = getattr(found, "name", None)
        if isinstance(name, str):
            registry = plugins()
            for kind in KINDS:
                offered = getattr(registry, kind)
                # Most of what has a name is no plugin.
                if name in offered.offers and offered.get(name) is found:
                    return kind, name
        return None

    def reducer_override(self, found: object) -> Any:
        if isinstance(found, Step) and found.method.name in plugins().methods:
            stated = {each.name: getattr(found, each.name) for each in fields(found) if each.name != "method"}
            return _step, (found.method.name, stated)
        return NotImplemented


def _step(method: str, stated: dict[str, Any]) -> Step:
    """A step whose method is that of this worker, as it is with the parameters of the step."""
    return Step(method=plugins().methods[method].with_params(stated["params"]), **stated)


class _Reading(pickle.Unpickler):
    """What the run itself wrote: the hash is that of its own message."""

    def persistent_load(self, said: tuple[str, str]) -> object:
        return getattr(plugins(), said[0])[said[1]]


def _dumped(content: object) -> bytes:
    written = io.BytesIO()
    _Writing(written, protocol=5).dump(content)
    return written.getvalue()
