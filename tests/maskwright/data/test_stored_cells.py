"""Every flat Arrow type says the same to validation and to a run."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.record_chunk import RecordChunk
from maskwright.data.stored_cells import stored_text

if TYPE_CHECKING:
    from pathlib import Path

DAY = dt.date(2020, 2, 29)
# Type, cell, its text, and how many of two records `x <= 2`, or `x <= 1970-01-03` of dates, is violated by and unknown
# in (the other cell is null).
TYPES: tuple[tuple[Any, Any, str | None, int, int], ...] = (
    (pa.string(), "2.50", "2.50", 1, 1),
    (pa.large_string(), "2.50", "2.50", 1, 1),
    (pa.string_view(), "2.50", "2.50", 1, 1),
    (pa.int8(), 3, "3", 1, 1),
    (pa.uint16(), 2, "2", 0, 1),
    (pa.int64(), 2**60 + 1, "1152921504606846977", 1, 1),
    (pa.uint64(), 2**63 + 1, "9223372036854775809", 1, 1),
    (pa.decimal32(5, 2), Decimal("2.50"), "2.5", 1, 1),
    (pa.decimal128(10, 2), Decimal("-2.00"), "-2", 0, 1),
    (pa.decimal256(50, 20), Decimal("2.0000000001"), "2.0000000001", 1, 1),
    (pa.decimal128(38, 10), Decimal("0.0000000002"), "0.0000000002", 0, 1),
    (pa.float16(), 2.5, "2.5", 1, 1),
    (pa.float32(), 2.5, "2.5", 1, 1),
    (pa.float64(), 2.5, "2.5", 1, 1),
    (pa.bool_(), True, "true", 0, 2),
    (pa.date32(), DAY, "2020-02-29", 1, 1),
    (pa.date64(), DAY, "2020-02-29", 1, 1),
    (pa.time32("s"), dt.time(1, 2), "01:02:00", 0, 2),
    (pa.timestamp("us"), dt.datetime(2020, 2, 29), "2020-02-29 00:00:00.000000", 1, 1),
    (pa.timestamp("us", tz="Europe/Madrid"), dt.datetime(2020, 2, 29), "2020-02-29 01:00:00.000000+0100", 0, 2),
    (pa.null(), None, None, 0, 2),
    (pa.dictionary(pa.int32(), pa.string()), "2.50", "2.50", 1, 1),
    (pa.dictionary(pa.int8(), pa.large_string()), "2.50", "2.50", 1, 1),
    (pa.dictionary(pa.int32(), pa.decimal128(10, 2)), Decimal("2.50"), "2.5", 1, 1),
    (pa.dictionary(pa.int32(), pa.float64()), 2.5, "2.5", 1, 1),
)


def column(kind: Any, cell: object) -> Any:
    """Array of a cell and a null."""
    if pa.types.is_dictionary(kind):
        return pa.array([cell, None], kind.value_type).dictionary_encode().cast(kind)
    return pa.array([cell, None], kind)


@pytest.mark.parametrize(
    ("kind", "cell", "text", "violations", "unknown"), TYPES, ids=[str(kind) for kind, *_ in TYPES]
)
def test_a_type_says_its_value(
    kind: Any, cell: object, text: str | None, violations: int, unknown: int, tmp_path: Path
) -> None:
    array = column(kind, cell)
    assert stored_text("x", array).to_pylist() == [text, None]
    rule = "x <= 1970-01-03" if cell == DAY or kind == pa.timestamp("us") else "x <= 2"
    edits = mw.EditSet.parse([rule])
    verdict = mw.evaluate(edits["edit-1"], RecordChunk.from_batch(pa.record_batch([array], names=["x"])))
    assert (int((~verdict.holds).sum()), int(verdict.unknown.sum())) == (violations, unknown)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": array}), path)
    outcome = mw.validate(mw.read(path), edits)
    assert [(each.violations, each.unknown) for each in outcome.edits] == [(violations, unknown)]
    rules = tmp_path / "x.yaml"
    rules.write_text(f"edits: [{rule}]\n")
    assert main(["validate", str(path), "--edits", str(rules)]) in (0, 1)


def test_numbers_in_text_columns_keep_their_decimals(tmp_path: Path) -> None:
    """`x <= 2` held for 2.50 in a column of large strings, which new pandas writes."""
    pq.write_table(pa.table({"x": pa.array(["2.50", "1.50", "2"], pa.large_string())}), tmp_path / "x.parquet")
    (tmp_path / "x.yaml").write_text("edits: [x <= 2]\n")
    assert main(["validate", str(tmp_path / "x.parquet"), "--edits", str(tmp_path / "x.yaml")]) == 1


def test_no_text_is_known_of_nested_columns() -> None:
    for array in (pa.array([[1]]), pa.array([b"1"]), pa.array([{"a": 1}]), pa.array([b"1"], pa.binary_view())):
        chunk = RecordChunk.from_batch(pa.record_batch([array], names=["x"]))
        with pytest.raises(mw.DataError, match="one flat value"):
            chunk["x"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.decimal128(12, 2)], ids=str)
def test_masked_numbers_are_written_as_numbers_of_the_original_type(kind: Any, tmp_path: Path) -> None:
    cells = [f"{number * 1234567.891:.2f}" for number in (1 + 7 * place % 40 for place in range(40))]
    pq.write_table(pa.table({"x": pa.array(cells).cast(kind)}), tmp_path / "x.parquet")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: x.parquet, variables: {x: {type: continuous}}}\n"
        "edits: [x >= 0]\nprotect: [{method: microaggregation}]\noutput: {data: m.parquet}\nseed: 1\n"
    )
    mw.run(tmp_path / "p.yaml")
    assert pq.read_schema(tmp_path / "m.parquet").field("x").type == kind
    masked = mw.read(tmp_path / "m.parquet", variables={"x": {"type": "continuous"}})
    assert masked["x"].variable.decimals == 2


def test_every_digit_of_a_decimal_counts() -> None:
    array = pa.array([Decimal("2.00000000000000000001"), Decimal(2)], pa.decimal256(50, 20))
    chunk = RecordChunk.from_batch(pa.record_batch([array], names=["x"]))
    assert mw.evaluate(mw.EditSet.parse(["x <= 2"])["edit-1"], chunk).holds.tolist() == [False, True]
