"""The HTML report: self-contained, escaped, accessible, and silent about secrets."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import pytest
from lxml import html

from maskwright.release.record.run_record import run_record_schema
from maskwright_builtin.reports.html import HTML, write_html

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Any]


@pytest.fixture
def written(record: Record, tmp_path: Path) -> str:
    return write(record, tmp_path)


def write(record: Record, folder: Path) -> str:
    write_html(folder / "report.html", record)
    return (folder / "report.html").read_text(encoding="utf-8")


def text_of(page: str) -> str:
    return " ".join(str(html.fromstring(page.encode()).xpath("string()")).split())


def test_it_is_offered_as_report() -> None:
    report = HTML
    assert report.name == "report"
    assert ".html" in report.suffixes
    assert report.write is write_html


def test_it_needs_no_network_and_runs_no_script(written: str) -> None:
    root = html.fromstring(written.encode())
    assert not root.xpath("//script | //link | //img | //iframe | //object | //embed | //form")
    assert not root.xpath("//@*[starts-with(name(), 'on')]")
    assert all(target.startswith("#") for target in root.xpath("//@href | //@src"))
    assert "http:" not in written
    assert "https:" not in written
    assert "url(" not in written
    assert "@import" not in written


def test_links_point_at_sections_and_every_table_has_scoped_headers(written: str) -> None:
    root = html.fromstring(written.encode())
    identifiers = root.xpath("//@id")
    assert len(identifiers) == len(set(identifiers))
    assert {target[1:] for target in root.xpath("//@href")} <= set(identifiers)
    assert set(root.xpath("//section/@aria-labelledby")) <= set(identifiers)
    tables = root.xpath("//table")
    assert tables
    for table in tables:
        assert table.xpath("./thead//th")
        assert not table.xpath(".//th[not(@scope)]")
    assert root.get("lang") == "en"
    assert len(root.xpath("//h1")) == 1


def test_it_says_what_the_run_found(written: str, record: Record) -> None:
    text = text_of(written)
    assert "All 8 edits hold in 1,080 masked records (11 violations in the original)." in text
    for edit in record["edits"]:
        assert edit["text"] in text
        assert edit["message"] in text
        assert edit["how"] in text
    assert "41 of 212" in text
    assert "16.31 %" in text
    assert "employed = 0: 320" in text
    assert "5-anonymous on its declared quasi-identifiers" in text
    assert "grouping by equalities would lose less" in text
    assert "cd" * 32 in text


def test_it_shows_no_seed_no_input_hash_and_no_folder(record: Record, tmp_path: Path) -> None:
    record["seed"] = 918273645
    record["pipeline"]["text"] = "seed: 918273645"
    record["outputs"]["data"]["file"] = "/home/somebody/masked.xml"
    page = write(record, tmp_path)
    assert "918273645" not in page
    assert "masked.xml" in page
    assert "somebody" not in page
    assert record["inputs"][0]["sha256"] not in page


def closed_words(schema: Any) -> set[str]:
    """Words of lists that the schema closes: no other text can stand there."""
    if isinstance(schema, dict):
        return {*schema.get("enum", ()), *(word for value in schema.values() for word in closed_words(value))}
    return {word for value in schema for word in closed_words(value)} if isinstance(schema, list) else set()


def test_every_text_of_the_record_is_escaped(record: Record, tmp_path: Path) -> None:
    attack = "<script>alert('x')</script><b onclick=\"y\">&amp;"
    closed = closed_words(run_record_schema())

    def spoil(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: spoil(item) for key, item in value.items()}
        if isinstance(value, list):
            return [spoil(item) for item in value]
        return attack + value if isinstance(value, str) and value not in closed else value

    spoiled = spoil(copy.deepcopy(record))
    spoiled["measures"] = {attack: spoiled["measures"]["pil"] | {"parts": {attack: 1.0}}}
    spoiled["outputs"] = {attack: {"file": attack}}
    root = html.fromstring(write(spoiled, tmp_path).encode())
    assert not root.xpath("//script | //*[@onclick]")
    assert attack in root.xpath("string(//table//th[@scope='row'])")


def test_an_interval_is_shown_with_its_level_and_where_it_is_explained(record: Record, tmp_path: Path) -> None:
    record["measures"]["pil"] |= {"interval": [5.25, 9.75], "measure": "pil"}
    text = text_of(write(record, tmp_path))
    assert "95 % interval: 5.25 to 9.75 percent; what it is of, maskwright explain pil says" in text


def test_a_refused_run_is_marked_with_words_not_only_colour(record: Record, tmp_path: Path) -> None:
    record["ok"] = False
    record["edits"][2]["violations"] = 7
    record["measures"]["score"] |= {"threshold": 15.0, "met": False}
    text = text_of(write(record, tmp_path))
    assert "Not released 1 edit violated (rent-product); 1 threshold missed (score)." in " ".join(text.split("✗"))
    assert "threshold 15.00: missed" in text
    assert "7 of 8" in text


def test_anonymous_is_not_claimed_when_records_are_below_k(record: Record, tmp_path: Path) -> None:
    record["k"]["quasi_identifiers"] |= {"smallest": 1, "below": 3}
    assert "anonymous" not in write(record, tmp_path)
    record["k"]["quasi_identifiers"] = None
    assert "anonymous" not in write(record, tmp_path)


def test_a_run_without_edits_k_measures_or_notices(record: Record, tmp_path: Path) -> None:
    record |= {"edits": [], "measures": {}, "adjustment": [], "notices": [], "plugins": {}, "seconds": {}}
    record["k"] = {
        "requested": None,
        "expected": None,
        "groups": [],
        "quasi_identifiers": None,
        "records": {"expected": 2, "smallest": 1, "below": 0},
    }
    record["plan"] |= {"edits": [], "warnings": []}
    text = text_of(write(record, tmp_path))
    assert "The pipeline states no edits." in text
    assert "The pipeline asks for no measures." in text


def test_bars_are_in_proportion_and_an_undefined_part_has_none(record: Record, tmp_path: Path) -> None:
    record["measures"] = {"m": record["measures"]["pil"] | {"parts": {"a": 10.0, "b": -5.0, "c": None, "d": 0.0}}}
    record["measures"]["m"]["per_variable"] = {}
    page = write(record, tmp_path)
    widths = [float(width) for width in re.findall(r'<rect width="([0-9.]+)"', page)]
    assert widths == [220.0, 110.0, 0.0, 0.0]
    assert "undefined" in text_of(page)


def notice(message: str, *, is_caution: bool = False) -> dict[str, object]:
    return {"kind": "reading", "message": message, "is_caution": is_caution}


def test_a_notice_that_the_plan_and_the_run_give_is_shown_once(record: Record, tmp_path: Path) -> None:
    small, identifier = notice("1 stratum is small"), notice("x is an identifier")
    record["plan"]["warnings"] = [small]
    record["notices"] = [small, identifier, identifier]
    root = html.fromstring(write(record, tmp_path).encode())
    assert root.xpath("//ul[@class='notices']/li/text()") == ["1 stratum is small", "x is an identifier"]


def test_what_was_let_pass_and_not_measured_stands_right_below_the_verdict(record: Record, tmp_path: Path) -> None:
    many = [f"cell{number}" for number in range(40)]
    record["not_measured"] = many
    measure = next(iter(record["measures"].values()))
    measure["leaves_out"] = ["region", "sex"]
    page = write(record, tmp_path)
    sections = html.fromstring(page.encode()).xpath("//section")
    below = " ".join(str(sections[1].xpath("string()")).split())
    waived = [doubt for doubt in record["doubts"] if doubt["because"] is not None]
    assert waived
    for doubt in waived:
        assert f"{doubt['id']} {doubt['doubt']}: {doubt['subject']}" in below
        assert doubt["because"] in below
    assert f"Not measured: {', '.join(many)}" in below
    assert "Published unmasked: " in below
    assert text_of(page).count("without region, sex") == 2


def test_a_record_without_any_of_it_has_no_such_box(record: Record, tmp_path: Path) -> None:
    record["doubts"], record["plan"]["untouched"], record["not_measured"] = [], [], []
    assert "What was let pass" not in write(record, tmp_path)


def verdict_of(page: str) -> Any:
    """The box with the verdict."""
    found: Any = html.fromstring(page.encode()).xpath("//*[contains(concat(' ', @class, ' '), ' verdict ')]")
    (box,) = found
    return box


def test_what_is_to_be_read_before_publishing_stands_in_the_box_of_the_verdict(record: Record, tmp_path: Path) -> None:
    """And nowhere else; the box is no plain green then."""
    said = "3 records are unique on <region>"
    box = verdict_of(write(record, tmp_path))
    assert "Before you publish" not in box.text_content()
    assert "careful" not in box.get("class").split()
    page = write(record | {"notices": [*record["notices"], notice(said, is_caution=True)]}, tmp_path)
    box = verdict_of(page)
    assert f"{said}." in box.text_content()
    assert "careful" in box.get("class").split()
    assert text_of(page).count(said) == 1
