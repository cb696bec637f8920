"""Rules on ISO dates in Schematron: the verdict of an independent processor is that of the rule, on every record."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.record_chunk import RecordChunk

if TYPE_CHECKING:
    from pathlib import Path

ISO = "%Y-%m-%d"
RULES = (
    "birth <= entry", "birth != entry", "birth == entry", "year(birth) >= 1900", "entry - birth >= 16 * 365",
    "abs(entry - birth) <= 40", "age_at(birth, 2020-02-29) >= 16", "age_at(birth, entry) < 30", "entry > birth + n",
    "birth in [1950-02-28, 2004-02-29)", "birth in {2000-02-29, 2000-03-01}", "not (birth in {2000-02-29})",
    "month(entry) in {2, 3}",
    "quarter(entry) == 1", "if year(entry) == 2000 then day(birth) <= 28 else n > 1", "not (birth < 2000-03-01)",
    "entry is missing or entry - birth > 0", "year(entry) - year(birth) == n", "birth <= 2000-02-29 + n",
)  # fmt: skip
DATES = st.one_of(
    st.dates(date(1, 1, 1), date(9999, 12, 31)), st.dates(date(1999, 12, 1), date(2000, 4, 1)),
).map(date.isoformat)  # fmt: skip
CELLS = st.one_of(DATES, st.sampled_from(["", " 2000-02-29 ", "NA", "2000-2-29", "20000229"]))


@example("birth == entry", [("2000-01-01", "NA", 0), ("2000-01-01", "", 0), ("NA", "NA", 0)])
@example(
    "birth in {2000-02-29, 2000-03-01}", [("NA", "", 0), ("", "NA", 0), ("2000-03-01", "", 0), ("2000-2-29", "", 0)]
)
@example("not (birth in {2000-02-29})", [("NA", "", 0), ("", "NA", 0), ("2000-02-29", "", 0), ("2000-2-29", "", 0)])
@given(st.sampled_from(RULES), st.lists(st.tuples(CELLS, CELLS, st.integers(-3, 40)), min_size=1, max_size=8))
def test_another_processor_agrees(rule: str, records: list[tuple[str, str, int]]) -> None:
    edits = mw.EditSet.parse([rule])
    dates = {"birth": ISO, "entry": ISO}
    written = mw.convert_edits(edits, "schematron", decimals={"n": 0, "birth": 0, "entry": 0}, dates=dates)
    processor = isoschematron.Schematron(etree.XML(written.text.encode()), store_report=True)
    birth, entry, n = (list(each) for each in zip(*records, strict=True))
    columns = {"birth": pa.array(birth), "entry": pa.array(entry), "n": pa.array([str(each) for each in n])}
    variables = {name: mw.Variable(name, "date", date_format=ISO) for name in dates}
    chunk = RecordChunk.from_batch(pa.RecordBatch.from_pydict(columns), variables)
    expected = mw.evaluate(edits["edit-1"], chunk).holds.tolist()
    for row, record in enumerate(records):
        cells = "".join(f"<{v}>{escape(str(c))}</{v}>" for v, c in zip(("birth", "entry", "n"), record, strict=True))
        assert processor.validate(etree.XML(f"<Microdata><Record>{cells}</Record></Microdata>")) == expected[row], rule


def test_what_xpath_cannot_say_is_refused_by_name() -> None:
    for rule, dates, said in (
        ("birth <= entry", {"birth": "%d.%m.%Y", "entry": ISO}, "birth is written as %d.%m.%Y"),
        ("hour(seen) < 12", {"seen": "%Y-%m-%dT%H:%M:%S"}, "cannot say this of dates"),
        ("year(birth) > 1900", {}, "birth is not known to be a date: give the data"),
        ("birth <= 2000-01-01T10:00:00", {"birth": ISO}, "time of day"),
        ("year(birth + 1) > 1900", {"birth": ISO}, "argument of a function"),
    ):
        with pytest.raises(mw.EditError, match=said):
            mw.convert_edits(mw.EditSet.parse([rule]), "schematron", dates=dates)


def test_the_command_takes_dates_from_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["birth,entry", "1990-05-05,2010-05-04", "2000-02-29,2016-02-28"]
    (tmp_path / "in.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "rules.yaml").write_text("edits: ['age_at(birth, entry) >= 16', entry - birth >= 5843]\n")
    command = ["edits", str(tmp_path / "rules.yaml"), "--to", "schematron", "--data", str(tmp_path / "in.csv")]
    assert main(command) == 0
    processor = isoschematron.Schematron(etree.XML(capsys.readouterr().out.encode()))
    assert processor.validate(etree.XML("<R><Record><birth>1990-05-05</birth><entry>2010-05-04</entry></Record></R>"))
    wrong = etree.XML("<R><Record><birth>2000-02-29</birth><entry>2016-02-28</entry></Record></R>")
    assert not processor.validate(wrong)
