"""The SVRL writer: the same complaints as isoschematron's report, in an order that tools accept."""

from __future__ import annotations

import io
import random
import tracemalloc
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from lxml import etree, isoschematron

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit import Edit
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.binary64 import evaluate_xpath
from maskwright.edits.evaluation.outcomes import Verdict
from maskwright.edits.evaluation.svrl import SvrlTotals, SvrlWriter
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.foundation.errors import InputError

SVRL = "{http://purl.oclc.org/dsdl/svrl}"
EXAMPLE = Path(__file__).parents[4] / "schemas" / "examples" / "household-income.sch"

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron">
  <pattern id="first">
    <rule context="Record">
      <assert test="V1 = 1" role="warning" flag="f">V1 is <value-of select="V1"/>,
        &lt;V2&gt; is <value-of select="V2"/></assert>
      <report id="large" test="number(V2) &gt; 5">sum <value-of select="V1 + V2"/></report>
    </rule>
    <rule context="Other"><assert test="V1">m</assert></rule>
  </pattern>
  <pattern><rule context="Elsewhere"><assert test="V1">m</assert></rule></pattern>
  <pattern id="third"><rule context="Record"><assert test="not(V2 = 'x &quot;&amp;')"/></rule></pattern>
</schema>"""
CELLS: dict[str, list[str | None]] = {"V1": ["1", "2", None, "<&>"], "V2": ["9", "", "7", 'x "&']}


@pytest.fixture
def edits(tmp_path: Path) -> EditSet:
    path = tmp_path / "rules.sch"
    path.write_text(RULES)
    return read_schematron(path)


def chunk(cells: dict[str, list[str | None]], start: int = 0, stop: int | None = None) -> RecordChunk:
    arrays = {name: pa.array(texts[start:stop], pa.string()) for name, texts in cells.items()}
    return RecordChunk.from_batch(pa.record_batch(arrays))


def verdicts(edits: EditSet, columns: RecordChunk) -> list[Verdict]:
    return [evaluate_xpath(edit.expression, columns) for edit in edits]


def report(
    edits: EditSet,
    *chunks: RecordChunk,
    path: tuple[str, ...] | None = ("Microdata", "Record"),
    fired: Literal["summary", "all"] = "summary",
) -> tuple[bytes, SvrlTotals]:
    stream = io.BytesIO()
    writer = SvrlWriter(stream, edits, path, fired)
    for columns in chunks:
        writer.write(columns, verdicts(edits, columns))
    totals = writer.close()
    return stream.getvalue(), totals


def outline(content: bytes) -> list[tuple[str, ...]]:
    """Elements in order, with what identifies them."""
    found = []
    for element in etree.fromstring(content):
        name = element.tag.removeprefix(SVRL)
        keys = {"active-pattern": ("id",), "fired-rule": ("context",)}.get(name, ("location", "test"))
        found.append((name, *(element.get(key, "") for key in keys)))
    return found


def test_elements_attributes_and_values(edits: EditSet) -> None:
    content, totals = report(edits, chunk(CELLS))
    large, first = "number(V2) > 5", "V1 = 1"
    assert outline(content) == [
        ("text", "", ""),
        ("active-pattern", "first"),
        ("fired-rule", "Record"),
        ("successful-report", "/Microdata/Record[1]", large),
        ("failed-assert", "/Microdata/Record[2]", first),
        ("failed-assert", "/Microdata/Record[3]", first),
        ("successful-report", "/Microdata/Record[3]", large),
        ("failed-assert", "/Microdata/Record[4]", first),
        ("active-pattern", ""),
        ("active-pattern", "third"),
        ("fired-rule", "Record"),
        ("failed-assert", "/Microdata/Record[4]", "not(V2 = 'x \"&')"),
    ]
    root = etree.fromstring(content)
    texts = ["".join(element.itertext()) for element in root.iter(f"{SVRL}failed-assert", f"{SVRL}successful-report")]
    assert texts == [
        "sum 10",
        "V1 is 2, <V2> is ",
        "V1 is , <V2> is 7",
        "sum NaN",
        'V1 is <&>, <V2> is x "&',
        "third",
    ]
    failed = root.find(f"{SVRL}failed-assert")
    assert failed is not None
    assert dict(failed.attrib) == {
        "test": "V1 = 1", "id": "first", "role": "warning", "flag": "f", "location": "/Microdata/Record[2]",
    }  # fmt: skip
    assert root.findtext(f"{SVRL}text") == "records: 4; rules fired: 8; failures: 6"
    assert totals == SvrlTotals(records=4, fired=8, failed=(3, 2, 0, 0, 1))


def test_every_record_fires_on_demand(edits: EditSet) -> None:
    content, _ = report(edits, chunk(CELLS), fired="all")
    names = [name for name, *_ in outline(content)]
    assert names.count("fired-rule") == 8
    first = names[2 : names.index("active-pattern", 2)]
    assert first == [
        "fired-rule", "successful-report", "fired-rule", "failed-assert", "fired-rule", "failed-assert",
        "successful-report", "fired-rule", "failed-assert",
    ]  # fmt: skip


@pytest.mark.parametrize("fired", ["summary", "all"])
def test_chunks_leave_no_trace(edits: EditSet, fired: Literal["summary", "all"]) -> None:
    whole, totals = report(edits, chunk(CELLS), fired=fired)
    pieces = [chunk(CELLS, 0, 1), chunk(CELLS, 1, 1), chunk(CELLS, 1, 3), chunk(CELLS, 3)]
    assert report(edits, *pieces, fired=fired) == (whole, totals)


def test_other_elements_do_not_fire(edits: EditSet) -> None:
    content, totals = report(edits, chunk(CELLS), path=("Root", "Row"))
    assert totals.fired == 0
    assert totals.failed == (0, 0, 0, 0, 0)
    assert "fired-rule" not in {name for name, *_ in outline(content)}


def test_files_without_elements_fire_every_rule(edits: EditSet) -> None:
    content, totals = report(edits, chunk(CELLS), path=None)
    assert totals.failed == (3, 2, 1, 1, 1)
    assert ("failed-assert", "/records/record[2]", "V1 = 1") in outline(content)


def test_no_records(edits: EditSet) -> None:
    content, totals = report(edits)
    assert totals == SvrlTotals(0, 0, (0,) * 5)
    assert [name for name, *_ in outline(content)] == ["text"] + ["active-pattern"] * 3


def test_complaints_are_those_of_isoschematron() -> None:
    pick = random.Random(11)
    edits = read_schematron(EXAMPLE)
    root = etree.Element("Microdata")
    cells: dict[str, list[str | None]] = {name: [] for name in edits.variables}
    for _ in range(80):
        household = etree.SubElement(root, "Household")
        for name in edits.variables:
            cell = pick.choice(["0", "1", "2", "12", "24", "17", "30000", "", None])
            cells[name].append(cell)
            if cell is not None:
                etree.SubElement(household, name).text = cell
    content, _ = report(edits, chunk(cells, 0, 33), chunk(cells, 33), path=("Microdata", "Household"))
    validator = isoschematron.Schematron(etree.parse(EXAMPLE), store_report=True)
    validator.validate(etree.ElementTree(root))

    def complaints(tree: etree._Element) -> list[tuple[str, ...]]:
        found = []
        for element in tree.iter(f"{SVRL}failed-assert", f"{SVRL}successful-report"):
            text = " ".join("".join(element.itertext()).split())
            found.append((element.tag, element.get("location"), element.get("test"), element.get("role", ""), text))
        return sorted(found)

    expected = complaints(validator.validation_report.getroot())
    assert len(expected) > 100
    assert complaints(etree.fromstring(content)) == expected


def test_edits_from_yaml_are_their_own_patterns() -> None:
    edits = EditSet.parse(
        [{"rule": "x <= 2", "name": "small", "message": "x is {x}", "severity": "warning"}, "y == 'a & b'"]
    )
    columns = chunk({"x": ["1", "3"], "y": ["a & b", "\x01c"]})
    holds = np.array([True, False])
    stream = io.BytesIO()
    with SvrlWriter(stream, edits, ("Microdata", "Record")) as writer:
        writer.write(columns, [Verdict(holds, ~holds)] * 2)
    root = etree.fromstring(stream.getvalue())
    assert [element.get("id") for element in root.iter(f"{SVRL}active-pattern")] == ["small", "edit-2"]
    assert [element.get("role") for element in root.iter(f"{SVRL}failed-assert")] == ["warning", None]
    assert root.findtext(f"{SVRL}failed-assert/{SVRL}text") == "x is 3"


def test_characters_that_xml_cannot_hold_are_replaced(edits: EditSet) -> None:
    content, _ = report(edits, chunk({"V1": ["a\x00b\x0b"], "V2": ["\x1f"]}))
    text = etree.fromstring(content).findtext(f"{SVRL}failed-assert/{SVRL}text")
    assert text == "V1 is a\ufffdb\ufffd, <V2> is \ufffd"


def test_messages_with_braces_that_are_no_expression_stay() -> None:
    edit = Edit("a", EditSet.parse(["x == 1"])["edit-1"].expression, (), ("x",), "x == 1", message="{1 +} {x} {'{'} {}")
    content, _ = report(EditSet((edit,)), chunk({"x": ["5"]}))
    text = etree.fromstring(content).findtext(f"{SVRL}failed-assert/{SVRL}text")
    assert text == "{1 +} 5 {'{'} {}"


def test_a_failure_leaves_no_report_that_looks_complete(edits: EditSet) -> None:
    stream = io.BytesIO()
    columns = chunk(CELLS)
    with pytest.raises(InputError), SvrlWriter(stream, edits, ("Microdata", "Record")) as writer:  # noqa: PT012
        writer.write(columns, verdicts(edits, columns))
        writer.write(columns, [])
    assert stream.getvalue() == b""


def test_wrong_use_is_refused(edits: EditSet) -> None:
    writer = SvrlWriter(io.BytesIO(), edits, ("Microdata", "Record"))
    with pytest.raises(InputError, match="5 verdicts"):
        writer.write(chunk(CELLS), [])
    writer.close()
    with pytest.raises(InputError, match="summary"):
        SvrlWriter(io.BytesIO(), edits, ("Microdata", "Record"), "some")  # type: ignore[arg-type]


def test_memory_does_not_grow_with_the_number_of_failures(edits: EditSet, tmp_path: Path) -> None:
    columns = chunk({"V1": ["2"] * 2_000, "V2": ["9"] * 2_000})
    answers = verdicts(edits, columns)

    def peak(chunks: int) -> int:
        with (tmp_path / "out.svrl").open("wb") as stream, SvrlWriter(stream, edits, ("Microdata", "Record")) as writer:
            tracemalloc.start()
            for _ in range(chunks):
                writer.write(columns, answers)
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return most

    assert peak(20) < 2 * peak(2)
