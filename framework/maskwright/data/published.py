"""What the writers of data files get: the published form of a dataset, batch by batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.date_texts import write_dates
from maskwright.data.number_text import read_numbers, write_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset

ROWS = 65_536
"""Records of a batch."""


def published_batches(
    data: Dataset,
    writes_text: bool,
    rows: int = ROWS,
    untouched: Mapping[str, Any] | None = None,
    *,
    canonical: bool = False,
    letter_codes: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a dataset as they are to be written.

    `writes_text`: every column is a string column of canonical text; otherwise integers are int64, other numbers
    float64, dates date32, datetimes timestamps in microseconds, categories strings. `untouched`: columns as the file
    held them (`untouched_cells`); None: the file was of another format, and an empty text becomes null.
    """
    held = untouched or {}
    # What type a column has is decided once, of all its records.
    make = [
        partial(_chunk, held[column.name])
        if column.name in held
        else partial(_text, column, canonical=canonical)
        if writes_text
        else _typed(column, keeps_empty=untouched is not None, letter_codes=letter_codes)
        for column in data
    ]
    for start in range(0, max(len(data), 1), rows):
        arrays = [cells_of(slice(start, start + rows)) for cells_of in make]
        yield pa.record_batch(arrays, names=list(data.names))


def _chunk(cells: Any, records: slice) -> Any:
    part = cells.slice(records.start, records.stop - records.start)
    return part.unify_dictionaries().combine_chunks() if isinstance(part, pa.ChunkedArray) else part


def _text(column: Column, records: slice, *, canonical: bool, emptied: str | None = "") -> Any:
    variable, missing = column.variable, column.missing[records]
    if not variable.is_numeric:
        return _filled(column, records, _categories(column, records), emptied)
    if variable.is_date:
        dates = write_dates(column.values[records], missing, variable.date_text)
        return _filled(column, records, dates, emptied)
    digits = None if canonical else column.digits
    numbers = write_numbers(column.values[records], missing, variable.decimals, digits)
    return _filled(column, records, numbers, emptied)


def _filled(column: Column, records: slice, texts: Any, emptied: str | None) -> Any:
    """Cells with what stands in those that are missing."""
    missing = column.missing[records]
    if not missing.any():
        return texts
    return pc.coalesce(texts, column.nothing(records, emptied))


def _typed(column: Column, *, keeps_empty: bool, letter_codes: bool) -> Callable[[slice], Any]:
    """What gives the cells of some records to a format with types."""
    keeps_texts = keeps_empty or letter_codes
    if keeps_texts and column.variable.is_numeric and not _has_number_codes(column, letter_codes=letter_codes):
        return partial(_text, column, canonical=False, emptied=None)
    if not column.variable.is_numeric:
        return partial(_typed_categories, column, keeps_empty=keeps_empty)
    if column.variable.date_format is not None and keeps_empty:
        return partial(_text, column, canonical=False, emptied=None)
    if column.variable.is_date:
        if column.variable.type == "datetime":
            return partial(_typed_moments, column)
        return partial(_typed_dates, column)
    are_whole = column.variable.decimals == 0 and bool(np.all(np.abs(column.values[~column.missing]) <= 2.0**53))
    return partial(_integers if are_whole else _floats, column)


def _typed_categories(column: Column, records: slice, *, keeps_empty: bool) -> Any:
    texts = _filled(column, records, _categories(column, records), None)
    blank = column.missing[records].any() and not keeps_empty
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts) if blank else texts


def _typed_moments(column: Column, records: slice) -> Any:
    missing = np.asarray(column.missing[records])
    values = np.where(missing, 0.0, column.values[records])
    return pa.array(np.rint(values * 1e6).astype(np.int64), mask=missing).cast(pa.timestamp("us"))


def _typed_dates(column: Column, records: slice) -> Any:
    missing = np.asarray(column.missing[records])
    days = np.rint(np.where(missing, 0.0, column.values[records])).astype(np.int32)
    return pa.array(days, pa.int32(), mask=missing).cast(pa.date32())


def _integers(column: Column, records: slice) -> Any:
    values, missing = numbers_with_codes(column, records)
    return pa.array(np.rint(np.where(missing, 0.0, values)).astype(np.int64), mask=np.asarray(missing))


def _floats(column: Column, records: slice) -> Any:
    values, missing = numbers_with_codes(column, records)
    return pa.array(values, pa.float64(), mask=np.asarray(missing))


def numbers_with_codes(column: Column, records: slice = slice(None)) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Numbers, with missing codes where these are stored as numbers; and which cells hold nothing at all."""
    values, missing = column.values[records], column.missing[records]
    texts = () if column.blank is None else column.blank.texts
    if column.variable.suppressed_as is None and not any(text.strip() for text in texts):
        return values, missing
    codes = read_numbers(column.nothing(records)).values
    return np.where(missing, codes, values), missing & np.isnan(codes)


def _has_number_codes(column: Column, *, letter_codes: bool) -> bool:
    """Whether no missing cell is written as a text that is no number, such as Stata's ``.a``: numbers would lose it."""
    texts = () if column.blank is None else column.blank.texts
    suppressed = column.variable.suppressed_as if letter_codes else None
    listed = [text for text in (*texts, suppressed or "") if text.strip()]
    return bool(np.all(read_numbers(pa.array(listed, pa.string())).is_number))


def _categories(column: Column, records: slice) -> Any:
    places = pa.array(column.values[records].astype(np.int32), mask=np.asarray(column.missing[records]))
    return column.variable.category_texts.take(places)
