"""The page Map with a step that has no k: any parameter is varied, and a point is taken into the pipeline."""

from __future__ import annotations

import pytest

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def running(studio, office):
    text = (office / "pipeline.yaml").read_text("utf-8").replace("[sse]", "[sse, interval_disclosure]")
    text = text.replace("method: microaggregation", "method: additive_noise   # a little")
    text = text.replace("{k: 5}     # at least", "{p: 0.1}   # of the deviation")
    (office / "noise.yaml").write_text(text, "utf-8")
    (office / "pipeline.yaml").unlink()
    return studio(office / "noise.yaml")


def test_any_parameter_is_varied_and_a_point_taken_with_all_that_is_not_its_steps(page, running):
    text = running.folder.read_text("utf-8")
    page.goto(running.at("/map"))
    page.get_by_label("What varies").select_option("0/p")
    expect(page.get_by_label("Values of p")).to_have_value("0.1")
    expect(page.get_by_text("Not comparable by their name alone")).to_be_visible()
    page.get_by_label("Values of p").fill("0.1, 0.3")
    page.get_by_role("button", name="Show the experiment").click()
    page.get_by_role("button", name="Write experiment.yaml").click()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#cells [data-end]")).to_contain_text("2 computed", timeout=480_000)
    expect(page.get_by_role("region", name="Table of points")).not_to_contain_text("failed")
    page.get_by_role("link", name="additive_noise p=0.3: ").press("Enter")
    page.get_by_role("button", name="Show what changes in noise.yaml").click()
    expect(page.get_by_role("region", name="What would change")).to_contain_text("{p: 0.3}   # of the deviation")
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("#said")).to_contain_text("discarded")
    page.get_by_role("button", name="Write it and open it").click()
    page.get_by_role("heading", level=1, name="Pipeline").wait_for()
    written = running.folder.with_name("noise-additive-noise-p-0-3.yaml").read_text("utf-8")
    assert written == text.replace("p: 0.1", "p: 0.3")
    page.get_by_role("link", name="Open", exact=True).click()
    expect(page.get_by_role("radio", name="noise-additive-noise-p-0-3.yaml")).to_be_checked()
