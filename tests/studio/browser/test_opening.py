"""A pipeline is started from a data file in a browser: what was understood is shown first, values behind a click."""

from __future__ import annotations

import subprocess
import sys

import pytest

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def running(studio, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    rows = "".join(f"{20 + number % 50};{4321 + number * 37},5\n" for number in range(60))
    (folder / "people.csv").write_text("age;wages\n" + rows, encoding="utf-8")
    (folder / "rules.yaml").write_text("edits: ['age >= 0']\n", encoding="utf-8")
    return studio(folder)


def test_a_pipeline_is_started_from_a_data_file(page, running):
    expect(page.get_by_text("No pipeline is in this folder")).to_be_visible()
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_text("60 records of 2 variables")).to_be_visible(timeout=120_000)
    assert "4321" not in page.content()
    page.get_by_role("link", name="Show values of records").click()
    expect(page.get_by_text("4321.5 to")).to_be_visible(timeout=120_000)
    page.get_by_label("rules.yaml").check()
    page.get_by_role("button", name="Start a pipeline").click()
    expect(page.locator("#said")).to_contain_text("people.yaml was written and is open", timeout=120_000)
    expect(page.get_by_label("Text of the pipeline")).to_contain_text("yaml: rules.yaml")
    plan = subprocess.run(
        [sys.executable, "-m", "maskwright", "plan", "people.yaml", "--json"],
        cwd=running.folder, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "age >= 0" in plan


def test_a_pipeline_that_is_there_is_left_alone(running):
    (running.folder / "mine.yaml").write_text("maskwright: 1\n")
    answer = running.act("/open/start", data="people.csv", to="mine.yaml")
    assert "is there already" in answer["say"]
    assert (running.folder / "mine.yaml").read_text() == "maskwright: 1\n"
    assert "not in the folder" in running.act("/open/start", data="../people.csv", to="new.yaml")["say"]
    assert "not in the folder" in running.act("/open/start", data="people.csv", to="../new.yaml")["say"]


def test_what_cannot_be_read_is_said(running):
    (running.folder / "broken.xml").write_text("<a><b></a>")
    shown = "data-again"
    while "data-again" in shown:
        shown = running.ask("/part/open/preview?data=broken.xml")[2]
    assert "broken.xml" in shown
    assert 'role="alert"' in shown
    assert str(running.folder) not in shown
