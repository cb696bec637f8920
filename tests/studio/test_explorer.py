"""What the explorer reads and draws: files of points, the plane, records of the open data behind a click."""

from __future__ import annotations

import time

import pytest

from maskwright_studio.explorer.points import HEIGHT, MOST, WIDTH, Plane, read_points
from maskwright_studio.refusal import Refusal


@pytest.mark.parametrize("text", ["1 2\n3 4\n", "1,2\n\n3, 4\n", "\ufeff1;2\r\n3\t4", "a b\n1 2\n3 4\n"])
def test_points_are_read_with_spaces_or_commas(tmp_path, text):
    (tmp_path / "points.txt").write_text(text, encoding="utf-8")
    table = read_points(tmp_path / "points.txt")
    assert table.rows(table.chosen("1 2", "independent")) == [(1, 2), (3, 4)]
    assert table.names == (("a", "b") if "a" in text else ("1", "2"))


@pytest.mark.parametrize(
    ("text", "said"),
    [("1 2\n3\n", "line 2"), ("1 2\n3 x\n", "line 2"), ("1 2\nnan 3\n", "line 2"), ("", "no rows"), ("a a\n", "same")],
)
def test_what_is_no_point_is_refused_by_its_line(tmp_path, text, said):
    (tmp_path / "points.txt").write_text(text, encoding="utf-8")
    with pytest.raises(Refusal, match=said):
        read_points(tmp_path / "points.txt")


def test_of_many_points_some_are_taken_evenly(tmp_path):
    (tmp_path / "points.txt").write_text("".join(f"{each} 1\n" for each in range(3 * MOST)), encoding="utf-8")
    table = read_points(tmp_path / "points.txt")
    assert (table.records, len(table.columns[0]), table.columns[0][-1]) == (3 * MOST, MOST, 3 * MOST - 3)


def test_a_point_is_drawn_where_it_was_clicked():
    plane = Plane(-3.0, 1e6, 0.001, 0.002)
    for place in ((0.0, 0.0), (123.4, 456.7), (WIDTH, HEIGHT)):
        assert plane.drawn(*plane.meant(*place)) == pytest.approx(place, abs=0.05)


def test_records_are_shown_behind_a_click_only_and_all_acts_answer_in_sentences(studio, office):
    running = studio(office / "pipeline.yaml")
    shown = running.view("/explorer")
    assert "square" not in shown
    assert "values of records, which are confidential" in shown
    for _ in range(300):
        answer = running.act("/explorer/take")
        if "still being read" not in answer["say"]:
            break
        time.sleep(0.3)
    assert answer["go"] == "here"
    assert running.view("/explorer").count('class="square"') == 60
    assert "no column town" in running.act(
        "/explorer/work", do="run", method="fuzzy_c_regression", independent="town", dependent="2", c="3", m="1.5",
        epsilon="0", iterations="30", seed="1",
    )["say"]  # fmt: skip
    for act, form, said in (
        ("work", {"do": "stop"}, "Nothing is running"),
        ("work", {"do": "resume"}, "Nothing is stopped"),
        ("add", {"x": "1", "y": "2"}, "The points are those of the data of pipeline.yaml"),
        ("load", {"file": "../outside.txt"}, "is not in the folder"),
        ("save", {"name": "points.txt"}, "no clicked points"),
    ):
        answer = running.act(f"/explorer/{act}", **form)
        assert answer["wrong"]
        assert said in answer["say"]
    running.act("/explorer/clear")
    running.act("/explorer/add", x="1", y="2.5")
    assert running.act("/explorer/save", name="points.txt")["say"] == "1 points are saved in points.txt."
    assert (office / "points.txt").read_text() == "1.0 2.5\n"
    assert "nothing is overwritten" in running.act("/explorer/save", name="points.txt")["say"]
