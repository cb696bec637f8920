"""Methods act on datetimes: units are days, periods are as coarse as asked for, and rules hold on the written file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

SIX_HOURS = 6 * 3600


def people(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    birth = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 15_000, n), unit="D")
    seen = pd.Timestamp("2001-03-04") + pd.to_timedelta(rng.integers(0, 10**8, n), unit="s")
    return pd.DataFrame({"birth": birth.strftime("%Y-%m-%d"), "seen": seen.strftime("%Y-%m-%d %H:%M:%S")})


def released(folder: Path, step: str, rules: str = "", more: str = "") -> pd.DataFrame:
    people().to_csv(folder / "in.csv", index=False)
    (folder / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv, variables: {birth: {role: confidential}, seen: {role: confidential"
        f"{more}}}}}}}\nedits: [{rules}]\nprotect: [{step}]\noutput: {{data: out.csv}}\nseed: 1\n",
        encoding="utf-8",
    )
    assert mw.run(folder / "p.yaml").ok
    return pd.read_csv(folder / "out.csv", dtype=str)


def test_bases_and_limits_are_days(tmp_path: Path) -> None:
    steps = "{method: rounding, params: {base: {seen: 0.25, birth: 7}}}"
    found = pd.to_datetime(released(tmp_path, steps)["seen"])
    assert (found.astype("datetime64[s]").astype("int64") % SIX_HOURS == 0).all()
    steps = "{method: top_and_bottom_coding, params: {top: {seen: 2003-01-01T12:00:00, birth: 1970-01-01}}}"
    found = released(tmp_path, steps)
    assert found["seen"].max() == "2003-01-01 12:00:00"
    assert found["birth"].max() == "1970-01-01"


@pytest.mark.parametrize(
    ("how", "seen"),
    [("hour", "%Y-%m-%dT%H"), ("day", "%Y-%m-%d"), ("month", "%Y-%m"),
     ("{grain: month, as: date}", "%Y-%m-01 00:00:00"), ("{grain: hour, as: date}", "%Y-%m-%d %H:00:00")],
)  # fmt: skip
def test_periods_of_datetimes(tmp_path: Path, how: str, seen: str) -> None:
    step = f"{{method: recoding, variables: [birth, seen], params: {{recode: {{birth: year, seen: {how}}}}}}}"
    found = released(tmp_path, step)
    assert found["seen"].tolist() == pd.to_datetime(people()["seen"]).dt.strftime(seen).tolist()


def test_the_first_day_of_a_period_is_a_date(tmp_path: Path) -> None:
    how = "{birth: {grain: quarter, as: date}, seen: {grain: year, as: date}}"
    step = f"{{method: recoding, variables: [birth, seen], params: {{recode: {how}}}}}"
    found = released(tmp_path, step)
    births = pd.to_datetime(people()["birth"])
    assert found["birth"].tolist() == births.dt.to_period("Q").dt.start_time.dt.strftime("%Y-%m-%d").tolist()
    how = "{birth: {grain: hour, as: date}, seen: year}"
    with pytest.raises(mw.InputError, match="has no hour"):
        released(tmp_path, f"{{method: recoding, variables: [birth, seen], params: {{recode: {how}}}}}")


def test_dates_and_datetimes_are_compared_and_hours_need_a_time_of_day(tmp_path: Path) -> None:
    rules = (
        "birth <= seen, 'seen <= 2010-12-31T23:59', year(seen) >= 2001, seen - birth >= 0.5, 'hour(seen) in [0, 23]'"
    )
    step = "{method: additive_noise, variables: [birth, seen], params: {sd: 2}}"
    found = released(tmp_path, step, rules, ", max: 2010-12-31T23:59:59")
    assert (found["birth"] <= found["seen"].str[:10]).all()
    data = people()
    with pytest.raises(mw.EditError, match="no time of day"):
        mw.validate(data, ["hour(birth) < 12"])
    outcome = mw.validate(data, ["hour(seen) < 12", "seen < 2002-06-01T12:00:00", "month(seen) >= 6"])
    seen = pd.to_datetime(data["seen"])
    assert outcome.counts == {
        "edit-1": int((seen.dt.hour >= 12).sum()),
        "edit-2": int((seen >= "2002-06-01T12:00:00").sum()),
        "edit-3": int((seen.dt.month < 6).sum()),
    }
