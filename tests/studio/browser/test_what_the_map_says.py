"""The page Map before and after a comparison: what fails is said early and with a remedy, and no value of a record."""

from __future__ import annotations

import re

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

SLOW = 480_000
"""Milliseconds that what was never compiled may take."""

EXPERIMENT = """\
maskwright: 1
data: {source: people.csv, variables: {age: {role: quasi_identifier}}}
edits: [{name: minors, rule: if age < 41 then gross >= 0}]
grid:
  - family: microaggregation
    protect: [{method: microaggregation, params: {k: 5}}]
  - family: mondrian
    protect: [{method: mondrian, params: {k: 20, keys: [age]}}]
measure: [sse, interval_disclosure]
seed: 7
output: found
"""


@pytest.fixture
def running(studio, office, tmp_path):
    """A studio on a folder of this test."""
    text = (office / "pipeline.yaml").read_text("utf-8").replace("k: 5", "k: 7")
    (tmp_path / "pipeline.yaml").write_text(text, "utf-8")
    (tmp_path / "people.csv").write_bytes((office / "people.csv").read_bytes())
    (tmp_path / "found.yaml").write_text(EXPERIMENT, "utf-8")
    running = studio(tmp_path / "pipeline.yaml")
    yield running
    running.end()


def test_what_the_plan_refuses_is_said_before_the_experiment_is_written(page, running):
    page.set_viewport_size({"width": 1200, "height": 600})
    page.goto(running.at("/map"))
    values = page.get_by_label("Values of k")
    expect(values).to_have_value("3, 5, 7, 10, 20")
    values.fill("1, 7, 40")
    page.get_by_label("individual ranking").check()
    page.get_by_role("button", name="Show the experiment").click()
    foreseen = page.get_by_role("region", name="What the plans of its points say")
    expect(foreseen).to_contain_text("2 points fail, as the plan says already; 2 of 4 can be masked", timeout=SLOW)
    expect(foreseen).to_contain_text("individual_ranking k=40: step 1 promises k = 40")
    expect(foreseen).to_contain_text("Mask all variables of the edit in one group")
    button = page.get_by_role("button", name="Write experiment.yaml")
    expect(button).to_be_in_viewport(ratio=1)
    assert not running.folder.with_name("experiment.yaml").exists()
    button.click()
    expect(page.locator("#said")).to_contain_text("experiment.yaml is written")
    assert running.folder.with_name("experiment.yaml").exists()


def test_what_fails_has_a_remedy_and_shows_no_value_and_axes_have_units(page, running):
    page.goto(running.at("/map?experiment=found.yaml"))
    page.get_by_role("button", name="Compare").click()
    row = page.get_by_role("region", name="Table of points").get_by_role("row").filter(has_text="mondrian")
    expect(row).to_contain_text("of age ha", timeout=SLOW)
    expect(row).to_contain_text("What to do: publish age in bands that you set, with a border at 41")
    assert not re.search(r"\d to \d", row.inner_text())
    titles = page.locator("svg.map text.title")
    expect(titles).to_have_text(["risk: interval_disclosure, percent", "loss: sse, percent"])
    page.get_by_role("link", name="microaggregation: interval_disclosure").press("Enter")
    chosen = page.get_by_role("region", name="microaggregation", exact=True)
    expect(chosen).to_contain_text("a run draws new random numbers")
