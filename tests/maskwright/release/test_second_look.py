"""Both evaluations of a written file agree, whatever its format and rules; where the first is wrong, it is noticed."""

from __future__ import annotations

import csv
import datetime as dt
import io
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import maskwright as mw
from maskwright.commands.running import stages
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.foundation.progress import Quiet
from maskwright.plugins.registry import find_source
from maskwright.release import reference_validation as module
from maskwright.release.file_validation import check_file
from maskwright.release.reference_validation import validate_by_reference

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.number_text import NumberText

# Cells of six records: what x and y say in plain decimals. The third record lacks x, the sixth y.
X = ("2.50", "2", None, "-1.25", "0", "10")
Y = ("2.5", "3", "1", "0.75", "-4", None)
# Rule, violating records, records where it is unknown, of these cells.
RULES: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("x + 2 == 2 * y - 0.5", (2, 4, 5), (3, 6)),
    ("x <= 2", (1, 6), (3,)),
    ("x < y", (1, 5), (3, 6)),
    ("x - y >= 0", (2, 4), (3, 6)),
    ("x * y <= 6", (1,), (3, 6)),
    ("x / y <= 1", (), (3, 6)),
    ("x in [0, 2.5]", (4, 6), (3,)),
    ("x in (0, 10)", (4, 5, 6), (3,)),
    ("x in {0, 2, 2.5}", (4, 6), (3,)),
    ("x == y", (2, 4, 5), (3, 6)),
    ("if x > 1 then y > 2.75", (1,), (3, 6)),
    ("if x > 1 then y > 2.75 else y < 1", (1,), (3, 6)),
    ("not (x == 2 or y == 1)", (2, 3), (6,)),
    ("x >= 0 and y >= 0", (4, 5), (3, 6)),
    ("x is missing or y is missing or x + y > 0", (4, 5), ()),
    ("x is missing", (1, 2, 4, 5, 6), ()),
    ("x is number", (3,), ()),
    ("x is integer", (1, 4), (3,)),
    ("abs(x) + max(x, y) <= 4", (1, 2), (3, 6)),
    ("x in original", (), (3,)),
    ("(x, y) in original", (), (3, 6)),
)


def cells(column: Sequence[str | None], write: Any) -> list[Any]:
    return [None if cell is None else write(cell) for cell in column]


def plain_csv(folder: Path, write: Any = str, delimiter: str = ",", **options: Any) -> tuple[Path, dict[str, Any]]:
    path = folder / "d.csv"
    with path.open("w", newline="", encoding=options.get("encoding", "utf-8")) as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=options.get("quoting", csv.QUOTE_MINIMAL),
                            lineterminator=options.get("line_end", "\n"))  # fmt: skip
        writer.writerow(["x", "y", "t"])
        for x, y in zip(cells(X, write), cells(Y, write), strict=True):
            writer.writerow(["" if x is None else x, "" if y is None else y, options.get("text", "a")])
    return path, {name: options[name] for name in ("decimal", "encoding") if name in options} | {"delimiter": delimiter}


CSV: dict[str, Any] = {
    "plain": {},
    "semicolon": {"delimiter": ";"},
    "quoted": {"quoting": csv.QUOTE_ALL},
    "windows": {"line_end": "\r\n"},
    "text with delimiter": {"text": "a, b\nc"},
    "leading zeros": {"write": lambda cell: cell.replace("-", "-00") if "-" in cell else f"00{cell}"},
    "spaces": {"write": lambda cell: f"  {cell}\t"},
    "decimal comma": {"write": lambda cell: cell.replace(".", ","), "delimiter": ";", "decimal": ","},
    "trailing zeros": {"write": lambda cell: f"{Decimal(cell):.7f}"},
    "utf-16": {"encoding": "utf-16"},
    "latin-1": {"encoding": "latin-1", "text": "é"},
}

XML: dict[str, tuple[str, str, str]] = {
    "plain": ("<x>{x}</x>", "<y>{y}</y>", "absent"),
    "empty elements": ("<x>{x}</x>", "<y>{y}</y>", "empty"),
    "self-closing": ("<x>{x}</x>", "<y>{y}</y>", "<{}/>"),
    "comment": ("<!-- c --><x>{x}</x>", "<y>{y}</y>", "absent"),
    "white space": ("\n  <x>{x}</x>", "\n  <y> {y} </y>", "absent"),
    "reference": ("<x>{x}</x><t>a &amp; b</t>", "<y>{y}</y>", "absent"),
    "character data": ("<x><![CDATA[{x}]]></x>", "<y>{y}</y>", "absent"),
}


