"""Dates as texts and as days, against Python's own calendar; and what is read as a date."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

EPOCH = date(1970, 1, 1)
FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%Y%m%d", "%m/%d/%Y")


def _days(*dates: date) -> np.ndarray:
    return np.array([float((each - EPOCH).days) for each in dates])


@given(st.lists(st.dates(), min_size=1, max_size=30), st.sampled_from(FORMATS))
def test_dates_are_written_and_read_as_python_does(dates: list[date], form: str) -> None:
    texts = [
        form.replace("%Y", f"{d.year:04}").replace("%m", f"{d.month:02}").replace("%d", f"{d.day:02}") for d in dates
    ]
    days = _days(*dates)
    assert mw.write_dates(days, np.zeros(len(dates), dtype=bool), form).to_pylist() == texts
    assert mw.read_dates(pa.array(texts), form).values.tolist() == days.tolist()
    split = mw.year_month_day(days.astype(np.int64))
    assert list(zip(*(part.tolist() for part in split), strict=True)) == [(d.year, d.month, d.day) for d in dates]


def test_every_day_of_the_calendar_comes_back() -> None:
    days = np.arange(date.min.toordinal(), date.max.toordinal() + 1, dtype=np.float64) - EPOCH.toordinal()
    texts = mw.write_dates(days, np.zeros(len(days), dtype=bool))
    assert np.array_equal(mw.read_dates(texts).values, days)
    assert (texts[0].as_py(), texts[-1].as_py()) == ("0001-01-01", "9999-12-31")


@given(st.dates(), st.dates())
def test_completed_years_are_counted_on_birthdays(born: date, then: date) -> None:
    expected = then.year - born.year - ((then.month, then.day) < (born.month, born.day))
    assert mw.completed_years(_days(born).astype(np.int64), _days(then).astype(np.int64)).tolist() == [expected]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("31.02.2020", "%d.%m.%Y"), ("29.02.1900", "%d.%m.%Y"), ("1.3.1970", "%d.%m.%Y"), ("01-03-1970", "%d.%m.%Y"),
        ("2020-13-01", "%Y-%m-%d"), ("0000-01-01", "%Y-%m-%d"), ("2020-1-1", "%Y-%m-%d"), ("2020-Q5", "%Y-Q%q"),
        ("2020-01-01T00:00", "%Y-%m-%d"), ("２０２０-01-01", "%Y-%m-%d"),
    ],
)  # fmt: skip
def test_what_the_calendar_has_not_is_no_date(text: str, form: str) -> None:
    said = mw.read_dates(pa.array([text]), form)
    assert not said.is_date[0]
    assert not said.is_blank[0]


def test_a_day_after_the_last_year_is_not_written() -> None:
    with pytest.raises(mw.DataError, match="outside the years 1 to 9999"):
        mw.write_dates(_days(date.max) + 1, np.zeros(1, dtype=bool))


def test_periods_are_their_first_day() -> None:
    for text, form in (("2020-Q3", "%Y-Q%q"), ("07/2020", "%m/%Y")):
        assert mw.read_dates(pa.array([text]), form).values.tolist() == _days(date(2020, 7, 1)).tolist()


@pytest.mark.parametrize(
    ("form", "said"),
    [("%d.%m.%y", "century"), ("%d.%Y", "needs its month"), ("%m.%d", "year"), ("%I %Y", "%I is unknown"),
     ("%Y%Y", "twice"), ("%Y-%m-%q", "no month beside it")],
)  # fmt: skip
def test_a_format_that_tells_no_date_is_refused(form: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        mw.VariableDeclaration(type="date", format=form)


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m"])
def test_numbers_that_are_all_dates_are_asked_about(form: str, tmp_path: Path) -> None:
    days = [date(1995, 1, 15) + timedelta(37 * row % 4000) for row in range(60)]
    lines = [f"{day.strftime(form)},{1000 + 7 * row}" for row, day in enumerate(days)]
    (tmp_path / "in.csv").write_text("\n".join(["hired,pay", *lines, ",5"]) + "\n", encoding="utf-8")
    found = mw.read(tmp_path / "in.csv").doubts
    assert [(each.kind, each.subject, each.count) for each in found] == [("may-be-dates", "hired", 60)]
    assert f'format: "{form}"' in found[0].remedy
    for stated in ({"type": "integer"}, {"type": "date", "format": form}, {"role": "other"}):
        assert not mw.read(tmp_path / "in.csv", variables={"hired": stated}).doubts


def test_numbers_among_which_one_is_no_date_are_numbers(tmp_path: Path) -> None:
    for odd in (20200230, 20201301, 18991231, 2020):
        numbers = [20200101 + row for row in range(28)] + [odd]
        text = "\n".join(["hired,n", *(f"{each},a" for each in numbers)]) + "\n"
        (tmp_path / "in.csv").write_text(text, encoding="utf-8")
        assert "may-be-dates" not in {each.kind for each in mw.read(tmp_path / "in.csv").doubts}


def test_bounds_of_a_date_are_dates() -> None:
    stated = mw.VariableDeclaration.model_validate({"type": "date", "min": "1900-01-01"})
    assert stated.lower == _days(date(1900, 1, 1))[0]
    with pytest.raises(ValueError, match="are dates"):
        mw.VariableDeclaration(type="date", min=1900)
    with pytest.raises(ValueError, match="no dates"):
        mw.VariableDeclaration.model_validate({"type": "integer", "max": "1900-01-01"})


def _written(folder: Path, cells: list[str], name: str = "d.csv") -> Path:
    path = folder / name
    path.write_text("d,n\n" + "".join(f"{cell},{number}\n" for number, cell in enumerate(cells)), encoding="utf-8")
    return path


def test_a_column_of_iso_dates_is_a_date_and_not_confidential(tmp_path: Path) -> None:
    data = mw.read(_written(tmp_path, ["2020-02-29", "", "1999-12-31"]))
    variable = data["d"].variable
    assert (variable.type, variable.role, variable.inferred_role) == ("date", "other", True)
    assert data["d"].values[[0, 2]].tolist() == _days(date(2020, 2, 29), date(1999, 12, 31)).tolist()
    assert data["d"].missing.tolist() == [False, True, False]


def test_cells_that_are_no_dates_are_refused_with_their_records(tmp_path: Path) -> None:
    path = _written(tmp_path, ["29.02.2020", "31.02.2020", "k. A."])
    with pytest.raises(mw.DataError, match=r"2 of 3 cells are no dates of the form %d.%m.%Y \(records 2, 3\)"):
        mw.read(path, variables={"d": {"type": "date", "format": "%d.%m.%Y"}})
    with pytest.raises(mw.DataError, match="1 of 3 cells is no date") as caught:
        mw.read(path, variables={"d": {"type": "date", "format": "%d.%m.%Y", "missing": ["k. A."]}})
    assert "31.02" not in str(caught.value)


def test_another_form_than_iso_is_asked_for_and_never_guessed(tmp_path: Path) -> None:
    data = mw.read(_written(tmp_path, ["01/02/2020", "02/01/2020"]))
    assert data["d"].variable.type == "nominal"
    assert any("%d/%m/%Y or %m/%d/%Y" in note for note in data.notes)


def test_iso_dates_but_for_a_few_cells_are_a_doubt(tmp_path: Path) -> None:
    data = mw.read(_written(tmp_path, ["2020-02-01"] * 19 + ["2020-02-30"]))
    assert data["d"].variable.type == "nominal"
    assert [(doubt.kind, doubt.count, doubt.total) for doubt in data.doubts] == [("column-not-understood", 19, 20)]


def test_times_of_day_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(mw.DataError, match="time of day"):
        mw.read(_written(tmp_path, ["2020-02-01 12:30:00"]), variables={"d": {"type": "date"}})
    frame = pd.DataFrame({"d": pd.to_datetime(["2020-02-01 12:30:00"])})
    with pytest.raises(mw.DataError, match="time of day"):
        mw.validate(frame, ["d >= 2020-01-01"], declared={"d": {"type": "date"}})


def test_dates_of_frames_come_back_in_their_own_types() -> None:
    days = ["2020-02-29", None, "1960-01-01"]
    frame = pd.DataFrame(
        {
            "times": pd.to_datetime(days),
            "objects": [None if day is None else date.fromisoformat(day) for day in days],
            "texts": pd.Series(days, dtype="str"),
            "n": [1, 2, 3],
        }
    )
    masked = mw.protect(
        frame, "rank_swapping", variables=["times", "objects", "texts"], params={"p": 100.0}, seed=1,
        declared={name: {"role": "other"} for name in frame.columns},
    )  # fmt: skip
    assert masked["times"].dtype == frame["times"].dtype
    assert {type(each) for each in masked["objects"]} == {date, type(None)}
    assert masked["texts"].dtype == frame["texts"].dtype
    assert masked["texts"].isna().tolist() == [False, True, False]
    data = mw.validate(frame, ["times == objects", "texts == times", "year(texts) in {1960, 2020}"])
    assert data.counts == {"edit-1": 0, "edit-2": 0, "edit-3": 0}


def test_missing_codes_of_dates_in_frames_are_kept() -> None:
    frame = pd.DataFrame({"d": ["01.02.2003", "NA", None, "05.06.2007"] * 5})
    declared = {"d": {"type": "date", "format": "%d.%m.%Y", "missing": ["NA"], "role": "other"}}
    masked = mw.protect(frame, "rank_swapping", variables=["d"], params={"p": 100.0}, declared=declared, seed=1)
    assert masked["d"].isin(["01.02.2003", "05.06.2007"]).tolist() == [True, False, False, True] * 5
    assert masked["d"][[1, 5]].tolist() == ["NA", "NA"]
    assert masked["d"][[2, 6]].isna().all()


@given(st.lists(st.dates(date(1, 1, 2), date(9999, 12, 30)), min_size=2, max_size=8, unique=True))
def test_rules_order_dates_as_python_does(dates: list[date]) -> None:
    frame = pd.DataFrame({"a": [d.isoformat() for d in dates], "b": [(d + timedelta(1)).isoformat() for d in dates]})
    rules = [f"a < {dates[0].isoformat()}", "b - a == 1", "a < b", f"year(a) <= {dates[0].year}", "b <= a"]
    found = mw.validate(frame, rules).counts
    assert found == {
        "edit-1": sum(d >= dates[0] for d in dates), "edit-2": 0, "edit-3": 0,
        "edit-4": sum(d.year > dates[0].year for d in dates), "edit-5": len(dates),
    }  # fmt: skip


def test_many_texts_say_the_same_dates_as_few() -> None:
    texts = [
        *(str(date(1, 1, 1) + timedelta(days=97 * step)) for step in range(30_000)),
        "2000-02-29", "1900-02-29", "2023-02-29", "2024-02-30", "0000-01-01", "2020-13-01", "2020-00-10", "2020-04-31",
        " 2020-01-01\t", "2020-1-01", "2020/01/01", "2020-01-01x", "", "  ", None, "２０２０-01-01", "-020-01-01",
    ]  # fmt: skip
    whole = mw.read_dates(pa.array(texts, pa.string()).slice(3))
    parts = [mw.read_dates(pa.array(texts[start : start + 1000], pa.string())) for start in range(0, len(texts), 1000)]
    for name in ("values", "is_date", "is_blank"):
        few = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(getattr(whole, name), few[3:])
