"""Map, Run, Before and after, and Risk in a browser: by keyboard to a pipeline, and values behind a click only."""

from __future__ import annotations

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

EXPERIMENT = """\
maskwright: 1
data: {source: people.csv, variables: {age: {role: quasi_identifier}}}
edits: [gross == net + tax]
grid:
  - method: microaggregation
    vary: {k: [3, 6]}
measure: [sse, interval_disclosure]
seed: 7
output: found
"""


@pytest.fixture(scope="module")
def running(studio, office):
    text = (office / "pipeline.yaml").read_text("utf-8")
    text = text.replace("measure: [sse]", "measure: [sse, interval_disclosure: {per_record: true}]")
    (office / "pipeline.yaml").write_text(text.replace("output:\n", "output:\n  record: run.json\n"), "utf-8")
    (office / "experiment.yaml").write_text(EXPERIMENT, "utf-8")
    return studio(office / "pipeline.yaml")


def test_what_came_of_a_run_is_said_and_the_risk_of_its_records(page, running):
    page.goto(running.at("/run"))
    page.get_by_role("button", name="Run", exact=True).press("Enter")
    expect(page.get_by_role("region", name="What became of the edits")).to_contain_text("gross", timeout=480_000)
    page.get_by_role("link", name="before and after", exact=True).press("Enter")
    page.get_by_role("link", name="gross", exact=True).press("Enter", timeout=240_000)
    expect(page.get_by_role("img", name="Distribution of gross before and after")).to_be_visible(timeout=240_000)
    assert "5900" not in page.content()
    page.get_by_role("link", name="Show values of records").press("Enter")
    expect(page.locator("figcaption")).to_contain_text("From", timeout=240_000)
    page.get_by_role("link", name="Risk", exact=True).click()
    expect(page.get_by_role("img", name="Records by their risk")).to_be_visible(timeout=240_000)
    expect(page.get_by_text("No masked record is alone")).to_be_visible(timeout=240_000)
    assert page.get_by_role("columnheader", name="gross").count() == 0
    page.get_by_role("link", name="Show masked values of these records").press("Enter")
    expect(page.get_by_role("columnheader", name="gross")).to_be_visible(timeout=240_000)


def test_the_risk_of_both_files_stands_side_by_side_and_records_behind_a_click(page, running):
    page.goto(running.at("/risk"))
    figures = page.get_by_role("region", name="Figures: Classes of equal keys")
    expect(figures.get_by_role("columnheader", name="Masked")).to_be_visible(timeout=240_000)
    assert page.get_by_role("columnheader", name="Class size").count() == 0
    page.get_by_role("link", name="Show records at risk, with their keys").press("Enter")
    expect(page.get_by_role("heading", name="Records with the most risk", exact=True)).to_be_focused(timeout=240_000)
    expect(page.get_by_role("columnheader", name="age", exact=True)).to_be_visible()
    page.get_by_role("link", name="Hide them").press("Enter")
    expect(page.get_by_role("columnheader", name="age", exact=True)).to_have_count(0)


def test_a_point_is_opened_as_a_pipeline_by_keyboard(page, running, office, go_back):
    page.goto(running.at("/map?experiment=experiment.yaml"))
    page.get_by_role("button", name="Compare").press("Enter")
    point = page.get_by_role("link", name="microaggregation k=6: interval_disclosure")
    expect(page.locator("#said")).to_contain_text("2 computed", timeout=480_000)
    point.press("Enter", timeout=480_000)
    as_the_command_line = page.get_by_text("as the command line writes it")
    as_the_command_line.click()
    text = page.get_by_label("Pipeline of microaggregation k=6").inner_text()
    page.reload()
    expect(as_the_command_line).to_be_visible()
    page.get_by_role("radio", name="microaggregation k=3 second").check()
    page.get_by_role("button", name="Show the two side by side").press("Enter")
    expect(page.get_by_role("region", name="Two points")).to_contain_text("sse")
    page.get_by_role("heading", name="microaggregation k=6, and microaggregation k=3 beside it").wait_for()
    page.get_by_role("link", name="take microaggregation k=3 instead").press("Enter")
    page.get_by_text("The steps of microaggregation k=3 can take").wait_for()
    go_back()
    as_the_command_line.click()
    page.get_by_role("button", name="Write found/pipelines").press("Enter")
    page.get_by_role("heading", level=1, name="Pipeline").wait_for()
    assert (office / "found" / "pipelines" / "microaggregation-k=6.yaml").read_text().strip() == text.strip()
    go_back()
    expect(point).to_be_visible()
