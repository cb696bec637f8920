"""Random tables in every format: the text of each cell that no step touches is what it was, read by another library."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lxml import etree

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Table = list[list[str | None]]
NAMES = ("V1", "code", "amount", "note")
N = 9

NUMBERS = st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{1,3})?", fullmatch=True)
CODES = st.from_regex(r"0[0-9]{3}|[A-C][0-9]", fullmatch=True)
NOTES = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co", "Zs", "Zl", "Zp")), max_size=6)
"""Without white space: line ends and spaces at the ends of cells have tests of their own."""


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Rows of a column to mask and of three to keep, some of their cells empty or, but for the first row, absent."""
    nothing = st.sampled_from(["", None])
    columns = [st.lists(each | nothing, min_size=N - 1, max_size=N - 1) for each in (CODES, NUMBERS, NOTES)]
    kept = [["", *draw(column)] for column in columns]
    return [list(row) for row in zip([str(10 * number**2) for number in range(N)], *kept, strict=True)]


def run(source: Path, target: Path, amounts: Sequence[str | None] = (), **data: object) -> None:
    """Mask the first column; what the other three are is declared, so that nothing is doubted."""
    kept: dict[str, object] = {name: {"type": "nominal", "role": "other"} for name in ("code", "note")}
    kept["amount"] = {"release": "as is"}
    if not any(amounts):
        kept["amount"] = {"type": "nominal", "role": "other"}
    mw.run(
        {
            "maskwright": 1,
            "data": {"source": str(source), "variables": {"V1": {"type": "integer"}, **kept}, **data},
            "protect": [{"method": "microaggregation", "variables": ["V1"], "params": {"k": 3}}],
            "output": {"data": str(target)},
            "seed": 1,
        }
    )


def written_xml(table: Table, path: Path) -> None:
    root = etree.Element("{urn:micro}Data", nsmap={"m": "urn:micro"})
    for row in table:
        record = etree.SubElement(root, "{urn:micro}Record")
        for name, cell in zip(NAMES, row, strict=True):
            if cell is not None:
                etree.SubElement(record, f"{{urn:micro}}{name}").text = cell or None
    raw = etree.tostring(root, xml_declaration=True, encoding="utf-8")
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def read_xml(path: Path) -> Table:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    root = etree.parse(io.BytesIO(raw)).getroot()
    assert root.nsmap == {"m": "urn:micro"}
    rows: Table = []
    for record in root:
        cells = {etree.QName(cell).localname: cell.text or "" for cell in record}
        assert [name for name in NAMES if name in cells] == list(cells)
        rows.append([cells.get(name) for name in NAMES])
    return rows


def written_parquet(table: Table, path: Path) -> None:
    columns: list[Any] = [pa.array(cells, pa.string()) for cells in zip(*table, strict=True)]
    columns[0] = columns[0].cast(pa.int32())
    columns[1] = columns[1].dictionary_encode()
    pq.write_table(pa.table(columns, names=list(NAMES)), path)


def read_parquet(path: Path) -> Table:
    table = pq.read_table(path)
    assert table.schema.types == [pa.int32(), pa.dictionary(pa.int32(), pa.string()), pa.string(), pa.string()]
    return [[None if cell is None else str(cell) for cell in row.values()] for row in table.to_pylist()]


def written_excel(table: Table, path: Path) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Data")
    sheet.append(list(NAMES))
    for row in table:
        cells = [openpyxl.cell.WriteOnlyCell(sheet, value=cell or None) for cell in row]
        cells[0].value = int(row[0] or 0)
        for cell in cells[1:]:
            if cell.value is not None:
                cell.data_type = "s"
        sheet.append(cells)
    book.save(path)


def read_excel(path: Path) -> Table:
    book = openpyxl.load_workbook(path)
    rows = list(book.worksheets[0].iter_rows(values_only=True))
    book.close()
    assert rows[0] == NAMES
    return [[None if cell is None else str(cell) for cell in row] for row in rows[1:]]


FORMATS: dict[str, tuple[Callable[[Table, Path], None], Callable[[Path], Table]]] = {
    ".xml": (written_xml, read_xml),
    ".xml.gz": (written_xml, read_xml),
    ".parquet": (written_parquet, read_parquet),
    ".xlsx": (written_excel, read_excel),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_text_of_untouched_cells_is_kept(kind: str) -> None:
    write, read = FORMATS[kind]

    # Without making a failing table smaller: each example is a whole run.
    @settings(max_examples=8, phases=(Phase.explicit, Phase.generate))
    @given(table=tables())
    def check(table: Table) -> None:
        with TemporaryDirectory() as folder:
            source, target = Path(folder, f"in{kind}"), Path(folder, f"out{kind}")
            write(table, source)
            run(source, target, amounts=[row[2] for row in table])
            before, after = read(source), read(target)
        assert [row[1:] for row in after] == [row[1:] for row in before]
        assert [row[0] for row in after] != [row[0] for row in before]

    check()
