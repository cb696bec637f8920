"""The explorer in a browser: points where the pointer is, lines that move, Stop that holds, S1 and a constraint."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

import maskwright as mw

expect = pytest.importorskip("playwright.sync_api").expect

SLOW = 480_000
"""Milliseconds that what was never compiled may take."""


@pytest.fixture(scope="module")
def running(studio, tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("explored") / "office"
    folder.mkdir()
    shutil.copy(reference / "census.csv", folder)
    return studio(folder)


@pytest.fixture
def explorer(page, running):
    running.act("/explorer/clear")
    page.goto(running.at("/explorer"))
    expect(page.locator("svg.plane")).to_be_visible()
    return page


def click(page, across, down):
    """Click a place of the plane, in shares of its width and height; returns it in pixels from its corner."""
    box = page.locator("svg.plane").bounding_box()
    x, y = across * box["width"], down * box["height"]
    page.mouse.click(box["x"] + x, box["y"] + y)
    return x, y


def drawn(page, selector, *names):
    """Attributes of what is drawn, as numbers."""
    return [
        tuple(float(each.get_attribute(name)) for name in names) for each in page.locator(selector).element_handles()
    ]


def add_two_lines(running):
    for step in range(12):
        running.act("/explorer/add", x=5 + 8 * step, y=15 + 4 * step + step % 3)
        running.act("/explorer/add", x=6 + 8 * step, y=90 - 5 * step - step % 4)


def test_a_point_appears_where_the_pointer_is_and_is_there_after_a_reload(explorer):
    places = []
    for each in ((0.21, 0.33), (0.555, 0.777), (0.91, 0.12)):
        places.append(click(explorer, *each))
        expect(explorer.locator(".square")).to_have_count(len(places))
    corner = explorer.locator("svg.plane").bounding_box()
    for (x, y), square in zip(places, explorer.locator(".square").all(), strict=True):
        box = square.bounding_box()
        assert abs(box["x"] + box["width"] / 2 - corner["x"] - x) <= 1.5
        assert abs(box["y"] + box["height"] / 2 - corner["y"] - y) <= 1.5
    explorer.get_by_label("x", exact=True).fill("50")
    explorer.get_by_label("y", exact=True).fill("25")
    explorer.get_by_role("button", name="Add this point").press("Enter")
    expect(explorer.locator(".square")).to_have_count(4)
    assert drawn(explorer, ".square", "x", "y")[3] == (360 - 4, 360 - 4)
    explorer.reload()
    expect(explorer.locator(".square")).to_have_count(4)


def test_lines_move_and_stop_holds(explorer, running):
    add_two_lines(running)
    explorer.get_by_label("Method").select_option(label="fuzzy c-regression")
    explorer.get_by_label("Clusters").fill("2")
    explorer.get_by_label("Epsilon").fill("0")
    explorer.get_by_role("button", name="Step").click()
    expect(explorer.locator(".doing-what")).to_contain_text("Iteration 1: stopped", timeout=SLOW)
    first = drawn(explorer, ".model", "y1", "y2")
    explorer.get_by_role("button", name="Resume").click()
    expect(explorer.locator(".iterations tbody tr").nth(3)).to_be_visible()
    explorer.get_by_role("button", name="Stop").click()
    expect(explorer.locator(".doing-what")).to_contain_text("stopped")
    held, moved = explorer.locator(".doing-what").inner_text(), drawn(explorer, ".model", "y1", "y2")
    assert len(first) == len(moved) == 2
    assert first != moved
    explorer.wait_for_timeout(600)
    assert explorer.locator(".doing-what").inner_text() == held
    assert drawn(explorer, ".model", "y1", "y2") == moved
    explorer.get_by_role("button", name="Resume").click()
    expect(explorer.locator(".doing-what")).to_contain_text("at its end")
    assert {each.get_attribute("class") for each in explorer.locator(".square").element_handles()} == {
        "square k0", "square k1"
    }  # fmt: skip


def test_centroids_lie_on_the_drawn_line_in_every_iteration(explorer, running):
    add_two_lines(running)
    explorer.get_by_label("an end of the constraint line").check()
    click(explorer, 0.05, 0.8)
    expect(explorer.locator(".end")).to_be_visible()
    click(explorer, 0.9, 0.3)
    expect(explorer.locator(".constraint")).to_be_visible()
    ((x1, y1, x2, y2),) = drawn(explorer, ".constraint", "x1", "y1", "x2", "y2")
    explorer.get_by_label("Method").select_option(label="constrained fuzzy c-means")
    explorer.get_by_label("Clusters").fill("3")
    for iteration in range(1, 5):
        explorer.get_by_role("button", name="Step").click()
        expect(explorer.locator(".doing-what")).to_contain_text(f"Iteration {iteration}:", timeout=SLOW)
        centroids = drawn(explorer, ".centroid", "cx", "cy")
        assert len(centroids) == 3
        for x, y in centroids:
            assert abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) / (abs(x2 - x1) + abs(y2 - y1)) < 0.05


def test_scenario_1_by_load_and_run(explorer, reference):
    """Published: PIL 26.67 for c = 4; Cano and Torra, FUZZ-IEEE 2009, table III, within 3 points as of other starts."""
    explorer.get_by_role("button", name="Load, and show its values").click()
    expect(explorer.locator(".square")).to_have_count(1080)
    explorer.get_by_label("Method").select_option(label="fuzzy c-regression")
    explorer.get_by_label("Independent").fill("2 8 10")
    explorer.get_by_label("Dependent", exact=True).fill("1 3 4 6 7 9 11 12 13")
    explorer.get_by_label("Clusters").fill("4")
    explorer.get_by_role("button", name="Run").click()
    expect(explorer.locator(".doing-what")).to_contain_text("at its end", timeout=SLOW)
    figures = [float(each) for each in explorer.locator(".iterations tbody tr").first.locator("td").all_inner_texts()]
    explorer.get_by_role("button", name="Clear points").click()
    expect(explorer.locator(".square")).to_have_count(0)
    assert figures[1] == pytest.approx(26.67, abs=3)
    original = pd.read_csv(reference / "census.csv").astype(float)
    names = list(original)
    dependent = [names[number - 1] for number in (1, 3, 4, 6, 7, 9, 11, 12, 13)]
    params = {"c": 4, "dependent": dependent, "independent": [names[number - 1] for number in (2, 8, 10)]}
    masked = mw.protect(
        original, "fuzzy_c_regression", seed=1, params=params, declared={name: {"release": "as is"} for name in names},
        waive=[{"doubt": "method-warned", "step": 1, "because": "figures of a paper"}],
    )  # fmt: skip
    weights = {"pil": 0.5, "distance_record_linkage": 0.125, "probabilistic_record_linkage": 0.125}
    found = mw.measure(original, masked, [{"score": {**weights, "interval_disclosure": 0.25}}], variables=dependent)
    parts = found["score"].parts
    dbrl, prl = parts["distance_record_linkage"], parts["probabilistic_record_linkage"]
    risk = 0.5 * (dbrl + prl) / 2 + 0.5 * parts["interval_disclosure"]
    expected = [parts["pil"], dbrl, prl, parts["interval_disclosure"], risk, (parts["pil"] + risk) / 2]
    assert figures[1:] == pytest.approx(expected, abs=0.006)
