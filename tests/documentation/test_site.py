"""The site is built without a warning, asks no other host, leads nowhere in vain, and has a place for everything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lxml import html

import maskwright
from maskwright.cli.completion import command_names
from maskwright.cli.main import build_parser
from maskwright.cli.show.explain import offered
from maskwright.foundation.doubts import DOUBT_KINDS
from maskwright.pipeline.file_model import PipelineFile
from maskwright.plugins.registry import plugins

pytest.importorskip("sphinx", reason="THE SITE IS NOT BUILT: pip install '.[docs]', then run this test again")
pytest.importorskip("furo", reason="THE SITE IS NOT BUILT: pip install '.[docs]', then run this test again")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LONGEST = 800
"""Seconds that a build may take on a busy machine."""
SPHINX = """
import gc
from sphinx.cmd.build import main
gc.set_threshold(200_000, 20, 100)  # a third of the build would be spent in finding that trees of pages are no garbage
raise SystemExit(main())
"""
REFERENCE = Path("reference", "generated")

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the built site; processes that run tests side by side share the one that the first of them builds."""
    side_by_side = "PYTEST_XDIST_WORKER" in os.environ
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if side_by_side else base) / "site"
    said = folder / "said.txt"
    try:
        folder.mkdir()
    except FileExistsError:
        for _ in range(LONGEST):
            if said.exists():
                break
            time.sleep(1)
    else:
        said_so_far = folder / "said.part"
        said_so_far.write_text(_build(folder), encoding="utf-8")
        said_so_far.rename(said)
    assert said.read_text(encoding="utf-8") == ""
    return folder / "html"


def _build(folder: Path) -> str:
    """What Sphinx has to say of the site; '' where it is as it should be."""
    paths = [str(ROOT / room) for room in ("framework", "plugins", "studio")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
    words = ["-W", "--keep-going", "-n", "-q", "-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")]
    done = subprocess.run(
        [sys.executable, "-c", SPHINX, *words],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=LONGEST, check=False,
    )  # fmt: skip
    return "" if done.returncode == 0 else done.stderr or f"sphinx ended with {done.returncode}"


@pytest.fixture(scope="module")
def trees(site: Path):
    """Each page, parsed."""
    return {path: html.fromstring(path.read_bytes()) for path in sorted(site.rglob("*.html"))}


