"""pandas DataFrames as datasets."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright.data.category_columns import category_column
from maskwright.data.dataset import Column, Dataset, Layout
from maskwright.data.date_columns import are_iso_dates, date_doubt, date_text_column, holds_dates, stored_date_column
from maskwright.data.hierarchies.building import with_hierarchy
from maskwright.data.inference import UNDECLARED
from maskwright.data.misread_columns import apart_doubt, doubtful_names, misread_doubt
from maskwright.data.missing import is_code_number, missing_numbers
from maskwright.data.missing_notes import missing_notes
from maskwright.data.number_columns import EXACT, number_column, seen_beyond
from maskwright.data.number_text import write_numbers
from maskwright.data.stored_cells import refuse_nested
from maskwright.data.text_columns import declares_number, text_column
from maskwright.foundation.errors import DataError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.foundation.doubts import Doubt


def dataset_from_frame(frame: pd.DataFrame, declared: Mapping[str, VariableDeclaration] | None = None) -> Dataset:
    """Dataset of a DataFrame's columns; the frame is not changed.

    `frame`: column names are strings, each used once. Integers have no decimals; floats are never rounded unless
    `declared` gives decimals; ordered categoricals are ordinal; moments that are all midnights, and texts that are all
    ISO dates, are dates, other moments datetimes; truth values, other categoricals, times of day and text are nominal.
    NaN, None and NA are missing cells; shape (n, p).
    """
    names = list(frame.columns)
    if any(not isinstance(name, str) for name in names):
        hint = "Rename them: `frame.columns = frame.columns.map(str)`."
        raise DataError(Problem("column names of a DataFrame must be strings (and one level deep)", hint=hint))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"the DataFrame has columns of one name: {', '.join(twice[:5])}")
    if len(frame) == 0 or not names:
        raise DataError("the DataFrame has no records")
    declarations = declared or {}
    unknown = [Problem(unknown_name("variable", name, names)) for name in declarations if name not in names]
    if unknown:
        raise DataError(unknown)
    columns: list[Column] = []
    notes: list[str] = []
    doubts: list[Doubt] = list(doubtful_names(names))
    problems: list[Problem] = []
    for name in names:
        stated = declarations.get(name, UNDECLARED)
        try:
            column, said = _column(name, frame[name], stated)
            columns.append(with_hierarchy(column, stated.hierarchy))
            notes += said
            doubts += _doubts(column, frame[name], stated)
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    return Dataset(tuple(columns), Layout("dataframe"), notes=(*notes, *missing_notes(columns)), doubts=tuple(doubts))


def _doubts(column: Column, series: Any, declared: VariableDeclaration) -> Iterator[Doubt]:
    from pandas import CategoricalDtype

    apart = apart_doubt(column, declared) if column.variable.is_numeric else None
    if apart is not None:
        yield apart
    if not isinstance(series.dtype, CategoricalDtype):
        doubt = misread_doubt(column, declared, typed=True)
        if doubt is not None:
            yield doubt
    unclear = date_doubt(column, declared, typed=True)
    if unclear is not None:
        yield unclear


def _column(name: str, series: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    _refuse_containers(name, series)
    order = _order(series, declared)
    if order is not None:
        return category_column(name, _text(series), declared, order)
    is_category = bool(declared.categories) or declared.type in ("nominal", "ordinal")
    dates = None if is_category else _date_column(name, series, declared)
    if dates is not None:
        return dates
    if not _holds_numbers(series):
        is_number = declared.type in ("continuous", "integer")
        return (text_column if is_number else category_column)(name, _text(series), declared)
    missing = np.array(series.isna(), dtype=np.bool_)
    values = np.array(series.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    is_integer = series.dtype.kind in "iu" or (series.dtype == object and all(map(_is_whole, series[~missing])))
    if is_integer and np.any(np.abs(values[~missing]) == EXACT):
        values = seen_beyond(values, _text(series))
    too_long = is_integer and not declares_number(declared) and bool(np.any(np.abs(values[~missing]) > EXACT))
    if is_category or too_long:
        text = _text(series) if is_integer else pa.chunked_array([write_numbers(values, missing, None)])
        column, notes = category_column(name, text, declared)
        if too_long:
            notes = [*notes, f"{name}: read as nominal codes, since some have more digits than a number can hold"]
        return column, notes
    absent = missing
    missing = missing | is_code_number(values, declared.empty_texts)
    notes = [f"{name}: every cell is missing; read as continuous"] if np.all(missing) else []
    blank = missing_numbers(values, missing, absent)
    column, more = number_column(name, values, missing, 0 if is_integer else None, declared, blank)
    return column, notes + more


def _date_column(name: str, series: Any, declared: VariableDeclaration) -> tuple[Column, list[str]] | None:
    """Column of dates: moments, midnights, Python's dates, declared or ISO texts; None: it is none."""
    from pandas.api.types import is_datetime64_any_dtype

    if not declared.is_date and declared.type is not None:
        return None
    if is_datetime64_any_dtype(series.dtype):
        cells = pa.array(series, from_pandas=True)
        stored = cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])
        return stored_date_column(name, stored, declared) if holds_dates(stored, declared) else None
    if declared.is_date:
        return date_text_column(name, _text(series), declared)
    if _holds_numbers(series):
        return None
    text = _text(series)
    return date_text_column(name, text, declared) if are_iso_dates(text, declared) else None


