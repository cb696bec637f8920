"""A pipeline that is started from a data file is opened, also where it cannot be planned yet, and says why."""

import html
import re

import pytest
import yaml

import maskwright as mw


def test_a_file_with_one_odd_cell_gets_a_pipeline_that_is_opened(studio, tmp_path):
    rows = [f"{1000 + number * number};{number % 7};{number % 97}" for number in range(1200)]
    rows[41] = rows[41].rpartition(";")[0] + ";ca. 12"
    (tmp_path / "firms.csv").write_text("wages;region;employees\n" + "\n".join(rows) + "\n", "utf-8")
    running = studio(tmp_path)
    answer = running.act("/open/start", data="firms.csv", to="firms.yaml")
    assert not answer["wrong"], answer["say"]
    assert answer["opened"]
    assert "firms.yaml was written and is open." in answer["say"]
    assert "It cannot be planned yet: variable 'employees': 1 of 1200 cells is not a number" in answer["say"]
    assert "(record 42)" in answer["say"]
    assert "declare `employees: {missing: [...]}`" in answer["say"]
    assert "ca. 12" not in answer["say"]
    assert running.shown()["Studio-Pipeline"] == "firms.yaml"
    assert yaml.safe_load((tmp_path / "firms.yaml").read_text("utf-8"))["data"]["source"] == "firms.csv"


@pytest.fixture
def running(fresh, office):
    """A studio on a folder with a pipeline, one of a chosen point, one beside data, and a file in another encoding."""
    files = {name: (office / name).read_bytes() for name in ("people.csv", "pipeline.yaml")}
    points = {f"{folder}/pipelines/point.yaml": files["pipeline.yaml"] for folder in ("experiment-results", "mine")}
    others = {
        "experiment-results/table.csv": b"cell\n",
        "regions.csv": "region,wage\nKärnten,1\n".encode("latin-1"),
    }
    return fresh(files | points | others)


def until_there(running, part):
    """A part of a page, once it no longer says how far the work is."""
    return html.unescape(running.settled(f"/part{part}"))


def test_points_of_comparisons_stand_apart_from_pipelines_of_ones_own(running):
    own, _, points = running.view("/open").partition("Points of comparisons: 1")
    assert 'value="mine/pipelines/point.yaml"' in own
    assert 'value="pipeline.yaml" checked' in own
    assert "experiment-results" not in own
    assert 'value="experiment-results/pipelines/point.yaml"' in points


def test_an_encoding_that_does_not_fit_is_told_with_the_field_of_the_page(running):
    shown = until_there(running, "/open/preview?data=regions.csv&encoding=utf-8")
    assert "latin-1 (or cp1252, ...) in the field Encoding under 'How it is read'" in shown
    assert "--encoding" not in shown


def test_a_question_has_one_mark_and_a_decimal_comma_its_remedy(running):
    shown = html.unescape(running.act("/rules/count", rule="gros == net")["html"])
    assert "did you mean 'gross'?" in shown
    assert "?." not in shown
    assert "write 119.5." in html.unescape(running.act("/rules/count", rule="gross >= 119,5")["html"])


def test_the_first_records_that_violate_a_rule_are_those_of_validate(running):
    text = (running.folder.parent / "pipeline.yaml").read_text("utf-8").replace("gross == net + tax", "gross <= 4000")
    (running.folder.parent / "pipeline.yaml").write_text(text, "utf-8")
    running.act("/open/read_again")
    data = mw.pipeline_data(running.folder.parent / "pipeline.yaml")
    (outcome,) = mw.validate(data, mw.EditSet.parse(["gross <= 4000"])).edits
    first = ", ".join(map(str, outcome.first_records))
    assert outcome.violations > len(outcome.first_records) == 10
    shown = until_there(running, "/rules/every")
    assert "First records</th>" in shown
    assert f"<td>{first}, …</td>" in re.sub(r"</?a\b[^>]*>", "", shown)
    assert f"First records: {first}, …" in running.act("/rules/count", rule="gross <= 4000")["html"]


def test_a_run_says_before_it_begins_that_the_risk_of_records_is_not_kept(running):
    assert "will not be kept" not in running.view("/run")  # the pipeline has no measure of risk
    path = running.folder.parent / "pipeline.yaml"
    text = path.read_text("utf-8")
    for measure, is_said in (("sse, interval_disclosure", True), ("{interval_disclosure: {per_record: true}}", False)):
        path.write_text(text.replace("[sse]", f"[{measure}]"), "utf-8")
        running.act("/open/read_again")
        assert ("will not be kept" in running.view("/run")) is is_said
    path.write_text(text.replace("[sse]", "[interval_disclosure]"), "utf-8")
    running.act("/open/read_again")
    shown = html.unescape(running.act("/risk/keep", measure="interval_disclosure")["html"])
    assert "per_record: true" in shown
