"""Rules on dates hold after every method that takes dates, in every format; the second evaluation agrees."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import maskwright as mw
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from pathlib import Path

N = 60
RULES = """
  - entry - birth >= 5000
  - leave >= entry
  - age_at(birth, 2040-12-31) >= 18
  - year(leave) <= 2050
  - if entry >= 2000-01-01 then leave >= 2001-06-30
"""
NAMES = ("birth", "entry", "leave")
PARAMS: dict[str, dict[str, Any]] = {
    "rounding": {"base": 7}, "microaggregation": {"k": 3, "k_guarantee": "report"},
    "individual_ranking": {"k": 3, "k_guarantee": "report"}, "rank_swapping": {"p": 20.0},
    "top_and_bottom_coding": {"top_share": 0.2, "bottom_share": 0.2},
    "fuzzy_microaggregation": {"k": 3},
}  # fmt: skip


def _people() -> dict[str, list[date | None]]:
    rng = np.random.default_rng(3)
    birth = [date(1950, 1, 1) + timedelta(int(each)) for each in rng.integers(0, 15_000, N)]
    entry = [day + timedelta(int(each)) for day, each in zip(birth, rng.integers(6_000, 12_000, N), strict=True)]
    leave: list[date | None] = [
        day + timedelta(int(each)) for day, each in zip(entry, rng.integers(600, 3_000, N), strict=True)
    ]
    leave[7] = None
    return {"birth": list(birth), "entry": list(entry), "leave": leave}


def _masking_methods() -> list[str]:
    """Methods that change dates; swapping data or places needs equals to swap with, and these dates have none."""
    return sorted(
        name
        for name, method in plugins().methods.items()
        if name not in ("data_swapping", "targeted_swapping")
        and "date" in method.claims.variable_types
        and not method.claims.removes
        and not method.has_keys
    )


def _pipeline(folder: Path, source: str, output: str, form: str, step: str, more: str = "") -> Path:
    stated = "\n".join(
        f'    {name}: {{type: date, format: "{form}", role: confidential, min: 1900-01-01}}' for name in NAMES
    )
    path = folder / "p.yaml"
    path.write_text(
        f"maskwright: 1\ndata:\n  source: {source}\n{more}  variables:\n{stated}\nedits:{RULES}protect:\n  - {step}\n"
        f"output: {{data: {output}, record: run.json}}\nseed: 5\n",
        encoding="utf-8",
    )
    return path


def _csv(folder: Path, form: str, encoding: str = "latin-1") -> None:
    people = _people()
    with (folder / "people.csv").open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        writer.writerow(NAMES)
        for row in zip(*people.values(), strict=True):
            writer.writerow("" if day is None else day.strftime(form) for day in row)


def _read_csv(path: Path, form: str) -> dict[str, list[date | None]]:
    from datetime import datetime

    with path.open(encoding="latin-1", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    return {
        name: [None if row[name] == "" else datetime.strptime(row[name], form).date() for row in rows] for name in NAMES
    }


def _obeys(found: dict[str, list[date | None]]) -> None:
    """Python's own judgement of the rules."""
    for birth, entry, leave in zip(*found.values(), strict=True):
        assert birth is not None
        assert entry is not None
        assert (entry - birth).days >= 5000
        assert 2040 - birth.year >= 18
        if leave is not None:
            assert leave >= entry
            assert leave.year <= 2050
            assert entry < date(2000, 1, 1) or leave >= date(2001, 6, 30)


@pytest.mark.parametrize("method", _masking_methods())
def test_rules_on_dates_hold_after_every_method(tmp_path: Path, method: str) -> None:
    _csv(tmp_path, "%d.%m.%Y")
    step = f"{{method: {method}, variables: [birth, entry, leave], params: {PARAMS.get(method, {})}}}"
    result = mw.run(
        _pipeline(tmp_path, "people.csv", "masked.csv", "%d.%m.%Y", step, '  delimiter: ";"\n  encoding: latin-1\n')
    )
    assert result.ok
    found = _read_csv(tmp_path / "masked.csv", "%d.%m.%Y")
    _obeys(found)
    # A method that draws records anew draws which cells are missing, too.
    assert found["leave"][7] is None or plugins().methods[method].claims.draws_records
    assert found != _people()