def plain_xml(folder: Path, form: tuple[str, str, str]) -> Path:
    rows = []
    for x, y in zip(X, Y, strict=True):
        parts = []
        for name, cell, text in (("x", x, form[0]), ("y", y, form[1])):
            lacking = {"absent": "", "empty": f"<{name}></{name}>"}.get(form[2], form[2].format(name))
            parts.append(lacking if cell is None else text.format(x=cell, y=cell))
        rows.append(f"<Record>{''.join(parts)}</Record>")
    path = folder / "d.xml"
    path.write_text("<Data>\n" + "\n".join(rows) + "\n</Data>")
    return path


STORED: dict[str, tuple[Any, Any]] = {
    "string": (pa.string(), str),
    "large_string": (pa.large_string(), str),
    "string_view": (pa.string_view(), str),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), str),
    "decimal128": (pa.decimal128(12, 2), Decimal),
    "decimal256": (pa.decimal256(60, 20), Decimal),
    "float64": (pa.float64(), float),
    "float32": (pa.float32(), float),
    "float16": (pa.float16(), float),
}


def read_for(path: Path, file_format: str, **options: Any) -> tuple[Dataset, Any]:
    source = find_source(file_format)
    params = source.params(**options)
    declared = {"x": {"type": "continuous"}, "y": {"type": "continuous"}}
    return mw.read(path, variables=declared, **options), (source, params)


def agree(path: Path, data: Dataset, source: Any, params: Any, edits: EditSet) -> Any:
    """Outcome of the first evaluation; the second agrees."""
    known = {variable.name: variable for variable in data.variables}
    outcome = check_file(
        path, source, params, edits, domain=Domain.from_dataset(data, domain_tuples(edits)), variables=known
    )
    validate_by_reference(path, source, data, edits, outcome, data)
    return outcome


def expect(path: Path, data: Dataset, source: Any, params: Any) -> None:
    edits = EditSet.parse([rule for rule, _, _ in RULES])
    outcome = agree(path, data, source, params, edits)
    found = [
        (rule, each.listed.tolist(), each.unknown) for (rule, _, _), each in zip(RULES, outcome.edits, strict=True)
    ]
    assert found == [(rule, list(violating), len(unknown)) for rule, violating, unknown in RULES]


@pytest.mark.parametrize("form", CSV)
def test_both_judge_every_kind_of_rule_on_csv(tmp_path: Path, form: str) -> None:
    path, options = plain_csv(tmp_path, **CSV[form])
    data, (source, params) = read_for(path, "csv", **options)
    expect(path, data, source, params)


@pytest.mark.parametrize("form", XML)
def test_both_judge_every_kind_of_rule_on_xml(tmp_path: Path, form: str) -> None:
    path = plain_xml(tmp_path, XML[form])
    data, (source, params) = read_for(path, "xml")
    expect(path, data, source, params)


@pytest.mark.parametrize("form", STORED)
def test_both_judge_every_kind_of_rule_on_parquet(tmp_path: Path, form: str) -> None:
    kind, make = STORED[form]
    path = tmp_path / "d.parquet"
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    columns = {name: pa.array(cells(own, make), inner) for name, own in (("x", X), ("y", Y))}
    if pa.types.is_dictionary(kind):
        columns = {name: column.dictionary_encode() for name, column in columns.items()}
    pq.write_table(pa.table(columns), path)
    data, (source, params) = read_for(path, "parquet")
    expect(path, data, source, params)


INTEGERS = (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64())


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_both_judge_integers(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "d.parquet"
    large = 2 ** (kind.bit_width - (not pa.types.is_unsigned_integer(kind))) - 1
    pq.write_table(pa.table({"x": pa.array([large, 1, None], kind), "y": pa.array([large - 1, 1, 2], kind)}), path)
    data = mw.read(path)
    edits = EditSet.parse(["x <= y", "x == y + 1", f"x in [0, {large - 1}]", "x in {1, 2}"])
    outcome = agree(path, data, find_source("parquet"), mw.NoParams(), edits)
    assert [each.listed.tolist() for each in outcome.edits] == [[1], [2], [1], [1]]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("us"), pa.string()], ids=str)
