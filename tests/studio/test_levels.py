"""Data of several levels on Variables and Rules: counts of each level are those of the command line."""

import html
import json
import re

import pytest

from maskwright.commands.demo.levels.files import write_levels_demo


@pytest.fixture(scope="module", params=["flat", "linked", "nested"])
def form(request):
    return request.param


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Folder of the survey of households in each form, in which rules are broken."""
    folder = tmp_path_factory.mktemp("survey")
    write_levels_demo(folder, 40)
    rules = folder / "edits.yaml"
    rules.write_text(rules.read_text("utf-8") + "- {name: grown, rule: age >= 18}\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def opened(studio, survey):
    return studio(survey / "flat.yaml")


@pytest.fixture(scope="module")
def running(opened, form):
    assert opened.act("/open/choose", pipeline=f"{form}.yaml")["opened"]
    return opened


def part(running, path):
    shown = running.settled(f"/part/{path}")
    assert 'role="alert"' not in shown, shown
    return html.unescape(shown)


def rows(shown):
    found = [re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", shown, re.DOTALL)]
    return [[" ".join(re.sub(r"<[^>]*>", " ", each).split()) for each in row] for row in found]


def test_each_variable_has_its_level(running):
    shown = part(running, "variables/every")
    levels = {row[0]: row[1] for row in rows(shown)}
    assert levels["total"] == "household"
    assert levels["income"] == "person"
    assert "40 household, " in shown
    assert "Distribution" in part(running, "variables/one?name=income")


def test_counts_of_each_level_are_those_of_the_command(running, survey, form, command):
    files = {"flat": ["survey.csv"], "linked": ["households.csv", "persons.csv"], "nested": ["survey.xml"]}[form]
    rules = "survey.sch" if form == "nested" else "edits.yaml"
    phase = ["--phase", "released"] if form == "nested" else []
    _, said = command(survey, "validate", *files, "--edits", rules, "--pipeline", f"{form}.yaml", *phase, "--json")
    expected = json.loads(said)
    shown = {row[0].removesuffix(" (warning)"): row for row in rows(part(running, "rules/every"))}
    checked = 0
    for each in expected["edits"]:
        row = shown[each["name"]]
        assert row[3] == each["level"]
        assert row[4] == f"{each['fired']:,}"
        assert row[5].split(" in ")[0] == f"{each['violations']:,}"
        assert row[6] == f"{each['unknown']:,}"
        checked += 1
    assert checked > 5
    if form != "nested":
        broken = next(each for each in expected["edits"] if each["name"] == "grown")
        assert 0 < broken["violations"] <= 10_000
        households = int(re.search(r" in (\d+) household", shown["grown"][5])[1])
        assert 0 < households <= broken["violations"]


def test_a_typed_rule_is_counted_on_its_level(running):
    shown = " ".join(running.act("/rules/count", rule="count(person) >= 2")["html"].split())
    assert "household records to which it applies (40 in all)" in shown
    shown = " ".join(running.act("/rules/count", rule="income <= total")["html"].split())
    assert "person records to which it applies" in shown
    assert "no variable called" in running.act("/rules/count", rule="incom <= total")["html"].lower()


def test_suggestions_say_where_they_are_had(running):
    part(running, "rules/every")  # the data have been read
    assert "several levels" in running.ask("/part/rules/suggestions")[2]
