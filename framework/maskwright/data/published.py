"""What the writers of data files get: the published form of a dataset, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright.data.number_text import write_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.data.dataset import Column, Dataset

ROWS = 65_536


def published_batches(data: Dataset, writes_text: bool, rows: int = ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the records of a dataset as they are to be written.

    Parameters
    ----------
    data : Dataset
    writes_text : bool
        Whether the format holds text (`Source.writes_text`): every column is then a string column of canonical number
        text and categories. Otherwise integers are int64, other numbers float64, categories strings.
    rows : int
        Records in a batch (default 65536).

    Yields
    ------
    pyarrow.RecordBatch
        Null where a cell is missing. A dataset without records gives one batch without rows.
    """
    make = _text if writes_text else _typed
    for start in range(0, max(len(data), 1), rows):
        arrays = [make(column, slice(start, start + rows)) for column in data]
        yield pa.record_batch(arrays, names=list(data.names))


def _text(column: Column, records: slice) -> Any:
    if column.variable.is_numeric:
        return write_numbers(column.values[records], column.missing[records], column.variable.decimals)
    return _categories(column, records)


def _typed(column: Column, records: slice) -> Any:
    values, missing = column.values[records], column.missing[records]
    if not column.variable.is_numeric:
        return _categories(column, records)
    if column.variable.decimals == 0 and np.all(np.abs(column.values[~column.missing]) <= 2.0**53):
        return pa.array(np.rint(np.where(missing, 0.0, values)).astype(np.int64), mask=np.asarray(missing))
    return pa.array(values, pa.float64(), mask=np.asarray(missing))


def _categories(column: Column, records: slice) -> Any:
    codes = pa.array(column.values[records], pa.int32(), mask=np.asarray(column.missing[records]))
    return pa.array(list(column.variable.categories), pa.string()).take(codes)
