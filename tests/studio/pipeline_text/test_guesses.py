"""What ``maskwright init`` guessed in comments is right after a change on a page, or gone; other comments stay."""

from __future__ import annotations

import re

import pytest

import maskwright as mw
from maskwright_studio.proposals import changed


@pytest.fixture(scope="module")
def started(tmp_path_factory, command):
    """Text of a pipeline as ``maskwright init`` writes it, with three decisions to be made."""
    folder = tmp_path_factory.mktemp("started")
    rows = "".join(
        f"{n},{('north', 'south', 'east')[n % 3]},{n % 7},{1000 + 37 * n % 911},{-9 if n % 13 == 0 else n % 50},"
        f"{20200101 + n % 28}\n"
        for n in range(300)
    )
    (folder / "survey.csv").write_text(f"id,region,size,wages,rent,day\n{rows}", "utf-8")
    command(folder, "init", "survey.csv", "--to", "survey.yaml")
    text = (folder / "survey.yaml").read_text("utf-8")
    assert "# 3 decisions are to be made before it runs" in text
    return text


def above(text, name):
    """Comments right above a variable."""
    lines = text.splitlines()
    end = next(at for at, line in enumerate(lines) if line.startswith(f"    {name}: "))
    start = end
    while lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return lines[start:end]


def numbered(text):
    """Variables of the list at the top, by the numbers that it gives their lines."""
    lines = text.splitlines()
    said = re.findall(r"^#   line (\d+), (\w+): ", text, re.MULTILINE)
    return [(name, lines[int(number) - 1].strip().partition(":")[0]) for number, name in said]


def test_k_is_said_right_beside_the_method(started):
    text = changed(started, [["set", ["protect", 0, "params", "k"], 9]])
    assert "# means of at least 9 similar records; edits hold in the result" in text
    assert "# cells are emptied until 3 records share" in text
    assert text == started.replace("at least 5 similar", "at least 9 similar").replace(
        "params: {k: 5}", "params: {k: 9}"
    )
    text = changed(started, [["set", ["protect", 1, "params", "k"], 4]])
    assert "# cells are emptied until 4 records share" in text
    text = changed(started, [["set", ["protect", 0, "params"], {"k_guarantee": "report"}]])
    assert "means of at least" not in text
    assert "- method: microaggregation" in text


def test_a_decision_that_is_made_is_not_asked_for_any_more(started):
    text = changed(started, [["set", ["data", "variables", "size", "role"], "other"]])
    assert "# 2 decisions are to be made before it runs" in text
    assert numbered(text) == [("day", "day"), ("day", "day")]
    assert above(text, "size") == ["    # code; 300 cells with a value, 7 different."]
    assert [each for each in above(text, "day") if "unsure" in each]
    text = changed(text, [["set", ["data", "variables", "day"], {"type": "date", "format": "%Y%m%d", "role": "other"}]])
    assert "to be made" not in text
    assert above(text, "day") == []
    assert "# It holds no value of a record" in text
    assert mw.read_settings(text)["data"]["variables"]["day"]["role"] == "other"


def test_one_decision_is_said_as_one(started):
    text = changed(started, [["set", ["data", "variables", "day", "role"], "other"]])
    assert "# 1 decision is to be made before it runs" in text
    assert numbered(text) == [("size", "size")]


def test_a_variable_that_a_step_masks_now_is_decided(started):
    text = changed(started, [["append", ["protect", 1, "variables"], "size"]])
    assert [name for name, _ in numbered(text)] == ["day", "day"]
    assert above(text, "size") == ["    # code; 300 cells with a value, 7 different. No role: few whole numbers."]


def test_lines_are_numbered_anew_and_what_people_wrote_stays(started):
    theirs = started.replace("    size: {", "    # ours: at least 5 similar records, unsure\n    size: {")
    text = changed(theirs, [["set", ["data", "variables", "rent", "missing"], [-9, -8]]])
    assert [name for name, _ in numbered(text)] == ["size", "day", "day"]
    assert all(name == found for name, found in numbered(text))
    assert "    # ours: at least 5 similar records, unsure\n" in text
    text = changed(text, [["set", ["data", "variables", "size", "role"], "other"]])
    assert "    # ours: at least 5 similar records, unsure\n" in text


def test_line_ends_and_typed_text_stay(started):
    windows = started.replace("\n", "\r\n")
    text = changed(windows, [["set", ["data", "variables", "size", "role"], "other"]])
    assert text.count("\n") == text.count("\r\n")
    assert "# 2 decisions are" in text
    assert changed(started, [["text", started.replace("k: 5", "k: 9")]]) == started.replace("k: 5", "k: 9")