def test_both_judge_dates(tmp_path: Path, kind: Any) -> None:
    days = pa.array([dt.date(2020, 2, 29), dt.date(1969, 12, 31), None], pa.date32())
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"x": days.cast(kind), "y": pa.array([1, 2, 3])}), path)
    rules = [
        "x >= 1970-01-01",
        "year(x) == 2020",
        "age_at(x, 2020-12-31) <= 0",
        "x in {2020-02-29}",
        "month(x) < y + 9",
    ]
    outcome = agree(path, mw.read(path), find_source("parquet"), mw.NoParams(), EditSet.parse(rules))
    assert [each.listed.tolist() for each in outcome.edits] == [[2], [2], [2], [2], [2]]
    assert [each.unknown for each in outcome.edits] == [1] * 5


@pytest.mark.parametrize("kind", [pa.bool_(), pa.time32("s"), pa.null()], ids=str)
def test_what_is_no_number_is_unknown_to_both(tmp_path: Path, kind: Any) -> None:
    cell = {"bool": True, "null": None}.get(str(kind), dt.time(1, 2))
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"x": pa.array([cell, None], kind), "y": pa.array([1, 2])}), path)
    outcome = agree(path, mw.read(path), find_source("parquet"), mw.NoParams(), EditSet.parse(["x <= y", "x in {1}"]))
    assert [each.unknown for each in outcome.edits] == [2, 2 if cell is None else 1]


PIPELINE = """
maskwright: 1
data: {{source: d.csv, variables: {{region: {{role: other}}}}}}
edits: [wages + pensions == income, 'wages in [0, 5000]', 'if region == "a" then wages >= 10']
protect: [{{method: microaggregation, params: {{k: 3}}}}]
output: {{data: m.{ending}}}
seed: 1
"""


def write_run(folder: Path, ending: str) -> Path:
    rng = np.random.default_rng(3)
    text = io.StringIO("")
    text.write("wages,pensions,income,region\n")
    for _ in range(60):
        wages, pensions = rng.integers(1000, 90000, 2) / 100
        text.write(f"{wages},{pensions},{wages + pensions:.2f},{rng.choice(['a', 'b'])}\n")
    (folder / "d.csv").write_text(text.getvalue())
    (folder / "p.yaml").write_text(PIPELINE.format(ending=ending))
    return folder / "p.yaml"


