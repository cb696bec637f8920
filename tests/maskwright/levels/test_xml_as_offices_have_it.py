"""XML with decimal commas and in ISO-8859-1, flat and nested: read, masked, and written as it was."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from lxml import etree

from maskwright.cli.main import main

HOMES = 40
TOWNS = ("K\u00f8ge", "Lille \u20ac")
LEVELS = {
    "household": {"record": "Household", "key": "hhid"},
    "person": {"record": "Person", "key": "pno", "in": "household"},
}
ROUNDING = [{"method": "microaggregation", "variables": ["income", "other", "sum"], "params": {"k": 3}}]


def comma(cents: int) -> str:
    return f"{cents // 100},{cents % 100:02}"


def person(number: int) -> str:
    place = number * 37 % (2 * HOMES)
    income, other = 123456 + 7919 * place, 1000 + 31 * place
    cells = f"<income>{comma(income)}</income><other>{comma(other)}</other><sum>{comma(income + other)}</sum>"
    return f"<Person><pno>{number % 2 + 1}</pno>{cells}</Person>"


def household(number: int, members: str) -> str:
    town = TOWNS[number % 2].replace("\u20ac", "&#8364;")
    return f"<Household><hhid>H{number:03}</hhid><town>{town}</town>{members}</Household>\n"


@pytest.fixture(params=["flat", "nested"])
def pipeline(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    data: dict[str, Any] = {"source": "survey.xml", "decimal": ",", "variables": {"town": {"role": "other"}}}
    if request.param == "flat":
        rows = "".join(
            f"{person(n).replace('<pno>', '<town>' + TOWNS[0] + '</town><pno>')}\n" for n in range(2 * HOMES)
        )
        data["variables"]["pno"] = {"role": "other"}
    else:
        rows = "".join(household(n, person(2 * n) + person(2 * n + 1)) for n in range(HOMES))
        data["levels"] = LEVELS
    text = f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<Survey>\n{rows}</Survey>\n'
    Path("survey.xml").write_bytes(text.encode("latin-1"))
    return {
        "maskwright": 1, "data": data, "edits": ["income + other == sum"], "protect": ROUNDING,
        "measure": [], "output": {"data": "masked.xml"}, "seed": 3,
    }  # fmt: skip


def run(stated: dict[str, Any], command: str = "run") -> int:
    Path("pipeline.yaml").write_text(yaml.safe_dump(stated), encoding="utf-8")
    return main([command, "pipeline.yaml"])


def test_they_are_written_as_they_were(pipeline: dict[str, Any]) -> None:
    assert run(pipeline) == 0
    raw = Path("masked.xml").read_bytes()
    assert raw.startswith(b'<?xml version="1.0" encoding="ISO-8859-1"?>')
    root = etree.fromstring(raw)
    towns = {each.text for each in root.iter("town")}
    assert towns == (set(TOWNS) if "levels" in pipeline["data"] else {TOWNS[0]})
    changed = 0
    before = {each.findtext("income") for each in etree.parse("survey.xml").iter("Person")}
    for each in root.iter("Person"):
        cells = [each.findtext(name) or "" for name in ("income", "other", "sum")]
        assert all("." not in cell for cell in cells)
        income, other, whole = (Decimal(cell.replace(",", ".")) for cell in cells)
        assert income + other == whole
        changed += cells[0] not in before
    assert changed
    Path("rules.yaml").write_text("- income + other == sum\n", encoding="utf-8")
    assert main(["validate", "masked.xml", "--edits", "rules.yaml", "--pipeline", "pipeline.yaml"]) == 0


def test_without_the_mark_it_is_said_what_to_declare(
    pipeline: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline["data"].pop("decimal")
    pipeline["data"]["variables"]["income"] = {"type": "continuous"}
    assert run(pipeline, "plan") == 2
    assert 'Declare `decimal: ","` in the data section if the comma is the decimal mark' in capsys.readouterr().err


def test_schematron_reads_no_commas(pipeline: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    schema = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Person">
    <assert test="number(income) &gt;= 0">An income is not negative.</assert></rule></pattern></schema>"""
    Path("rules.sch").write_text(schema, encoding="utf-8")
    assert run(pipeline | {"edits": [{"schematron": "rules.sch"}]}, "plan") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "is Schematron, which reads numbers with a point, and survey.xml has commas" in said
    assert main(["validate", "survey.xml", "--edits", "rules.sch", "--pipeline", "pipeline.yaml"]) == 2
    assert "which reads numbers with a point" in " ".join(capsys.readouterr().err.split())


def test_members_with_commas_are_told_to_be_numbers(
    pipeline: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    if "levels" not in pipeline["data"]:
        pytest.skip("sums over members")
    pipeline["data"].pop("decimal")
    assert run(pipeline | {"edits": ["sum(person.income) >= 0"]}, "plan") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "income is no number" in said
    assert 'declare `decimal: ","` in the data section if that is their mark' in said
