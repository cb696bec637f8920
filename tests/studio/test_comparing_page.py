"""The page Map: an experiment made from the pipeline, compared as a job, and a point that becomes a pipeline."""

import html
import json
import re
import time

import pytest


@pytest.fixture(scope="module")
def running(studio, office):
    return studio(office / "pipeline.yaml")


def map_of(running, query=""):
    end = time.monotonic() + 280
    while "data-again" in (shown := running.ask(f"/part/map/cells?experiment=experiment.yaml{query}")[2]):
        assert time.monotonic() < end
        time.sleep(0.1)
    return html.unescape(shown)


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
