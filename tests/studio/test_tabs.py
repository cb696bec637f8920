"""Two tabs on one studio: what is done is done to what the page shows, or not at all."""

import html
import json
import re

import pytest


@pytest.fixture
def running(fresh, office):
    """A studio on a folder with two pipelines, of which pipeline.yaml is open; nothing was done yet."""
    files = {name: (office / name).read_bytes() for name in ("people.csv", "pipeline.yaml")}
    return fresh(files | {"second.yaml": files["pipeline.yaml"].replace(b"masked.csv", b"other.csv")})


def saved(running, k):
    """Give the open pipeline another k, in a tab that shows it."""
    folder = running.folder.parent
    name = running.shown()["Studio-Pipeline"]
    text = re.sub(r"k: \d", f"k: {k}", (folder / name).read_text("utf-8"))
    answer = running.act("/pipeline/typed", text=text)
    found = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', answer["html"])}
    assert not running.act("/pipeline/save", **found)["wrong"]


def asked(running, tab, path, form=None):
    """Status and answer of a request of a tab that shows what `tab` says."""
    status, _, body = running.ask(path, form, **tab)
    return status, body


EVERY_ACT = (
    "run/start", "run/waive", "open/undo", "open/redo", "open/read_again", "pipeline/save", "pipeline/typed",
    "pipeline/keep_mine", "plan/again", "plan/waive", "map/compare", "map/write", "rules/count", "variables/propose",
    "risk/keep", "report/window", "explorer/take",
)  # fmt: skip


@pytest.mark.parametrize("act", EVERY_ACT)
def test_nothing_is_done_for_a_page_that_shows_another_pipeline(running, act):
    first = running.shown()
    assert running.act("/open/choose", pipeline="second.yaml")["opened"]
    before = {each.name: each.read_bytes() for each in running.folder.parent.iterdir()}
    status, body = asked(running, first, f"/act/{act}", {"text": "seed: 1"})
    said = json.loads(body)["say"]
    assert status == 409
    assert said.startswith("This page shows pipeline.yaml; second.yaml was opened in another tab.")
    assert "Nothing was run yet" in running.view("/run")
    assert {each.name: each.read_bytes() for each in running.folder.parent.iterdir()} == before


@pytest.mark.parametrize("act", EVERY_ACT)
def test_nothing_is_done_for_a_page_that_does_not_say_what_it_shows(running, act):
    status, body = asked(running, {"Studio-Pipeline": None, "Studio-Text": None}, f"/act/{act}", {})
    assert status == 409
    assert "does not say which pipeline" in json.loads(body)["say"]
    assert "Nothing was run yet" in running.view("/run")


@pytest.mark.parametrize(
    "part", ["plan/plan", "variables/every", "rules/every", "before-and-after/figures", "risk/records", "map/cells"]
)
def test_a_part_of_another_pipeline_is_not_put_into_the_page(running, part):
    first = running.shown()
    running.act("/open/choose", pipeline="second.yaml")
    assert asked(running, first, f"/part/{part}")[0] == 409
    assert asked(running, first, "/part/run/progress")[0] == 200  # it names the work
    assert asked(running, first, "/view/run")[0] == 409
    assert asked(running, first, "/view/open")[0] == 200  # where the other one is opened again


def test_undo_takes_back_only_the_change_that_the_page_names(running):
    saved(running, 6)
    first = running.shown()
    saved(running, 7)
    text = running.folder.read_text("utf-8")
    status, body = asked(running, first, "/act/open/undo", {})
    assert status == 409
    assert "shows an earlier state of pipeline.yaml" in json.loads(body)["say"]
    assert running.folder.read_text("utf-8") == text
    assert not json.loads(asked(running, running.shown(), "/act/open/undo", {})[1])["wrong"]
    assert "k: 6" in running.folder.read_text("utf-8")


def test_undo_of_another_pipeline_is_refused(running):
    saved(running, 6)
    running.act("/open/choose", pipeline="second.yaml")
    saved(running, 8)
    second = running.shown()
    running.act("/open/choose", pipeline="pipeline.yaml")
    assert asked(running, second, "/act/open/undo", {})[0] == 409
    assert "k: 6" in running.folder.read_text("utf-8")
    assert "k: 8" in (running.folder.parent / "second.yaml").read_text("utf-8")
