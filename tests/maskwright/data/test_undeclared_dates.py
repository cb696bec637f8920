"""Columns of dates that were read as text: every message names the format that fits, or what is to be mended."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.notations import date_remedy

if TYPE_CHECKING:
    from pathlib import Path

DAYS = [date(1990, 1, 1) + timedelta(97 * number) for number in range(60)]
FORMATS = ["%d.%m.%Y", "%d/%m/%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%m/%Y"]


def written(folder: Path, form: str) -> Path:
    """A file of persons with two columns of dates."""
    rows = [
        f"{day.strftime(form)},{(day + timedelta(40)).strftime(form)},{1000 + 37 * n % 101}"
        for n, day in enumerate(DAYS)
    ]
    (folder / "d.csv").write_text("\n".join(["entry,leave,wage", *rows, ""]), encoding="utf-8")
    return folder / "d.csv"


def run(folder: Path, declared: str, edits: str) -> mw.RunResult:
    (folder / "p.yaml").write_text(
        f"maskwright: 1\ndata: {{source: d.csv, variables: {{{declared}}}}}\nedits: {edits}\n"
        "protect: [{method: additive_noise, variables: [wage]}]\noutput: {data: out.csv}\nseed: 1\n",
        encoding="utf-8",
    )
    return mw.run(folder / "p.yaml")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("edit", ["entry <= leave", "leave - entry >= 30", "entry >= 1990-01-01", "year(entry) > 1900"])
def test_a_rule_about_dates_read_as_text_names_their_format(form: str, edit: str, tmp_path: Path) -> None:
    """What the message says to declare is accepted, and the release goes through."""
    written(tmp_path, form)
    roles = "entry: {role: other}, leave: {role: other}"
    with pytest.raises(mw.InputError) as caught:
        run(tmp_path, roles, f"['{edit}']")
    assert f'`entry: {{type: date, format: "{form}"}}`' in str(caught.value)
    assert "thousands" not in str(caught.value)
    stated = f'type: date, format: "{form}", role: other'
    later = edit if "%d" in form or "30" not in edit else "leave >= entry"
    assert run(tmp_path, f"entry: {{{stated}}}, leave: {{{stated}}}", f"['{later}']").ok


def test_undeclared_dates_that_stop_a_release_are_named_as_such(tmp_path: Path) -> None:
    written(tmp_path, "%d.%m.%Y")
    with pytest.raises(mw.OpenDoubts) as caught:
        run(tmp_path, "", "[wage > 0]")
    said = str(caught.value)
    assert "W202 published-undeclared: entry" in said
    assert '`leave: {type: date, format: "%d.%m.%Y"}`' in said


def test_what_only_a_person_can_tell_is_asked() -> None:
    assert date_remedy("d", ["01/02/2020", "03/04/2020"]) == (
        'Declare how its dates are written: `d: {type: date, format: "%d/%m/%Y"}` (you know whether they are %d/%m/%Y '
        "or %m/%d/%Y)."
    )


@pytest.mark.parametrize("texts", [["1.3.1970", "24.12.1999"], ["01.03.70", "24.12.99"], ["3/24/1970", "12/1/1999"]])
def test_dates_that_no_format_reads_are_to_be_written_in_full(texts: list[str]) -> None:
    assert "with two digits for day and month and four for the year" in str(date_remedy("d", texts))


@pytest.mark.parametrize("texts", [["north", "south"], ["01.11", "04.20"], ["45.99.12", "77.31.88"], []])
def test_other_texts_are_no_dates(texts: list[str]) -> None:
    assert date_remedy("d", texts) is None


def test_moments_of_a_zone_are_told_from_dates(tmp_path: Path) -> None:
    """In Parquet, whether they are declared dates, read by a rule, or neither."""
    moments = pd.date_range("2020-01-01 05:30", periods=40, freq="7h", tz="Europe/Berlin")
    pd.DataFrame({"wage": range(40), "at": moments}).to_parquet(tmp_path / "t.parquet")
    data = mw.read(tmp_path / "t.parquet")
    said = "several time zones"
    assert any(note.startswith("at: read as text") and said in note for note in data.notes)
    with pytest.raises(mw.EditError, match=said):
        mw.validate(data, ["at >= 2020-01-01"])
    with pytest.raises(mw.DataError, match="time of day"):
        mw.read(tmp_path / "t.parquet", variables={"at": {"type": "date"}})