@pytest.mark.parametrize("ending", ["csv", "xml", "parquet"])
def test_a_run_looks_twice(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(*given: Any, **more: Any) -> tuple[str, ...]:
        looked.append(given[4].records)
        return validate_by_reference(*given, **more)

    monkeypatch.setattr(stages, "validate_by_reference", counted)
    assert mw.run(write_run(tmp_path, ending)).ok
    assert looked == [60]


@pytest.mark.parametrize("ending", ["csv", "xml"])
def test_a_broken_reader_of_numbers_is_caught(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first evaluation loses decimals, as it did of columns of large strings: the second one stops the release."""

    def without_decimals(text: Any) -> NumberText:
        spoken = mw.read_numbers(text)
        return replace(spoken, decimals=0)

    pipeline = write_run(tmp_path, ending)
    monkeypatch.setattr("maskwright.data.record_chunk.read_numbers", without_decimals)
    with pytest.raises(mw.MaskwrightError) as caught:
        mw.run(pipeline)
    assert caught.value.exit_code in (1, 3)
    assert not (tmp_path / f"m.{ending}").exists()


@pytest.mark.parametrize("rule", ["x <= 2", "x + y == 4", "x * x <= 4", "x in {1, 2}", 't == "a"'])
@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_wrong_verdict_is_caught(tmp_path: Path, rule: str, wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first evaluation calls one record of 50 obedient, or disobedient, that is not."""
    obeys = {"x": "2", "y": "2", "t": "a"}
    breaks = {"x": "2.5", "y": "2", "t": "b"}
    rows = [obeys] * 50
    if wrong < 0:
        rows = [*rows[:30], breaks, *rows[31:]]
    (tmp_path / "d.csv").write_text("x,y,t\n" + "".join(",".join(row.values()) + "\n" for row in rows))

    def broken(*given: Any) -> Any:
        verdict = evaluate_exact(*given)
        verdict.holds[30] = wrong < 0
        return verdict

    data = mw.read(tmp_path / "d.csv", delimiter=",")
    edits = EditSet.parse([rule])
    source = find_source("csv")
    assert agree(tmp_path / "d.csv", data, source, source.params(), edits).counts["edit-1"] == (wrong < 0)
    monkeypatch.setattr("maskwright.edits.evaluation.check.evaluate_exact", broken)
    with pytest.raises(mw.EvaluationsDisagree, match=r"edit 'edit-1'.*first record 31") as caught:
        agree(tmp_path / "d.csv", data, source, source.params(), edits)
    assert caught.value.exit_code == 3


def test_records_that_are_lost_are_noticed(tmp_path: Path) -> None:
    path, options = plain_csv(tmp_path)
    data, (source, params) = read_for(path, "csv", **options)
    edits = EditSet.parse(["x <= 20"])
    outcome = agree(path, data, source, params, edits)
    path.write_text(path.read_text() + "1,1,a\n")
    with pytest.raises(mw.EvaluationsDisagree, match="6 records, and 7"):
        validate_by_reference(path, source, data, edits, outcome, data)


@pytest.mark.parametrize("text", ["x\n5\n\n7\n", "x\r\n5\r\n7\r\n", "x\r5\r7\r", "x,y\n5,1\n\n7,1", "\ufeffx\n5"])
def test_lines_are_counted_alike(tmp_path: Path, text: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(text.encode())
    variables = {name: {"type": "continuous"} for name in text.lstrip("\ufeff").split()[0].split(",")}
    data, source = mw.read(path, variables=variables), find_source("csv")
    assert agree(path, data, source, source.params(), EditSet.parse(["x in [0, 6]"])).edits[0].violations <= 1


def test_edits_without_a_second_opinion_are_named(tmp_path: Path) -> None:
    path, options = plain_csv(tmp_path)
    data, (source, params) = read_for(path, "csv", **options)
    edits = EditSet.parse(["x <= 20", "y ^ 100 >= 0"])
    outcome = check_file(path, source, params, edits)
    assert validate_by_reference(path, source, data, edits, outcome, data) == ("edit-2",)


def test_a_run_tells_of_edits_without_a_second_opinion(tmp_path: Path) -> None:
    class Listener(Quiet):
        def notice(self, text: str) -> None:
            heard.append(text)

    heard: list[str] = []
    pipeline = write_run(tmp_path, "csv")
    assert mw.run(pipeline, reporter=Listener()).ok
    assert not any("second opinion" in text for text in heard)
    pipeline.write_text(pipeline.read_text().replace("edits: [", "edits: [wages ^ 65 >= 0, "))
    assert mw.run(pipeline, reporter=Listener()).ok
    assert "1 of 4 edits have no second opinion: edit-1" in heard


def test_a_format_that_only_its_plugin_reads_is_in_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = write_run(tmp_path, "csv")
    monkeypatch.setattr(module, "READ_TWICE", ("parquet",))
    with pytest.raises(mw.OpenDoubts, match="written-file-not-read-twice"):
        mw.run(pipeline)
    pipeline.write_text(pipeline.read_text() + "waive: [{doubt: written-file-not-read-twice, because: tried apart}]\n")
    assert mw.run(pipeline).ok


def test_a_file_of_one_column_with_missing_cells_is_read_twice(tmp_path: Path) -> None:
    """An empty line is a record there, and the end of the last line is none."""
    (tmp_path / "in.csv").write_text(
        "wage\n" + "\n".join("" if row % 9 == 0 else str(7 * row % 90) for row in range(90)) + "\n"
    )
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv}\nedits: [wage >= 0]\nprotect:\n"
        "  - {method: microaggregation, params: {k: 3}}\noutput: {data: out.csv}\nseed: 1\n"
    )
    assert mw.run(tmp_path / "p.yaml").ok
