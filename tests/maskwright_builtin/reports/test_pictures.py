"""Pictures of the report: what they say, what they do not give away, and that everybody can read them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from lxml import html

import maskwright as mw
from maskwright_builtin.reports.html import write_html

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Any]
BANDS = ("1", "2", "3 to 4", "5 to 9", "10 and more")


def sizes(*counts: int) -> Record:
    return {
        "name": "class_sizes",
        "title": "Records by class size",
        "columns": ["class size", "records"],
        "rows": [[band, [float(count)]] for band, count in zip(BANDS, counts, strict=True)],
        "unit": "records",
    }


def with_tables(record: Record, after: Record, before: Record | None = None) -> Record:
    measure = {"kind": "risk", "measure": "k_anonymity", "tables": [after]}
    if before is not None:
        measure["before"] = {"value": 1.0, "parts": {}, "per_variable": {}, "tables": [before]}
    return record | {"measures": {"k_anonymity": record["measures"]["pil"] | measure}}


def described(record: Record, folder: Path) -> list[str]:
    write_html(folder / "report.html", record)
    root = html.fromstring((folder / "report.html").read_bytes())
    return [" ".join(each.text_content().split()) for each in root.xpath("//figure//desc")]


def test_a_distribution_is_drawn_before_and_after(record: Record, tmp_path: Path) -> None:
    (said,) = described(with_tables(record, sizes(0, 0, 20, 30, 50), sizes(50, 30, 20, 0, 0)), tmp_path)
    assert said.startswith("Bars by class size. 1: original 50.00 %, masked 0 %; 2: original 30.00 %, masked 0 %;")
    assert said.endswith("10 and more: original 0 %, masked 50.00 %.")


def test_bands_of_few_records_are_joined_in_both_files(record: Record, tmp_path: Path) -> None:
    (said,) = described(with_tables(record, sizes(0, 0, 20, 30, 51), sizes(1, 30, 20, 40, 10)), tmp_path)
    assert said.startswith("Bars by class size. 1, 2: original 30.69 %")
    (said,) = described(with_tables(record, sizes(30, 0, 20, 47, 3), sizes(30, 30, 20, 10, 10)), tmp_path)
    assert said.endswith("5 to 9, 10 and more: original 20.00 %, masked 50.00 %.")
    # A single record more or less is told by no picture of what is left.
    few = [
        described(with_tables(record, sizes(a, b, 0, 0, 0), sizes(0, 0, 0, 0, 8)), tmp_path)
        for a, b in ((1, 7), (2, 6))
    ]
    assert few == [[], []]


@pytest.mark.covering(4)
@pytest.mark.parametrize("seed", range(20))
def test_no_drawn_band_has_some_and_fewer_than_ten_records(record: Record, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    files = [rng.multinomial(200, rng.dirichlet([0.3] * 5)) for _ in range(2)]
    for said in described(with_tables(record, sizes(*files[0]), sizes(*files[1])), tmp_path):
        for share in re.findall(r"(?:original|masked) ([\d.]+) %", said):
            assert float(share) == 0.0 or float(share) >= 5.0


def test_who_does_not_see_the_bars_reads_the_figures(record: Record, tmp_path: Path) -> None:
    described(with_tables(record, sizes(0, 0, 20, 30, 50), sizes(50, 30, 20, 0, 0)), tmp_path)
    root = html.fromstring((tmp_path / "report.html").read_bytes())
    drawings = root.xpath("//svg[not(@aria-hidden)]")
    assert drawings
    for drawing in drawings:
        assert drawing.get("role") == "img"
        title, desc = drawing.get("aria-labelledby").split()
        assert drawing.xpath(f"./title[@id='{title}']/text()")
        assert drawing.xpath(f"./desc[@id='{desc}']/text()")
    assert not root.xpath("//script | //img | //@href[not(starts-with(., '#'))]")
    identifiers = root.xpath("//@id")
    assert len(identifiers) == len(set(identifiers))


def test_texts_of_tables_are_escaped(record: Record, tmp_path: Path) -> None:
    attack = "<script>alert('x')</script>"
    spoiled = sizes(0, 0, 20, 30, 50) | {"title": attack, "columns": [attack, attack], "unit": "percent"}
    spoiled["rows"] = [[attack + row[0], row[1]] for row in spoiled["rows"]]
    (said,) = described(with_tables(record, spoiled), tmp_path)
    assert attack in said
    assert "<script>" not in (tmp_path / "report.html").read_text(encoding="utf-8")


PIPELINE = """
maskwright: 1
data:
  source: people.csv
  variables:
    town: {type: nominal, role: quasi_identifier}
    sex: {type: nominal, role: quasi_identifier}
    work: {type: nominal, role: quasi_identifier}
    school: {type: nominal, role: quasi_identifier}
protect: [{method: pram, variables: [town, sex, work, school], params: {retain: 0.7}}]
measure: [individual_risk, k_anonymity, suda, contingency_tables, cramers_v]
output: {data: masked.csv, report: report.html, record: run.json, public_record: about.json}
seed: 3
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    n = 600
    people = pd.DataFrame(
        {
            "town": rng.choice(["Northtown", "Southtown", "Easttown"], n),
            "sex": rng.choice(["women", "men"], n),
            "work": rng.choice(["clerk", "farmer", "nurse"], n),
            "school": rng.choice([f"school {number}" for number in range(12)], n),
        }
    )
    people.loc[0, "work"] = "astronaut"
    people.loc[1:3, "work"] = "bishop"
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    return tmp_path


def test_a_run_draws_risk_classes_contributions_categories_and_associations(office: Path) -> None:
    assert mw.run(office / "pipeline.yaml").ok
    page = (office / "report.html").read_text(encoding="utf-8")
    titles = html.fromstring(page.encode()).xpath("//figure//title/text()")
    assert [title.split(",")[0] for title in titles] == [
        "Records by individual risk",
        "Records by how many records share their keys",
        "What each key contributes to the SUDA score",
        "Records by town",
        "Records by sex",
        "Records by work",
        "Records by school",
        "Association of pairs (Cramer's V)",
    ]
    assert "For those who decide on the release" in page
    assert "What may be published with the data is the public record" in page
    # Nobody reads what one record has, and that it was there; not in the record of the run either.
    for written in (page, (office / "run.json").read_text("utf-8"), (office / "about.json").read_text("utf-8")):
        assert "astronaut" not in written
        assert "bishop" not in written
    assert '"clerk"' in (office / "run.json").read_text("utf-8")


def test_tables_are_in_the_record_of_the_run_and_not_in_the_public_one(office: Path) -> None:
    mw.run(office / "pipeline.yaml")
    record = json.loads((office / "run.json").read_text("utf-8"))
    (table,) = record["measures"]["k_anonymity"]["tables"]
    assert sum(count for _, (count,) in table["rows"]) == 600
    assert record["measures"]["k_anonymity"]["before"]["tables"][0]["name"] == table["name"]
    public = json.loads((office / "about.json").read_text("utf-8"))
    assert public["loss"]["contingency_tables"]["value"] > 0.0
    assert all("tables" not in each for each in public["loss"].values())


def test_the_same_run_draws_the_same_bytes(office: Path) -> None:
    drawn = []
    for _ in range(2):
        mw.run(office / "pipeline.yaml")
        page = (office / "report.html").read_text(encoding="utf-8")
        drawn.append(re.findall(r"<figure.*?</figure>", page, re.DOTALL))
    assert drawn[0]
    assert drawn[0] == drawn[1]
