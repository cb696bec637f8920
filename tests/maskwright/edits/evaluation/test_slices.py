"""Chunks of a dataset: whatever their size, their cells are those of the dataset, and are made when they are read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw

TEXTS = st.sampled_from(["12", "012", "1.5", "north", "2020-01-31", "2020-02-30", " 7 ", ""])


@given(
    st.lists(st.tuples(TEXTS, st.floats(-5, 5), st.booleans()), min_size=1, max_size=30),
    st.integers(1, 40),
)
def test_slices_say_what_the_whole_says(cells, size):
    texts = tuple(dict.fromkeys(text for text, _, _ in cells))
    missing = np.array([gone for _, _, gone in cells])
    codes = np.where(missing, -1, [texts.index(text) for text, _, _ in cells]).astype(np.int32)
    numbers = np.where(missing, np.nan, [value for _, value, _ in cells])
    data = mw.Dataset(
        (
            mw.Column(mw.Variable("code", "nominal", categories=texts), codes, missing),
            mw.Column(mw.Variable("amount"), numbers, missing),
        )
    )
    whole, chunks = mw.RecordChunk.from_dataset(data), list(mw.RecordChunk.slices(data, size))
    assert [chunk.n for chunk in chunks] == [min(size, len(cells) - at) for at in range(0, len(cells), size)]
    for name in data.names:
        for field in ("numbers", "missing", "absent", "xpath_numbers"):
            joined = np.concatenate([getattr(chunk[name], field) for chunk in chunks])
            np.testing.assert_array_equal(joined, getattr(whole[name], field))
        texts_of = [each[name].text() for each in (whole, *chunks)]
        flat = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in texts_of]
        assert pa.concat_arrays(flat[1:]).to_pylist() == flat[0].to_pylist()


def test_a_rule_does_not_pay_for_variables_that_it_does_not_read(monkeypatch):
    """A file with an identifier has as many categories as records: each was read anew for each chunk."""
    read = []
    kept = mw.Variable.category_texts

    class Noted:
        def __get__(self, variable, kind=None):
            read.append(variable.name)
            return kept.__get__(variable, kind)

    n, no_gaps = 150_000, np.zeros(150_000, bool)
    names = tuple(f"P{number}" for number in range(n))
    person = mw.Column(
        mw.Variable("person", "nominal", categories=names), np.arange(n, dtype=np.int32), np.zeros(n, bool)
    )
    age = mw.Column(mw.Variable("age", decimals=0), np.arange(n) % 100.0, no_gaps)
    data = mw.Dataset((person, age))
    monkeypatch.setattr(mw.Variable, "category_texts", Noted())
    assert mw.validate(data, ["age >= 1"]).counts == {"edit-1": n // 100}
    assert read == []
    assert mw.validate(data, ["person != 'P7'"]).counts == {"edit-1": 1}
    assert read
