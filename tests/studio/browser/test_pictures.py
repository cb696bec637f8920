"""Pictures of docs/reference/studio.md: pages of the example survey, as a browser shows them.

``MASKWRIGHT_PICTURES=docs/pictures pytest tests/studio/browser/test_pictures.py`` makes them anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import maskwright as mw
from maskwright.commands.demo.files import write_demo

expect = pytest.importorskip("playwright.sync_api").expect

DOCS = Path(__file__).parents[3] / "docs"
KEPT = os.environ.get("MASKWRIGHT_PICTURES")
"""Folder of the pictures; where it is not named they are looked at and let go."""

SIZE = {"width": 1000, "height": 900}
SLOW = 480_000
"""Milliseconds that what was never compiled may take."""

PICTURES = {
    "studio-variables": ("/variables", "Table of variables"),
    "studio-rules": ("/rules", "Table of rules"),
    "studio-risk": ("/risk", "Records by individual risk"),
    "studio-plan": ("/plan", "Edits"),
    "studio-before-and-after": ("/before-and-after?name=wages", "Distribution of wages before and after"),
    "studio-map": ("/map?experiment=experiment.yaml", "Risk-utility map: 6 points"),
}
"""Address of each, and what a screen reader says of what must be in it."""

EXPERIMENT = """\
maskwright: 1
data: {source: survey.xml, record: Household, variables: {id: {role: identifier}, weight: {role: weight},
  size: {role: quasi_identifier}, age: {role: quasi_identifier}, employed: {unchanged: 100}, region: {role: other}}}
edits: [{schematron: survey.sch}]
on_input_violation: mask
grid:
  - method: microaggregation
    vary: {k: [3, 10, 30]}
  - method: individual_ranking
    params: {k_guarantee: report}
    vary: {k: [3, 10, 30]}
measure: [pil, interval_disclosure]
seed: 42
output: compared
"""


@pytest.fixture(scope="module")
def running(studio, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictured") / "maskwright-demo"
    files = write_demo(folder, 1080 if KEPT else 200)  # what is drawn does not hang on it
    mw.run(files.pipeline)
    (folder / "experiment.yaml").write_text(EXPERIMENT, "utf-8")
    running = studio(files.pipeline)
    running.act("/map/compare", experiment="experiment.yaml")
    # Its end would be said on whatever page is there.
    running.settled("/part/map/cells?experiment=experiment.yaml")
    return running


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_what_the_page_says(page, running, name, tmp_path):
    address, what = PICTURES[name]
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size(SIZE)
    page.goto(running.at(address))
    pictured = page.locator(f'svg[aria-label^="{what}"], [role=region][aria-label^="{what}"]').first
    expect(pictured).to_be_visible(timeout=SLOW)
    if name == "studio-rules":
        page.get_by_label("Try a rule").fill("wages <= gross / 2")
        expect(page.locator("#counted")).to_contain_text("records to which it applies", timeout=SLOW)
    expect(page.locator("[data-again]")).to_have_count(0, timeout=SLOW)
    expect(page.locator("#said")).to_have_text("")
    path = (Path(KEPT) if KEPT else tmp_path) / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_each_picture_on_the_page_is_made_here():
    said = re.findall(
        r"!\[[^\]]+\]\(\.\./pictures/([\w-]+)\.png\)", (DOCS / "reference" / "studio.md").read_text("utf-8")
    )
    assert sorted(said) == sorted(PICTURES)
    assert all((DOCS / "pictures" / f"{name}.png").is_file() for name in said)
