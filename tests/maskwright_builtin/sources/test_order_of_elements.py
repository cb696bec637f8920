"""Records of XML that lack elements: of two that no record has both of, the file does not say which comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """\
maskwright: 1
data:
  source: survey.xml
  variables: {pay: {role: confidential}, rent: {role: other}, lease: {role: other}}
protect: [{method: microaggregation, variables: [pay], params: {k: 3}}]
release: {order: random}
measure: []
output: {data: masked.xml}
seed: %d
"""


@pytest.mark.parametrize("seed", range(4))
def test_variables_that_no_record_has_both_of(tmp_path: Path, seed: int) -> None:
    records = "".join(
        f"<Firm><pay>{100 + number}</pay>"
        + (f"<rent>{number % 4}</rent>" if number % 2 else f"<lease>{number % 4}</lease>")
        + "</Firm>"
        for number in range(20)
    )
    (tmp_path / "survey.xml").write_text(f"<Firms>{records}</Firms>", encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE % seed, encoding="utf-8")
    assert main(["run", str(tmp_path / "pipeline.yaml")]) == 0
    written = (tmp_path / "masked.xml").read_text(encoding="utf-8")
    assert (written.count("<rent>"), written.count("<lease>")) == (10, 10)


RECORDS = [("pay", "rent"), ("pay", "lease"), ("pay", "lease", "rent", "tax"), ("lease", "tax"), ("pay", "tax")]


@pytest.mark.parametrize("first", range(len(RECORDS)))
@pytest.mark.parametrize("form", ["plainly", "with references"])
def test_the_order_that_all_records_show_together(tmp_path: Path, first: int, form: str) -> None:
    records = RECORDS[first:] + RECORDS[:first]
    text = "1" if form == "plainly" else "&#49;"
    rows = "".join("<Firm>" + "".join(f"<{name}>{text}</{name}>" for name in names) + "</Firm>" for names in records)
    (tmp_path / "survey.xml").write_text(f"<Firms>{rows}</Firms>", encoding="utf-8")
    read = mw.read(tmp_path / "survey.xml")
    assert read.names == ("pay", "lease", "rent", "tax")
    assert [tuple(name for name in read.names if not read[name].missing[row]) for row in range(5)] == records


def test_records_that_do_not_agree_are_read_all_the_same(tmp_path: Path) -> None:
    rows = "<Firm><pay>1</pay><rent>2</rent></Firm><Firm><rent>3</rent><pay>4</pay></Firm>"
    (tmp_path / "survey.xml").write_text(f"<Firms>{rows}</Firms>", encoding="utf-8")
    read = mw.read(tmp_path / "survey.xml")
    assert read.names == ("pay", "rent")
    assert (read["pay"].values.tolist(), read["rent"].values.tolist()) == ([1, 4], [2, 3])
