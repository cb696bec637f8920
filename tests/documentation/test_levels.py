"""The walk through data of two levels can be walked, and the page names every key of a level."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from maskwright.cli.main import main
from maskwright.cli.show.explain import explain
from maskwright.data.levels.declaration import LevelDeclaration

DOCUMENT = (Path(__file__).parents[2] / "docs" / "reference" / "levels.md").read_text(encoding="utf-8")


@pytest.mark.timeout(400)
def test_the_walk_can_be_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^    (maskwright .*)$", DOCUMENT, re.MULTILINE)
    walked = [
        "demo", "advise", "describe", "init", "validate", "validate", "localize", "edits", "edits", "edits", "run",
    ]  # fmt: skip
    assert [line.split()[1] for line in lines] == walked
    assert main([*shlex.split(lines[0])[1:], "--records", "200"]) == 0
    capsys.readouterr()
    assert main(shlex.split(lines[1])[1:]) == 0
    columns = re.findall(r"household: {key: hhid, variables: \[([^]]*)\]", DOCUMENT)[0]
    assert f"variables: [{columns}, weight]" in capsys.readouterr().out
    for line in (*lines[2:4], *lines[7:]):
        assert main(shlex.split(line)[1:]) == 0
    for line in lines[4:7]:
        assert main(shlex.split(line)[1:]) == 1


def test_the_page_names_every_key() -> None:
    page = explain("levels")
    for name, field in LevelDeclaration.model_fields.items():
        assert f"  {field.alias or name} (" in page
