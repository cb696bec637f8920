"""What the terminal says of plans, runs, validations, measures and plugins."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest

from maskwright.cli.show.results import print_plan, print_plugins, print_result
from maskwright.cli.show.tables import print_edits, print_measures, print_outcome

Record = dict[str, Any]

PLAIN: Record = {
    "value": 7.5, "unit": "percent", "direction": "lower", "kind": "risk", "measure": "m", "summary": "", "params": {},
    "parts": {}, "per_variable": {}, "interval": None, "notes": [], "threshold": None, "met": None,
}  # fmt: skip
"""A measure, as the measure command prints it."""


def line_with(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(start))


def test_a_run_fits_one_screen_of_plain_text(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    print_result(record)
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in lines)


def test_a_run_shows_each_edit_before_and_after_and_who_kept_it(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    print_result(record)
    text = capsys.readouterr().out
    assert line_with(text, "rent-product").split() == [
        "rent-product", "product", "2", "0", "derivation", "from", "masked", "values", "41",
    ]  # fmt: skip
    assert line_with(text, "gross-sum").split()[:4] == ["gross-sum", "linear", "3", "0"]
    assert line_with(text, "pil").split()[:5] == ["pil", "(loss)", "16.31", "%", "lower"]
    assert line_with(text, "on whole records").split()[-2:] == ["1", "1,080"]
    for entry in record["outputs"].values():
        assert entry["file"] in text
    assert "Released: all 8 edits hold in 1,080 masked records (11 violations in the original)." in text


def test_a_refused_run_says_what_was_wrong(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    record["ok"] = False
    record["edits"][0]["violations"] = 7
    record["measures"]["score"] |= {"threshold": 15.0, "met": False}
    print_result(record)
    text = capsys.readouterr().out
    assert "Not released: 1 edit violated (gross-sum); 1 threshold missed (score)." in text
    assert "the masked data was not released" in text
    assert "<= 15.00 missed" in line_with(text, "score")


def test_a_warning_does_not_count_as_a_reason(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    record["ok"] = False
    record["edits"][0] |= {"violations": 7, "severity": "warning", "unknown": 3}
    record["measures"]["score"] |= {"threshold": 15.0, "met": False}
    print_result(record)
    text = capsys.readouterr().out
    assert "Not released: 1 threshold missed (score)." in text
    assert line_with(text, "gross-sum").split()[:6] == ["gross-sum", "(warning)", "linear", "3", "7", "3"]


def test_a_released_run_with_a_broken_warning_does_not_claim_that_all_edits_hold(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    record["edits"][0] |= {"violations": 7, "severity": "warning"}
    print_result(record)
    text = " ".join(capsys.readouterr().out.split())
    assert "all 8 edits hold" not in text
    assert "Released: every edit of severity error holds" in text
    assert "1 warning is violated (gross-sum)" in text


def test_a_run_without_edits_k_or_measures(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    record |= {"edits": [], "measures": {}, "adjustment": [], "notices": [], "seconds": {}, "outputs": {}}
    record["k"] = {
        "requested": None,
        "expected": None,
        "groups": [],
        "quasi_identifiers": None,
        "records": {"expected": 2, "smallest": 1, "below": 0},
    }
    print_result(record)
    assert "no edits to keep" in capsys.readouterr().out


def test_long_names_wrap_inside_100_columns(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    long = "a_variable_with_quite_a_long_name_"
    record["plan"]["steps"][0]["groups"][0]["variables"] = [f"{long}{number}" for number in range(60)]
    record["edits"][0]["name"] = "edit-" * 40
    record["plan"]["warnings"] = [
        {"kind": "small-strata", "message": f"warning {number} " + "word " * 40, "is_caution": False}
        for number in range(20)
    ]
    record["outputs"]["data"]["file"] = "/folder" * 20 + "/masked.xml"
    print_result(record)
    print_plan(record["plan"])
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines() if "/folder" not in line) <= 100
    assert f"{long}59" in text
    assert "/folder" * 20 + "/masked.xml" in text
    assert "and 14 more warnings" in text


def test_a_plan_shows_groups_operators_strata_and_grid(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    record["plan"]["steps"][0]["groups"][0]["strata"][0]["merged"] = True
    print_plan(record["plan"])
    text = capsys.readouterr().out
    flat = " ".join(text.split())
    assert "Step 1: microaggregation (k 5, partition mdav, group_size 3, grouping all_edits," in flat
    assert "allow_original_values false" in flat
    assert "rent (computed)" in flat
    assert "320: employed = 0 (merged)" in flat
    assert "rent_m2 (geometric mean)" in flat
    assert "whole numbers: gross, net, wages; 2 decimals: energy; not rounded: share" in flat
    assert "dropped: id" in text
    assert "warning: grouping by equalities would lose less" in text
    for edit in record["edits"]:
        assert edit["how"] in text


def test_a_validation_names_records_by_number_only(capsys: pytest.CaptureFixture[str]) -> None:
    edit = {
        "name": "sum", "kind": "linear", "checked_by": "lxml", "violations": 12, "unknown": 1, "fired": 1080,
        "first_records": list(range(3, 13)),
    }  # fmt: skip
    print_outcome({"records": 1080, "ok": False, "violations": 12, "edits": [edit]})
    text = capsys.readouterr().out
    assert line_with(text, "sum").split() == [
        "sum", "linear", "(lxml)", "1,080", "12", "1",
        "3,", "4,", "5,", "6,", "7,", "8,", "9,", "10,", "11,", "12,", "…",
    ]  # fmt: skip
    assert "12 violations (1 edit, 1,080 records)" in text


@pytest.mark.parametrize(
    ("violations", "unknown", "sentence"),
    [
        (0, 0, "every edit holds (1 edit, 1 record)"),
        (0, 1, "no edit is violated; 1 verdict unknown (1 edit, 1 record)"),
        (1, 0, "no edit of severity error is violated; 1 violation in all"),
    ],
)
def test_a_validation_that_is_fine_says_so(
    violations: int, unknown: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit = {"name": "e", "kind": "range", "violations": violations, "unknown": unknown, "fired": 1, "first_records": []}
    print_outcome({"records": 1, "ok": True, "violations": violations, "edits": [edit]})
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (16.3127, "percent", "16.31 %"),
        (0.0, "percent", "0 %"),
        (None, "percent", "undefined"),
        (math.nan, "percent", "undefined"),
        (12345.6, "count", "12,346"),
        (0.12345, "standard deviations", "0.123 standard deviations"),
        (0.00001234, "", "< 0.001"),
    ],
)
def test_measures_show_value_unit_and_direction(
    value: float | None, unit: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_measures({"m": PLAIN | {"value": value, "unit": unit, "direction": "higher"}})
    text = capsys.readouterr().out
    assert f"{shown}  higher" in text
    assert "threshold" not in text


def test_measures_show_their_interval_and_why_they_have_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    print_measures({
        "risk": PLAIN | {"interval": [5.25, 9.75]},
        "other": PLAIN | {"value": None, "notes": ["not computed: needs pairs", "and more"]},
    })  # fmt: skip
    text = capsys.readouterr().out
    assert "value (95 %)" in text
    assert "(5.25 to 9.75)" in text
    assert "other: not computed: needs pairs" in text
    assert "and more" not in text
    print_measures({"risk": PLAIN})
    assert "95 %" not in capsys.readouterr().out


def test_plugins_are_sorted_and_a_broken_one_shows_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    fine = {"name": "noise", "kind": "method", "distribution": "maskwright", "version": "0.1.0", "status": "ok"}
    broken = copy.copy(fine) | {"name": "mine", "status": "broken", "error": "no module named thing"}
    print_plugins([fine, broken, fine | {"name": "xml", "kind": "source"}])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["mine", "noise", "xml"]
    assert "broken: no module named thing" in lines[1]


def test_printing_changes_nothing(record: Record) -> None:
    before = copy.deepcopy(record)
    print_result(record)
    print_plan(record["plan"])
    assert record == before


def test_text_that_looks_like_markup_is_shown_as_it_is(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    record["edits"][0]["name"] = "[bold]x[/bold] :smile:"
    print_result(record)
    assert "[bold]x[/bold] :smile:" in capsys.readouterr().out


def test_files_of_one_folder_are_listed_under_it(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for entry in record["outputs"].values():
        entry["file"] = str(tmp_path / "out" / entry["file"])
    monkeypatch.chdir(tmp_path)
    print_result(record)
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Files in out")
    assert lines[start + 1].split() == ["masked.xml", "the", "masked", "data"]
    record["outputs"]["data"]["file"] = str(tmp_path.parent / "masked.xml")
    print_result(record)
    text = capsys.readouterr().out
    assert str(tmp_path.parent / "masked.xml") in text
    assert f"  {Path('out') / 'run.json'} " in text


def test_edits_are_listed_with_kind_rule_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    edit = {
        "name": "sum", "kind": "linear", "severity": "error", "text": "a + b = c", "variables": ["a", "b", "c"],
        "place": "rules.sch:7:12", "violations": None, "unknown": None,
    }  # fmt: skip
    print_edits({"records": None, "edits": [edit, edit | {"severity": "warning"}], "notes": ["a note"]})
    text = capsys.readouterr().out
    assert text.splitlines()[1].split() == ["sum", "linear", "a", "+", "b", "=", "c", "rules.sch:7:12"]
    assert "sum (warning)" in text
    assert "violations" not in text
    assert "note: a note" in text
    print_edits({"records": 1080, "edits": [edit | {"violations": 3, "unknown": 1}], "notes": []})
    text = capsys.readouterr().out
    assert text.splitlines()[1].split()[:4] == ["sum", "linear", "3", "1"]
    assert "1 edit on 1,080 records" in text


def test_blocks_are_named_because_they_change_the_result(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    record["mode"] = "blocks of at most 50000 records"
    print_result(record)
    assert "Plan: 1,080 records, 1 step, in blocks of at most 50000 records" in capsys.readouterr().out
