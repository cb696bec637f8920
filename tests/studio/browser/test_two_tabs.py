"""Two tabs of a browser on one studio: a tab that was left behind says so, and releases nothing."""

from __future__ import annotations

import pytest

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def office(running):
    return running.folder.parent


def test_a_tab_that_was_left_behind_runs_nothing(page, running, office):
    second = (office / "pipeline.yaml").read_text("utf-8").replace("masked.csv", "other.csv")
    (office / "second.yaml").write_text(second, "utf-8")
    page.goto(running.at("/run"))
    expect(page.locator("#content")).to_contain_text("What is run is pipeline.yaml")
    other = page.context.new_page()
    other.goto(running.entrance)
    other.get_by_role("radio", name="second.yaml").check()
    other.get_by_role("button", name="Open", exact=True).click()
    expect(other.locator("#pipeline")).to_have_text("second.yaml")
    page.get_by_role("button", name="Run", exact=True).click()
    told = page.get_by_role("alert")
    expect(told).to_contain_text("This page shows pipeline.yaml; second.yaml was opened in another tab")
    page.get_by_role("link", name="Plan").click()
    expect(told).to_contain_text("This page shows pipeline.yaml")
    expect(page.locator("#pipeline")).to_have_text("pipeline.yaml")
    assert not (office / "other.csv").exists()
    page.reload()
    expect(page.locator("#content")).to_contain_text("What is run is second.yaml")
    page.get_by_role("link", name="Open", exact=True).click()
    page.get_by_role("radio", name="pipeline.yaml").check()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator("#pipeline")).to_have_text("pipeline.yaml")
    page.said[:] = [each for each in page.said if "409" not in each]  # the browser's own word on a refused request
