"""pandas DataFrames as datasets, and back with index, column order and types restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright.data.category_columns import category_column
from maskwright.data.dataset import Column, Dataset, Layout
from maskwright.data.inference import UNDECLARED, missing_note
from maskwright.data.missing import is_code_number
from maskwright.data.number_columns import EXACT, number_column
from maskwright.data.number_text import write_numbers
from maskwright.data.text_columns import text_column
from maskwright.foundation.errors import DataError, InputError, Problem, unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from maskwright.data.declaration import VariableDeclaration


def dataset_from_frame(frame: pd.DataFrame, declared: Mapping[str, VariableDeclaration] | None = None) -> Dataset:
    """Dataset of a DataFrame's columns; the frame is not changed.

    Parameters
    ----------
    frame : pandas.DataFrame of shape (n, p)
        Column names are strings, each used once. Integers have no decimals; floats are never rounded unless
        `declared` gives decimals; ordered categoricals are ordinal; truth values, other categoricals, text and dates
        are nominal. NaN, None and NA are missing cells.
    declared : mapping of name to VariableDeclaration, optional

    Raises
    ------
    DataError
        No records, names that are not unique strings, a declared variable that is not there, values that are not what
        is declared.
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
    problems: list[Problem] = []
    for name in names:
        try:
            column, said = _column(name, frame[name], declarations.get(name, UNDECLARED))
            columns.append(column)
            notes += said
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    return Dataset(tuple(columns), Layout("dataframe"), notes=(*notes, *missing_note(columns)))


def _column(name: str, series: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    order = _order(series, declared)
    if order is not None:
        return category_column(name, _text(series), declared, order)
    is_category = bool(declared.categories) or declared.type in ("nominal", "ordinal")
    if not _holds_numbers(series):
        is_number = declared.type in ("continuous", "integer")
        return (text_column if is_number else category_column)(name, _text(series), declared)
    missing = np.array(series.isna(), dtype=np.bool_)
    values = np.array(series.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    is_integer = series.dtype.kind in "iu"
    too_long = is_integer and declared.type is None and bool(np.any(np.abs(values[~missing]) >= EXACT))
    if is_category or too_long:
        text = _text(series) if is_integer else pa.chunked_array([write_numbers(values, missing, None)])
        column, notes = category_column(name, text, declared)
        if too_long:
            notes = [*notes, f"{name}: read as nominal codes, since some have more digits than a number can hold"]
        return column, notes
    missing = missing | is_code_number(values, declared.missing)
    notes = [f"{name}: every cell is missing; read as continuous"] if np.all(missing) else []
    column, more = number_column(name, values, missing, 0 if is_integer else None, declared)
    return column, notes + more


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


def _text(series: Any) -> Any:
    """Texts of a column's values, null where missing, as one chunked array."""
    missing = np.array(series.isna(), dtype=np.bool_)
    codes, values = _distinct(series)
    texts = pa.array([str(value) for value in values], pa.string())
    return pa.chunked_array([texts.take(pa.array(codes, mask=missing))], type=pa.string())


def _distinct(series: Any) -> tuple[NDArray[np.int64], list[Any]]:
    codes, values = series.factorize(use_na_sentinel=True)
    return codes.astype(np.int64), list(values)


def frame_from_dataset(data: Dataset, like: pd.DataFrame | None = None) -> pd.DataFrame:
    """DataFrame of a dataset's columns, in the form of another.

    Parameters
    ----------
    data : Dataset
    like : pandas.DataFrame, optional
        The frame the dataset came from: index, order of columns and types are restored. Integers that are no longer
        integral, or have missing cells where the type has none, become floats; categories that the original does not
        have become text. Columns that are not in `data` are left out; new ones come last.

    Raises
    ------
    InputError
        The dataset's records cannot be those of `like`.
    """
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
    columns = {name: _restored(data[name], like[name] if name in like.columns else None, index) for name in order}
    return pd.DataFrame(columns, index=index, columns=pd.Index(order, dtype=like.columns.dtype))


def _plain(column: Column) -> Any:
    if column.variable.is_numeric:
        integral = column.variable.decimals == 0 and not np.any(column.missing)
        if integral and np.array_equal(np.rint(column.values), column.values):
            return column.values.astype(np.int64)
        return np.array(column.values)
    return _objects(column, list(column.variable.categories))


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
    if column.variable.is_numeric:
        return pd.Series(_numbers(column, like.dtype), index=index)
    known = like.cat.categories if isinstance(like.dtype, pd.CategoricalDtype) else _distinct(like)[1]
    original = {str(value): value for value in known}
    categories = column.variable.categories
    gaps = like[like.isna()]
    nothing = gaps.iloc[0] if len(gaps) else None
    restored = pd.Series(
        _objects(column, [original.get(each, each) for each in categories], nothing), index=index, dtype=object
    )
    used = np.unique(column.values[~column.missing])
    if any(categories[code] not in original for code in used.tolist()):
        return restored.map(str, na_action="ignore")
    # NumPy's truth values and integers have no missing cell.
    has_no_missing = isinstance(like.dtype, np.dtype) and like.dtype.kind in "biu"
    return restored if has_no_missing and np.any(column.missing) else restored.astype(like.dtype)


def _numbers(column: Column, dtype: Any) -> Any:
    import pandas as pd

    values, missing = column.values, np.array(column.missing)
    if not pd.api.types.is_numeric_dtype(dtype) or dtype.kind not in "iuf":
        return np.array(values)
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
