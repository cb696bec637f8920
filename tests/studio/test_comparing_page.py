"""The page Map: an experiment made from the pipeline, compared as a job, and a point that becomes a pipeline."""

import html
import json
import re
import time

import pytest


@pytest.fixture(scope="module")
def running(studio, office):
    return studio(office / "pipeline.yaml")


def map_of(running, query="", experiment="experiment.yaml"):
    return html.unescape(running.settled(f"/part/map/cells?experiment={experiment}{query}"))


FORM = {"name": "experiment.yaml", "varied": "0/k", "values": "3, 6", "methods": ["individual_ranking"],
        "risk": "interval_disclosure"}  # fmt: skip


def test_an_experiment_is_made_compared_and_a_point_chosen(running, office, command):
    assert "A new experiment from pipeline.yaml" in running.view("/map")
    shown = html.unescape(running.act("/map/propose", **FORM)["html"])
    assert not (office / "experiment.yaml").exists()
    assert running.act("/map/write", **FORM)["go"] == "/map?experiment=experiment.yaml"
    assert (office / "experiment.yaml").read_text() in shown
    assert "there already" in running.act("/map/write", **FORM)["say"]
    assert "experiment.yaml" not in running.view("/open")

    running.act("/map/compare", experiment="experiment.yaml")
    shown = map_of(running)
    front = re.search(r'class="front"', shown)
    code, said = command(office, "compare", "experiment.yaml", "--json")
    found = json.loads(said)
    assert code == 0
    assert found["computed"] == len(found["failed"]) == 2, "what the page computed is known to the command"
    assert html.escape(found["failed"][0]["problem"]) in html.escape(shown)
    assert bool(front) == (len(found["front"]) > 1)
    for each in found["front"]:
        label = f"{each['cell']}: {found['risk']} {each[found['risk']]:.4g}, {found['loss']} {each[found['loss']]:.4g}"
        assert label in shown

    cell = "microaggregation k=3"
    assert f"first={cell.replace(' ', '+').replace('=', '%3D')}" in shown
    shown = map_of(running, "&first=microaggregation+k%3D3&second=microaggregation+k%3D6")
    assert "Figures of two points" in shown
    for each in (office / "experiment-results" / "pipelines").iterdir():
        each.unlink()
    answer = running.act("/map/choose", experiment="experiment.yaml", cell=cell)
    assert answer["go"] == "/pipeline"
    (written,) = (office / "experiment-results" / "pipelines").iterdir()
    text = written.read_text()
    assert text in shown
    written.unlink()
    assert command(office, "compare", "experiment.yaml", "--choose", cell)[0] == 0
    assert written.read_text() == text
    written.write_text(text + "# mine\n")
    assert "left as it is" in running.act("/map/choose", experiment="experiment.yaml", cell=cell)["say"]
    assert written.read_text().endswith("# mine\n")
    running.act("/open/choose", pipeline="pipeline.yaml")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "../x.yaml"}, "ends with .yaml"),
        ({"values": "3; drop"}, "whole numbers"),
        ({"varied": "4/k"}, "no step"),
    ],
)
def test_what_makes_no_experiment_is_refused(running, wrong, said):
    answer = running.act("/map/propose", **FORM | wrong)
    assert answer["wrong"]
    assert said in answer["say"]


def test_nothing_is_chosen_outside_the_folder(running):
    assert "not in the folder" in running.act("/map/compare", experiment="../experiment.yaml")["say"]


LONG = """\
maskwright: 1
data: {source: people.csv, variables: {age: {role: quasi_identifier}}}
edits: [gross == net + tax]
grid:
  - method: microaggregation
    vary: {k: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]}
measure: [sse, interval_disclosure]
seed: 7
output: long
"""


def test_a_cancelled_comparison_keeps_what_is_computed_and_no_temporaries(running, office, command):
    (office / "long.yaml").write_text(LONG, "utf-8")
    (office / "other.yaml").write_text(LONG.replace("output: long", "output: other"), "utf-8")
    running.act("/map/compare", experiment="long.yaml")
    end = time.monotonic() + 600
    while "<li" not in running.ask("/part/map/cells?experiment=long.yaml")[2]:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert "still at work" in running.act("/map/compare", experiment="other.yaml")["say"]
    assert "cancelled" in running.act("/run/cancel")["say"]
    shown = running.ask("/part/map/cells?experiment=long.yaml")[2]
    assert "The comparison was cancelled; what was computed until then is kept." in shown
    assert not list(office.rglob(".maskwright-*"))
    running.act("/map/compare", experiment="long.yaml")
    assert "data-again" not in (shown := map_of(running, experiment="long.yaml"))
    said = json.loads(command(office, "compare", "long.yaml", "--json")[1])
    assert said["computed"] == len(said["failed"]), "what the page computed is known to the command"
    assert "14 points" in shown


def test_runs_of_the_session_are_on_a_map(running, office):
    text = (office / "pipeline.yaml").read_text()
    assert "Runs of this session" not in running.view("/map")
    try:
        (office / "pipeline.yaml").write_text(text.replace("[sse]", "[sse, interval_disclosure]"))
        running.act("/open/read_again")
        for _ in range(2):
            running.act("/run/start")
            running.settled("/part/run/progress")
        shown = running.view("/map")
        assert "2 runs that measured both" in shown
        number, figures = re.search(r'href="/run\?job=(\d+)" aria-label="run \d+: ([^"]*)"', shown).groups()
        assert re.match(r"interval_disclosure [\d.]+, sse [\d.]+, on the front$", figures)
        assert f"<h2>{number}. " in running.view(f"/run?job={number}")
    finally:
        (office / "pipeline.yaml").write_text(text)
        running.act("/open/read_again")