def test_rules_on_dates_hold_where_they_are_exchanged_with_places(tmp_path: Path) -> None:
    """Who was born on the same day exchanges the day of entry, and with it the day of leaving, missing or not."""
    rows = [
        (f"town {number % 4}", birth, birth + timedelta(6_000 + 100 * number), birth + timedelta(8_000 + 100 * number))
        for number in range(N) for birth in [date(1960 + number // 4 % 3, 5, 1)]
    ]  # fmt: skip
    texts = [[town, *(day.isoformat() for day in days)] for town, *days in rows]
    texts[7][3] = ""
    (tmp_path / "people.csv").write_text(
        "\n".join(["town,birth,entry,leave", *(",".join(row) for row in texts)]) + "\n", encoding="utf-8"
    )
    step = (
        "{method: targeted_swapping, params: {geography: [town], risk_variables: [birth], carry_along: [entry, leave], "
    )
    path = _pipeline(tmp_path, "people.csv", "masked.csv", "%Y-%m-%d", step + "k: 0, swap_rate: 0.4}}")
    text = path.read_text().replace(
        "birth: {type: date", "town: {role: quasi_identifier}\n    birth: {release: as is, type: date"
    )
    path.write_text(text)
    assert mw.run(path).ok
    with (tmp_path / "masked.csv").open(encoding="utf-8", newline="") as file:
        written = [list(row.values()) for row in csv.DictReader(file)]
    _obeys(
        {
            name: [date.fromisoformat(row[at]) if row[at] else None for row in written]
            for at, name in enumerate(NAMES, 1)
        }
    )
    assert [row[1] for row in written] == [row[1] for row in texts]
    assert sorted(written) == sorted(texts)
    assert written != texts


@pytest.mark.parametrize("stored", [pa.date32(), pa.timestamp("us"), pa.string()])
def test_parquet_keeps_its_types_of_dates(tmp_path: Path, stored: pa.DataType) -> None:
    dates = pa.table({name: pa.array(days, pa.date32()) for name, days in _people().items()})
    table = pa.table({name: dates[name].cast(stored) for name in NAMES})
    pq.write_table(table, tmp_path / "people.parquet")
    step = "{method: rank_swapping, variables: [birth, entry], params: {p: 20}}"
    path = _pipeline(tmp_path, "people.parquet", "masked.parquet", "%Y-%m-%d", step)
    path.write_text(path.read_text().replace("leave: {type: date", "leave: {release: as is, type: date"))
    assert mw.run(path).ok
    masked = pq.read_table(tmp_path / "masked.parquet")
    assert masked.schema.types == table.schema.types
    assert masked["leave"].equals(table["leave"])
    _obeys({name: masked[name].cast(pa.date32()).to_pylist() for name in NAMES})


@pytest.mark.parametrize(("ending", "form"), [("xml", "%Y-%m-%d"), ("csv", "%Y%m%d"), ("parquet", "%d.%m.%Y")])
def test_dates_go_from_one_format_to_another(tmp_path: Path, ending: str, form: str) -> None:
    _csv(tmp_path, form)
    step = "{method: rank_swapping, variables: [birth, entry, leave], params: {p: 20}}"
    more = '  delimiter: ";"\n  encoding: latin-1\n'
    assert mw.run(_pipeline(tmp_path, "people.csv", f"masked.{ending}", form, step, more)).ok
    stated = {name: {"type": "date", "format": form} for name in NAMES} if ending != "xml" else None
    options = {"delimiter": ";", "encoding": "latin-1"} if ending == "csv" else {}
    masked = mw.read(tmp_path / f"masked.{ending}", variables=stated, **options)
    assert [variable.type for variable in masked.variables] == ["date"] * 3
    days = {name: masked[name].values for name in NAMES}
    found = {
        name: [None if np.isnan(day) else date(1970, 1, 1) + timedelta(day) for day in days[name]] for name in NAMES
    }
    _obeys(found)
    if ending == "parquet":
        assert set(pq.read_schema(tmp_path / "masked.parquet").types) == {pa.date32()}


@pytest.mark.parametrize(
    ("how", "texts"),
    [
        ("year", {"1999", "2000"}), ("quarter", {"1999-Q4", "2000-Q1"}), ("month", {"1999-12", "2000-02"}),
        ("[2000-01-01]", {"below 2000-01-01", "2000-01-01 and above"}),
        ("{age_at: 2018-02-28, bands: [18]}", {"below 18", "18 and above"}),
    ],
)  # fmt: skip
def test_dates_are_recoded_to_periods_and_bands_of_age(tmp_path: Path, how: str, texts: set[str]) -> None:
    # The number says nothing of the day: what can be inferred from a published variable is a doubt.
    rows = ["1999-12-31,1", "2000-02-29,1", "1999-12-31,2", "2000-02-29,2"] * 5
    (tmp_path / "d.csv").write_text("birth,n\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv, variables: {birth: {role: quasi_identifier}, n: {role: other}}}\n"
        f"protect: [{{method: recoding, params: {{recode: {{birth: {how}}}}}}}]\n"
        "output: {data: masked.csv, record: run.json}\n",
        encoding="utf-8",
    )
    assert mw.run(tmp_path / "p.yaml").ok
    written = [line.split(",")[0] for line in (tmp_path / "masked.csv").read_text(encoding="utf-8").splitlines()[1:]]
    assert set(written) == texts
    assert len(set(written[::2])) == 1


def test_points_of_dates_stay_points_where_decimals_have_commas(tmp_path: Path) -> None:
    rows = [
        f"{day:02}.0{1 + day % 9}.20{10 + day};{day},5;{day * day % 29},25"
        for day in (5 * row % 29 for row in range(1, 29))
    ]
    (tmp_path / "d.csv").write_text("born;wage;rent\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        'maskwright: 1\ndata: {source: d.csv, delimiter: ";", decimal: ",", variables: {rent: {role: other}, born: '
        '{type: date, format: "%d.%m.%Y", role: quasi_identifier}}}\nedits: [born >= 2010-01-01]\n'
        "protect: [{method: rank_swapping, params: {p: 50}}]\noutput: {data: masked.csv, record: run.json}\nseed: 1\n",
        encoding="utf-8",
    )
    assert mw.run(tmp_path / "p.yaml").ok
    written = [line.split(";") for line in (tmp_path / "masked.csv").read_text(encoding="utf-8").splitlines()[1:]]
    before = [row.split(";") for row in rows]
    assert sorted(cells[0] for cells in written) == sorted(cells[0] for cells in before)
    assert [cells[0] for cells in written] != [cells[0] for cells in before]
    assert [cells[2] for cells in written] == [cells[2] for cells in before]


def test_dates_of_an_arrow_table_keep_their_types(tmp_path: Path) -> None:
    days = pa.array(_people()["birth"], pa.date32())
    table = pa.table(
        {
            "day": days, "moment": days.cast(pa.timestamp("ns")), "iso": days.cast(pa.string()),
            "german": mw.write_dates(np.array(days.cast(pa.int32()), dtype=float), np.zeros(N, dtype=bool), "%d.%m.%Y"),
        }
    )  # fmt: skip
    declared = {name: {"role": "quasi_identifier"} for name in table.column_names}
    declared["german"] = {"type": "date", "format": "%d.%m.%Y", "role": "quasi_identifier"}
    masked = mw.protect(table, "rank_swapping", params={"p": 50.0}, declared=declared, seed=1)
    assert masked.schema.types == table.schema.types
    for name in table.column_names:
        assert sorted(masked[name].to_pylist()) != masked[name].to_pylist()
        assert set(masked[name].to_pylist()) <= set(table[name].to_pylist())
        assert masked[name] != table[name]
