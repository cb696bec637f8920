"""Buffers are read and made as PyArrow itself converts arrays, with offsets, nulls and chunks."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of, scalar, truths_of

TRUTHS = st.lists(st.none() | st.booleans(), max_size=40)
WHOLE = st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=40)


def cut(values: list[Any], kind: Any, start: int) -> list[Any]:
    """The array from `start` on, as it is and in two chunks."""
    array = pa.array(values, kind)
    return [array[start:], pa.chunked_array([array[:start], array[start:]], kind)]


@given(TRUTHS, st.integers(0, 20), st.booleans())
def test_truths_are_what_the_array_says(values: list[bool | None], start: int, absent: bool) -> None:
    for array in cut(values, pa.bool_(), start):
        assert truths_of(array, absent).tolist() == [absent if one is None else one for one in array.to_pylist()]


@given(WHOLE, st.integers(0, 20))
@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64()])
def test_numbers_are_what_the_array_says(kind: Any, values: list[int | None], start: int) -> None:
    for array in cut(values, kind, start):
        expected = [-1 if one is None else one for one in array.to_pylist()]
        assert numbers_of(array, np.int64, -1).tolist() == expected
        found = numbers_of(array, np.float64)
        assert np.array_equal(found, [np.nan if one is None else one for one in array.to_pylist()], equal_nan=True)
        assert found.flags.writeable


@given(WHOLE)
def test_arrays_are_made_as_pyarrow_makes_them(values: list[int | None]) -> None:
    missing = np.array([one is None for one in values], dtype=np.bool_)
    numbers = np.array([one or 0 for one in values], dtype=np.int64)
    assert arrow_array(numbers, missing).equals(pa.array(values, pa.int64()))
    assert arrow_array(numbers[::2]).equals(pa.array(numbers[::2]))
    assert arrow_array(missing).equals(pa.array(missing))


@given(st.lists(st.text()))
def test_texts_are_made_as_pyarrow_makes_them(texts: list[str]) -> None:
    assert arrow_texts(texts).equals(pa.array(texts, pa.string()))


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "", "ä"])
def test_a_scalar_is_that_of_pyarrow(value: Any) -> None:
    assert scalar(value).equals(pa.scalar(value))
    assert scalar(None, pa.string()).equals(pa.scalar(None, pa.string()))


def test_none_of_them_imports_pandas() -> None:
    code = """
import sys
import numpy as np, pyarrow as pa
from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of, scalar, truths_of
held = arrow_array(np.arange(3), np.array([True, False, False]))
truths_of(held.is_null()), numbers_of(held, np.float64), scalar("a"), scalar(None, pa.string()), arrow_texts(["a"])
print("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
