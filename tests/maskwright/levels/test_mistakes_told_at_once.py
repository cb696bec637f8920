"""Mistakes in rules and files of levels: all of them at once, at their places, with the nearest name and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Said = Callable[..., str]

PIPELINE = """maskwright: 1
data:
  encoding: latin-1
  levels:
    household: {source: h.csv, key: home}
    person: {source: p.csv, key: line, in: household}
  variables: {town: {role: other}, size: {role: other}, relation: {role: other}}
edits:
  - count(person) == size
protect: [{method: rounding, variables: [wage], params: {base: 4}}]
output: {data: {household: oh.csv, person: op.csv}}
"""


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """What planning says of a pipeline that differs from the right one."""
    (tmp_path / "h.csv").write_text("home,town,size\nA,Linz,2\nB,Wels,1\n", encoding="latin-1")
    (tmp_path / "p.csv").write_text(
        "home,line,relation,wage\nA,1,ref,10\nA,2,höher,20\nB,1,ref,30\n", encoding="latin-1"
    )

    def say(before: str, after: str) -> str:
        (tmp_path / "pipeline.yaml").write_text(PIPELINE.replace(before, after), encoding="utf-8")
        assert main(["plan", "--json", str(tmp_path / "pipeline.yaml")]) in (0, 2)
        return "".join(capsys.readouterr())

    return say


def test_every_wrong_rule_and_a_text_without_quotes(said: Said) -> None:
    rules = ["sum(persons.wage) >= 0", "size == sizes", "one(person where relation == ref)", "wage = < 3"]
    found = said("  - count(person) == size\n", "".join(f"  - {each}\n" for each in rules))
    assert "no level called 'persons'; did you mean 'person'?" in found
    assert "no variable called 'sizes'; did you mean 'size'?" in found
    assert "no variable called 'ref'; there are: home, line, relation, size, town, wage\n" in found
    assert "If ref is a text, put it in quotes: relation == 'ref'." in found
    assert "found '<'; expected a number" in found


def test_a_text_without_quotes_on_one_level() -> None:
    with pytest.raises(mw.EditError, match="If M is a text, put it in quotes: sex == 'M'"):
        mw.validate(pd.DataFrame({"sex": ["M", "F"]}), ["sex == M"])


def test_the_place_of_in(said: Said) -> None:
    found = said("in: household", "in: houshold")
    assert "pipeline.yaml:6:44: level person: `in`: no level called 'houshold'; did you mean 'household'?" in found


def test_the_nearest_level_of_an_output(said: Said) -> None:
    assert "output.data: no level called 'persn'; did you mean 'person'?" in said("person: op.csv", "persn: op.csv")
    assert "expected a file of each level: {household: FILE, person: FILE}" in said(", person: op.csv", "")


def test_files_in_another_order(tmp_path: Path, said: Said, capsys: pytest.CaptureFixture[str]) -> None:
    said("", "")
    (tmp_path / "rules.yaml").write_text("- size >= 1\n", encoding="utf-8")
    given = [str(tmp_path / "p.csv"), str(tmp_path / "h.csv")]
    rules = ["--edits", str(tmp_path / "rules.yaml"), "--pipeline", str(tmp_path / "pipeline.yaml")]
    assert main(["validate", *given, *rules]) == 2
    found = capsys.readouterr().err
    assert "h.csv: level person: no variable called 'line'" in found
    assert "h.csv has what household names, and p.csv what person names: give them in this order" in found


def test_a_file_in_another_encoding(tmp_path: Path, said: Said) -> None:
    assert "is read as" not in said("", "")
    text = (tmp_path / "p.csv").read_text(encoding="latin-1")
    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    assert "p.csv is read as iso8859-1, and its letters beyond ASCII are UTF-8" in said("", "")


def test_a_misspelt_key_is_told_once(said: Said) -> None:
    found = said("key: line, in: household}", "key: lines, in: household, pointers: {relation: line}}")
    assert "no variable called 'lines'; did you mean 'line'?" in found
    assert "did you mean 'lines'" not in found
    wrong = said("in: household}", "in: household, pointers: {relation: wage}}")
    assert "pointer relation names 'wage', no key of its level" in wrong


def test_a_code_without_quotes_among_joined_categories_is_told_once(said: Said) -> None:
    step = "{method: recoding, params: {recode: {relation: {AB: ['1', 0891], C: ['2'], D: ['3']}}}}"
    found = said("{method: rounding, variables: [wage], params: {base: 4}}", step)
    assert "If it is text, put it in quotes: '0891'" in found
    assert "Extra inputs" not in found
    assert "is missing" not in found


def test_a_parameter_that_is_left_out_of_the_form_that_was_meant_is_told(said: Said) -> None:
    step = "{method: recoding, params: {recode: {relation: {age_at: 2020-12-31}}}}"
    assert "the parameter 'bands' is missing" in said("{method: rounding, variables: [wage], params: {base: 4}}", step)