def _refuse_containers(name: str, series: Any) -> None:
    """Refuse cells that are no single values: lists, mappings, sets."""
    import pandas as pd
    from pandas.api.types import infer_dtype, is_hashable

    if isinstance(series.dtype, pd.ArrowDtype):
        refuse_nested(name, series.dtype.pyarrow_dtype)
    if series.dtype == object and infer_dtype(series, skipna=True) == "mixed":
        count = sum(not is_hashable(cell) for cell in series)
        if count:
            message = f"variable {name!r}: {count} of {len(series)} cells hold several values, and one was expected"
            raise DataError(Problem(message, hint="Drop the column, or make a column of each value."))


def _order(series: Any, declared: VariableDeclaration) -> tuple[str, ...] | None:
    if not getattr(series.dtype, "ordered", False) or declared.categories:
        return None
    if declared.type not in (None, "ordinal"):
        return None
    return tuple(map(str, series.cat.categories))


def _holds_numbers(series: Any) -> bool:
    from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

    if is_bool_dtype(series.dtype):
        return False
    if is_numeric_dtype(series.dtype):
        return bool(series.dtype.kind in "iuf")
    if series.dtype == object:
        return infer_dtype(series, skipna=True) in ("integer", "floating", "mixed-integer-float", "decimal")
    return False


def _is_whole(cell: object) -> bool:
    """Whether a cell is exact and whole: Python's integers and decimals are, whatever their size."""
    return isinstance(cell, int) or (isinstance(cell, Decimal) and cell == cell.to_integral_value())


def _text(series: Any) -> Any:
    """Texts of a column's values, null where missing, as one chunked array."""
    missing = np.array(series.isna(), dtype=np.bool_)
    codes, values = decoded(series).factorize(use_na_sentinel=True)
    texts = pa.array([str(value) for value in values], pa.string())
    return pa.chunked_array([texts.take(pa.array(codes.astype(np.int64), mask=missing))], type=pa.string())


def decoded(series: Any) -> Any:
    """Series whose Arrow dictionary is written out: pandas cannot factorize those with unsigned codes."""
    import pandas as pd

    kind = series.dtype.pyarrow_dtype if isinstance(series.dtype, pd.ArrowDtype) else None
    if kind is None or not pa.types.is_dictionary(kind):
        return series
    return series.astype(pd.ArrowDtype(kind.value_type))
