"""What is said of file formats is what their sources declare, and what happens."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.cli.show.explained_pages import formats_table
from maskwright.plugins.registry import plugins

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"
AGAIN = (
    "make it again: python -c 'from maskwright.plugins.registry import plugins; "
    "from maskwright.cli.show.explained_pages import formats_table; "
    'print(formats_table(plugins()), end="")\' > docs/reference/formats.md'
)
WRITTEN = {"csv": "csv", "xml": "xml", "parquet": "parquet", "excel": "xlsx", "sql": "duckdb", "spss": "sav",
           "stata": "dta", "sas_transport": "xpt"}  # fmt: skip
TYPED_DATES = ("parquet", "sql", "spss", "stata", "sas_transport")
PIPELINE = """maskwright: 1
data:
  source: in.FIRST
  variables:
    wage: {role: confidential, label: Wage, missing: {-9: refused}}
    sex: {role: other, type: nominal, labels: {1: male, 2: female}}
    born: {role: other, type: date, format: "%d.%m.%Y"}
edits: [wage > 0]
protect: [{method: additive_noise, variables: [wage]}]
output: {data: out.ENDING}
seed: 1
"""


def test_the_page_is_what_the_sources_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == formats_table(plugins()), AGAIN


def test_every_source_says_what_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "formats"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name, source in plugins().sources.items():
        if plugins().info("source", name).distribution == "maskwright":
            assert source.format.holds is not None
            assert " ".join(f"missing codes: {source.format.holds.missing_codes}".split()) in shown


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_format_is_said_to_hold_is_read_back(name: str, tmp_path: Path) -> None:
    """Labels, missing codes and dates of a CSV file that goes to it, without any declaration."""
    rows = [
        f"{1000 + 7 * (11 * n % 60) if n % 5 else -9},{1 + n % 2},{1 + n % 28:02d}.03.{1950 + n % 40}"
        for n in range(60)
    ]
    (tmp_path / "in.csv").write_text("\n".join(["wage,sex,born", *rows, ""]), encoding="utf-8")
    text = PIPELINE.replace("ENDING", WRITTEN[name]).replace("FIRST", "csv")
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    done = mw.run(tmp_path / "p.yaml")
    path, source = tmp_path / f"out.{WRITTEN[name]}", plugins().sources[name]
    assert source.format.holds is not None
    known = {each.name: each for each in mw.read(path).variables}
    assert (known["wage"].label == "Wage") == bool(source.format.holds.labels)
    says_codes = source.format.missing_codes is not None
    assert ("refused" in known["wage"].missing_meanings) == says_codes
    assert ("without what they mean" in source.format.holds.missing_codes or name == "sas_transport") != says_codes
    told = any("has no place for labels" in each["message"] for each in done.record["notices"])
    assert told == (not source.format.holds.labels and name != "csv")
    reading = source.open(path, source.params(), lambda _: None)
    kind = next(iter(reading.batches())).schema.field("born").type
    assert (pa.types.is_date(kind) or pa.types.is_timestamp(kind)) == (name in TYPED_DATES)
    assert ("texts" in source.format.holds.dates) != (name in TYPED_DATES) or name == "sql"


def test_a_format_that_is_read_only_says_what_to_write_instead() -> None:
    """All sources that refuse to write say so."""
    for name, source in plugins().sources.items():
        refuses = name in ("sas", "spss_portable", "postgresql")
        assert (source.format.not_written is not None) == refuses
