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


def decisions(text):
    """Variables of the decisions at the top, each as it is named there."""
    top = text.partition("to be made before it runs")[2].partition("# Guessed")[0].partition("maskwright: 1")[0]
    return re.findall(r"^#   (\S.*?)(?: \(\d+ variables\))?: W", top, re.MULTILINE)


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
    assert decisions(started) == ["day", "day", "size"]
    text = changed(started, [["set", ["data", "variables", "size", "role"], "other"]])
    assert "# 2 decisions are to be made before it runs" in text
    assert decisions(text) == ["day", "day"]
    declared = {"type": "date", "format": "%Y%m%d", "role": "other"}
    text = changed(text, [["set", ["data", "variables", "day"], declared]])
    assert "to be made" not in text
    assert "# It holds no value of a record" in text
    assert mw.read_settings(text)["data"]["variables"]["day"]["role"] == "other"


def test_one_decision_is_said_as_one(started):
    text = changed(started, [["set", ["data", "variables", "day", "role"], "other"]])
    assert "# 1 decision is to be made before it runs" in text
    assert decisions(text) == ["size"]


def test_a_variable_that_a_step_masks_now_is_decided(started):
    text = changed(started, [["append", ["protect", 1, "variables"], "size"]])
    assert decisions(text) == ["day", "day"]


def test_what_people_wrote_stays(started):
    theirs = started.replace("  roles:", "  # ours: at least 5 similar records, unsure\n  roles:")
    text = changed(theirs, [["set", ["data", "variables", "rent", "missing"], [-9, -8]]])
    assert decisions(text) == ["day", "day", "size"]
    text = changed(text, [["set", ["data", "variables", "size", "role"], "other"]])
    assert "  # ours: at least 5 similar records, unsure\n" in text


def test_line_ends_and_typed_text_stay(started):
    windows = started.replace("\n", "\r\n")
    text = changed(windows, [["set", ["data", "variables", "size", "role"], "other"]])
    assert text.count("\n") == text.count("\r\n")
    assert decisions(text.replace("\r\n", "\n")) == ["day", "day"]
    assert changed(started, [["text", started.replace("k: 5", "k: 9")]]) == started.replace("k: 5", "k: 9")
