"""pandas DataFrames as datasets, and datasets as the DataFrames they came from."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.binary_decimals import EXACT
from maskwright.data.column_doubts import doubtful_names, missing_notes
from maskwright.data.dataset import Column, Dataset, Layout
from maskwright.data.date_columns import are_iso_dates, date_text_column, holds_dates, stored_date_column
from maskwright.data.date_texts import write_dates
from maskwright.data.hierarchies.building import with_hierarchy
from maskwright.data.inference import UNDECLARED, doubts_of, refuse_frame, refuse_undescribed
from maskwright.data.missing import is_code_number, missing_numbers
from maskwright.data.number_columns import number_column, seen_beyond
from maskwright.data.number_text import write_numbers
from maskwright.data.published import numbers_with_codes
from maskwright.data.stored_cells import refuse_nested
from maskwright.data.text_columns import category_column, declares_number, text_column
from maskwright.foundation.errors import DataError, InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.foundation.doubts import Doubt


def dataset_from_frame(frame: pd.DataFrame, declared: Mapping[str, VariableDeclaration] | None = None) -> Dataset:
    """Dataset of a DataFrame's columns, which have unique names; the frame is not changed.

    Floats are never rounded unless decimals are declared; ordered categoricals are ordinal; moments that are all
    midnights, and texts that are all ISO dates, are dates; truth values, other categoricals, times of day and text are
    nominal.
    """
    from pandas import CategoricalDtype

    names = list(frame.columns)
    if any(not isinstance(name, str) for name in names):
        hint = "Rename them: `frame.columns = frame.columns.map(str)`."
        raise DataError(Problem("column names of a DataFrame must be strings (and one level deep)", hint=hint))
    refuse_frame(names, len(frame))
    declarations = declared or {}
    refuse_undescribed(names, declarations)
    columns: list[Column] = []
    notes: list[str] = []
    doubts: list[Doubt] = list(doubtful_names(names))
    problems: list[Problem] = []
    for name in names:
        stated = declarations.get(name, UNDECLARED)
        try:
            column, found = _column(name, frame[name], stated)
            columns.append(with_hierarchy(column, stated.hierarchy))
            notes += found
            is_categorical = isinstance(frame[name].dtype, CategoricalDtype)
            doubts += doubts_of(column, None, stated, None, is_dictionary=is_categorical)
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    return Dataset(tuple(columns), Layout("dataframe"), notes=(*notes, *missing_notes(columns)), doubts=tuple(doubts))


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
    seen = 0 if is_integer else None
    column, more = number_column(name, values, missing, seen, declared, blank, has_grid=is_integer)
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
            raise DataError(Problem(message, hint="Drop the column, or make a column of each value.", variable=name))


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


def frame_from_dataset(
    data: Dataset, like: pd.DataFrame | None = None, untouched: Collection[str] = ()
) -> pd.DataFrame:
    """DataFrame of a dataset's columns, in the form of another."""
    import pandas as pd

    if like is None:
        return pd.DataFrame({column.name: pd.Series(_plain(column)) for column in data})
    index = like.index
    if data.origin is not None:
        index = index[data.origin]
    if len(index) != len(data):
        raise InputError(f"the dataset has {len(data)} records, and the DataFrame it came from has {len(index)}")
    order = [name for name in like.columns if name in data]
    order += [name for name in data.names if name not in order]
    kept = like if data.origin is None else like.iloc[data.origin]
    columns = {
        name: kept[name]
        if name in untouched
        else _restored(data[name], like[name] if name in like.columns else None, index)
        for name in order
    }
    return pd.DataFrame(columns, index=index, columns=pd.Index(order, dtype=like.columns.dtype))


def released_frame(
    data: Dataset,
    like: pd.DataFrame,
    untouched: Collection[str] = (),
    *,
    keep_index: bool,
    keeps_count: bool = True,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """DataFrame of masked records in the form of the original, without what else the original carries."""
    import pandas as pd

    frame = frame_from_dataset(data, like, untouched)
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = frame[name].cat.remove_unused_categories()
    index = like.index
    is_count = isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(like))) and index.name is None
    if keep_index or (is_count and keeps_count):
        return frame, ()
    if is_count:
        return frame.reset_index(drop=True), ()
    notice = (
        "the index of the DataFrame is not published: the records have the numbers 0, 1, ... (keep_index=True keeps it)"
    )
    return frame.reset_index(drop=True), (notice,)


def _plain(column: Column) -> Any:
    if column.variable.is_date:
        return _moments(column)
    if column.variable.is_numeric:
        integral = column.variable.decimals == 0 and not np.any(column.missing)
        if integral and np.array_equal(np.rint(column.values), column.values):
            return column.values.astype(np.int64)
        return np.array(column.values)
    return _objects(column, list(column.variable.categories))


