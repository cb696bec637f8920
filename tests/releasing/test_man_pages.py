"""Each command has a man page that says what its help says, and that groff reads without a warning."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from maskwright.cli.main import build_parser

SCRIPT = Path(__file__).parents[2] / "packaging" / "man_pages.py"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages as a build makes them, by what is typed."""
    folder = tmp_path_factory.mktemp("pages")
    # -I: the build has no PYTHONPATH, and nothing installed but its backend.
    subprocess.run([sys.executable, "-I", SCRIPT, folder], check=True)
    return {path.stem.replace("-", " "): path for path in folder.iterdir()}


def parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Each command of a parser by what is typed, the program itself too."""
    found = {parser.prog: parser}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                found |= parsers(sub)
    return found


def plain(page: Path) -> str:
    """Text of a page without what roff takes for itself."""
    text = re.sub(r"(?m)^\.(TP|B|BR|SH|PP|TH)\b ?", "", page.read_text(encoding="utf-8"))
    for name, sign in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ga", "`"), (r"\(ha", "^"), (r"\(ti", "~"), (r"\(dq", '"')):
        text = text.replace(name, sign)
    return " ".join(text.replace(r"\&", "").replace(r"\e", "\\").split())


def test_each_command_has_a_page(pages: dict[str, Path]) -> None:
    assert set(pages) == set(parsers(build_parser()))
    assert {"maskwright", "maskwright run", "maskwright advise keys"} <= set(pages)


def test_a_page_has_every_option_and_its_help(pages: dict[str, Path]) -> None:
    for prog, parser in parsers(build_parser()).items():
        said = plain(pages[prog])
        for action in parser._actions:
            for text in (*action.option_strings, action.metavar, action.help):
                if isinstance(text, str):
                    assert " ".join(text.split()) in said, (prog, text)


def test_a_page_names_the_exit_codes_and_the_other_pages(pages: dict[str, Path]) -> None:
    for prog, page in pages.items():
        said = plain(page)
        assert "EXIT STATUS 0 All was done" in said
        assert {f"{other.replace(' ', '-')} (1)" for other in pages if other != prog} <= set(
            re.findall(r"[a-z-]+ \(1\)", said)
        )


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_reads_each_page_without_a_warning(pages: dict[str, Path]) -> None:
    for page in pages.values():
        done = subprocess.run(
            ["groff", "-k", "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""


def test_the_same_sources_give_the_same_pages(pages: dict[str, Path], tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-I", SCRIPT, tmp_path], check=True)
    for page in pages.values():
        assert (tmp_path / page.name).read_bytes() == page.read_bytes()
