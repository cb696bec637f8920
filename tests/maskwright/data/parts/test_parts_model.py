"""Parts of a dataset: their order, which record stands where, and that any process may be told of them."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from maskwright.data.parts.model import FoundPart, Part, PartChunk, Parts, recut
from maskwright.data.parts.part_files import natural_key


def parts_of(counts: list[int]) -> Parts:
    found = [FoundPart(f"part-{at}.csv", f"/data/part-{at}.csv", 9, "9-0") for at in range(len(counts))]
    return Parts(tuple(Part.read(each, "csv", n, {"a": "text"}) for each, n in zip(found, counts, strict=True)))


def test_numbers_in_names_count_as_numbers() -> None:
    names = ["b/x-1", "part-10", "part-2", "part-02", "a10/part-1", "a9/part-3", "part", "10", "9"]
    wanted = ["9", "10", "a9/part-3", "a10/part-1", "b/x-1", "part", "part-02", "part-2", "part-10"]
    assert sorted(names, key=natural_key) == wanted


@given(st.lists(st.text(alphabet="a0129-/", max_size=8), max_size=8))
def test_any_names_have_an_order(names: list[str]) -> None:
    others = names[::-1]
    assert sorted(names, key=natural_key) == sorted(others, key=natural_key)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_every_record_is_found_where_it_stands(counts: list[int]) -> None:
    parts = parts_of(counts)
    places = [(each.name, row) for each in parts for row in range(each.records)]
    assert [parts.place_of(record) for record in range(parts.records)] == places
    assert [parts.offset_of(each) for each in parts] == list(parts.offsets[:-1])
    assert len(parts.positions(np.arange(parts.records))) == parts.records


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=4), st.integers(1, 6))
def test_chunks_are_cut_alike_whatever_the_batches_are(lengths: list[list[int]], rows: int) -> None:
    parts = parts_of([sum(each) for each in lengths])

    def opened(part: Part) -> list[pa.RecordBatch]:
        own = lengths[int(part.name[5:-4])]
        return [pa.record_batch({"a": pa.array(["x"] * n, pa.string())}) for n in own]

    chunks: list[PartChunk] = list(parts.chunks(opened, rows))
    assert [each.record for each in chunks] == [parts.offset_of(each.part) + each.row for each in chunks]
    assert sum(each.batch.num_rows for each in chunks) == parts.records
    for part in parts:
        own = [each.batch.num_rows for each in chunks if each.part is part]
        assert all(n == rows for n in own[:-1])


def test_parts_travel_to_other_processes() -> None:
    parts = Parts(parts_of([2, 0, 3]).parts, "/data", pa.schema([("a", pa.string())]))
    again = pickle.loads(pickle.dumps(parts))
    assert again == parts
    assert again.offsets == (0, 2, 2, 5)
    assert again["part-2.csv"].fingerprint == parts["part-0.csv"].fingerprint
    assert not again["part-2.csv"].is_remote


def test_batches_are_cut_without_copies() -> None:
    batch = pa.record_batch({"a": list(range(10))})
    assert [each.num_rows for each in recut([batch], 4)] == [4, 4, 2]
