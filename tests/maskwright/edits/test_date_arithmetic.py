"""Rules on dates: what they mean, what algebra makes of them, what is refused."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.record_chunk import RecordChunk

EPOCH = date(1970, 1, 1)
DATA = pd.DataFrame({"birth": ["1980-02-29", "1990-07-01"], "leave": ["2020-01-01", "2020-02-28"], "n": [1, 2]})


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("birth <= 2005", "compares birth with a number"),
        ("n <= 2005-12-31", "compares n, which is no date"),
        ("birth + leave >= 2005-12-31", "adds dates"),
        ("birth * 2 >= leave", "calculates with a date"),
        ("leave - birth <= 2005-12-31", "compares a date with a number"),
        ("year(n) >= 2000", "asks for year"),
        ('birth == "1980-02-29"', "compares birth with a text"),
        ("year(leave - birth) > 3", "asks for year"),
    ],
)
def test_dates_and_numbers_are_not_mixed(rule: str, said: str) -> None:
    with pytest.raises(mw.EditError, match=said):
        mw.validate(DATA, [rule])


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("1980-02-29 <= birth <= 1985-01-01", [True, False]),
        ("birth + 365 <= 1981-03-01", [True, False]),
        ("max(birth, leave) == leave", [True, True]),
        ("birth in {1980-02-29}", [True, False]),
        ("birth in (1980-02-29, inf)", [False, True]),
        ("month(birth) == 2 and day(birth) == 29 and quarter(birth) == 1", [True, False]),
        ("age_at(birth, leave) == 39", [True, False]),
        ("age_at(birth, 1998-02-28) >= 18", [False, False]),
        ("age_at(birth, 1998-03-01) >= 18", [True, False]),
        ("if year(birth) == 1990 then n == 2", [True, True]),
    ],
)
def test_rules_on_dates(rule: str, holds: list[bool]) -> None:
    found = mw.validate(DATA, [rule]).violations
    assert [record + 1 not in set(found["record"]) for record in range(2)] == holds


@pytest.mark.parametrize("operator", ["==", "<", "<=", ">", ">="])
@pytest.mark.parametrize("function", ["year(x)", "age_at(x, 2020-02-29)", "age_at(x, 2021-02-28)"])
@pytest.mark.parametrize("value", ["17", "18.5", "2002"])
def test_years_and_ages_are_bounds_on_dates(operator: str, function: str, value: str) -> None:
    """The range that algebra finds holds on the same days as the rule."""
    days = np.arange(10_000, 14_000, dtype=np.float64)
    if operator == "==" and value == "18.5":
        with pytest.raises(mw.EditError, match="can never hold"):
            mw.EditSet.parse([f"{function} {operator} {value}"])
        return
    edits = mw.EditSet.parse([f"{function} {operator} {value}"])
    (part,) = edits["edit-1"].parts or (mw.RangePart("x"),)
    assert isinstance(part, mw.RangePart)
    inside = np.ones(len(days), dtype=bool)
    inside &= days >= (-np.inf if part.low is None else float(part.low))
    inside &= days <= (np.inf if part.high is None else float(part.high))
    chunk = RecordChunk.from_arrays({"x": days}, {"x": 0})
    assert np.array_equal(mw.evaluate(edits["edit-1"], chunk).holds, inside)
    first = EPOCH + timedelta(int(days[0]))
    assert first.year == 1997


def test_a_date_that_the_calendar_has_not_is_a_mistake_in_the_rule() -> None:
    with pytest.raises(mw.EditError, match="no such date"):
        mw.EditSet.parse(["birth <= 2005-02-30"])
    with pytest.raises(mw.EditError, match="without quotes"):
        mw.EditSet.parse(['birth <= "2005-02-28"'])


def test_variables_may_be_called_year_and_day() -> None:
    frame = pd.DataFrame({"year": [2020], "day": [3]})
    assert mw.validate(frame, ["year >= 2000", "day in [1, 31]"]).ok


def test_rules_on_dates_are_written_in_yaml_and_in_xpath_only_where_they_are_known() -> None:
    edits = mw.EditSet.parse(["birth in {1980-02-29, 2000-01-01}", "age_at(birth, 2020-12-31) >= 18"])
    text = mw.convert_edits(edits, "yaml").text
    assert "birth in {1980-02-29, 2000-01-01}" in text
    assert "age_at(birth, 2020-12-31) >= 18" in text
    with pytest.raises(mw.EditError, match="not known to be a date"):
        mw.convert_edits(edits, "schematron")
    with pytest.raises(mw.EditError, match="leave is not known to be a date"):
        mw.convert_edits(mw.EditSet.parse(["birth <= leave"]), "schematron", dates={"birth": "%Y-%m-%d"})
