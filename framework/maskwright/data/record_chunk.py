"""A chunk of records, by variable: what edits are evaluated on.

Chunks come from a file that is being read (text), from a `Dataset`, or from plain arrays (representatives of
clusters); an edit cannot tell which.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.binary_decimals import GridFacts, on_grid
from maskwright.data.date_columns import is_date_type, is_moment_type, stored_days, stored_moments
from maskwright.data.date_texts import ISO, ISO_MOMENT, read_dates, second_decimals, write_dates
from maskwright.data.missing import is_code_number, is_code_text
from maskwright.data.notations import PLAIN, NumberNotation
from maskwright.data.number_text import read_numbers, write_numbers
from maskwright.data.stored_cells import is_number_type, stored_numbers, stored_text
from maskwright.foundation.arrays import arrow_array, truths_of
from maskwright.foundation.errors import InputError
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable


SPACED_ISO_TEXT = r"^[ \t\r\n]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t\r\n]*$"


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one variable in a chunk of n records; arrays of shape (n,).

    `numbers`: by the XPath rule; of dates days since 1970-01-01, of datetimes seconds; NaN for none. `absent`: no cell
    at all, as opposed to an empty one. `decimals`: numbers are decimals on that grid; None: plain binary64. `text`,
    `nothing`: texts of the cells, and of missing ones, made when they are needed. `codes`: missing codes with meanings.
    `spoken`: numbers by the XPath rule where some of `numbers` are days.
    """

    numbers: NDArray[np.float64]
    missing: NDArray[np.bool_]
    absent: NDArray[np.bool_]
    decimals: int | None
    text: Callable[[], Any]
    nothing: Callable[[], Any] | None = None
    codes: tuple[tuple[str, str], ...] = ()
    spoken: NDArray[np.float64] | None = None

    @property
    def xpath_numbers(self) -> NDArray[np.float64]:
        """The number each cell says by the XPath rule, which knows no dates; NaN where it says none."""
        return self.numbers if self.spoken is None else self.spoken

    def says(self, meaning: str) -> NDArray[np.bool_]:
        """Which cells hold the missing code that is called so, or means so; shape (n,)."""
        codes = [code for code, meant in self.codes if meaning in (code, meant)]
        if self.nothing is None or not codes:
            return np.zeros(len(self.missing), dtype=np.bool_)
        texts = self.nothing()
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        return is_code_text(texts, codes) & self.missing


