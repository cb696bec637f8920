"""Files of statistical packages read with pyreadstat, cell by cell as they are stored."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import (
    DataError,
    Layout,
    Place,
    Problem,
    Progress,
    VariableDeclaration,
    WrittenBatch,
    write_numbers,
)
from maskwright_builtin.sources.files import EXACT, ROWS, WrittenReading, optional_library, readable_size, reading
from maskwright_builtin.sources.statistical.declarations import (
    Family,
    MissingRange,
    StatisticalParams,
    VariableForm,
    as_moments,
    declaration,
    letter_text,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

ENDS = 64
"""Bytes at the beginning and at the end of a file that show whether it is whole."""


def pyreadstat(path: Path) -> Any:
    """The package that reads and writes these files."""
    return optional_library("pyreadstat", "files of SPSS, Stata and SAS are read", "stat", path)


class StatisticalReading(WrittenReading):
    """A file of a statistical package, read as a whole into typed columns when it is opened.

    What a column is, and which missing codes it has, the last record may decide.
    """

    def __init__(self, path: Path, family: Family, params: StatisticalParams, progress: Progress) -> None:
        _refuse_cut(path, family, readable_size(path))
        self._path, self._family, self._params, self._progress = path, family, params, progress
        self._library = pyreadstat(path)
        self._forms: dict[str, VariableForm] = {}
        self._cells: dict[str, Any] = {}
        self._written: dict[str, Any] = {}
        self._declared: dict[str, VariableDeclaration] = {}
        blocks, metadata = self._read()
        self._notes = tuple(_left_behind(metadata))
        for name in list(blocks):
            self._add(name, blocks.pop(name), metadata)

    def _read(self) -> tuple[dict[str, list[Any]], Any]:
        """Blocks of the cells of every column: numbers, texts, or both where missing values are letters."""
        whole = self._block(0, metadataonly=True)[1]
        names = list(whole.column_names)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            problem = Problem(f"the file names variables twice: {', '.join(twice[:5])}", Place(str(self._path)))
            raise DataError(problem)
        blocks: dict[str, list[Any]] = {name: [] for name in names}
        done = 0
        while True:
            cells, metadata = self._block(done)
            count = len(next(iter(cells.values()), ()))
            for name in names:
                is_text = metadata.readstat_variable_types[name] == "string"
                blocks[name].append(_texts(cells.pop(name)) if is_text else _numbers(cells.pop(name)))
            done += count
            self._progress(done / whole.number_rows if (whole.number_rows or 0) > 0 else 0.9)
            if not self._family.rows or count < self._family.rows or done == whole.number_rows:
                return blocks, metadata

    def _block(self, start: int, *, metadataonly: bool = False) -> tuple[dict[str, list[Any]], Any]:
        options: dict[str, Any] = {"disable_datetime_conversion": True, "output_format": "dict"}
        if self._family.tells_codes:
            options["user_missing"] = True
        if self._params.encoding is not None and self._family.takes_encoding:
            options["encoding"] = self._params.encoding
        if metadataonly:
            options["metadataonly"] = True
        elif self._family.rows:
            options |= {"row_offset": start, "row_limit": self._family.rows}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return getattr(self._library, self._family.read)(str(self._path), **options)  # type: ignore[no-any-return]
        except (self._library.ReadstatError, self._library.PyreadstatError, UnicodeDecodeError, ValueError) as error:
            raise DataError(_unreadable(self._path, self._family, self._params, error)) from None

    def _add(self, name: str, blocks: list[Any], metadata: Any) -> None:
        form = variable_form(name, metadata)
        if form.is_text:
            cells = pa.chunked_array(blocks, pa.string())
            self._declared[name] = declaration(form, cells)
        else:
            values = np.concatenate([numbers for numbers, _ in blocks])
            letters = _letters(blocks)
            form = replace(form, longest=longest_number(values, form.format))
            moments = as_moments(values, form.format, self._family.moments)
            self._declared[name] = declaration(form, values, letters, moments, self._family.moments)
            cells = _stored(values) if moments is None else moments
            if letters is not None or (moments is not None and self._declared[name].missing):
                # What a missing value is called is kept with the numbers or dates, which are then texts.
                texts = (
                    write_numbers(values, np.isnan(values), None) if moments is None else pc.cast(cells, pa.string())
                )
                cells = texts if letters is None else pc.coalesce(letters, texts)
            if moments is not None:
                self._written[name] = cells if letters is not None else _stored(values)
        self._forms[name] = form
        self._cells[name] = cells

    @property
    def declared(self) -> Mapping[str, VariableDeclaration]:
        """Labels, missing codes and kinds of the variables, as the file says; never a role."""
        return self._declared

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records, with the numbers that dates are stored as."""
        table, written = pa.table(self._cells), self._written
        for start in range(0, table.num_rows, ROWS):
            part = table.slice(start, ROWS).combine_chunks()
            batch = part.to_batches()[0]
            yield WrittenBatch(batch, {name: cells.slice(start, ROWS) for name, cells in written.items()})
        self._progress(1.0)

    @property
    def layout(self) -> Layout:
        """How each variable is written, by name."""
        return Layout(self._family.source, {"variables": dict(self._forms), "notes": self._notes})


