"""The kit finds sources, edit readers and reports that break their promises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from maskwright import DataError, EditError, EditSet, Place, Problem, Report, RuleLanguage
from maskwright.plugins.registry import plugins
from maskwright.testing import RightRules, WrongRules, report_checks, rule_language_checks, source_checks

if TYPE_CHECKING:
    from pathlib import Path

CSV = plugins().sources["csv"]
KEPT: list[Any] = []


def failing(parameters: list[Any], wanted: set[str]) -> dict[str, str]:
    """What the wanted checks say, of those that fail."""
    failed = {}
    for parameter in parameters:
        check = parameter.id.split("-", 1)[1]
        if check in wanted:
            try:
                parameter.values[0]()
            except AssertionError as error:
                failed[check] = str(error)
    return failed


def drops_a_record(path, batches, variables, layout):
    CSV.write(path, (batch.slice(0, max(batch.num_rows - 1, 0)) for batch in batches), variables, layout)


def turns_around(path, batches, variables, layout):
    turned = (batch.take(pa.array(range(batch.num_rows - 1, -1, -1))) for batch in batches)
    CSV.write(path, turned, variables, layout)


def leaves_a_file(path, batches, variables, layout):
    CSV.write(path, batches, variables, layout)
    path.with_suffix(".bak").touch()


def crashes_on_bytes(path, params, progress):
    path.read_text(encoding="utf-8")
    return CSV.open(path, params, progress)


def tells_the_line(path, params, progress):
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise DataError(Problem(f"wrong: {error.object!r}", Place(str(path)))) from None
    return CSV.open(path, params, progress)


def keeps_the_last(path, params, progress):
    KEPT[:] = [path]
    latest = KEPT[0]
    return CSV.open(latest, params, progress)


class Losing:
    """A file of which records are lost while it is read."""

    def __init__(self, reading: Any, kept: Any) -> None:
        self.reading, self.kept = reading, kept

    @property
    def layout(self) -> Any:
        return self.reading.layout

    def batches(self) -> Any:
        for batch in self.reading.batches():
            yield batch.take(
                pa.array([row for row, cells in enumerate(batch.to_pylist()) if self.kept(cells)], pa.int64())
            )


def loses_the_seventy_thousandth(path, params, progress):
    return Losing(CSV.open(path, params, progress), lambda cells: cells.get("number") != "70000")


def loses_records_without_values(path, params, progress):
    return Losing(CSV.open(path, params, progress), lambda cells: any(cells.values()))


def loses_equal_records(path, params, progress):
    seen: set[str] = set()

    def fresh(cells: Any) -> bool:
        known = str(cells) in seen
        seen.add(str(cells))
        return not known

    return Losing(CSV.open(path, params, progress), fresh)


@pytest.mark.parametrize(
    ("change", "check", "said"),
    [
        ({"open": loses_the_seventy_thousandth}, "many_records", "70000 records are read of a file with 70001"),
        ({"open": loses_records_without_values}, "records_without_values", "36 records are read of a file with 40"),
        ({"open": loses_equal_records}, "equal_records", "1 records are read of a file with 40"),
        ({"write": drops_a_record}, "decimals_come_back", "39 records instead of 40"),
        ({"write": turns_around}, "order_is_kept", "does not give back what it was given to write: row 1 and"),
        ({"write": leaves_a_file}, "writes_one_file", "write must leave one file"),
        ({"open": crashes_on_bytes}, "random_bytes", "UnicodeDecodeError: a file that is not right is refused"),
        ({"open": tells_the_line}, "wrong_encoding", "refusals hold a value of a record"),
        ({"open": keeps_the_last}, "concurrent_calls", "calls at once give other results"),
        ({}, "reading", "the format of the layout must be 'mine'"),
        ({"summary": ""}, "documented", "summary is empty"),
    ],
)
def test_a_source_that_breaks_a_promise_is_found(change: dict[str, Any], check: str, said: str) -> None:
    source = replace(CSV, name="mine", suffixes=(".mine",), **change)
    assert said in failing(source_checks([source]), {check})[check]


def loses_the_first(path, params, progress):
    seen: list[Any] = []

    def later(cells: Any) -> bool:
        seen.append(cells)
        return len(seen) > 1

    return Losing(CSV.open(path, params, progress), later)


def reads_plainly(path, details, names):
    yield [["1"] * len(names)]


def test_what_is_lost_in_reading_is_said_so_that_it_fits() -> None:
    source = replace(CSV, name="mine", suffixes=(".mine",), open=loses_the_first)
    said = failing(source_checks([source]), {"decimals_come_back"})["decimals_come_back"]
    assert "does not give back what it was given to write: 39 records instead of 40" in said


def test_a_second_reader_by_the_same_hand_is_refused() -> None:
    source = replace(CSV, name="mine", suffixes=(".mine",), read_plainly=reads_plainly)
    checks = source_checks([source])
    assert "read_plainly is for formats that Maskwright brings along" in failing(checks, {"contract"})["contract"]
    assert len(checks) == 1


def test_a_format_that_is_only_read_needs_a_sample() -> None:
    source = replace(CSV, name="mine", suffixes=(".mine",), format=replace(CSV.format, not_written="CSV"))
    assert "give it one, samples=" in failing(source_checks([source]), {"sample"})["sample"]


def test_of_a_sample_it_is_said_how_many_records_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "sample.mine"
    path.write_text("number,one\n1,1\n2,1\n,\n")
    source = replace(
        CSV,
        name="mine",
        suffixes=(".mine",),
        format=replace(CSV.format, not_written="CSV"),
        open=loses_records_without_values,
    )
    wanted = {"records_of_the_sample"}
    (said,) = failing(source_checks([source], samples={"mine": path}), wanted).values()
    assert "say how many records the sample holds" in said
    (said,) = failing(source_checks([source], samples={"mine": path}, records={"mine": 3}), wanted).values()
    assert said.startswith("2 records are read of a file with 3")


def rules_of(text: str, path: Any = None) -> EditSet:
    place = None if path is None else lambda position: Place(str(path), position + 1, 1)
    return EditSet.parse([line for line in text.splitlines() if line], place)


def read_lines(path):
    try:
        return rules_of(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError):
        raise EditError(Problem("this cannot be read", Place(str(path)))) from None


def without_places(path):
    return rules_of(path.read_text(encoding="utf-8"))


def first_only(path):
    return EditSet(read_lines(path).edits[:1])


LINES = RuleLanguage(name="lines", suffixes=(".lines",), read=read_lines, summary="One rule a line.")
RIGHT = {"lines": [RightRules("age <= 60\nage >= 1\n", 2, obeyed=[{"age": 40}], broken=[{"age": 70}, {"age": 0}])]}
WRONG = {"lines": [WrongRules("age <= 60\nage >= 1 1\n", [(2, 10)])]}


def checks_of(reader: RuleLanguage, right: Any = RIGHT, wrong: Any = WRONG) -> list[Any]:
    return rule_language_checks([reader], right=right, wrong=wrong)


def test_a_right_edit_reader_passes() -> None:
    checks = checks_of(LINES)
    assert failing(checks, {check.id.split("-", 1)[1] for check in checks}) == {}


@pytest.mark.parametrize(
    ("read", "check", "said"),
    [
        (without_places, "right_1", "has no place"),
        (without_places, "random_bytes", "UnicodeDecodeError: a file that is not right is refused"),
        (without_places, "no_such_file", "FileNotFoundError"),
        (without_places, "wrong_1", "every mistake must have its place"),
        (first_only, "right_1", "2 edits were expected, 1 are found"),
    ],
)
def test_an_edit_reader_that_breaks_a_promise_is_found(read: Any, check: str, said: str) -> None:
    assert said in failing(checks_of(replace(LINES, read=read)), {check})[check]


def test_examples_are_asked_for_and_compared() -> None:
    said = failing(checks_of(LINES, {}, {}), {"examples"})["examples"]
    assert "give the kit rules that are right" in said
    other = {"lines": [RightRules("age <= 60\n", 1, obeyed=[{"age": 70}])]}
    assert "record 1 that obeys the edits does not" in failing(checks_of(LINES, other), {"right_1"})["right_1"]
    elsewhere = {"lines": [WrongRules("age <= 60 1\n", [(1, 3)])]}
    assert "are reported at [(1, 11)]" in failing(checks_of(LINES, RIGHT, elsewhere), {"wrong_1"})["wrong_1"]


def asks_the_network(path, record):
    import urllib.request

    with urllib.request.urlopen("http://maskwright.invalid/") as page:
        path.write_bytes(page.read())


def shows_texts(path, record):
    path.write_text("".join([each["message"] for each in record["notices"]]) or "none", encoding="utf-8")


def links(path, record):
    path.write_text('<link href="https://maskwright.invalid/style.css"><p style="x: url(https://a.b/c)">', "utf-8")


def counts(path, record):
    KEPT.append(record)
    path.write_text(f"{len(KEPT)}", encoding="utf-8")


def needs_a_measure(path, record):
    path.write_text(str(next(iter(record["measures"].values()))["value"]), encoding="utf-8")


def writes_beside(path, record):
    path.write_text("report", encoding="utf-8")
    path.with_name("data.json").write_text("{}", encoding="utf-8")


def changes_the_record(path, record):
    record["records"] = 0
    path.write_text("report", encoding="utf-8")


@pytest.mark.parametrize(
    ("write", "check", "said"),
    [
        (asks_the_network, "maximal_record", "the network was used"),
        (shows_texts, "texts_are_escaped", "escape them"),
        (links, "offline", "link href, p style leads elsewhere"),
        (counts, "written_alike", "different files"),
        (writes_beside, "minimal_record", "write must leave one file"),
        (changes_the_record, "record_unchanged", "write changed the record"),
    ],
)
def test_a_report_that_breaks_a_promise_is_found(write: Any, check: str, said: str) -> None:
    report = Report(name="mine", write=write, summary="s")
    assert said in failing(report_checks([report]), {check})[check]


def test_a_report_that_does_not_work_on_every_record_is_found() -> None:
    report = Report(name="mine", write=needs_a_measure, summary="s")
    (minimal,) = [each for each in report_checks([report]) if each.id == "mine-minimal_record"]
    with pytest.raises(StopIteration):
        minimal.values[0]()
