"""A real browser on a studio, and what holds of every page: no word in the console, nobody else asked, axe content."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SCREENSHOTS = os.environ.get("MASKWRIGHT_SCREENSHOTS")
"""Folder for a picture of the page at the end of each test: wide and narrow, light and dark."""

LATE = os.environ.get("MASKWRIGHT_SLOW_ANSWERS", "")
"""How late the answers of the studio come, in seconds: ``0.6``, or ``0-1/3``, drawn between 0 and 1 by seed 3.

What holds on a fast machine by luck only fails with it: a test, or the page, that acts on what is about to go.
"""

PATIENCE = 60_000
"""Milliseconds that anything may take which needs no run and nothing compiled: the machine may be busy."""

WIDE = {"width": 1200, "height": 900}
NARROW = {"width": 390, "height": 800}

TWO_WAYS = (("light", WIDE), ("dark", NARROW))
"""Each width and each colour scheme once: no rule of the style sheet depends on both."""
EVERY_WAY = tuple((scheme, size) for scheme in ("light", "dark") for size in (WIDE, NARROW))

QUIET = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
    "--disable-domain-reliability", "--disable-gpu", "--disable-software-rasterizer", "--disable-sync",
    "--no-first-run", "--no-pings", "--disable-extensions", "--disable-crash-reporter", "--disable-breakpad",
    "--process-per-site", "--renderer-process-limit=1",
]  # fmt: skip
"""A browser that draws on the processor, in one process for all tabs, and contacts nobody of its own accord."""


@pytest.fixture(scope="session")
def axe() -> str:
    """Text of axe-core, from ``AXE_CORE``, a package of Python's or npm's; '' where it is nowhere.

    It is under another licence than this project, and so is no part of it.
    """
    found = importlib.util.find_spec("axe_playwright_python")
    folders = [Path(each) for each in (found.submodule_search_locations or [])] if found else []
    if npm := shutil.which("npm"):
        for words in ([], ["-g"]):
            root = subprocess.run([npm, "root", *words], capture_output=True, text=True, check=False).stdout.strip()
            folders.append(Path(root) / "axe-core")
    named = os.environ.get("AXE_CORE")
    for path in [*([Path(named)] if named else []), *(folder / "axe.min.js" for folder in folders)]:
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return ""


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium; playwright's own need not be downloaded."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: the pages are not looked at in a browser")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def window(browser):
    """Where each test has a tab: all that the studio keeps in a browser is kept by tab, and a window takes long."""
    context = browser.new_context(viewport=WIDE)
    if LATE:
        context.add_init_script(_late_answers(LATE))
    context.set_default_timeout(PATIENCE)  # windows that a page opens have it too
    context.new_page()  # without a tab it would be closed
    yield context
    assert context.cookies() == []
    context.close()


@pytest.fixture(scope="module")
def running(fresh, office_files):
    """The studio that is looked at; a module with another one has a fixture of this name."""
    return fresh(office_files)


@pytest.fixture
def page(window, running, axe, request):
    """A tab that has the key; what holds of every page is asserted at the end, of the page it is on then.

    ``page.goto(running.at("/run"))`` leads to a page; ``page.said`` is what stands in the console.
    """
    tab = window.new_page()
    tab.said, asked = [], []
    tab.on("console", lambda message: tab.said.append(message.text))
    tab.on("pageerror", lambda error: tab.said.append(str(error)))
    tab.on("request", lambda sent: asked.append(sent.url))
    tab.goto(running.entrance)
    tab.locator("#content[data-shows]").wait_for()  # the heading of the shell is there before
    yield tab
    try:
        ways = EVERY_WAY if SCREENSHOTS or request.node.get_closest_marker("every_way") else TWO_WAYS
        _every_page_is_fit(tab, axe, request.node.name, ways)
        assert tab.said == [], "the console is not empty"
        others = [
            each for each in asked if urlsplit(each).netloc != running.address and urlsplit(each).scheme != "data"
        ]
        assert others == []
    finally:
        for each in window.pages[1:]:
            each.close()


@pytest.fixture
def go_back(page):
    """Function that goes back, and waits for the page: until its answer is there the one that is left is shown."""

    def back():
        page.go_back()
        there = urlsplit(page.url)
        path = there.path if there.path != "/" else "/open"
        address = f"{path}?{there.query}" if there.query else path
        page.locator(f'#content[data-shows="{address}"]:not([aria-busy])').wait_for()

    return back


def _late_answers(how: str) -> str:
    """Script that lets the studio's answers come late, on their way there and back."""
    span, _, seed = how.partition("/")
    least, _, most = span.partition("-")
    return LATE_ANSWERS % {"least": float(least), "most": float(most or least), "seed": int(seed or 0)}


LATE_ANSWERS = """
let state = %(seed)d;
const drawn = () => { state = (state * 48271 + 11) %% 2147483647; return state / 2147483647; };
const inTime = window.fetch;
window.fetch = async (address, request) => {
  const late = 1000 * (%(least)f + (%(most)f - %(least)f) * drawn());
  const there = %(least)f === %(most)f ? 0 : late * drawn(); // the others come late after they were made
  const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  await wait(there);
  const answer = await inTime(address, request);
  await wait(late - there);
  request?.signal?.throwIfAborted();
  return answer;
};
"""


def _every_page_is_fit(tab, script: str, name: str, ways) -> None:
    """In each way to look at it: axe finds nothing, and nothing is wider than the window."""
    for scheme, size in ways:
        tab.emulate_media(color_scheme=scheme)
        tab.set_viewport_size(size)
        if SCREENSHOTS:
            Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
            tab.screenshot(path=Path(SCREENSHOTS) / f"{name}-{scheme}-{size['width']}.png", full_page=True)
        too_wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert too_wide <= 0, f"{too_wide} pixels wider than a window of {size['width']}"
        if script:
            assert findings(tab, script) == [], f"{scheme}, {size['width']} pixels"


def findings(tab, script: str) -> list[str]:
    """What axe-core finds, one line each."""
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(script)
    found = tab.evaluate(VIOLATIONS)
    return [f"{each['id']}: {node['html'][:160]}" for each in found for node in each["nodes"]]


VIOLATIONS = "axe.run(document, {resultTypes: ['violations'], iframes: false}).then((found) => found.violations)"
"""All that was passed by weighs more than the search."""
