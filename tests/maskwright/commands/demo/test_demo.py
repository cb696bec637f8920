"""The example: what it promises of its files."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
import yaml
from lxml import etree
from lxml.isoschematron import Schematron

import maskwright
from maskwright.cli.main import main
from maskwright.commands.demo.files import CHUNK, NAMES, REGIONS, survey, write_demo
from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Decimal]


def records_of(path: Path) -> list[dict[str, str]]:
    """Cells of an XML file, as text."""
    root = etree.parse(path).getroot()
    assert {element.tag for element in root} == {"Household"}
    return [{cell.tag: cell.text for cell in element} for element in root]


def numbers(record: dict[str, str]) -> Record:
    return {name: Decimal(text) for name, text in record.items() if name not in ("id", "region")}


RULES = {
    "gross-sum": lambda r: r["wages"] + r["self_employment"] + r["pensions"] + r["other_income"] == r["gross"],
    "net-income": lambda r: r["gross"] - r["tax"] == r["net"],
    "rent-product": lambda r: r["floor_area"] * r["rent_m2"] == r["rent"],
    "age-range": lambda r: 0 <= r["age"] <= 120,
    "employed-values": lambda r: r["employed"] in (0, 1, 2, 3),
    "no-work-no-wages": lambda r: r["employed"] != 0 or r["wages"] == 0,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("demo")
    write_demo(target)
    return target


def test_about_one_record_in_a_hundred_breaks_exactly_one_edit(folder: Path) -> None:
    broken = Counter[str]()
    for record in records_of(folder / "survey.xml"):
        violated = [name for name, rule in RULES.items() if not rule(numbers(record))]
        assert len(violated) <= 1
        broken.update(violated)
    assert sum(broken.values()) == 11
    assert set(broken) == {"gross-sum", "net-income", "rent-product", "age-range", "no-work-no-wages"}


def test_an_independent_schematron_processor_finds_the_same_violations(folder: Path) -> None:
    schema = Schematron(etree.parse(folder / "survey.sch"), store_report=True)
    assert not schema.validate(etree.parse(folder / "survey.xml"))
    failed = schema.validation_report.xpath("//*[local-name() = 'failed-assert']")
    assert len(failed) == 11
    assert len(schema.validation_report.xpath("//*[local-name() = 'active-pattern']")) == len(RULES)


def test_the_edits_cover_every_kind_that_masking_can_keep(folder: Path) -> None:
    edits = maskwright.read_edits(folder / "survey.sch") + maskwright.EditSet.parse(
        yaml.safe_load((folder / "pipeline.yaml").read_text(encoding="utf-8"))["edits"][1:]
    )
    assert {edit.name: edit.kind for edit in edits} == {
        "gross-sum": "linear",
        "net-income": "linear",
        "rent-product": "product",
        "age-range": "range",
        "employed-values": "range",
        "no-work-no-wages": "governing",
        "known-region": "domain",
        "no-negative-income": "range",
    }
    assert all(edit.message for edit in edits)


def test_every_cell_is_canonical_text_in_a_fixed_order(folder: Path) -> None:
    for record in records_of(folder / "survey.xml"):
        assert tuple(record) == NAMES
        assert record["region"] in REGIONS
        for name, number in numbers(record).items():
            plain = f"{number.normalize():f}"
            assert record[name] == plain
            assert number >= 0
            if name not in ("weight", "energy"):
                assert number == number.to_integral_value()


def test_identifiers_are_unique_and_in_order(folder: Path) -> None:
    identifiers = [record["id"] for record in records_of(folder / "survey.xml")]
    assert identifiers == sorted(set(identifiers))
    assert len(identifiers) == 1080


def test_each_branch_of_the_governing_edit_holds_many_times_k_records(folder: Path) -> None:
    without_work = sum(record["employed"] == "0" for record in records_of(folder / "survey.xml"))
    assert 100 < without_work < 540


def test_incomes_fall_with_age_over_65_and_rents_follow_the_region(folder: Path) -> None:
    records = [(record["region"], numbers(record)) for record in records_of(folder / "survey.xml")]

    def mean(name: str, chosen: list[Record]) -> Decimal:
        return sum((record[name] for record in chosen), Decimal(0)) / len(chosen)

    old = [record for _, record in records if 65 <= record["age"] <= 120]
    young = [record for _, record in records if record["age"] < 65]
    assert mean("wages", old) < mean("wages", young) / 3
    assert mean("pensions", old) > 3 * mean("pensions", young)
    capital = [record for region, record in records if region == "Capital"]
    hills = [record for region, record in records if region == "Hills"]
    assert mean("rent_m2", capital) > 2 * mean("rent_m2", hills)


def test_a_longer_survey_starts_with_the_shorter_one() -> None:
    short = pa.Table.from_batches(list(survey(300)))
    long = pa.Table.from_batches(list(survey(CHUNK + 5)))
    assert long.num_rows == CHUNK + 5
    assert long.slice(0, 300).equals(short)
    assert long.slice(CHUNK, 1).column("id").to_pylist() == [f"H{CHUNK + 1:07d}"]
    assert long.slice(CHUNK, 5).column("net").to_pylist() != long.slice(0, 5).column("net").to_pylist()


def test_the_same_call_writes_the_same_bytes_over_its_own_files(tmp_path: Path) -> None:
    first = write_demo(tmp_path / "a", 50)
    before = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    again = write_demo(tmp_path / "a", 50)
    assert first == again
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    assert sorted(before) == ["pipeline.yaml", "survey.sch", "survey.xml"]


def test_progress_rises_to_one(tmp_path: Path) -> None:
    shares: list[float] = []
    write_demo(tmp_path, 2 * CHUNK + 1, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) == 3


@pytest.mark.parametrize("name", ["pipeline.yaml", "survey.sch", "survey.xml"])
def test_a_file_that_somebody_changed_is_not_overwritten(tmp_path: Path, name: str) -> None:
    write_demo(tmp_path, 20)
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=name):
        write_demo(tmp_path, 20)
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_too_few_records_and_a_folder_that_cannot_be_made_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 10 records; asked for 9"):
        write_demo(tmp_path, 9)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_demo(tmp_path / "file" / "folder", 20)


def test_a_large_survey_is_masked_in_blocks_and_says_so(tmp_path: Path) -> None:
    write_demo(tmp_path / "large", 100_001)
    write_demo(tmp_path / "small", 1_080)
    large = yaml.safe_load((tmp_path / "large" / "pipeline.yaml").read_text(encoding="utf-8"))
    small = yaml.safe_load((tmp_path / "small" / "pipeline.yaml").read_text(encoding="utf-8"))
    assert large.pop("execution") == {"block_size": 50_000}
    assert large == small
    assert small["protect"][0]["params"]["k"] == 5
    assert small["output"]["public_record"] == "about.json"


def test_no_masked_income_of_the_demo_is_negative(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The example states the signs that adjustment would not keep by itself, and so gets no notice of them."""
    assert main(["demo", str(tmp_path)]) == 0
    assert "below 0" not in capsys.readouterr().err
    masked = maskwright.read(tmp_path / "masked.xml", record="Household")
    for column in masked:
        if column.variable.is_numeric and column.name != "tax":
            assert not (column.values < 0).any(), column.name
