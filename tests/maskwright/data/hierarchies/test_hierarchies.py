"""Hierarchies of variables: what is declared becomes levels, and what is no hierarchy is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

ROWS = "A;north;*\nB;north;*\nC;south;*\n"


def read(tmp_path: Path, cells: list[object], hierarchy: object, **declared: object) -> mw.Column:
    """Column of a CSV file whose variable has this hierarchy."""
    path = tmp_path / "data.csv"
    path.write_text("x,other\n" + "".join(f"{'' if cell is None else cell},1\n" for cell in cells), encoding="utf-8")
    return mw.read(path, variables={"x": {"hierarchy": hierarchy, **declared}})["x"]


def codes(column: mw.Column, level: int) -> list[int]:
    hierarchy = column.variable.hierarchy
    assert hierarchy is not None
    return hierarchy.codes(column.variable, column.values[~column.missing], level).tolist()


def labels(column: mw.Column, level: int) -> list[str]:
    hierarchy = column.variable.hierarchy
    assert hierarchy is not None
    return [hierarchy.labels(level)[code] for code in codes(column, level)]


def test_a_file_as_arx_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "towns.csv").write_text(ROWS, encoding="utf-8-sig")
    column = read(tmp_path, ["C", "A", None, "B"], "towns.csv")
    hierarchy = column.variable.hierarchy
    assert hierarchy is not None
    assert hierarchy.height == 2
    assert labels(column, 1) == ["south", "north", "north"]
    assert hierarchy.leaves(1).tolist() == [2, 1]
    assert hierarchy.spans(1).tolist() == [0.5, 0.0]
    assert hierarchy.spans(2).tolist() == [1.0]
    assert hierarchy.bands(1)[0].members == ("A", "B")


def test_a_file_of_a_number_lists_numbers(tmp_path: Path) -> None:
    table = [["10", "teens", "*"], ["2", "child", "*"], ["3", "child", "*"]]
    column = read(tmp_path, [3, 10, 2], {"table": table}, type="integer")
    assert labels(column, 1) == ["child", "teens", "child"]
    assert column.variable.hierarchy is not None
    assert column.variable.hierarchy.bands(1)[0].members == (2.0, 3.0)


def test_widths_begin_at_multiples_and_end_in_any(tmp_path: Path) -> None:
    column = read(tmp_path, [0, 94, 23], {"widths": [5, 10, 20]}, type="integer")
    hierarchy = column.variable.hierarchy
    assert hierarchy is not None
    assert hierarchy.height == 4
    assert labels(column, 1) == ["0 to below 5", "90 to below 95", "20 to below 25"]
    assert labels(column, 4) == ["*", "*", "*"]
    assert hierarchy.leaves(4).tolist() == [95]
    # 80 to below 100 has fifteen values up to 94.
    assert hierarchy.spans(3)[-1] == pytest.approx(14 / 94)


def test_bands_close_at_their_last_border(tmp_path: Path) -> None:
    bands = [[0, 15, 25, 65, 120], [0, 25, 120]]
    column = read(tmp_path, [0, 15, 120, 24], {"bands": bands}, type="integer")
    assert codes(column, 1) == [0, 1, 3, 1]
    assert codes(column, 2) == [0, 0, 1, 0]
    assert labels(column, 1)[2] == "65 to 120"
    assert column.variable.hierarchy is not None
    assert column.variable.hierarchy.leaves(1).tolist() == [15, 10, 40, 56]
    assert column.variable.hierarchy.spans(3).tolist() == [1.0]
    assert column.variable.hierarchy.bands(1)[3].upper_inclusive


def test_continuous_numbers_are_measured_by_width(tmp_path: Path) -> None:
    column = read(tmp_path, [0.5, 7.25, 10], {"bands": [[0, 2.5, 10]]})
    assert column.variable.hierarchy is not None
    assert column.variable.hierarchy.spans(1).tolist() == [0.25, 0.75]


def test_dates_by_period(tmp_path: Path) -> None:
    days = ["2020-12-31", "1999-05-05", "2020-01-01"]
    column = read(tmp_path, list(days), {"dates": ["month", "quarter", "year", "decade"]})
    assert labels(column, 1) == ["2020-12", "1999-05", "2020-01"]
    assert labels(column, 2) == ["2020-Q4", "1999-Q2", "2020-Q1"]
    assert labels(column, 3) == ["2020", "1999", "2020"]
    assert labels(column, 4) == ["2020s", "1990s", "2020s"]
    weekly = read(tmp_path, list(days), {"dates": ["week"]})
    assert labels(weekly, 1) == ["2020-W53", "1999-W18", "2020-W01"]


def test_every_day_lies_in_the_band_of_its_period(tmp_path: Path) -> None:
    days = [str(day.date()) for day in pd.date_range("1999-11-28", "2004-03-03")]
    for form in (["month", "quarter", "year", "decade"], ["week"]):
        column = read(tmp_path, list(days), {"dates": form})
        hierarchy = column.variable.hierarchy
        assert hierarchy is not None
        for level in range(1, hierarchy.height + 1):
            bands = hierarchy.bands(level)
            for code, day in zip(codes(column, level), column.values.tolist(), strict=True):
                assert bands[code].holds(day)
            assert hierarchy.leaves(level).sum() == len(days)


def test_prefixes_of_codes(tmp_path: Path) -> None:
    column = read(tmp_path, ["2411", "2412", "3111", "24", "6"], {"prefix": [3, 2, 1]}, type="nominal")
    assert labels(column, 1) == ["241", "241", "311", "24", "6"]
    assert labels(column, 3) == ["2", "2", "3", "2", "6"]
    assert labels(column, 4) == ["*"] * 5


def test_nested_groups_and_what_they_leave(tmp_path: Path) -> None:
    groups = [{"north": ["A", "B"]}, {"coast": ["north", "C"]}]
    column = read(tmp_path, ["A", "C", "D", "B"], {"groups": groups})
    assert labels(column, 1) == ["north", "C", "D", "north"]
    assert labels(column, 2) == ["coast", "coast", "D", "coast"]
    assert labels(column, 3) == ["*"] * 4


def test_categories_of_groups_are_texts_as_written(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    (tmp_path / "data.csv").write_text("x\n012\n007\n100\n", encoding="utf-8")
    path.write_text(
        "maskwright: 1\ndata: {source: data.csv, variables: {x: {hierarchy: {groups: [{small: [007, 012]}]}}}}\n"
        "protect: [{method: recoding, variables: [x], params: {recode: {x: {level: 1}}}}]\n"
        "output: {data: out.csv}\n",
        encoding="utf-8",
    )
    mw.run(path)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").split() == ["x", "small", "small", "100"]


def test_distance_is_the_level_of_the_lowest_common_ancestor(tmp_path: Path) -> None:
    table = [["A", "north", "*"], ["B", "north", "*"], ["C", "south", "*"]]
    column = read(tmp_path, ["A", "A", "A"], {"table": table}, categories=["A", "B", "C"])
    hierarchy, variable = column.variable.hierarchy, column.variable
    assert hierarchy is not None
    first, second = np.array([0, 0, 0]), np.array([0, 1, 2])
    assert hierarchy.common_level(variable, first, second).tolist() == [0, 1, 2]
    assert hierarchy.distance(variable, first, second).tolist() == [0.0, 0.5, 1.0]


def test_what_is_above_a_level_is_a_hierarchy_of_its_categories(tmp_path: Path) -> None:
    column = read(tmp_path, [0, 94, 23], {"widths": [5, 10, 20]}, type="integer")
    assert column.variable.hierarchy is not None
    above = column.variable.hierarchy.above(1)
    assert (above.height, above.raised) == (3, 1)
    published = mw.Variable("x", "ordinal", categories=column.variable.hierarchy.labels(1))
    found = above.codes(published, np.array(codes(column, 1)), 1)
    assert [above.labels(1)[code] for code in found] == labels(column, 2)
    assert column.variable.hierarchy.above(4).height == 0


@pytest.mark.parametrize(
    ("hierarchy", "declared", "said"),
    [
        ({"widths": [5, 12]}, {}, "multiple of that of the level below"),
        ({"widths": [5], "prefix": [1]}, {}, "there is widths and prefix"),
        ({}, {}, "give one of file, table"),
        ({"bands": [[0, 10, 5]]}, {}, "must rise"),
        ({"bands": [[0, 5, 10], [0, 6, 10]]}, {}, "must join whole bands"),
        ({"bands": [[0, 5, 10], [0, 5]]}, {}, "must begin and end"),
        ({"dates": ["week", "month"]}, {"type": "date"}, "weeks do not nest"),
        ({"dates": ["year", "month"]}, {"type": "date"}, "from fine to coarse"),
        ({"prefix": [1, 2]}, {"type": "nominal"}, "must fall"),
        ({"prefix": [2, 1]}, {"type": "integer"}, "declare `type: nominal`"),
        ({"dates": ["year"]}, {}, "a hierarchy of dates is for dates"),
        ({"widths": [5]}, {"type": "nominal"}, "is for numbers"),
        ({"groups": [{"a": ["1", "2"], "b": ["2"]}]}, {"type": "nominal"}, "listed twice on level 1"),
        ({"groups": [{"a": ["1", "9"]}, {"b": ["1"]}]}, {"type": "nominal"}, "none of the level below"),
        ({"table": [["1", "a"], ["1", "b"]]}, {}, "stands there twice"),
        ({"table": [["1", "a", "x"], ["2", "a", "y"]]}, {}, "level 2 is no function of level 1"),
        ({"table": [["1", "a"], ["2", "a", "y"]]}, {}, "row 2: it has 3 fields"),
        ({"table": [["1", "Low"], ["2", "low "]]}, {}, "differ in blanks or case only"),
        ({"table": [["1", "a"], ["2", "b"], ["3", "a"]]}, {"type": "integer"}, "are no neighbours"),
        ({"table": [["1", "a"], ["2", "b"]]}, {"type": "integer"}, "1 of 3 cells are not in its hierarchy (record 3)"),
        ({"bands": [[0, 3]]}, {"type": "integer"}, "not in its hierarchy"),
        ("nowhere.csv", {}, "there is no hierarchy file 'nowhere.csv'"),
    ],
)
def test_what_is_no_hierarchy_is_refused(
    tmp_path: Path, hierarchy: object, declared: dict[str, object], said: str
) -> None:
    cells: list[object] = [1, 2, 3] if hierarchy != {"bands": [[0, 3]]} else [1, 2, 4]
    with pytest.raises(mw.InputError) as refused:
        read(tmp_path, cells, hierarchy, **declared)
    assert said in str(refused.value)


def test_mistakes_of_a_file_have_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "towns.csv").write_text("A;north;*\nB;north;*\nC;north;all\n", encoding="utf-8")
    with pytest.raises(mw.InputError, match=r"towns\.csv:3: the hierarchy: level 2 is no function of level 1"):
        read(tmp_path, ["A"], "towns.csv")


def test_a_data_frame_has_hierarchies_too() -> None:
    frame = pd.DataFrame({"age": [3, 40, 41], "town": ["A", "B", "B"]})
    declared = {
        "age": mw.VariableDeclaration(role="quasi_identifier", hierarchy={"widths": [10]}),
        "town": {"hierarchy": {"groups": [{"north": ["A", "B"]}]}},
    }
    params = {"recode": {"age": {"level": 1}, "town": {"level": 1}}}
    masked = mw.protect(frame, "recoding", declared=declared, variables=["age", "town"], params=params)
    assert masked["age"].astype(str).tolist() == ["0 to below 10", "40 to below 50", "40 to below 50"]
    assert masked["town"].astype(str).tolist() == ["north"] * 3


def test_explained() -> None:
    from maskwright.cli.show.explain import explain

    page = explain("hierarchies")
    assert "widths" in page
    assert "towns.csv" in page
