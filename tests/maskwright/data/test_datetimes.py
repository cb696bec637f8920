"""Datetimes: moments that texts and typed formats hold, as seconds; what is none is refused or stays text."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.data.date_texts import iso_day, iso_text, moment_format
from maskwright.data.frame_libraries import dataset_from_table
from maskwright.data.frames import dataset_from_frame
from maskwright.edits.evaluation.reference_values import day_number

EPOCH = datetime(1970, 1, 1)
# From 2**33 seconds on, early in 2242, binary64 does not hold every microsecond.
MOMENTS = st.datetimes(datetime(1700, 1, 1), datetime(2242, 1, 1))
FORMS = ("%Y-%m-%dT%H:%M:%S.%6f", "%d.%m.%Y %H:%M:%S.%3f", "%Y-%m-%d %H:%M:%SZ", "%Y%m%d%H%M%S", "%Y-%m-%dT%H:%M+01:00")


def written(moment: datetime, form: str) -> str:
    parts = moment.strftime("%f")
    text = form.replace("%6f", parts).replace("%3f", parts[:3])
    return moment.strftime(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(MOMENTS, min_size=1), st.sampled_from(FORMS))
def test_texts_are_seconds_and_come_back(moments: list[datetime], form: str) -> None:
    texts = [written(each, form) for each in moments]
    said = mw.read_dates(pa.array(texts), form)
    assert said.is_date.all()
    units = 6 if "%6f" in form else 3 if "%3f" in form else 0
    for value, text in zip(said.values, texts, strict=True):
        # The second evaluation reads by other means.
        again = day_number(text, form)
        assert again is not None
        assert value == float(again)
        assert round(value * 10**units) == again * 10**units
    assert mw.write_dates(said.values, np.zeros(len(texts), dtype=np.bool_), form).to_pylist() == texts


def test_what_the_clock_does_not_have_is_no_datetime() -> None:
    texts = ["2020-01-31 24:00:00", "2020-01-31 10:60:00", "2020-01-31 10:00:60", "2020-02-30 10:00:00", "2020-01-31"]
    assert not mw.read_dates(pa.array(texts), "%Y-%m-%d %H:%M:%S").is_date.any()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2020-01-31T14:05:00Z", "%Y-%m-%dT%H:%M:%SZ"), ("2020-01-31 14:05", "%Y-%m-%d %H:%M"),
        ("2020-01-31T14:05:00.25+01:00", "%Y-%m-%dT%H:%M:%S.%2f+01:00"), ("2020-01-31", None), ("14:05", None),
        ("2020-01-31T14:05.5", None),
    ],
)  # fmt: skip
def test_forms_of_iso_are_known(text: str, form: str | None) -> None:
    assert moment_format(text) == form


@pytest.mark.parametrize(
    ("form", "said"),
    [("%Y-%m-%d %H:%S", "needs"), ("%Y-%H", "needs"), ("%Y-%m-%d %H:%M:%S.%f", "%3f"),
     ("%Y-%m-%d %H:%M.%3f", "after the second")],
)  # fmt: skip
def test_a_format_that_tells_no_moment_is_refused(form: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        mw.VariableDeclaration(type="datetime", format=form)


def test_type_and_format_go_together() -> None:
    with pytest.raises(ValueError, match="add `type: datetime`"):
        mw.VariableDeclaration(type="date", format="%Y-%m-%d %H:%M")
    with pytest.raises(ValueError, match="needs a time of day"):
        mw.VariableDeclaration.model_validate({"type": "datetime", "max": "2020-12-31"})
    stated = mw.VariableDeclaration.model_validate({"min": "2020-12-31T10:00:00"})
    assert stated.is_datetime
    assert stated.lower == (datetime(2020, 12, 31, 10) - EPOCH).total_seconds()


def read(texts: list[str | None], **declared: object) -> mw.Column:
    frame = pd.DataFrame({"x": texts, "n": range(len(texts))})
    stated = {"x": mw.VariableDeclaration.model_validate(declared)} if declared else None
    return dataset_from_frame(frame, stated)["x"]


def test_a_column_of_one_form_is_a_datetime_without_being_declared() -> None:
    column = read(["2020-01-31T14:05:00.5Z", None, "1969-12-31T23:59:59.5Z"])
    assert (column.variable.type, column.variable.decimals) == ("datetime", 1)
    assert column.values[[0, 2]].tolist() == [(datetime(2020, 1, 31, 14, 5) - EPOCH).total_seconds() + 0.5, -0.5]


@pytest.mark.parametrize(
    "texts",
    [["2020-01-31T14:05:00+01:00", "2020-07-31T14:05:00+02:00"], ["2020-01-31T14:05:00", "2020-01-31 14:05:00"],
     ["14:05", "15:05"], ["2020-01-31T14:05:00", "2020-01-31"]],
)  # fmt: skip
def test_several_zones_or_forms_stay_text_and_are_refused_where_declared(texts: list[str | None]) -> None:
    assert read(texts).variable.type == "nominal"
    with pytest.raises(mw.DataError, match="no datetime") as raised:
        read(texts, type="datetime")
    assert not any(text in str(raised.value) for text in texts if text)


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_stored_moments_are_datetimes_and_come_back_in_their_type(unit: str, zone: str | None) -> None:
    stored = pa.timestamp(unit, zone)
    moments = [EPOCH + timedelta(days=(row * 37) % 90, hours=row, seconds=row) for row in range(40)]
    cells = pa.array([*moments, None], pa.timestamp(unit)).cast(stored)
    table = pa.table({"x": cells, "n": ["a", "b"] * 20 + ["a"]})
    frame: Any
    for frame in (table, table.to_pandas(), pl.from_arrow(table)):
        stated = {"x": {"role": "confidential"}, "n": {"role": "other"}}
        masked: Any = mw.protect(
            frame, "additive_noise", variables=["x"], params={"sd": 2}, seed=1, declared=stated,
            edits=["x >= 1960-01-01"],
        )  # fmt: skip
        assert type(masked) is type(frame)
        if isinstance(frame, pd.DataFrame):
            assert masked["x"].dtype == frame["x"].dtype
        else:
            assert pa.table(masked)["x"].type == pa.table(frame)["x"].type
        cells = pa.Table.from_pandas(masked)["x"] if isinstance(frame, pd.DataFrame) else pa.table(masked)["x"]
        found = cells.cast(pa.timestamp("us", zone)).cast(pa.timestamp("us")).to_pylist()
        assert found[-1] is None
        assert found[:-1] != moments
        assert max(abs(one - other) for one, other in zip(found[:-1], moments, strict=True)) < timedelta(days=10)


def test_a_zone_that_changes_its_clock_is_text_and_refused_where_declared() -> None:
    cells = pa.array([EPOCH, EPOCH + timedelta(hours=3)], pa.timestamp("s")).cast(pa.timestamp("s", "Europe/Madrid"))
    table = pa.table({"x": cells, "n": [1, 2]})
    assert dataset_from_table(table)["x"].variable.type == "nominal"
    with pytest.raises(mw.InputError, match="zone is Europe/Madrid"):
        mw.protect(table, "additive_noise", variables=["n"], declared={"x": {"type": "datetime"}})


@settings(max_examples=50, deadline=None)
@example(datetime(2106, 3, 1, 0, 0, 0, 233))
@example(datetime(2247, 9, 10, 21, 58, 31, 999999))
@given(MOMENTS)
def test_literals_of_rules_come_back(moment: datetime) -> None:
    day = iso_day(moment.isoformat())
    assert day is not None
    assert iso_day(iso_text(day)) == day
    assert float(day) == (moment - EPOCH) / timedelta(days=1)
