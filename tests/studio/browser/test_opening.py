"""A pipeline is started from a data file in a browser: what was understood is shown first, values behind a click."""

from __future__ import annotations

import pytest

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def running(studio, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    numbers = (row * 37 % 60 for row in range(60))
    rows = "".join(f"{20 + number % 50};{4321 + number * 37},5\n" for number in numbers)
    (folder / "people.csv").write_text("age;wages\n" + rows, encoding="utf-8")
    (folder / "rules.yaml").write_text("edits: ['age >= 0']\n", encoding="utf-8")
    return studio(folder)


def test_a_pipeline_is_started_from_a_data_file(page, running, command):
    expect(page.get_by_text("No pipeline is in this folder")).to_be_visible()
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_text("60 records of 2 variables")).to_be_visible(timeout=480_000)
    assert "4321" not in page.content()
    page.get_by_role("link", name="Show values of records").click()
    expect(page.get_by_text("4321.5 to")).to_be_visible(timeout=480_000)
    page.get_by_label("rules.yaml").check()
    page.get_by_role("button", name="Start a pipeline").click()
    expect(page.locator("#said")).to_contain_text("people.yaml was written and is open", timeout=480_000)
    expect(page.get_by_label("Text of the pipeline")).to_contain_text("yaml: rules.yaml")
    code, plan = command(running.folder, "plan", "people.yaml", "--json")
    assert code == 0
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
    shown = running.settled("/part/open/preview?data=broken.xml")
    assert "broken.xml" in shown
    assert 'role="alert"' in shown
    assert str(running.folder) not in shown


@pytest.fixture
def survey(studio, tmp_path):
    """A studio on a folder with the results of a run, and the rules of another file."""
    files = {
        "masked.svrl.xml": '<?xml version="1.0"?>\n<svrl:schematron-output xmlns:svrl="http://purl.oclc.org/dsdl/svrl"/>',
        "masked.csv": "age,wages\n30,2\n",
        "people.csv": "age,wages\n" + "30,2\n" * 9,
        "own.yaml": "edits: ['age >= 0']\n",
        "half.yaml": "edits: ['age >= rooms']\n",
        "firms.yaml": "edits: ['turnover >= costs']\n",
        "only.yaml": "maskwright: 1\ndata: {source: people.csv}\nprotect: [{method: microaggregation}]\n"
        "output: {data: masked.csv, svrl: masked.svrl.xml}\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    running = studio(tmp_path)
    yield running
    running.end()


class TestASurvey:
    """A folder in which a pipeline was run before."""

    @pytest.fixture
    def running(self, survey):
        return survey

    def test_what_is_there_is_offered_in_its_order(self, page, running):
        expect(page.get_by_role("radio", name="only.yaml")).to_be_checked()
        expect(page.get_by_label("Data file").locator("option")).to_have_text(["people.csv", "masked.csv"])
        page.get_by_role("button", name="Open", exact=True).click()
        expect(page.locator("#said")).to_contain_text("only.yaml is open")

    def test_rules_of_another_file_are_not_offered(self, page, running):
        page.goto(running.at("/open?data=people.csv"))
        rules = page.get_by_role("group", name="Files with rules")
        expect(rules.get_by_role("checkbox")).to_have_count(2, timeout=480_000)
        expect(rules.get_by_label("half.yaml")).to_have_accessible_name(
            "half.yaml reads rooms, which this file has not"
        )
        expect(page.get_by_text("firms.yaml is not offered: its rules read turnover, costs")).to_be_visible()

    def test_a_table_that_is_cut_says_that_it_scrolls(self, page, running):
        page.goto(running.at("/open?data=people.csv"))
        table = page.get_by_role("region", name="Table of variables")
        expect(table).to_be_visible(timeout=480_000)
        said = "each => getComputedStyle(each, '::before').content"
        page.set_viewport_size({"width": 390, "height": 800})
        expect(table).to_have_class("scroll cut")
        assert "scroll it sideways" in table.evaluate(said)
        page.set_viewport_size({"width": 1600, "height": 800})
        expect(table).to_have_class("scroll")
        assert "sideways" not in table.evaluate(said)
