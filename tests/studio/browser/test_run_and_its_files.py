"""A run in a browser: its end shows by itself, its files are told apart, results of an earlier pipeline are named."""

from __future__ import annotations

import time

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

SLOW = 480_000
"""Milliseconds that what was never compiled may take."""


@pytest.fixture(scope="module")
def running(studio, office):
    """A studio with a run behind it: each test may be the only one of its process."""
    text = (office / "pipeline.yaml").read_text("utf-8")
    text = text.replace("age: {role: quasi_identifier}", "age: {role: other}")
    text = text.replace("output:\n", "output:\n  record: run.json\n  public_record: about.json\n")
    (office / "pipeline.yaml").write_text(text, "utf-8")
    running = studio(office / "pipeline.yaml")
    running.act("/run/start")
    end = time.monotonic() + SLOW / 1000
    while "Released" not in running.ask("/part/run/progress")[2]:
        assert time.monotonic() < end
        time.sleep(0.1)
    return running


def test_the_end_shows_by_itself_and_its_files_are_told_apart(page, running, office):
    page.goto(running.at("/run"))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#said")).to_contain_text("Released, in", timeout=SLOW)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    expect(page.get_by_role("region", name="Work of this session")).to_contain_text("done")
    leaves, stays = (page.get_by_role("region", name=each) for each in ("May leave the house", "Stays in the house"))
    for name in ("masked.csv", "about.json"):
        expect(leaves).to_contain_text(name)
        expect(stays).not_to_contain_text(name)
    for name in ("run.json", "report.html"):
        expect(stays).to_contain_text(name)
    with page.expect_popup() as opened:
        stays.get_by_role("button", name="Open, and show what is confidential: run.json").click()
    expect(opened.value.locator("pre")).to_contain_text('"seed"')
    opened.value.reload()
    expect(opened.value.locator("body")).to_contain_text("opened already")
    opened.value.close()
    expect(leaves.get_by_role("button", name="Download: masked.csv")).to_be_visible()
    address = running.act("/run/download", file="1 data")["document"]
    status, headers, body = running.ask(address)
    assert (status, headers["content-disposition"]) == (200, 'attachment; filename="masked.csv"')
    assert body == (office / "masked.csv").read_text()
    assert running.ask(address)[0] == 404
    assert "no such file" in running.act("/run/open", file="1 ../pipeline.yaml")["say"]


def test_records_that_are_unique_are_told_with_care(page, running):
    page.goto(running.at("/run"))
    expect(page.get_by_role("heading", name="Before you publish")).to_be_visible()
    expect(page.get_by_role("note")).to_contain_text("unique on the variables that are published unmasked")
    released = page.locator("[data-end]")
    expect(released).to_contain_text("to be read before it is published")
    assert released.get_attribute("class") == "care"


def test_results_of_an_earlier_pipeline_are_named(page, running, office):
    text = (office / "pipeline.yaml").read_text("utf-8")
    said = "made with an earlier version of this pipeline, at 20"
    paths = ("/report", "/before-and-after", "/risk")
    for path in paths:
        page.goto(running.at(path))
        expect(page.locator("#content > *").nth(1)).to_be_visible()
        expect(page.locator(".older")).to_have_count(0)
    (office / "pipeline.yaml").write_text(text.replace("k: 5", "k: 6"), "utf-8")
    running.act("/open/read_again")
    try:
        for path in paths:
            page.goto(running.at(path))
            expect(page.locator(".older")).to_contain_text(said)
        page.goto(running.at("/run"))
        expect(page.locator(".older")).to_contain_text("earlier version")
    finally:
        running.act("/open/undo")
    page.goto(running.at("/report"))
    expect(page.locator("iframe")).to_be_visible()
    expect(page.locator(".older")).to_have_count(0)


@pytest.mark.parametrize("path", ["/run", "/rules", "/report", "/pipeline", "/before-and-after"])
def test_nothing_is_cut_off_on_paper(page, running, path):
    page.goto(running.at(path))
    page.locator("#content[data-shows]").wait_for()
    expect(page.locator("[data-part]:empty")).to_have_count(0)
    expect(page.locator("[data-again]")).to_have_count(0, timeout=240_000)
    page.set_viewport_size({"width": 680, "height": 960})  # A4 within its margins
    page.emulate_media(media="print", color_scheme="dark")
    wide = "all => all.filter(each => each.offsetWidth && each.scrollWidth > 681).length"
    assert page.locator("#content, #content *:not(svg *)").evaluate_all(wide) == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#content").inner_text().strip()
    assert len(page.pdf()) > 5000
    page.emulate_media(media="screen", color_scheme="light")


def test_a_mistake_is_a_list_with_a_link_to_its_line(page, running, office):
    text = (office / "pipeline.yaml").read_text("utf-8")
    (office / "pipeline.yaml").write_text(text.replace("k: 5", "kk: 5").replace("sse", "ssse"), "utf-8")
    running.act("/open/read_again")
    try:
        page.goto(running.at("/run"))
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.get_by_role("heading", name="What is wrong")).to_be_visible(timeout=240_000)
        expect(page.locator("#progress .problems > li")).to_have_count(2)
        expect(page.locator("#progress")).not_to_contain_text(str(office))
        page.get_by_role("link", name="line 10").first.click()
        expect(page.locator(".marked")).to_contain_text("kk: 5")
    finally:
        running.act("/open/undo")


NOISE = """\
maskwright: 1
data: {source: people.csv, variables: {place: {role: other}, wages: {decimals: 0}, rents: {decimals: 0}}}
protect:
  - {method: additive_noise, variables: [wages, rents], params: {p: 1}}
output: {data: masked.csv, report: report.html}
seed: 7
"""


@pytest.fixture
def noisy(studio, tmp_path):
    """A studio on a pipeline that makes negative values, and publishes a variable by which records are alone."""
    rows = "".join(f"{number * 7919 % 1009},{number * 631 % 97},{number * 463 % 89}\n" for number in range(200))
    (tmp_path / "people.csv").write_text(f"place,wages,rents\n{rows}", "utf-8")
    (tmp_path / "pipeline.yaml").write_text(NOISE, "utf-8")
    running = studio(tmp_path / "pipeline.yaml")
    yield running
    running.end()


class TestNoise:
    """What a run of noise leaves to be read."""

    @pytest.fixture
    def running(self, noisy):
        return noisy

    def test_what_is_to_be_read_stands_on_the_page_and_in_the_report(self, page, running):
        page.goto(running.at("/run"))
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator("#said")).to_contain_text("2 things are to be read before it is published", timeout=SLOW)
        alone, below = "unique on the variables that are published unmasked (place)", "Masked values below 0, where"
        expect(page.get_by_role("note")).to_contain_text(alone)
        expect(page.get_by_role("note")).to_contain_text(below)
        page.goto(running.at("/report"))
        verdict = page.frame_locator("iframe.report").locator("section.verdict")
        expect(verdict).to_contain_text("Before you publish")
        expect(verdict).to_contain_text(alone)
        expect(verdict).to_contain_text(below)
