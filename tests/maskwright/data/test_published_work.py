"""What is written is made batch by batch: the work grows with the records, not with records times batches."""

from __future__ import annotations

import numpy as np
import pytest

import maskwright as mw
from maskwright.data.published import published_batches

N = 4096


class Counted(np.ndarray):
    """Cells that count how many of them are read."""

    seen = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        Counted.seen += 0 if isinstance(key, slice) else np.size(found)
        return found

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        Counted.seen += sum(each.size for each in inputs if isinstance(each, Counted))
        plain = [each.view(np.ndarray) if isinstance(each, Counted) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)

    def __array_function__(self, func, types, args, kwargs):
        Counted.seen += sum(each.size for each in args if isinstance(each, Counted))
        plain = [each.view(np.ndarray) if isinstance(each, Counted) else each for each in args]
        return func(*plain, **kwargs)


def _cells_read(variable: mw.Variable, rows: int, *, writes_text: bool) -> int:
    values = np.arange(N, dtype=np.float64)
    column = mw.Column(variable, values.view(Counted), np.zeros(N, dtype=bool).view(Counted))
    Counted.seen = 0
    assert sum(batch.num_rows for batch in published_batches(mw.Dataset((column,)), writes_text, rows)) == N
    return Counted.seen


@pytest.mark.parametrize("writes_text", [False, True])
@pytest.mark.parametrize(
    "variable",
    [
        mw.Variable("whole", "integer", decimals=0),
        mw.Variable("number", decimals=2),
        mw.Variable("day", "date", decimals=0),
        mw.Variable("moment", "datetime", decimals=0),
    ],
    ids=lambda each: each.name,
)
def test_many_batches_read_no_more_cells_than_few(variable: mw.Variable, writes_text: bool) -> None:
    """A scan of the whole column for each batch would read 62 times all cells more in 64 batches than in 2."""
    few = _cells_read(variable, N // 2, writes_text=writes_text)
    many = _cells_read(variable, N // 64, writes_text=writes_text)
    assert many <= few + N