def test_the_build_leaves_nothing_to_commit(site: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no working copy of git")
    done = subprocess.run(
        ["git", "check-ignore", "-q", str(DOCS / REFERENCE / "methods.md")], cwd=ROOT, check=False
    )  # fmt: skip
    assert done.returncode == 0


def test_no_page_asks_another_host(site: Path, trees) -> None:
    asked = []
    for path, tree in trees.items():
        asked += [(path.name, each) for each in tree.xpath("//@src | //link/@href | //@srcset | //object/@data")]
        styles = [*tree.xpath("//style/text()"), *tree.xpath("//@style")]
        asked += [(path.name, each) for style in styles for each in re.findall(r"url\(['\"]?([^)'\"]+)", style)]
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        asked += [(path.name, each) for each in re.findall(r"url\(['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)", text)]
    assert asked
    assert [each for each in asked if re.search(r"^(https?:)?//", str(each[1]))] == []


def test_every_link_inside_the_site_leads_somewhere(site: Path, trees) -> None:
    names = {path: set(tree.xpath("//@id")) for path, tree in trees.items()}
    broken = []
    for path, tree in trees.items():
        for link in tree.xpath("//a/@href"):
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            if not target.is_file() or (address.fragment and unquote(address.fragment) not in names.get(target, ())):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_links_to_the_repository_lead_to_files_that_it_has(trees) -> None:
    before = "https://github.com/maskwright/maskwright/blob/main/"
    found = {each for tree in trees.values() for each in tree.xpath("//a/@href") if each.startswith(before)}
    assert [each for each in found if not (ROOT / urlsplit(each.removeprefix(before)).path).exists()] == []


def headings(trees, site: Path, name: str) -> set[str]:
    """Texts of the sections of a generated page."""
    tree = trees[site / REFERENCE / f"{name}.html"]
    return {each.text_content().rstrip("¶#").strip() for each in tree.xpath("//h2 | //h3")}


def test_every_plugin_has_a_section(site: Path, trees) -> None:
    sys.path.insert(0, str(DOCS))
    try:
        from _extension.plugin_pages import TITLES
    finally:
        sys.path.remove(str(DOCS))
    for kind, found in offered(plugins()).items():
        assert set(found) <= headings(trees, site, TITLES[kind][0])


def test_every_command_doubt_key_and_name_has_a_section(site: Path, trees) -> None:
    commands = {each.split()[0] for each in headings(trees, site, "commands")}
    assert set(command_names(build_parser())) <= commands
    assert {f"{each.id} {each.name}" for each in DOUBT_KINDS.values()} <= headings(trees, site, "doubts")
    keys = {field.alias or name for name, field in PipelineFile.model_fields.items()}
    assert keys <= headings(trees, site, "pipeline-keys")
    python = [path.stem for path in (site / REFERENCE).glob("python-*.html")]
    names = set().union(*(headings(trees, site, each) for each in python))
    assert set(maskwright.__all__) - {"__version__"} <= names


def test_a_plugin_that_is_installed_has_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no change of any page."""
    monkeypatch.syspath_prepend(str(DOCS))
    from _extension import plugin_pages

    class NewRegistry:
        def info(self, kind: str, name: str):
            return plugins().info("measure", "pil")

    pil = plugins().measures["pil"]
    monkeypatch.setattr(plugin_pages, "plugins", NewRegistry)
    monkeypatch.setattr(plugin_pages, "offered", lambda _: {"measure": {"pil": pil}, "new_kind": {"pil": pil}})
    pages = plugin_pages.plugin_pages()
    assert set(pages) == {"measures.md", "new_kind.md"}
    assert "## `pil`" in pages["measures.md"]
    assert "`weighted` — true or false" in pages["measures.md"]


def test_pictures_say_what_they_show(trees, site: Path) -> None:
    shown = [each for tree in trees.values() for each in tree.xpath("//figure[contains(@class, 'maskwright-picture')]")]
    assert shown
    for figure in shown:
        (said,) = figure.xpath("./*/@aria-label")[:1]
        assert len(said) > 40


SEARCHED = "search.html?q=microaggregation"
LOOKED_AT = [
    "index.html", "reference/index.html", "reference/generated/partitions.html",
    "reference/generated/experiment-keys.html", "reference/generated/python-masking.html", SEARCHED,
]  # fmt: skip
"""Of each generator of pages a short one: it has the elements of the longest, and axe-core looks at each again."""
LONGEST_PAGES = [f"reference/generated/{name}.html" for name in ("methods", "pipeline-keys", "python-plugins")]


@pytest.fixture(scope="module")
def opened():
    """The system's Chromium."""
    import shutil

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed: the pages are not looked at in a browser")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        quiet = ["--no-sandbox", "--disable-background-networking", "--disable-gpu", "--disable-software-rasterizer"]
        browser = started.chromium.launch(executable_path=program, args=quiet)
        yield browser
        browser.close()


WAYS = (("light", {"width": 1280, "height": 900}), ("dark", {"width": 390, "height": 800}))
"""Each width and each colour scheme once: no rule of the style sheets depends on both."""


@pytest.mark.parametrize("name", LOOKED_AT + LONGEST_PAGES)
def test_the_page_is_fit_for_everybody(site: Path, opened, name: str) -> None:
    """Wide and narrow, light and dark: nothing too wide, no request elsewhere, and axe-core finds nothing.

    SLOW=1: it looks at the longest pages too.
    """
    context = opened.new_context()
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda sent: asked.append(sent.url))
    try:
        for scheme, size in WAYS:
            tab.emulate_media(color_scheme=scheme)
            tab.set_viewport_size(size)
            tab.goto(f"{site.as_uri()}/{name}")
            if name == SEARCHED:
                tab.locator("#search-results li").first.wait_for()
            too_wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert too_wide <= 0, f"{too_wide} pixels wider than {size['width']}"
            if name in LOOKED_AT or os.environ.get("SLOW"):
                assert findings(tab) == [], f"{scheme}, {size['width']} pixels"
        assert [each for each in asked if urlsplit(each).scheme not in ("file", "data")] == []
    finally:
        context.close()


def findings(tab) -> list[str]:
    """What axe-core finds, one line each; nothing where it is not installed."""
    package = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    tab.evaluate((Path(package.__path__[0]) / "axe.min.js").read_text(encoding="utf-8"))
    found = tab.evaluate(VIOLATIONS)
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


VIOLATIONS = "axe.run(document, {resultTypes: ['violations'], iframes: false}).then((found) => found.violations)"
"""All that was passed by weighs more than the search."""