class RecordChunk:
    """Cells by variable name, all of `n` records.

    Parameters
    ----------
    n : int
        Number of records.
    cells : mapping of name to Cells, or to callable returning Cells
        Those of a callable are made when they are first requested.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import RecordChunk
    >>> chunk = RecordChunk.from_arrays({"age": np.array([31.0, np.nan])}, {"age": 0})
    >>> chunk.n, chunk["age"].missing.tolist()
    (2, [False, True])
    """

    def __init__(self, n: int, cells: Mapping[str, Cells | Callable[[], Cells]]) -> None:
        self.n = n
        self._cells = dict(cells)

    def __getitem__(self, name: str) -> Cells:
        try:
            cells = self._cells[name]
        except KeyError:
            raise InputError(unknown_name("variable", name, self._cells)) from None
        if not isinstance(cells, Cells):
            # Most rules read few variables of a file: numbers are made of text when they are requested.
            cells = self._cells[name] = cells()
        return cells

    def __contains__(self, name: object) -> bool:
        return name in self._cells

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables present."""
        return tuple(self._cells)

    @classmethod
    def joined(cls, chunks: Sequence[RecordChunk]) -> RecordChunk:
        """Chunks of one file, which have the same variables, as one."""
        cells = {name: _joined([chunk[name] for chunk in chunks]) for name in chunks[0].names}
        return cls(sum(chunk.n for chunk in chunks), cells)

    @classmethod
    def from_arrays(
        cls, values: Mapping[str, NDArray[np.float64]], decimals: Mapping[str, int | None] | None = None
    ) -> RecordChunk:
        """Chunk of plain numbers; NaN is a missing cell."""
        grids = decimals or {}
        n = len(next(iter(values.values()))) if values else 0
        return cls(n, {name: number_cells(array, np.isnan(array), grids.get(name)) for name, array in values.items()})

    @classmethod
    def from_dataset(cls, data: Dataset, start: int = 0, stop: int | None = None) -> RecordChunk:
        """Chunk of the records start..stop of a dataset.

        Parameters
        ----------
        data : Dataset
        start, stop : int
            0-based, the last excluded; to the end when `stop` is None.
        """
        return cls._of(data, {}, start, len(data) if stop is None else min(stop, len(data)))

    @classmethod
    def slices(cls, data: Dataset, size: int) -> Iterator[RecordChunk]:
        """Chunks of a dataset, `size` records each but the last, in record order."""
        # A file can have as many categories as records: what they say is not read anew for each chunk.
        meanings = {
            each.name: functools.cache(partial(_meanings, each)) for each in data if not each.variable.is_numeric
        }
        for start in range(0, len(data), size):
            yield cls._of(data, meanings, start, min(start + size, len(data)))

    @classmethod
    def _of(cls, data: Dataset, meanings: Mapping[str, Callable[[], _Meanings]], start: int, stop: int) -> RecordChunk:
        cells = {column.name: partial(column_cells, column, start, stop, meanings.get(column.name)) for column in data}
        return cls(stop - start, cells)

    @classmethod
    def from_batch(
        cls,
        batch: Any,
        variables: Mapping[str, Variable] | None = None,
        others: Variable | None = None,
        notation: NumberNotation = PLAIN,
        grids: Mapping[str, int | None] | None = None,
    ) -> RecordChunk:
        """Chunk of cell texts as a source read them.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            Text columns hold cell texts (null: absent, "": empty), columns of numbers hold numbers (null: absent);
            others (truth values, dates, dictionaries) are what `maskwright.data.stored_cells` says they are as text.
        variables : mapping of name to Variable, optional
            Gives missing codes and declared decimals.
        others : Variable, optional
            Gives them for the variables that are not in the mapping.
        notation : NumberNotation
            How text cells write numbers; those of variables that are known to be categories stay as they are.
        grids : mapping of name to int or None, optional
            Decimals that the numbers of a variable stand for, up to rounding of binary arithmetic; None: no grid.
        """
        known, read = variables or {}, grids or {}
        cells = {
            name: partial(
                _cells_as_read if name not in read else partial(_cells_standing_for, grid=read[name]),
                name, batch.column(name), known.get(name, others), notation,
            ) for name in batch.schema.names
        }  # fmt: skip
        return cls(batch.num_rows, cells)


def _joined(parts: Sequence[Cells]) -> Cells:
    grids = {part.decimals for part in parts}
    known = [grid for grid in grids if grid is not None]
    return Cells(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.missing for part in parts]),
        np.concatenate([part.absent for part in parts]),
        max(known) if len(known) == len(grids) else None,
        lambda: pa.concat_arrays([pc.cast(_flat(part.text()), pa.string()) for part in parts]),
        None if parts[0].nothing is None else lambda: pa.concat_arrays([_nothing(part) for part in parts]),
        parts[0].codes,
        None if all(part.spoken is None for part in parts) else np.concatenate([part.xpath_numbers for part in parts]),
    )


def _nothing(part: Cells) -> Any:
    texts = pa.nulls(len(part.missing)) if part.nothing is None else _flat(part.nothing())
    return pc.cast(texts, pa.string())


def _flat(texts: Any) -> Any:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


@dataclass(frozen=True, eq=False)
class _Meanings:
    """Numbers that the categories of a variable say, and NaN at their end, which code -1 takes."""

    numbers: NDArray[np.float64]
    spoken: NDArray[np.float64] | None
    decimals: int | None


def _meanings(column: Column) -> _Meanings:
    categories = column.variable.category_texts
    made = _text_cells(categories, categories, None, (), None)
    parsed = None if made.spoken is None else np.append(made.spoken, np.nan)
    return _Meanings(np.append(made.numbers, np.nan), parsed, made.decimals)


def column_cells(
    column: Column, start: int = 0, stop: int | None = None, known: Callable[[], _Meanings] | None = None
) -> Cells:
    """Cells of a dataset's column, records start..stop."""
    values, missing = column.values[start:stop], column.missing[start:stop]
    nothing, codes = partial(column.nothing, slice(start, stop)), column.variable.empty_meanings
    if column.variable.is_date:
        dates = _date_cells(values, missing, _absent(column, missing, nothing), column.variable.date_text)
        return replace(dates, nothing=nothing, codes=codes)
    if column.variable.is_numeric:
        cells = number_cells(values, missing, column.variable.decimals)
        cells = replace(cells, absent=_absent(column, missing, nothing), nothing=nothing, codes=codes)
        if column.stored is not None:
            stored = number_cells(column.stored[start:stop], missing, None)
            cells = replace(cells, text=stored.text, spoken=stored.numbers)
        return _with_codes(cells, column)
    categories = column.variable.category_texts
    places = arrow_array(values.astype(np.int32), missing)
    meanings = _meanings(column) if known is None else known()
    numbers = np.where(missing, np.nan, meanings.numbers[values])
    parsed = None if meanings.spoken is None else np.where(missing, np.nan, meanings.spoken[values])
    absent = _absent(column, missing, nothing)
    texts = partial(categories.take, places)
    return _with_codes(Cells(numbers, missing, absent, meanings.decimals, texts, nothing, codes, parsed), column)


def _with_codes(cells: Cells, column: Column) -> Cells:
    """Cells in which missing codes are texts and numbers by the XPath rule, which knows no codes."""
    if column.blank is None or cells.nothing is None or not column.variable.empty_texts or not cells.missing.any():
        return cells
    written = pc.cast(_flat(cells.nothing()), pa.string())
    spoken = np.where(cells.missing, read_numbers(written).values, cells.xpath_numbers)
    return replace(cells, text=lambda: pc.coalesce(pc.cast(_flat(cells.text()), pa.string()), written), spoken=spoken)