def _left_behind(metadata: Any) -> Iterator[str]:
    """What a file says of itself and not of a variable: it may tell what is not to be published, and stays behind."""
    found = ["its label"] if metadata.file_label else []
    if metadata.notes:
        found.append("1 note" if len(metadata.notes) == 1 else f"{len(metadata.notes)} notes")
    if metadata.mr_sets:
        found.append(f"{len(metadata.mr_sets)} multiple-response sets")
    if found:
        yield f"of the file itself, these do not travel to the masked file: {', '.join(found)}"


def _refuse_cut(path: Path, family: Family, size: int) -> None:
    with reading(path) as file:
        start = file.read(ENDS)
        file.seek(max(size - ENDS, 0))
        end = file.read()
    if b"ENCRYPTED" in start:
        raise DataError(Problem(f"{family.title} that is encrypted", Place(str(path)), "Save it without a password."))
    if not family.is_whole(start, end, size):
        hint = "Copy it again."
        raise DataError(Problem(f"this is not {family.title}, or one that was cut short", Place(str(path)), hint))


def _texts(cells: list[Any]) -> Any:
    return pa.array(cells, pa.string())


def _numbers(cells: list[Any]) -> tuple[NDArray[np.float64], Any]:
    """Numbers, NaN where there is none; and the letters that stand there, if any do."""
    try:
        return np.array(cells, dtype=np.float64), None
    except ValueError:
        is_letter = [isinstance(cell, str) for cell in cells]
        pairs = list(zip(cells, is_letter, strict=True))
        values = np.array([math.nan if letter else cell for cell, letter in pairs], dtype=np.float64)
        return values, pa.array([letter_text(cell) if letter else None for cell, letter in pairs], pa.string())


def _stored(values: NDArray[np.float64]) -> Any:
    """Numbers as Arrow holds them: as integers if they are all whole, which are faster to write as texts."""
    missing = np.isnan(values)
    present = values[~missing]
    if len(present) and np.abs(present).max() < EXACT and np.array_equal(np.rint(present), present):
        return pa.array(np.where(missing, 0.0, values).astype(np.int64), pa.int64(), mask=missing)
    return pa.array(values, pa.float64(), mask=missing)


def _letters(blocks: list[tuple[NDArray[np.float64], Any]]) -> Any:
    if all(letters is None for _, letters in blocks):
        return None
    return pa.concat_arrays(
        [pa.nulls(len(values), pa.string()) if letters is None else letters for values, letters in blocks]
    )


def variable_form(name: str, metadata: Any) -> VariableForm:
    """What the file says of a variable."""
    ranges = metadata.missing_ranges.get(name, ())
    return VariableForm(
        is_text=metadata.readstat_variable_types[name] == "string",
        format=metadata.original_variable_types.get(name) or "",
        label=metadata.column_names_to_labels.get(name) or None,
        labels=dict(metadata.variable_value_labels.get(name, {})),
        missing=tuple(MissingRange(each["lo"], each["hi"]) for each in ranges),
        measure=metadata.variable_measure.get(name) or "unknown",
        display_width=max(metadata.variable_display_width.get(name) or 0, 0),
        width=metadata.variable_storage_width.get(name) or 0,
        is_whole=metadata.readstat_variable_types[name].startswith("int"),
    )


def longest_number(values: NDArray[np.float64], variable_format: str) -> int:
    """Characters of the longest number with the decimals of its format."""
    present = values[~np.isnan(values)]
    if not len(present):
        return 0
    decimals = int(variable_format.partition(".")[2] or 0) if variable_format.partition(".")[2].isdigit() else 0
    return max(len(f"{value:.{decimals}f}") for value in (float(present.min()), float(present.max())))


def _unreadable(path: Path, family: Family, params: StatisticalParams, error: Exception) -> Problem:
    place = Place(str(path))
    message = str(error).lower()
    if isinstance(error, UnicodeDecodeError) or "charac" in message or "encod" in message or "utf" in message:
        tried = "its own" if params.encoding is None else repr(params.encoding)
        hint = "Name the right one: `encoding: windows-1252` in the data section, or --encoding windows-1252."
        return Problem(f"the texts of the file are not in the encoding {tried}", place, hint)
    hint = "It may have been cut short, or be another format under this name."
    return Problem(f"the file is not {family.title} that can be read", place, hint)
