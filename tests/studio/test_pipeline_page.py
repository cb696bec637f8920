"""The page Pipeline: forms, differences, mistakes with their lines, files changed outside, history."""

import html
import json
import re

import pytest

import maskwright as mw


@pytest.fixture
def running(fresh, office):
    """A studio on a small file, where nothing was done yet."""
    return fresh({name: (office / name).read_bytes() for name in ("people.csv", "pipeline.yaml")})


def saved(running, answer):
    """Save the difference that an answer shows."""
    assert not answer["wrong"], answer["say"]
    found = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', answer["html"])}
    return running.act("/pipeline/save", **found)


def text_of(running):
    return (running.folder if running.folder.is_file() else running.folder / "pipeline.yaml").read_text("utf-8")


def test_raising_k_changes_one_line(running):
    before = text_of(running)
    shown = running.view("/pipeline?part=step/1")
    assert 'name="protect/0/params/k" value="5"' in shown
    assert "At least 2. Left out: 3." in " ".join(shown.split())
    assert "<option>mdav</option>" in shown
    answer = running.act("/pipeline/preview", **{"part": "step/1", "protect/0/params/k": "9"})
    assert "<ins>    params: {k: 9}     # at least</ins>" in answer["html"]
    assert text_of(running) == before
    assert saved(running, answer)["go"] == "here"
    assert text_of(running) == before.replace("{k: 5}", "{k: 9}")
    running.act("/open/undo")
    assert text_of(running) == before


def test_steps_and_measures_are_added_moved_and_removed(running):
    saved(running, running.act("/pipeline/add", kind="step", name="rounding"))
    saved(running, running.act("/pipeline/add", kind="measure", name="pil"))
    settings = mw.read_settings(text_of(running))
    assert [each["method"] for each in settings["protect"]] == ["microaggregation", "rounding"]
    assert settings["measure"] == ["sse", "pil"]
    saved(running, running.act("/pipeline/change", do=json.dumps([["move", ["protect"], 1, 0]])))
    saved(running, running.act("/pipeline/change", do=json.dumps([["remove", ["measure", 0]]])))
    answer = running.act("/pipeline/preview", **{"part": "measure/1", "measure/0/pil/as": "loss"})
    saved(running, answer)
    settings = mw.read_settings(text_of(running))
    assert [each["method"] for each in settings["protect"]] == ["rounding", "microaggregation"]
    assert settings["measure"] == [{"pil": {"as": "loss"}}]
    assert "# at least" in text_of(running)


def test_a_mistake_is_shown_before_it_is_saved_and_linked_to_its_line(running):
    text = text_of(running)
    answer = running.act("/pipeline/typed", text=text.replace("microaggregation", "microagregation"))
    assert "would have a mistake" in answer["html"]
    assert "did you mean" in html.unescape(answer["html"])
    saved(running, answer)
    shown = running.view("/pipeline")
    line = text.split("\n").index("  - method: microaggregation") + 1
    assert f'<a href="/pipeline?line={line}">line {line}, column 13</a>' in shown
    assert re.search(r'class="marked"[^>]*>\s*  - method', running.view(f"/pipeline?line={line}"))


@pytest.mark.parametrize(("typed", "said"), [("many", "expected a number"), ("[", "")])
def test_what_is_no_number_is_refused(running, typed, said):
    answer = running.act("/pipeline/preview", **{"part": "step/1", "protect/0/params/k": typed})
    assert answer["wrong"]
    assert said in answer["say"]
    assert "k: " in answer["say"].lower()


def test_a_number_out_of_range_is_told_with_the_difference(running):
    answer = running.act("/pipeline/preview", **{"part": "step/1", "protect/0/params/k": "0"})
    assert "would have a mistake" in answer["html"]


def test_a_file_changed_outside_is_noticed_and_nothing_is_lost(running):
    mine = running.act("/pipeline/typed", text=text_of(running).replace("k: 5", "k: 6"))
    theirs = text_of(running).replace("seed: 7", "seed: 8")
    running.folder.write_text(theirs, "utf-8")
    found = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', mine["html"])}
    assert running.act("/pipeline/save", **found)["wrong"]
    assert text_of(running) == theirs
    assert "changed outside" in running.view("/pipeline")
    assert running.act("/pipeline/keep_mine")["go"] == "/pipeline?part=text"
    shown = running.view("/pipeline?part=text")
    assert "Your draft" in shown
    assert "k: 6" in shown
    assert text_of(running) == theirs


def test_history_outlives_a_killed_studio_and_is_the_users_alone(studio, running, state):
    before = text_of(running)
    saved(running, running.act("/pipeline/preview", **{"part": "step/1", "protect/0/params/k": "9"}))
    running.act("/pipeline/typed", text=before + "# a draft\n")
    running.process.kill()
    running.process.wait(10)
    kept = list((state / "maskwright" / "studio").glob("*.json"))
    assert kept
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in kept)
    assert kept[0].parent.stat().st_mode & 0o777 == 0o700
    assert sorted(each.name for each in running.folder.parent.iterdir()) == ["people.csv", "pipeline.yaml"]
    again = studio(running.folder)
    assert "# a draft" in again.view("/pipeline?part=text")
    again.act("/open/undo")
    assert text_of(running) == before
    again.act("/open/redo")
    assert "k: 9" in text_of(running)


def test_two_studios_on_one_folder_lose_nothing(studio, running):
    other = studio(running.folder)
    saved(running, running.act("/pipeline/preview", **{"part": "step/1", "protect/0/params/k": "6"}))
    assert other.act("/pipeline/preview", **{"part": "step/1", "protect/0/params/k": "7"})["wrong"]
    assert "changed outside" in other.view("/pipeline")
    other.act("/open/read_again")
    saved(other, other.act("/pipeline/preview", **{"part": "step/1", "protect/0/params/k": "7"}))
    assert "k: 7" in text_of(running)
    assert running.act("/open/undo")["wrong"]
    running.act("/open/read_again")
    running.act("/open/undo")
    assert "k: 6" in text_of(running)


def test_a_text_keeps_its_line_ends(running):
    running.folder.write_bytes(text_of(running).replace("\n", "\r\n").encode())
    running.act("/open/read_again")
    saved(running, running.act("/pipeline/typed", text=text_of(running).replace("\r\n", "\n").replace("k: 5", "k: 6")))
    text = running.folder.read_bytes().decode()
    assert "k: 6" in text
    assert "\n" not in text.replace("\r\n", "")


def test_a_layout_that_a_form_cannot_change_is_refused(running):
    running.folder.write_text(text_of(running).replace("{k: 5}", "{k: &k 5}"), "utf-8")
    running.act("/open/read_again")
    answer = running.act("/pipeline/preview", **{"part": "step/1", "protect/0/params/k": "9"})
    assert 'role="alert"' in answer["html"]
    assert "Change it in the text" in answer["html"]
    assert 'href="/pipeline?part=text"' in answer["html"]