def _moments(column: Column) -> NDArray[np.datetime64]:
    units = 10 ** (column.variable.decimals or 0)
    counts = np.where(column.missing, 0, np.rint(column.values * units)).astype(np.int64)
    if column.variable.type == "date":
        moments = counts.astype("datetime64[D]").astype("datetime64[s]")
    else:
        # Decimals of a second are kept, and no more: the frame's own unit is taken if there is one.
        moments = counts.astype("datetime64[s]") if units == 1 else (counts * (10**6 // units)).astype("datetime64[us]")
    moments[column.missing] = np.datetime64("NaT")
    return moments


def _objects(column: Column, values: list[Any], nothing: object = None) -> NDArray[np.object_]:
    held = np.empty(len(values) + 1, dtype=object)
    for code, value in enumerate(values):
        held[code] = value
    # Code -1, a missing cell, takes the last entry.
    held[-1] = nothing
    taken: NDArray[np.object_] = held[column.values]
    return taken


def _restored(column: Column, like: Any, index: Any) -> Any:
    import pandas as pd

    if like is None:
        return pd.Series(_plain(column), index=index)
    if column.variable.is_date:
        return _dates(column, like, index)
    if column.variable.renewed and column.variable.is_numeric and not pd.api.types.is_numeric_dtype(like.dtype):
        # A key that was text stays text, also one that says a whole number.
        return pd.Series(write_numbers(column.values, column.missing, 0).to_pylist(), index=index)
    if column.variable.is_numeric:
        return pd.Series(_numbers(column, like.dtype), index=index)
    known = (
        like.cat.categories
        if isinstance(like.dtype, pd.CategoricalDtype)
        else decoded(like).factorize(use_na_sentinel=True)[1]
    )
    original = {str(value): value for value in known}
    categories = column.variable.categories
    gaps = like[like.isna()]
    nothing = gaps.iloc[0] if len(gaps) else None
    cells = _objects(column, [original.get(each, each) for each in categories], nothing)
    coded, codes = _missing_codes(column)
    cells[coded] = [original.get(code, code) for code in codes]
    restored = pd.Series(cells, index=index, dtype=object)
    used = {categories[code] for code in np.unique(column.values[~column.missing]).tolist()}
    if not (used | set(codes)) <= original.keys():
        return restored.map(str, na_action="ignore")
    # NumPy's truth values and integers have no missing cell.
    has_no_missing = isinstance(like.dtype, np.dtype) and like.dtype.kind in "biu"
    return restored if has_no_missing and restored.isna().any() else restored.astype(like.dtype)


def _missing_codes(column: Column) -> tuple[NDArray[np.int64], list[str]]:
    """Positions of the missing cells that have a code, and their codes."""
    if column.blank is None and column.variable.suppressed_as is None:
        return np.zeros(0, dtype=np.int64), []
    result = column.nothing(slice(None))
    coded = np.flatnonzero(np.asarray(pc.fill_null(pc.not_equal(result, ""), False)))
    return coded, result.take(pa.array(coded)).to_pylist()


def _dates(column: Column, like: Any, index: Any) -> Any:
    """Dates as the frame had them: as times, as Python's dates, or as texts."""
    import pandas as pd

    if isinstance(like.dtype, pd.DatetimeTZDtype):
        return pd.Series(_moments(column), index=index).dt.tz_localize(like.dtype.tz).astype(like.dtype)
    if pd.api.types.is_datetime64_dtype(like.dtype):
        return pd.Series(_moments(column), index=index).astype(like.dtype)
    present = like[like.notna()]
    gaps = like[like.isna()]
    nothing = gaps.iloc[0] if len(gaps) else None
    if isinstance(like.dtype, pd.ArrowDtype) and not pd.api.types.is_string_dtype(like.dtype):
        return pd.Series(_moments(column), index=index).astype(like.dtype)
    if len(present) and not isinstance(present.iloc[0], str) and hasattr(present.iloc[0], "year"):
        is_time = hasattr(present.iloc[0], "hour")
        known = _moments(column)[~column.missing]
        made = [pd.Timestamp(each) if is_time else each.item().date() for each in known]
        cells = np.full(len(column), nothing, dtype=object)
        cells[~column.missing] = made
        return pd.Series(cells, index=index, dtype=object)
    texts = write_dates(column.values, column.missing, column.variable.date_text).to_pylist()
    texts = [nothing if text is None else text for text in texts]
    for row, code in zip(*_missing_codes(column), strict=True):
        texts[row] = code
    kept = like.dtype if pd.api.types.is_string_dtype(like.dtype) else np.dtype(object)
    return pd.Series(texts, index=index, dtype=object).astype(kept)


def _numbers(column: Column, dtype: Any) -> Any:
    import pandas as pd

    values, missing = numbers_with_codes(column)
    if not pd.api.types.is_numeric_dtype(dtype) or dtype.kind not in "iuf":
        return np.array(values)
    missing = np.array(missing)
    is_nullable = not isinstance(dtype, np.dtype)
    if dtype.kind in "iu" and not _fits(values[~missing], dtype, allow_missing=is_nullable or not np.any(missing)):
        dtype = pd.Float64Dtype() if is_nullable else np.dtype(np.float64)
    if is_nullable:
        return pd.array(
            pd.arrays.FloatingArray(np.where(missing, 0.0, values), missing), dtype=pd.Float64Dtype()
        ).astype(dtype)
    return values.astype(dtype)


def _fits(present: NDArray[np.float64], dtype: Any, *, allow_missing: bool) -> bool:
    limits = np.iinfo(dtype if isinstance(dtype, np.dtype) else dtype.numpy_dtype)
    inside = np.all((present >= limits.min) & (present <= limits.max))
    return bool(allow_missing and inside and np.array_equal(np.rint(present), present))
