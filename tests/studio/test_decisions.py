"""Decisions: each open doubt with its facts and answers; an answer or a waiver is one short change."""

import html
import json
import re

import pytest

import maskwright as mw
from maskwright_studio.decisions import decisions as decided
from maskwright_studio.proposals import changed as changed_text

HEAD = "age,pay,town,job,a,b,c,d,e,f"
STEPS = "protect:\n  - {method: microaggregation, variables: [pay], params: {k: 3}}\n"


@pytest.fixture(scope="module")
def running(studio, tmp_path_factory):
    folder = tmp_path_factory.mktemp("decided")
    rows = [
        f"{20 + at % 50},{100 + 7 * at},{'xyz'[at % 3]},{'pq'[at % 2]}" + f",{'uvw'[at % 3]}" * 6
        for at in (37 * row % 90 for row in range(90))
    ]
    (folder / "people.csv").write_text("\n".join([HEAD, *rows]) + "\n", "utf-8")
    (folder / "pipeline.yaml").write_text("maskwright: 1\n", "utf-8")
    return studio(folder / "pipeline.yaml")


def write(running, variables, rest=STEPS):
    path = running.folder
    path.write_text(
        f"maskwright: 1\ndata:\n  source: people.csv\n  variables:\n{variables}{rest}output: {{data: out.csv}}\n"
    )
    running.act("/open/read_again")


def decisions(running):
    return html.unescape(running.settled("/part/decisions/open"))


def answers(shown):
    """What each button does, by its label for screen readers."""
    found = re.findall(r"name=\"do\" value=\"(.*?)\" aria-label=\"(.*?)\"", shown)
    return {label: operations for operations, label in found}


def lines(answer):
    return html.unescape("\n".join(re.findall(r"<(?:ins|del)>(.*?)</", answer["html"]))).splitlines()


KNOWN = "    age: {role: other}\n    pay: {role: confidential}\n"
SETTLED = "".join(f"    {name}: {{role: other}}\n" for name in "abcdef")


def test_each_doubt_has_its_facts_and_answers(running):
    write(running, KNOWN + SETTLED)
    shown = decisions(running)
    assert "2 doubts stop the release" in shown
    assert "category, 3 different values, 0 of 90 missing" in shown
    labels = ("An intruder may know it", "It must not be learned", "Publish it as it is", "Leave it out")
    assert {f"{label}: {name}" for label in labels for name in ("town", "job")} <= set(answers(shown))
    assert "checked" not in shown
    changed = running.act("/pipeline/change", do=answers(shown)["Leave it out: town"])
    assert lines(changed) == ["    town: {role: identifier}"]


def test_a_key_that_no_step_masks_can_be_named_in_one(running):
    write(
        running,
        KNOWN + SETTLED + "    town: {role: quasi_identifier}\n    job: {role: other}\n",
        STEPS + "  - {method: local_suppression, variables: [age], params: {k: 2}}\n",
    )
    do = answers(decisions(running))["Mask it in step 2 (local_suppression): town"]
    (_, new) = lines(running.act("/pipeline/change", do=do))
    assert "variables: [age, town]" in new


def test_what_is_left_out_is_named_by_no_step(running):
    homes = "    age: {role: other}\n    pay: {role: confidential}\n    town: {role: quasi_identifier}\n"
    steps = "protect:\n  - {method: microaggregation, variables: [pay, age], params: {k: 3}}\n"
    write(running, homes + SETTLED + "    job: {role: quasi_identifier}\n", steps)
    changed = running.act("/pipeline/change", do=answers(decisions(running))["Leave it out: town"])
    assert lines(changed) == ["    town: {role: quasi_identifier}", "    town: {role: identifier}"]
    steps = steps + "  - {method: microaggregation, variables: [town, job], params: {k: 3}}\n"
    pipeline = mw.read_settings(f"{steps}data: {{variables: {{town: {{}}}}}}")
    doubt = {"id": "W204", "doubt": "constant-within-households", "about": "variable", "subject": "town",
             "message": "", "because": None}  # fmt: skip
    text = f"data: {{variables: {{town: {{}}}}}}\n{steps}"
    (decision,) = decided([doubt], text)
    operations = json.loads(decision.answers[0].do)
    after = mw.read_settings(changed_text(text, operations))
    assert after["protect"][1]["variables"] == ["job"]
    assert after["protect"][0] == pipeline["protect"][0]
    assert after["data"]["variables"]["town"] == {"role": "identifier"}
    alone = [{**doubt, "subject": "town"}, {**doubt, "subject": "job"}]
    both = json.loads(decided(alone, text)[0].answers[0].do)
    assert len(mw.read_settings(changed_text(text, both))["protect"]) == 2


def test_many_variables_of_which_the_same_is_said_are_decided_together(running):
    write(running, KNOWN)
    shown = decisions(running)
    assert "8 variables" in shown
    assert shown.count('name="because"') == 1
    (do,) = [each for label, each in answers(shown).items() if label.startswith("Publish it as it is")]
    names = HEAD.split(",")[2:]
    assert lines(running.act("/pipeline/change", do=do)) == [f"    {name}: {{role: other}}" for name in names]
    number = re.search(r'name="doubt" value="([^"]*)"', shown)[1]
    waived = running.act("/plan/waive", doubt=number, because="made up")
    fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', waived["html"])}
    assert not running.act("/pipeline/save", **fields)["wrong"]
    settings = mw.read_settings(running.folder.read_text("utf-8"))
    assert settings["waive"] == [{"doubt": "published-undeclared", "variable": names, "because": "made up"}]
    assert "No doubt stops the release" in decisions(running)


def test_what_is_left_is_what_the_plan_says(running, command):
    write(running, KNOWN + SETTLED)
    _, said = command(running.folder.parent, "plan", "pipeline.yaml", "--json")
    shown = decisions(running)
    for each in json.loads(said)["doubts"]:
        assert each["message"] in shown
        assert each["remedy"] in shown