def _absent(column: Column, missing: NDArray[np.bool_], nothing: Callable[[], Any]) -> NDArray[np.bool_]:
    """Where there is no cell at all: a file says of some missing cells that they are there, empty or with a code."""
    if column.blank is None or not missing.any():
        return missing
    found: NDArray[np.bool_] = missing & truths_of(_flat(nothing()).is_null())
    return found


def number_cells(values: NDArray[np.float64], missing: NDArray[np.bool_], decimals: int | None) -> Cells:
    """Cells that hold plain numbers; `missing` ones are absent too. `values`: shape (n,). `missing`: shape (n,)."""
    numbers = np.where(missing, np.nan, values)
    return Cells(numbers, missing, missing, decimals, lambda: write_numbers(numbers, missing, decimals))


def grid_facts(cells: Cells, kind: Any) -> GridFacts | None:
    """How far the numbers of an undeclared variable are from decimals, in cells of this type; None: it has others."""
    present = ~cells.missing
    numbers = cells.numbers[present]
    if cells.spoken is not None or np.isnan(numbers).any():
        return None
    return GridFacts.of(numbers, None if pa.types.is_floating(kind) else cells.decimals, len(present))


def _cells_standing_for(
    name: str, array: Any, variable: Variable | None, notation: NumberNotation, grid: int | None
) -> Cells:
    """Cells of a column as a source read it; their numbers stand for decimals with `grid` places; None: for none."""
    found = _cells_as_read(name, array, variable, notation)
    if grid is None:
        return replace(found, decimals=None)
    return replace(found, numbers=on_grid(found.numbers, grid), decimals=grid, spoken=found.numbers)


def _cells_as_read(name: str, array: Any, variable: Variable | None, notation: NumberNotation) -> Cells:
    absent = truths_of(array.is_null())
    codes, meanings = ((), ()) if variable is None else (variable.empty_texts, variable.empty_meanings)
    kind = array.type
    if is_number_type(kind):
        numbers = stored_numbers(array)
        missing = np.isnan(numbers) | is_code_number(numbers, codes)
        if not pa.types.is_floating(kind):
            decimals = max(int(kind.scale), 0) if pa.types.is_decimal(kind) else 0
            text = partial(stored_text, name, array)
            return Cells(numbers, missing, absent, decimals, text, text, meanings)
        grid = None if variable is None else variable.decimals
        text = partial(write_numbers, numbers, np.isnan(numbers), grid)
        return Cells(numbers, missing, absent, grid, text, text, meanings)
    if variable is not None and variable.type == "datetime" and is_moment_type(kind):
        moments = stored_moments(array)
        if moments is not None:
            form = f"{ISO_MOMENT}.%{moments.decimals}f" if moments.decimals else ISO_MOMENT
            return _date_cells(moments.seconds, absent, absent, form)
    elif is_date_type(kind):
        days = stored_days(array)
        if days is not None:
            return _date_cells(days, absent, absent, ISO)
    text = stored_text(name, array)
    date_format = None if variable is None else variable.date_format
    if variable is not None and variable.type == "datetime":
        date_format = variable.date_text
    as_text = date_format is not None or (variable is not None and not variable.is_numeric)
    plain, foreign = (text, None) if as_text else notation.plain(text)
    made = _text_cells(text, plain, foreign, codes, date_format)
    return replace(made, nothing=lambda: text, codes=meanings)


def _date_cells(
    days: NDArray[np.float64], missing: NDArray[np.bool_], absent: NDArray[np.bool_], date_format: str
) -> Cells:
    numbers = np.where(missing, np.nan, days)
    texts = functools.cache(lambda: write_dates(numbers, missing, date_format))
    # A date may be a number to XPath: 20200131.
    is_iso = date_format.startswith(ISO)
    spoken = np.full(len(numbers), np.nan) if is_iso else read_numbers(texts()).values
    return Cells(numbers, missing, absent, second_decimals(date_format), texts, spoken=spoken)


def _text_cells(
    text: Any, plain: Any, foreign: NDArray[np.bool_] | None, codes: Sequence[str], date_format: str | None
) -> Cells:
    """Cells of texts as dates or numbers; `plain`: numbers as XPath has them; `foreign`: no numbers in the file."""
    parsed = read_numbers(plain)
    values = parsed.values if foreign is None else np.where(foreign, np.nan, parsed.values)
    missing = parsed.is_blank | is_code_text(text, codes)
    if plain is not text:
        missing |= is_code_text(plain, codes)
    absent = truths_of(text.is_null())
    if date_format is not None:
        dates = np.where(missing, np.nan, read_dates(text, date_format).values)
        return Cells(dates, missing, absent, second_decimals(date_format), lambda: text, spoken=values)
    wordy = ~(parsed.is_number | parsed.is_blank)
    if not wordy.any() or not pc.any(pc.match_substring_regex(text, SPACED_ISO_TEXT)).as_py():
        return Cells(values, missing, absent, parsed.decimals, lambda: plain)
    days = read_dates(text).values
    numbers = np.where(wordy & ~np.isnan(days), days, values)
    return Cells(numbers, missing, absent, parsed.decimals, lambda: plain, spoken=values)
