"""What a waiver covers is shown by its text; a doubt that came after its reason is told as new, and asked for again."""

import html
import re

import pytest

STEPS = """\
protect:
  - {method: microaggregation, variables: [age, gross], params: {k: 5}}
  - {method: microaggregation, variables: [tax, net], params: {k: 5}}
  - {method: additive_noise, variables: [age], params: {p: 0.1}}
"""
LATER = "  - {method: rank_swapping, variables: [gross], params: {p: 10}}\n"
BY_HAND = "waive:\n  - {doubt: promise-undone-by-a-later-step, step: 1, because: by hand}\n"
NEW = "New since it was given:"


@pytest.fixture(scope="module")
def running(fresh, office_files):
    return fresh(office_files)


@pytest.fixture(scope="module")
def office(running):
    return running.folder.parent


@pytest.fixture(scope="module")
def beside(office):
    """The text of a pipeline before its steps, and that behind them."""
    text = (office / "pipeline.yaml").read_text("utf-8")
    return text[: text.index("edits:")], text[text.index("measure:") :]


def plan_of(running):
    """The page Decisions, and its section on doubts."""
    shown = running.settled("/part/decisions/open")
    return html.unescape(shown).partition("<h2>Guesses to look at")[0]


def fields_of(answer):
    return {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', answer["html"])}


def write(running, office, text):
    (office / "pipeline.yaml").write_text(text, "utf-8")
    assert not running.act("/open/read_again")["wrong"]


def test_a_doubt_that_comes_later_is_not_waived_in_silence(running, office, beside):
    write(running, office, STEPS.join(beside))
    shown = plan_of(running)
    assert "One doubt stops the release" in shown
    saved = running.act("/pipeline/save", **fields_of(running.act("/plan/waive", doubt="W203 1", because="a little")))
    assert not saved["wrong"]
    shown = plan_of(running)
    assert "step 3 (additive_noise) changes age after it" in shown
    assert NEW not in shown
    write(running, office, (office / "pipeline.yaml").read_text("utf-8").replace("measure:", LATER + "measure:"))
    shown = plan_of(running)
    assert "No doubt stops the release" in shown
    assert [each.strip() for each in re.findall(f"{NEW}</strong> ([^<]*)", shown)] == [
        "microaggregation promises k = 5, and step 4 (rank_swapping) changes gross after it, record by record."
    ]
    assert "It holds for all of it" in shown
    before = (office / "pipeline.yaml").read_bytes()
    assert "holds for all" in running.act("/plan/holds", at="0")["say"]
    assert NEW not in plan_of(running)
    assert (office / "pipeline.yaml").read_bytes() == before
    assert "no such waiver" in running.act("/plan/holds", at="3")["say"]


def test_doubts_that_one_waiver_covers_have_one_form(running, office, beside):
    write(running, office, (STEPS + LATER).join(beside))
    shown = plan_of(running)
    assert "2 doubts stop the release" in shown
    assert "2 doubts, which one waiver covers" in shown
    assert shown.count('name="because"') == 1
    for said in ("step 3 (additive_noise) changes age", "step 4 (rank_swapping) changes gross"):
        assert said in shown


def test_a_waiver_that_the_studio_did_not_give_says_what_it_covers(running, office, beside):
    write(running, office, (STEPS + LATER + BY_HAND).join(beside))
    shown = plan_of(running)
    assert "by hand" in shown
    assert "step 4 (rank_swapping) changes gross" in shown
    assert NEW not in shown
