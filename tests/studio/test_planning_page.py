"""The page Plan: what it shows is the plan of the command line, and a doubt is waived by a line of the pipeline."""

import html
import json
import re

import pytest


@pytest.fixture(scope="module")
def running(fresh, office_files):
    rows = office_files["people.csv"].decode().splitlines()
    with_region = [f"{row},{'region' if not at else 'north' if at % 2 else 'south'}" for at, row in enumerate(rows)]
    return fresh(office_files | {"people.csv": ("\n".join(with_region) + "\n").encode()})


@pytest.fixture(scope="module")
def office(running):
    return running.folder.parent


def plan_of(running, part="/part/plan/plan"):
    return html.unescape(running.settled(part))


@pytest.fixture
def planned(office, command):
    """Function that plans on the command line."""
    return lambda: json.loads(command(office, "plan", "pipeline.yaml", "--json")[1])


def test_it_equals_the_plan_of_the_command_line(running, office, planned):
    shown, plan = plan_of(running), planned()
    assert plan["edits"]
    for edit in plan["edits"]:
        for said in (edit["name"], edit["text"], edit["kept_by"].replace("_", " "), edit["how"]):
            assert said in shown
    for group in plan["steps"][0]["groups"]:
        for name in group["variables"]:
            assert f"{name} <span" in shown
        for stratum in group["strata"]:
            assert f"{stratum['label']}: {stratum['records']}" in shown
    for text in (
        *[each["message"] for each in plan["notices"]],
        *plan["untouched"],
        *(each["doubt"] for each in plan["doubts"]),
    ):
        assert text in shown


def test_a_doubt_is_waived_by_name_and_with_a_reason(running, office, planned):
    doubt = next(each for each in planned()["doubts"] if each["because"] is None)
    plan_of(running)
    number = f"{doubt['id']} {doubt['subject']}"
    assert running.act("/plan/waive", doubt=number, because=" . ")["wrong"]
    answer = running.act("/plan/waive", doubt=number, because="two regions, each of a million")
    found = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', answer["html"])}
    assert not running.act("/pipeline/save", **found)["wrong"]
    assert "because: 'two regions, each of a million'" in (office / "pipeline.yaml").read_text("utf-8")
    shown = plan_of(running, "/part/decisions/open")
    assert "Waivers in the pipeline" in shown
    assert number.split(maxsplit=1)[0] not in {each["id"] for each in planned()["doubts"] if each["because"] is None}
    answer = running.act("/plan/withdraw", at="0")
    assert "<del>" in answer["html"]
    running.act("/open/undo")


def test_a_notice_that_is_a_warning_too_is_shown_once(running, office):
    text = (office / "pipeline.yaml").read_text("utf-8")
    noise = text.replace("microaggregation", "additive_noise").replace("k: 5", "p: 0.5")
    (office / "pipeline.yaml").write_text(noise, "utf-8")
    running.act("/open/read_again")
    assert plan_of(running).count("may give values below 0") == 1
    running.act("/open/undo")


def test_a_pipeline_with_a_mistake_has_no_plan_and_says_why(running, office):
    text = (office / "pipeline.yaml").read_text("utf-8")
    (office / "pipeline.yaml").write_text(text.replace("k: 5", "kk: 5"), "utf-8")
    running.act("/open/read_again")
    assert "line 10, column" in plan_of(running)
    running.act("/open/undo")
    assert "Edits, and who keeps them" in plan_of(running)
