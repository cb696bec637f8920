"""Extras are what messages and pages say that they are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
FOR_WORK_ON_MASKWRIGHT = {"test", "dev", "benchmark", "docs"}
HOW_TO = ("air-gapped.md", "containers.md")


def sources() -> list[Path]:
    """What users read: messages in the code, pages, scripts."""
    code = [path for room in ("framework", "plugins", "studio") for path in (ROOT / room).rglob("*.py")]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "packaging" / "man_pages.py"]
    return [*code, *pages]


def test_every_extra_that_is_named_exists() -> None:
    named = {}
    for path in sources():
        for found in re.findall(r"maskwright\[([a-z0-9,]+)\]", path.read_text(encoding="utf-8")):
            named |= dict.fromkeys(found.split(","), path.name)
    assert {"figures", "compression", "excel", "studio"} <= set(named)
    assert {name: where for name, where in named.items() if name not in EXTRAS} == {}


def test_the_page_on_installing_lists_every_extra() -> None:
    page = (ROOT / "docs" / "how-to" / "air-gapped.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| ((?:`\w+`(?:, )?)+) \|", page)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert listed == set(EXTRAS) - FOR_WORK_ON_MASKWRIGHT


@pytest.mark.parametrize("name", HOW_TO)
def test_what_cannot_run_here_says_why(name: str) -> None:
    page = (ROOT / "docs" / "how-to" / name).read_text(encoding="utf-8")
    assert re.match(r"# .*\?\n", page), "the title is the reader's question"
    blocks = re.findall(r"(?m)^(.*)\n```console\n", page)
    assert blocks
    assert all(re.fullmatch(r"<!-- not run: .{10,} -->", before) for before in blocks)


@pytest.mark.parametrize("name", HOW_TO)
def test_steps_and_files_that_the_pages_name_exist(name: str) -> None:
    page = (ROOT / "docs" / "how-to" / name).read_text(encoding="utf-8")
    steps = set(re.findall(r"\.ci/run ([a-z-]+)", page))
    runner = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert steps
    assert all(f"\n{step}() {{" in runner and f"| {step}" in runner for step in steps)
    for link in re.findall(r"\]\(([^)#]+)", page):
        assert (ROOT / "docs" / "how-to" / link).is_file(), link
    for script in re.findall(r"benchmarks/\w+\.py", page):
        assert (ROOT / script).is_file(), script
